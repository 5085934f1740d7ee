//! DHCPv4: relayed DISCOVER, OFFER, REQUEST, ACK exchanges.

pub mod answer;
pub mod client;
pub mod drive;
pub mod exchange;
pub mod leases;
pub mod population;
pub mod template;
