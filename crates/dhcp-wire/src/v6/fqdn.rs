//! Option 39, the client's fully qualified domain name (RFC 4704).

use crate::name;

/// The server is to make the entry from name to address.
const FLAG_S: u8 = 1;
/// The server is to make no entry.
const FLAG_N: u8 = 4;

/// What a Client FQDN option says.
#[derive(Clone, Copy, Debug)]
pub struct ClientFqdn<'a> {
    flags: u8,
    /// The name as it was sent: labels.
    pub name: &'a [u8],
}

impl<'a> ClientFqdn<'a> {
    /// Reads the value of the option; `None` when it is empty.
    #[must_use]
    pub fn of(value: &'a [u8]) -> Option<Self> {
        value.split_first().map(|(&flags, name)| Self { flags, name })
    }

    /// Whether the server is to make the entry from name to address.
    #[must_use]
    pub const fn asks_for_entry(&self) -> bool {
        self.flags & FLAG_S != 0
    }

    /// Whether the server is to make an entry and to make none, which is malformed.
    #[must_use]
    pub const fn is_contradictory(&self) -> bool {
        self.flags & (FLAG_N | FLAG_S) == FLAG_N | FLAG_S
    }

    /// Whether the name lacks its final zero.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.name.last() != Some(&0)
    }

    /// Gives the letters of the name to `take`, a dot behind each label. False when there is
    /// something else than a name; an empty name is one.
    pub fn read_name(&self, take: impl FnMut(u8)) -> bool {
        name::read_labels(self.name.iter().copied(), take)
    }
}
