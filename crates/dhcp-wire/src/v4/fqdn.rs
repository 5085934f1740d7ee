//! DHCPv4 option 81, the client's fully qualified domain name (RFC 4702).

use super::OptionValue;
use crate::name;

/// Flag S of option 81 (RFC 4702 §2.1): the client wants the server to make the DNS entry from name
/// to address.
const FLAG_S: u8 = 1;
/// Flag E of option 81 (RFC 4702 §2.1): the name is made of labels instead of text.
const FLAG_E: u8 = 4;
/// Flag N of option 81 (RFC 4702 §2.1): the client wants the server to make no DNS entry.
const FLAG_N: u8 = 8;
/// Offset of the name in the value of option 81, after flags and two result codes, in bytes.
const NAME_AT: usize = 3;

/// Contents of DHCPv4 option 81, Client FQDN (RFC 4702).
#[derive(Clone, Copy, Debug)]
pub struct ClientFqdn<'a> {
    flags: u8,
    /// Result codes of option 81, which clients leave at 0 and servers at 255 (RFC 4702 §2.2).
    pub codes: [u8; 2],
    /// Name in option 81 as sent, in labels or as text.
    pub name: OptionValue<'a>,
}

impl<'a> ClientFqdn<'a> {
    /// Reads the value of a DHCPv4 option 81; returns `None` when it is too short.
    pub fn parse(value: OptionValue<'a>) -> Option<Self> {
        let [flags, codes @ ..] = value.leading::<NAME_AT>()?;
        let name = value.range(NAME_AT, value.len() - NAME_AT)?;
        Some(Self { flags, codes, name })
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
    /// entry and to make none, which RFC 4702 §2.1 forbids.
    pub const fn is_contradictory(&self) -> bool {
        self.flags & (FLAG_N | FLAG_S) == FLAG_N | FLAG_S
    }

    /// Returns true if flag E is set: the name in option 81 is made of labels (RFC 4702 §2.3.1)
    /// instead of text.
    pub const fn is_in_labels(&self) -> bool {
        self.flags & FLAG_E != 0
    }

    /// Returns true if the name in option 81 lacks its end: the final zero, or the final dot of a
    /// text.
    pub fn is_partial(&self) -> bool {
        let end = if self.is_in_labels() { 0 } else { b'.' };
        let last = self.name.len().checked_sub(1).and_then(|at| self.name.range(at, 1)?.u8());
        last != Some(end)
    }

    /// Calls `take` with the letters of the name in option 81, with a dot after each label. Returns
    /// false if the bytes are no name; an empty name is one.
    pub fn read_name(&self, take: impl FnMut(u8)) -> bool {
        if self.name.is_empty() {
            return true;
        }
        if self.is_in_labels() {
            name::read_labels(self.name.octets(), take)
        } else {
            name::read_text(self.name.octets(), take)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_in_both_forms() {
        for (octets, is_name, is_partial) in [
            (&b"\x00\x00\x00foo.ba"[..], true, true),
            (b"\x00\x00\x00foo.ba.", true, false),
            (b"\x00\x00\x00foo..ba", false, true),
            (b"\x04\x00\x00\x03foo", true, true),
            (b"\x04\x00\x00\x03foo\x00", true, false),
            (b"\x04\x00\x00\x04foo", false, true),
            (b"\x04\x00\x00\x03fo\x00", false, false),
            (b"\x04\x00\x00\x03fo\x00\x00", true, false),
            (b"\x00\x00\x00", true, true),
            (b"\x04\x00\x00", true, true),
        ] {
            let fqdn = ClientFqdn::parse(OptionValue::from_slice(octets)).unwrap();
            assert_eq!((fqdn.read_name(|_| ()), fqdn.is_partial()), (is_name, is_partial));
        }
        assert!(ClientFqdn::parse(OptionValue::from_slice(&[0, 0])).is_none());
    }

    #[test]
    fn a_client_that_wants_both_contradicts_itself() {
        let fqdn = |flags: u8| {
            let octets = [flags, 7, 8];
            let fqdn = ClientFqdn::parse(OptionValue::from_slice(&octets))?;
            Some((fqdn.requests_entry(), fqdn.is_contradictory(), fqdn.is_in_labels(), fqdn.codes))
        };
        assert_eq!(fqdn(1), Some((true, false, false, [7, 8])));
        assert_eq!(fqdn(9), Some((true, true, false, [7, 8])));
        assert_eq!(fqdn(0xf4), Some((false, false, true, [7, 8])));
    }
}
