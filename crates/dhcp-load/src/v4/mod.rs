//! DHCPv4 load: relayed DISCOVER, OFFER, REQUEST, ACK exchanges.

pub mod answer;
mod args;
pub mod protocol;
mod target;
pub mod template;

pub use args::Dhcp4LoadArgs;
pub use protocol::ClientLinks;
pub use target::Dhcp4LoadTarget;
