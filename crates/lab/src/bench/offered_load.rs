//! Load that a generator offers, and the addresses of its messages.

use std::net::SocketAddr;

/// Addresses that a generator sends messages from and to.
#[derive(Clone, Copy)]
pub(super) struct GeneratorAddresses {
    /// Address of the relay agent that the generator plays.
    pub(super) relay: SocketAddr,
    /// Address of the server that the generator loads.
    pub(super) server: SocketAddr,
}

/// Load that a trial offers to the server.
#[derive(Clone, Copy)]
pub(super) struct OfferedLoad {
    pub(super) rate_per_s: f64,
    /// Length of the trial's load, in seconds.
    pub(super) dwell_s: f64,
}
