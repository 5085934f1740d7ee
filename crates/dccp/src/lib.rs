//! The Datagram Congestion Control Protocol (RFC 4340) without I/O.
//!
//! [`header`] and [`option`] are the packets, [`sequence`] the arithmetic of their numbers, [`feature`]
//! what both ends agree on.
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
