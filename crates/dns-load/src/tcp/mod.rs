//! DNS queries over TCP (RFC 7766): all of a run, or those whose answers were truncated over UDP.
//!
//! A connection replaces a port: it has the port's number, queries and identifiers, so an answer
//! leads to its query as it does over UDP. The generator never waits for a connection; when one
//! ends, the next query opens it again, and queries without an answer are not sent again: they are
//! lost, and counted as cut off. Where each connection carries a limited number of queries, the
//! next query opens another one, and the earlier one is closed once its answers have come or are
//! given up. This module is not on the path of datagrams.

mod connections;
mod generator_thread;
mod stream;

pub use connections::ConnectionCounts;
pub(crate) use connections::{ConnectionRetirementRule, Connections};
pub(crate) use generator_thread::TcpGeneratorThread;
pub(crate) use stream::{DnsTcpStream, FillResult};
