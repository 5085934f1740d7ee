//! DHCPv6 in the simulation.

pub mod client;
mod simulated_protocol;
