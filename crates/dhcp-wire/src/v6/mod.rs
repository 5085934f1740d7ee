//! DHCPv6 messages (RFC 9915, which replaces RFC 8415 and, for prefixes, RFC 3633).
//!
//! [`Packet::parse`] checks a datagram with all its relay levels (RELAY-FORW or RELAY-REPL) and
//! returns a view of it, whose [`Message`] is that of the client or server; [`validity`] checks the
//! options that its type requires; [`MessageWriter`] writes a message and [`RelayWriter`] the relay
//! levels around it; [`duid`] reads identifiers; [`arbitrary`] makes datagrams, valid and broken,
//! for tests.

pub mod arbitrary;
pub mod duid;
mod fqdn;
mod ia;
mod malformed;
mod message;
mod message_type;
pub mod option;
mod packet;
mod relay_writer;
mod rules;
mod status_code;
mod validity;
mod walk;
mod writer;

pub use fqdn::ClientFqdn;
pub use ia::{Ia, IaAddress, IaKind, IaPrefix};
pub use malformed::Malformed;
pub use message::Message;
pub use message_type::MessageType;
pub use packet::{Packet, Relay};
pub use relay_writer::RelayWriter;
pub use status_code::StatusCode;
pub use validity::{Invalid, validity};
pub use walk::{Dhcp6OptionIterator, Tuples};
pub use writer::{Mark, MessageWriter};

pub use crate::shared::NoRoom;

/// Lengths in bytes of the fixed parts of DHCPv6 messages and options.
mod layout {
    /// Length in bytes of type and transaction identifier: the shortest DHCPv6 message (RFC 9915
    /// §8).
    pub(super) const MESSAGE_LEN: usize = 4;
    /// Length in bytes of type, hop count, link address and peer address of a RELAY-FORW or
    /// RELAY-REPL (RFC 9915 §9).
    pub(super) const RELAY_LEN: usize = 34;
    /// Length in bytes of an option's code and length, before its value.
    pub(super) const OPTION_LEN: usize = 4;
    /// Length in bytes of IAID, T1 and T2 in an IA_NA or IA_PD (RFC 9915 §21.4, §21.21).
    pub(super) const IA_LEN: usize = 12;
    /// Length in bytes of the IAID alone, in an IA_TA (RFC 9915 §21.5).
    pub(super) const IA_TA_LEN: usize = 4;
    /// Length in bytes of address, preferred and valid lifetime in an IA Address option (RFC 9915
    /// §21.6).
    pub(super) const IAADDR_LEN: usize = 24;
    /// Length in bytes of preferred and valid lifetime, prefix length and prefix in an IA Prefix
    /// option (RFC 9915 §21.22).
    pub(super) const IAPREFIX_LEN: usize = 25;
    /// Maximum length of a DHCPv6 message in bytes: offsets have 16 bits, as has the length of a
    /// UDP datagram.
    pub(super) const MESSAGE_MAX: usize = u16::MAX as usize;
}

/// Maximum number of relay levels (RELAY-FORW or RELAY-REPL) around a message. Relay agents
/// themselves stop at 8 (RFC 9915 §7.6); Kea reads 32.
pub const RELAYS_MAX: usize = 32;

/// Maximum number of options of a DHCPv6 packet, counting those of all relay levels, of IAs and of
/// the addresses and prefixes in them. It bounds the work that a packet can cause.
pub const OPTIONS_MAX: usize = 512;
