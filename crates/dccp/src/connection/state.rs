//! Where a connection is in its life (RFC 4340 §4.3), and in which circumstances a packet came.

/// The states of §8.4, but for LISTEN, which belongs to [`crate::endpoint`]. They are in the RFC's
/// order, which its rules compare by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// There is nothing, any more or yet.
    Closed,
    /// A client has sent a Request.
    Request,
    /// A server has received one.
    Respond,
    /// A client has received a Response, and does not know that the server knows.
    PartOpen,
    /// Data flows.
    Open,
    /// A server has asked its client to close.
    CloseReq,
    /// A Close was sent.
    Closing,
    /// The connection is over; its numbers must not be used for a while.
    TimeWait,
}

impl State {
    /// The state's name in the RFC.
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

/// Which end of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sent the Request.
    Client,
    /// It answered.
    Server,
}

/// The ECN field of an IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// 00.
    #[default]
    NotCapable,
    /// 10, ECT(0).
    Capable0,
    /// 01, ECT(1): a nonce of 1.
    Capable1,
    /// 11, CE.
    Marked,
}
