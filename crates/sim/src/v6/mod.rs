//! DHCPv6 scene.

pub mod client;
mod scene;
