//! Deterministic simulation for the DHCP server: two shards over one lease table; clients that
//! retransmit, race, reboot, decline, release and vanish; a network that loses, delays and repeats
//! datagrams; lease rows that become durable late (they settle); crashes that lose rows that have
//! not settled; reloads of the configuration in between. All of it follows from one seed, on a
//! virtual clock.
//!
//! The shards are the server's own ([`dhcp_engine::Shard`]); only sockets, clock and disk are
//! replaced. Checkers verify every acknowledged lease (DHCPACK, DHCPv6 REPLY). The simulation is
//! written once; a [`SimulatedProtocol`] provides the behaviour of a protocol's clients. RFCs to
//! read first: 2131, 9915.

pub mod checker;
mod durable;
pub mod event_listeners;
pub mod hostile;
pub mod interpose;
pub mod settings;
pub mod simulated_protocol;
pub mod simulation;
pub mod v4;
pub mod v6;

pub use checker::{Checker, Violation};
pub use settings::DhcpSimulationSettings;
pub use simulated_protocol::SimulatedProtocol;
pub use simulation::{DhcpSimulation, DhcpSimulationReport};
