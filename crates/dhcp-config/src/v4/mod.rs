//! The configuration of the DHCPv4 server: its types here, and below them one module for each part
//! of the file.
//!
//! Inheritance is resolved while reading: every [`Subnet4`] carries the values that hold for it, from
//! its own map, else its shared network's, else the global ones, else Kea's defaults. Keys that Kea
//! knows and godwit does not serve yet are listed in `other_keys`.

mod database;
mod global;
mod godwit;
mod interfaces;
mod loggers;
pub mod options;
mod other_keys;
mod pools;
mod scope;
mod subnets;
mod types;

pub(crate) use global::read_root;
pub use options::OptionData;
pub use types::*;
