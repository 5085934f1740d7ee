//! DHCPv4 messages (RFC 2131, 2132).
//!
//! [`Message::parse`] checks a datagram and returns a view of it; [`MessageWriter`] writes one;
//! [`relay`] reads option 82; [`arbitrary`] makes datagrams, valid and broken, for tests.

pub mod arbitrary;
mod fqdn;
mod header;
mod lengths;
mod malformed;
mod message;
mod message_type;
pub mod option;
pub mod relay;
mod value;
mod walk;
mod writer;

pub use fqdn::ClientFqdn;
pub use header::{BOOT_REPLY, BOOT_REQUEST, BROADCAST_FLAG, Dhcp4Header};
pub use malformed::Malformed;
pub use message::{Dhcp4OptionIterator, Message};
pub use message_type::MessageType;
pub use value::{Fragments, OptionValue};
pub use walk::Instances;
pub use writer::{MessageWriter, encoded_len};

pub use crate::shared::NoRoom;

/// Offsets of the fields of a DHCPv4 message (RFC 2131 §2).
mod layout {
    use core::ops::Range;

    pub(super) const CHADDR_AT: usize = 28;
    pub(super) const CHADDR_LEN: usize = 16;
    pub(super) const SNAME: Range<usize> = 44..108;
    pub(super) const FILE: Range<usize> = 108..236;
    pub(super) const COOKIE: [u8; 4] = [99, 130, 83, 99];
    /// Offset of the options in a DHCPv4 message, after the magic cookie 99.130.83.99 (RFC 2131
    /// §3), in bytes.
    pub(super) const OPTIONS_AT: usize = 240;

    /// Bit of option 52 (RFC 2132 §9.3): the field `file` contains options.
    pub(super) const OVERLOAD_FILE: u8 = 1;
    /// Bit of option 52 (RFC 2132 §9.3): the field `sname` contains options.
    pub(super) const OVERLOAD_SNAME: u8 = 2;
}

/// Number of bytes before the options of a DHCPv4 message: the shortest datagram that can be one.
pub const HEADER_LEN: usize = layout::OPTIONS_AT;

/// Length in bytes of the shortest message that every BOOTP relay agent and client accepts (RFC
/// 1542 §2.1): replies are padded to it.
pub const BOOTP_MIN_LEN: usize = 300;

/// Maximum number of options of a DHCPv4 message, counting every piece of a long one. All codes
/// once and the longest possible datagram cut into whole pieces stay below it, so only hostile
/// messages exceed it. The limit bounds the work of any look-up.
pub const INSTANCES_MAX: usize = 512;
