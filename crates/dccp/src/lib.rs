//! The Datagram Congestion Control Protocol DCCP (RFC 4340) without I/O.
//!
//! Modules, from the wire up: [`header`] and [`option`] parse and write packets, [`sequence`] has
//! the arithmetic of sequence numbers, [`feature`] negotiates features, [`ack_vector`] records
//! which packets arrived, [`ccid`] decides how fast data may go, [`connection`] is one connection,
//! and [`endpoint`] holds many connections at one port.
//!
//! Begin reading at [`connection`]: its `receive` takes a packet through the steps of
//! RFC 4340 §8.5. `tests/conformance/CASES.md` lists the test of each requirement.
//!
//! The crate never reads a clock: each function that depends on time takes it as an argument, in
//! nanoseconds of a monotonic clock. Packets come in as bytes and go out as bytes.

pub mod ack_vector;
pub mod ccid;
pub mod connection;
pub mod endpoint;
pub mod feature;
pub mod header;
pub mod option;
pub mod sequence;
