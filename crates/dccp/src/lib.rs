//! The Datagram Congestion Control Protocol (RFC 4340) without I/O.
//!
//! From the wire up: [`header`] and [`option`] are the packets, [`sequence`] the arithmetic of their
//! numbers, [`feature`] what both ends agree on, [`ack_vector`] what arrived, [`ccid`] how fast data may
//! go, [`connection`] one connection and [`endpoint`] many of them behind one door.
//!
//! Begin reading at [`connection`]: its `receive` is the walk of a packet in the steps of RFC 4340 §8.5.
//! `tests/conformance/CASES.md` says which requirement is held by which test.
//!
//! Nothing here reads a clock: whatever depends on time takes it as an argument, in nanoseconds of
//! a monotonic clock. Packets come in as octets and go out as octets.

pub mod ack_vector;
pub mod ccid;
pub mod connection;
pub mod endpoint;
pub mod feature;
pub mod header;
pub mod option;
pub mod sequence;
