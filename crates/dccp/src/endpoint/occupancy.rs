//! What an endpoint holds and what it has answered, so that a bound can be looked at.

/// What an endpoint holds at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Connections in any state, at most [`super::Limits::connections`].
    pub connections: usize,
    /// Of them, those whose client has not answered yet, at most [`super::Limits::half_open`].
    pub half_open: usize,
    /// Of them, those in TIMEWAIT.
    pub time_wait: usize,
    /// Resets and Responses of no connection that wait to be sent, at most 128.
    pub replies: usize,
    /// Init Cookies that are not good any more, at most 65,536.
    pub spent_cookies: usize,
    /// Datagrams, events and packets of the protocol that wait in all connections.
    pub queued: usize,
    /// Of them, those of the connection that has the most.
    pub queued_at_one: usize,
}

/// What became of packets that belonged to no connection, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Requests that made a connection here.
    pub accepted: u64,
    /// Requests whose connection went out with an Init Cookie (RFC 4340 §8.1.4).
    pub cookies: u64,
    /// Init Cookies of which a connection was made.
    pub restored: u64,
    /// Packets that were answered with a Reset (§8.3.1).
    pub refused: u64,
    /// Packets that were not answered at all, since too many were.
    pub ignored: u64,
}
