//! DHCPv4 scene.

pub mod client;
mod scene;
