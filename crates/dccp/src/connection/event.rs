//! What a connection tells its application, and why it refuses to send.

use core::fmt;

use crate::header::Reset;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The application may send: a server after its client's Ack, a client after its server's Response
    /// (PARTOPEN, as `connect(2)` of Linux returns).
    Connected,
    /// A datagram came, empty ones included.
    Received(Vec<u8>),
    /// The other end reset the connection: normally when its code is
    /// [`crate::header::ResetCode::Closed`].
    Reset(Reset),
    /// This end reset the connection because of what the other end sent, or did not send.
    Failed(Reset),
    /// This end closed in answer to the other end's Close.
    Closed,
}

/// Why a datagram was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Longer than the path takes ([`super::Connection::data_bytes_max`]).
    TooLong,
    /// The queue is full.
    QueueFull,
    /// The connection is closing or closed, or nobody listens at the other end.
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
