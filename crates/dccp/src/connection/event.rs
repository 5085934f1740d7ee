//! Events that a connection reports to its application, and reasons why it refuses to send.

use core::fmt;

use crate::header::Reset;

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// Connection that the application may send on: at a server after its client's Ack, at a client
    /// after its server's Response (PARTOPEN, as `connect(2)` of Linux returns).
    Connected,
    /// Datagram that came, empty ones included.
    Received(Vec<u8>),
    /// Reset from the other end: a normal end when its code is
    /// [`crate::header::ResetCode::Closed`].
    Reset(Reset),
    /// Reset from this end, because of a packet of the other end or the lack of one.
    Failed(Reset),
    /// Close from the other end, which this end answered.
    Closed,
}

/// Reason why a connection did not accept a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Datagram longer than the path takes ([`super::Connection::data_bytes_max`]).
    TooLong,
    /// Send queue that is full.
    QueueFull,
    /// Connection that is closing or closed, or whose other end does not listen any more.
    Closed,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the datagram is longer than the path takes",
            Self::QueueFull => "the send queue is full",
            Self::Closed => "the connection is closing or closed",
        })
    }
}

impl core::error::Error for SendError {}
