//! Queries over TCP (RFC 7766): all of a run, or those whose answers were truncated over UDP.
//!
//! A connection takes the place of a port: the same number, the same queries, the same identifiers,
//! so an answer leads to its query as it does over UDP. It is never waited for; when it ends it is
//! opened again for the next query, and what had no answer is not asked again: those queries are
//! lost, and counted as cut off. Where connections carry so many queries each, the next query opens
//! another one, and the one before is closed once its answers are in or given up. Nothing here is
//! on the way of a datagram.

mod connections;
mod lane;
mod stream;

pub use connections::ConnectionCounts;
pub(crate) use connections::{Connections, Retirement};
pub(crate) use lane::TcpLane;
pub(crate) use stream::{Filled, Stream};
