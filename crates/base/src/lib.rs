//! What every other crate stands on: time as a value, seeded randomness, octet cursors,
//! single-writer counters and log-linear histograms.
//!
//! Nothing here reads a clock, a file or the environment. A type enters this crate when two
//! protocol families need it.

#![no_std]

extern crate alloc;

pub mod counter;
pub mod histogram;
pub mod octets;
pub mod offset;
pub mod prefetch;
pub mod random;
pub mod time;

pub use counter::Counters;
pub use histogram::Histogram;
pub use octets::{Reader, Writer};
pub use offset::{Offset, RoundTrip};
pub use prefetch::Prefetch;
pub use random::Random;
pub use time::Now;
