//! Simulation of DHCPv6 clients.

pub mod client;
mod simulated_protocol;
