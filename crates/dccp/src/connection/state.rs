//! States of a connection (RFC 4340 §4.3), roles of its ends, and the ECN field of its packets.

/// The states of §8.4 without LISTEN, which belongs to [`crate::endpoint`]. They are in the RFC's
/// order, because its rules compare states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionState {
    /// No connection, any more or yet.
    Closed,
    /// Client that has sent a Request.
    Request,
    /// Server that has received a Request.
    Respond,
    /// Client that has received a Response, and does not know yet if the server got its answer.
    PartOpen,
    /// Connection that transfers data.
    Open,
    /// Server that has sent a CloseReq to its client.
    CloseReq,
    /// End that has sent a Close.
    Closing,
    /// Connection that is over; its numbers must not be used for a while.
    TimeWait,
}

impl ConnectionState {
    /// Returns the state's name in the RFC.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Request => "REQUEST",
            Self::Respond => "RESPOND",
            Self::PartOpen => "PARTOPEN",
            Self::Open => "OPEN",
            Self::CloseReq => "CLOSEREQ",
            Self::Closing => "CLOSING",
            Self::TimeWait => "TIMEWAIT",
        }
    }
}

/// Role of an end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// End that sent the Request.
    Client,
    /// End that answered the Request.
    Server,
}

/// The ECN field of an IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Bits 00: not ECN-capable.
    #[default]
    NotCapable,
    /// Bits 10, ECT(0).
    Capable0,
    /// Bits 01, ECT(1): a nonce of 1.
    Capable1,
    /// Bits 11, CE: marked for congestion.
    Marked,
}
