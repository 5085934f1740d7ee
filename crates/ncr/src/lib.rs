//! Name change requests (NCR): the messages in which a DHCP server tells a DNS updater
//! (`kea-dhcp-ddns`) which names to add or remove, and the DHCIDs in them (RFC 4701).
//!
//! The crate turns values into datagrams and datagrams into values. A datagram is a length of two
//! bytes, in network byte order, and a JSON object. Read before changing this crate: RFC 4701, RFC
//! 4703, and Kea reference §1.9.

mod dhcid;
mod name;
mod request;

pub use dhcid::Dhcid;
pub use name::UpdateName;
pub use request::{ConflictMode, NameChangeKind, NameChangeRequest, NcrFault};
