//! Emulated link between two Ethernet interfaces, or two TUN devices: packets received by one
//! interface leave by the other, through a link of the core [`netem`] in each direction, in real
//! time.
//!
//! - [`LinkInterface`] names an interface, perhaps in a network namespace; [`LinkRequest`]
//!   describes the link.
//! - [`Bridge`] runs it: a thread for each direction, which can be changed and read while it runs.
//! - [`serve()`] runs a link for a command: signals, reports, a control socket; [`control`] is the
//!   client of that socket.
//! - [`kernel`] sets up the kernel's own `sch_netem` instead, if the kernel has it.
//!
//! The core decides the effects on packets: its words and their meaning are in
//! docs/design/013-emulated-links.md. This crate connects the core to the machine: frames of
//! interfaces (`netio`), cutting of trains, checksums, marks, the clock. References: packet(7),
//! tc-netem(8), tc-tbf(8), RFC 1071, 1624, 3168.

mod bridge;
pub mod control;
mod direction;
mod ecn;
mod ends;
mod error;
pub mod kernel;
mod link_interface;
mod offload;
mod outlet;
mod report;
mod serve;
mod words;

pub use bridge::{Bridge, DirectionSelector, LinkRequest};
pub use link_interface::LinkInterface;
pub use report::{DirectionReport, LinkReport, SCHEMA};
pub use serve::serve;
pub use words::{parse_words, warnings};
