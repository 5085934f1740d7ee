//! DCCP for applications: the core of [`dccp`] with sockets, a clock and threads around it.
//!
//! Packets travel inside of UDP (RFC 6773), which needs no privilege, or over IP as protocol 33,
//! which needs the right to raw sockets; [`CarrierOptions`] selects the carrier. One endpoint has
//! many connections over one socket for each address family.
//!
//! There are two interfaces and a driver that both use. [`BlockingEndpoint`] has a thread of its
//! own, and blocking calls: [`BlockingEndpoint::connect`], [`BlockingEndpoint::listen`],
//! [`BlockingListener::accept`], [`BlockingConnection::send`], [`BlockingConnection::receive`].
//! [`asynchronous`] has the same calls as futures, for programs on tokio or another runtime.
//! [`Driver`] is the same without the thread, for a caller's loop that needs every processor cycle.
//!
//! [`ConnectionConfig`] has the settings of a connection, with the meaning of Linux's socket
//! options: service code, congestion control for each direction, checksum coverage, length and
//! policy of the send queue.
//!
//! Budget of a data packet in either direction: one copy between the application and the core's
//! queue, one more into a transmit slot, the share of a system call for a batch of up to 64, and
//! with segmentation a tenth of a traversal of the kernel's stack. Nothing is allocated once the
//! queues have reached their greatest length, if the application returns the memory of datagrams
//! ([`BlockingConnection::receive_into`], [`Driver::recycle`]). Departures are paced by waiting in
//! `ppoll(2)` with nanosecond timeouts and the least timer slack, without busy waiting. A wake-up
//! that is late by some microseconds is compensated by the credit that congestion control gives.
//!
//! Background: RFC 4340 §8, RFC 6773, raw(7), udp(7).

pub mod asynchronous;
mod blocking;
mod carrier;
mod driver;
mod error;
mod service;

pub use blocking::{BlockingConnection, BlockingEndpoint, BlockingListener, PendingConnection};
pub use carrier::{CarrierKind, CarrierOptions, ConnectOptions, Peer, ScopedAddress, UDP_PORT};
pub use dccp::ccid::SenderFigures;
pub use dccp::connection::{ConnectionConfig, QueuePolicy};
pub use dccp::endpoint::{ConnectionKey, EndpointAnswerCounts, EndpointLimits, Occupancy};
pub use dccp::feature::Disagreement;
pub use dccp::header::{Reset, ResetCode, ServiceCode};
pub use driver::Driver;
pub use error::DccpError;
