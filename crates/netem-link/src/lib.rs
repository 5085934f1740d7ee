//! An emulated link between two Ethernet interfaces, or two TUN devices: what comes in by one goes out by the other,
//! through a link of the core [`netem`] in each direction, in real time.
//!
//! - [`Place`] names an interface, perhaps in a network namespace; [`Request`] says what to do.
//! - [`Bridge`] does it: a thread for each direction, changed and read while it runs.
//! - [`serve`] keeps one up for a command: signals, reports, a control socket; [`control`] is the
//!   other end of that.
//! - [`kernel`] has the kernel's own `sch_netem` do the same work instead, where there is one.
//!
//! What happens to packets is the core's: its words and their meaning are in
//! docs/design/013-emulated-links.md. What is here is the way to it and from it: frames of interfaces
//! (`netio`), trains of segments cut and checksums filled in, marks written, the clock. To have read:
//! packet(7), tc-netem(8), tc-tbf(8), RFC 1071, 1624, 3168.

mod bridge;
pub mod control;
mod direction;
mod ecn;
mod ends;
mod error;
pub mod kernel;
mod offload;
mod outlet;
mod place;
mod report;
mod serve;
mod words;

pub use bridge::{Bridge, Request, Way};
pub use error::LinkError;
pub use place::Place;
pub use report::{DirectionReport, Report, SCHEMA};
pub use serve::serve;
pub use words::{parse_words, warnings};
