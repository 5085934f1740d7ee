//! Standard options of DHCPv4.

pub mod definitions;

pub use crate::shared::options::data::OptionData;
