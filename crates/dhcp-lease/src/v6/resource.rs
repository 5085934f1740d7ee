//! What a v6 lease is of, and whose it is.

use core::fmt;
use core::net::Ipv6Addr;

/// The kinds of identity association that are leased to (RFC 9915 §12), with Kea's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum IaKind {
    /// IA_NA: an address.
    #[default]
    Address = 0,
    /// IA_PD: a delegated prefix.
    Prefix = 2,
}

/// An address or a delegated prefix: what one slot is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource {
    /// Which of the two.
    pub kind: IaKind,
    /// Prefix length; 128 for an address.
    pub len: u8,
    /// The address, or the prefix with its host bits zero.
    pub address: Ipv6Addr,
}

impl Resource {
    /// The address `address`.
    #[must_use]
    pub const fn address(address: Ipv6Addr) -> Self {
        Self { kind: IaKind::Address, len: 128, address }
    }

    /// The prefix `prefix/len`; bits after `len` are cleared, a `len` beyond 128 is 128.
    #[must_use]
    pub const fn prefix(prefix: Ipv6Addr, len: u8) -> Self {
        let len = if len > 128 { 128 } else { len };
        let mask = if len == 0 { 0 } else { u128::MAX << (128 - len as u32) };
        let bits = u128::from_be_bytes(prefix.octets()) & mask;
        Self { kind: IaKind::Prefix, len, address: Ipv6Addr::from_bits(bits) }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            IaKind::Address => write!(f, "{}", self.address),
            IaKind::Prefix => write!(f, "{}/{}", self.address, self.len),
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Who asks: one identity association of one client (RFC 9915 §12), borrowed from its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IaIdentity<'a> {
    /// The client's DUID (RFC 9915 §11), 1 to 130 octets.
    pub duid: &'a [u8],
    /// The kind of association; `iaid` is unique per client and kind.
    pub kind: IaKind,
    /// The association.
    pub iaid: u32,
}

impl IaIdentity<'_> {
    /// Whether a lease of `kind` kept under `duid` and `iaid` is this association's.
    #[must_use]
    pub fn owns(&self, duid: &[u8], kind: IaKind, iaid: u32) -> bool {
        self.iaid == iaid && self.kind == kind && self.duid == duid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_no_host_bits_and_a_kind_of_its_own() {
        let address: Ipv6Addr = "2001:db8:1:2:3::4".parse().unwrap();
        let prefix = Resource::prefix(address, 56);
        assert_eq!(prefix.to_string(), "2001:db8:1::/56");
        assert_eq!(Resource::prefix(address, 0).address, Ipv6Addr::UNSPECIFIED);
        assert_ne!(Resource::prefix(address, 128), Resource::address(address));
        assert_eq!(Resource::address(address).to_string(), "2001:db8:1:2:3::4");
    }
}
