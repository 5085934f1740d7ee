//! Conformance scenarios: what a client and its relay agent send, what they must get, and how much
//! time passes in between, as data that any DHCP server can be played.
//!
//! A scenario is a TOML file ([`Scenario::parse`]); [`play`] walks through its steps against a
//! [`Subject`]: the engine on a virtual clock, a daemon behind sockets, another server. What a
//! subject is stays with whoever runs it; here is no socket and no clock. The format is described
//! in `conformance/README.md`. RFCs to have read: 2131, 9915.

mod format;
mod observe;
mod play;
mod twin;
mod v4;
mod v6;
mod value;

pub use format::{Family, KeaNote, OneOrMore, Scenario, Step, Verdict};
pub use play::{Finding, Player, Subject, SubjectError, play};
pub use twin::{Difference, Maker, Twin, is_like};
