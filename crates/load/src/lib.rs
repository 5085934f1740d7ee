//! What every load generator needs and no protocol changes: when exchanges are due, which are
//! open, and how each of them ended. No sockets, no clock: time comes in as monotonic nanoseconds.
//!
//! The load is open-loop. An exchange is due when the [`Schedule`] says so, whatever became of the
//! ones before; its latency counts from then. A generator that cannot keep up sends late, and the
//! [`Ledger`] says so in its [`Verdict`], so that a slow generator is never taken for a slow
//! service ("coordinated omission", Tene).

mod backlog;
pub mod hdr;
mod ledger;
mod outstanding;
pub mod replay;
mod schedule;
mod shape;
mod throughput;
mod timeline;

pub use backlog::Backlog;
pub use ledger::{
    Class, Health, LATE_SEND_NS, LATE_SEND_SHARE, LATENCY_LIMIT_NS, Ledger, LedgerParts,
    OWN_LOSS_SHARE, Verdict,
};
pub use outstanding::Outstanding;
pub use schedule::{Rate, Schedule, exponential};
pub use shape::{SHAPES, Shape, Wanted};
pub use throughput::Throughput;
pub use timeline::{Awaited, Point, Timeline};
