//! DHCPv6 option 39, the client's fully qualified domain name (RFC 4704).

use crate::name;

/// Flag S of option 39 (RFC 4704 §4.1): the client wants the server to make the DNS entry from name
/// to address.
const FLAG_S: u8 = 1;
/// Flag N of option 39 (RFC 4704 §4.1): the client wants the server to make no DNS entry.
const FLAG_N: u8 = 4;

/// Contents of DHCPv6 option 39, Client FQDN (RFC 4704).
#[derive(Clone, Copy, Debug)]
pub struct ClientFqdn<'a> {
    flags: u8,
    /// Name in option 39 as sent, in labels.
    pub name: &'a [u8],
}

impl<'a> ClientFqdn<'a> {
    /// Reads the value of a DHCPv6 option 39; returns `None` when it is empty.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        value.split_first().map(|(&flags, name)| Self { flags, name })
    }

    /// Returns true if flag S is set: the client wants the server to make the DNS entry from name
    /// to address.
    pub const fn requests_entry(&self) -> bool {
        self.flags & FLAG_S != 0
    }

    /// Returns true if the client wants the server to make no DNS entry: flag N is set. As in Kea,
    /// flag S counts where both are set.
    pub const fn declines_entries(&self) -> bool {
        self.flags & (FLAG_N | FLAG_S) == FLAG_N
    }

    /// Returns true if flags S and N are both set: the client wants the server both to make a DNS
    /// entry and to make none, which RFC 4704 §4.1 forbids.
    pub const fn is_contradictory(&self) -> bool {
        self.flags & (FLAG_N | FLAG_S) == FLAG_N | FLAG_S
    }

    /// Returns true if the name in option 39 lacks its final zero.
    pub fn is_partial(&self) -> bool {
        self.name.last() != Some(&0)
    }

    /// Calls `take` with the letters of the name in option 39, with a dot after each label. Returns
    /// false if the bytes are no name; an empty name is one.
    pub fn read_name(&self, take: impl FnMut(u8)) -> bool {
        name::read_labels(self.name.iter().copied(), take)
    }
}
