//! Counts of an endpoint's state and of its answers, with which tests check its bounds.

/// Counts of what an endpoint holds at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Count of connections in any state, at most [`super::EndpointLimits::connections`].
    pub connections: usize,
    /// Count of connections whose client has not answered yet, at most
    /// [`super::EndpointLimits::half_open`].
    pub half_open: usize,
    /// Count of connections in the state TIMEWAIT.
    pub time_wait: usize,
    /// Count of Resets and stateless Responses (with an Init Cookie) that wait to be sent, at most
    /// 128.
    pub replies: usize,
    /// Count of Init Cookies that are spent, at most 65,536.
    pub spent_cookies: usize,
    /// Count of datagrams, events and protocol packets that wait in all connections together.
    pub queued: usize,
    /// Count of datagrams, events and protocol packets in the connection that has the most.
    pub queued_at_one: usize,
}

/// Counts of packets that belonged to no connection, by the endpoint's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointAnswerCounts {
    /// Count of Requests from which the endpoint made a connection.
    pub accepted: u64,
    /// Count of Requests that the endpoint answered with an Init Cookie (RFC 4340 §8.1.4).
    pub cookies: u64,
    /// Count of Init Cookies from which the endpoint made a connection.
    pub restored: u64,
    /// Count of packets that the endpoint answered with a Reset (RFC 4340 §8.3.1).
    pub refused: u64,
    /// Count of packets that the endpoint did not answer, because the limit of Resets was reached.
    pub ignored: u64,
}
