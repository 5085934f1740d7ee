//! Configuration of the DHCPv6 server: its types, and in submodules the readers of settings that
//! only DHCPv6 has.
//!
//! Inheritance is resolved while reading: every [`Subnet6`] has the values that hold for it, from
//! its own map, else its shared network's, else the global ones, else Kea's defaults. Keys that Kea
//! knows and Godwit does not serve yet are listed in `other_keys`. RFCs to read first: 9915 for
//! DHCPv6, 6422 for options that relays supply, 6603 for excluded prefixes.

mod family;
mod global;
pub mod options;
mod other_keys;
mod pd_pools;
mod reserved;
mod scope;
mod server_id;
mod types;

pub use crate::shared::{
    Durability, ExpiredLeases, GodwitSettings, InterfaceSelection, LeaseChecks, LeaseDatabase,
    Lifetime, LogDestination, LogOutput, LogSeverity, Logger, OnFail,
};
pub use types::*;

/// Default name of the DHCPv6 lease file, in the data folder.
pub const LEASE_FILE: &str = "kea-leases6.csv";
