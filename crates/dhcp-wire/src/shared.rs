//! Types common to DHCPv4 and DHCPv6: strictness of a reader, and failure of a writer.

use core::fmt;

/// Treatment of DHCP options that do not comply with their definition (Kea's
/// `compatibility.lenient-option-parsing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionParsing {
    /// Strict parsing: the reader refuses a message with an option that does not comply.
    #[default]
    Strict,
    /// Lenient parsing: the reader reads an option that does not comply if its meaning is clear: it
    /// ignores bytes after a number or an address, a Client FQDN option that requests and refuses
    /// entries requests them, a vendor class ends with its option, a prefix has 128 bits at most.
    /// An option that must contain a domain name and contains something else counts as not sent.
    Lenient,
}

/// Error of a DHCP writer: the message did not fit into its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message does not fit into its buffer")
    }
}

impl core::error::Error for NoRoom {}
