//! Emulated link in one direction, as a state machine: the effects of `tc-netem` and `tc-tbf` on
//! packets, with their words and meaning, on a clock that the caller provides.
//!
//! [`LinkSettings`] describe the effects; [`LinkSettings::parse`] reads them from words, and
//! `Display` prints them. A [`EmulatedLink`] is made of settings and a seed and has the run loop of
//! every protocol core here: `handle_datagram`, `poll_transmit`, `poll_timeout`, `handle_timeout`.
//! Therefore a test can chain endpoints and links on a virtual clock, and the same seed gives the
//! same run.
//!
//! Packets pass two stages: netem (loss, duplication, corruption, delay, rate, slots) and, if
//! configured, the token bucket. For the other order chain two links.
//! docs/design/013-emulated-links.md describes the differences from the kernel's `sch_netem` and
//! their reasons.

mod bucket;
mod chance;
mod counters;
mod delayed;
mod distribution;
mod link;
mod loss;
#[cfg(test)]
mod model_tests;
mod pool;
mod settings;
mod share;
mod slots;
mod words;

pub use counters::{Backlog, LinkCounters};
pub use distribution::Distribution;
pub use link::{EmulatedLink, TransmittedPacket};
pub use settings::{
    BucketLimit, Delay, LinkLayer, LinkSettings, Loss, Peak, RandomEvent, Rate, Reorder,
    SlotInterval, SlotSettings, TokenBucket,
};
pub use share::UnitShare;
pub use words::WordProblem;
