//! A deterministic world for the DHCP server: two shards over one lease table, clients that
//! retransmit, race, reboot, decline, release and vanish, a network that loses, delays and repeats,
//! rows that settle late, crashes that lose what has not settled, reloads in between — all from one
//! seed on a virtual clock.
//!
//! The shards are the daemon's own ([`dhcp_engine::Shard`]); only sockets, clock and disk are
//! replaced. Checkers look at every acknowledgment. The world is written once; a [`Scene`] brings
//! what a protocol's clients do. RFCs to have read: 2131, 9915.

pub mod checker;
mod durable;
pub mod hostile;
pub mod interpose;
pub mod scene;
pub mod settings;
pub mod v4;
pub mod v6;
pub mod world;

pub use checker::{Checker, Violation};
pub use scene::Scene;
pub use settings::Settings;
pub use world::{Report, World};
