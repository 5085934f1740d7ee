//! An emulated link in one direction, as a value: what `tc-netem` and `tc-tbf` do to packets, in
//! their words and with their meaning, on a clock that is given.
//!
//! [`Settings`] say what happens, read from words by [`Settings::parse`] and printed back by
//! `Display`. A [`Link`] is made of settings and a seed and keeps the run loop of every protocol core
//! here: `handle_datagram`, `poll_transmit`, `poll_timeout`, `handle_timeout`. So endpoints and links
//! are chained like bricks on a virtual clock, and the same seed gives the same run.
//!
//! Packets pass two stages: netem (loss, duplication, corruption, delay, rate, slots) and, if there is
//! one, the token bucket. For the other order chain two links. docs/design/013-emulated-links.md says
//! where this differs from the kernel's `sch_netem` and why.

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

pub use counters::{Backlog, Counters};
pub use distribution::Distribution;
pub use link::{Link, Transmit};
pub use settings::{
    Delay, LinkLayer, Loss, Opening, Peak, Rate, Reorder, Room, Settings, Slot, Sometimes,
    TokenBucket,
};
pub use share::Share;
pub use words::Problem;
