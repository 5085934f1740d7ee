//! Configuration of the DHCPv4 server: its types, and in submodules the readers of settings that
//! only DHCPv4 has.
//!
//! Inheritance is resolved while reading: every [`Subnet4`] has the values that hold for it, from
//! its own map, else its shared network's, else the global ones, else Kea's defaults. Keys that Kea
//! knows and Godwit does not serve yet are listed in `other_keys`.

mod family;
pub mod options;
mod other_keys;
mod reserved;
mod scope;
mod types;

pub use crate::shared::{
    Durability, ExpiredLeases, GodwitSettings, InterfaceSelection, LeaseChecks, LeaseDatabase,
    Lifetime, LogDestination, LogOutput, LogSeverity, Logger, OnFail,
};
pub use options::OptionData;
pub use types::*;

/// Default name of the DHCPv4 lease file, in the data folder.
pub const LEASE_FILE: &str = "kea-leases4.csv";
