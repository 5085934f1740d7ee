//! States of a connection (RFC 4340 §4.3), the roles of its ends, and the ECN field of its packets.

base::named! {
    /// State of a connection (RFC 4340 §8.4), without LISTEN, which belongs to [`crate::endpoint`].
    /// The states are in the RFC's order, because its rules compare them. Names are in capitals, as
    /// in the RFC.
    pub enum ConnectionState {
        /// State CLOSED: the connection does not exist yet, or no longer.
        Closed = "CLOSED",
        /// State REQUEST: the client has sent a Request.
        Request = "REQUEST",
        /// State RESPOND: the server has received a Request.
        Respond = "RESPOND",
        /// State PARTOPEN: the client has received a Response and does not know if the server got
        /// its Ack.
        PartOpen = "PARTOPEN",
        /// State OPEN: both ends may transfer data.
        Open = "OPEN",
        /// State CLOSEREQ: the server has sent a CloseReq to its client.
        CloseReq = "CLOSEREQ",
        /// State CLOSING: this end has sent a Close.
        Closing = "CLOSING",
        /// State TIMEWAIT: the connection is over, and its numbers must not be used again for a
        /// while.
        TimeWait = "TIMEWAIT",
    }
}

/// Role of an end of a connection: client or server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Client: the end that sends the Request.
    Client,
    /// Server: the end that answers the Request.
    Server,
}

/// ECN field of an IP header (RFC 3168): two bits that report congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// ECN bits 00: the packet is not ECN-capable.
    #[default]
    NotCapable,
    /// ECN bits 10, ECT(0): an ECN-capable packet with a nonce of 0.
    Capable0,
    /// ECN bits 01, ECT(1): an ECN-capable packet with a nonce of 1.
    Capable1,
    /// ECN bits 11, CE: a router has marked the packet because of congestion.
    Marked,
}
