//! Counts of an endpoint's state and of its answers, so that bounds can be checked.

/// State of an endpoint at a moment, in counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Connections in any state, at most [`super::EndpointLimits::connections`].
    pub connections: usize,
    /// Connections whose client has not answered yet, at most [`super::EndpointLimits::half_open`].
    pub half_open: usize,
    /// Connections in TIMEWAIT.
    pub time_wait: usize,
    /// Resets and Responses without a connection that wait to be sent, at most 128.
    pub replies: usize,
    /// Init Cookies that are spent, at most 65,536.
    pub spent_cookies: usize,
    /// Datagrams, events and packets of the protocol that wait in all connections.
    pub queued: usize,
    /// Datagrams, events and packets of the connection that has the most.
    pub queued_at_one: usize,
}

/// Counts of packets that belonged to no connection, by answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointAnswerCounts {
    /// Requests that made a connection here.
    pub accepted: u64,
    /// Requests that were answered with an Init Cookie (RFC 4340 §8.1.4).
    pub cookies: u64,
    /// Init Cookies that a connection was made from.
    pub restored: u64,
    /// Packets that were answered with a Reset (§8.3.1).
    pub refused: u64,
    /// Packets without an answer, because the limit of Resets was reached.
    pub ignored: u64,
}
