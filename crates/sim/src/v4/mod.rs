//! DHCPv4 scene.

pub mod client;
mod simulated_protocol;
