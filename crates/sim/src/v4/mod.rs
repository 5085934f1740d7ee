//! Simulation of DHCPv4 clients.

pub mod client;
mod simulated_protocol;
