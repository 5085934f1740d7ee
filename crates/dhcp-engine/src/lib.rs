//! What a DHCP server decides: the compiled configuration snapshot and the message transaction.
//!
//! A transaction steps until it has an outcome: it asks for facts, proposes changes, and ends in a
//! reply, in silence or in a counted drop. It reads no clock and does no I/O; whoever drives it
//! brings `Now`, the facts and the result of the commit. RFCs to have read: 2131, 2132, 3046, 3527,
//! 4361, 5107, 6842.

pub mod in_flight;
pub mod interfaces;
pub mod v4;

pub use in_flight::{Entry, InFlight};
pub use interfaces::InterfaceNames;
