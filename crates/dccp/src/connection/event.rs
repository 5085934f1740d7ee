//! Events that a connection reports to its application, and reasons why the connection refuses to
//! send.

use crate::header::Reset;

/// Event that a connection reports to its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// Connection on which the application may send: at a server after its client's Ack, at a
    /// client after its server's Response (PARTOPEN, as `connect(2)` of Linux returns).
    Connected,
    /// Datagram that arrived from the other end; it may be empty.
    Received(Vec<u8>),
    /// Reset from the other end; with the code [`crate::header::ResetCode::Closed`] it is the
    /// normal end of a connection.
    Reset(Reset),
    /// Reset that this end sent, because of a packet of the other end or because none came in time.
    Failed(Reset),
    /// Close that the other end sent and this end answered: the connection is closed.
    Closed,
}

base::worded! {
    /// Reason why a connection did not accept a datagram that the application wanted to send.
    pub enum SendError {
        /// Datagram that is longer than one packet on the path holds
        /// ([`super::Connection::data_bytes_max`]).
        TooLong = "the datagram is longer than the path takes",
        /// Send queue of the connection that is full; the application can send again later.
        QueueFull = "the send queue is full",
        /// Connection that is closing or closed, or whose other end receives no more datagrams.
        Closed = "the connection is closing or closed",
    }
}

impl core::error::Error for SendError {}
