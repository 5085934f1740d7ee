//! DHCPv4: relayed DISCOVER, OFFER, REQUEST, ACK exchanges.

pub mod answer;
mod args;
pub mod protocol;
mod target;
pub mod template;

pub use args::Args;
pub use protocol::Links;
pub use target::Target;
