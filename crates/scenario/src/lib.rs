//! Conformance scenarios: the messages of a client and its relay agent, the expected replies, and
//! the waits in between, as data that can be played against any DHCP server.
//!
//! A scenario is a TOML file ([`Scenario::parse`]); [`play()`] runs its steps against a
//! [`ScenarioServer`]: the engine on a virtual clock, a daemon behind sockets, another server.
//! Callers implement [`ScenarioServer`], the server under test; this crate has no socket and no
//! clock. `conformance/README.md` describes the format. Relevant RFCs: 2131, 9915.

mod comparison;
mod format;
mod observe;
mod play;
mod v4;
mod v6;
mod value;

pub use comparison::{ComparedServer, ComparisonScenario, ViewDifference, is_like};
pub use format::{DeviationReason, KeaNote, OneOrMore, Scenario, ScenarioFamily, ScenarioStep};
pub use play::{ScenarioFailure, ScenarioPlayer, ScenarioServer, ScenarioServerError, play};
