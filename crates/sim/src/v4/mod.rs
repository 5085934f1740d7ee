//! The DHCPv4 world.

pub mod checker;
pub mod client;
pub mod interpose;
pub mod settings;
pub mod world;

pub use checker::{Checker, Violation};
pub use settings::Settings;
pub use world::{Report, World};
