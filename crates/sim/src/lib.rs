//! A deterministic world for the DHCP server: two shards over one lease table, clients that
//! retransmit, race, reboot, decline, release and vanish, a network that loses, delays and repeats,
//! rows that settle late, reloads in between — all from one seed on a virtual clock.
//!
//! The shards are the daemon's own ([`dhcp_engine::v4::Shard`]); only sockets, clock and disk are
//! replaced. Checkers look at every acknowledgment. RFCs to have read: 2131.

pub mod v4;
