//! DHCPv6 load: SOLICIT, ADVERTISE, REQUEST, REPLY exchanges, through relays or as clients on the
//! server's link, for addresses, delegated prefixes or both.

pub mod answer;
mod args;
pub mod client;
pub mod protocol;
mod target;
pub mod template;

pub use args::Dhcp6LoadArgs;
pub use target::{Access, Dhcp6LoadTarget, RequestedAssociations};
