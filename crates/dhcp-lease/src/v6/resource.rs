//! Resource of a DHCPv6 lease, address or prefix, and the identity association that has it.

use base::address_bits::network_mask_v6;
use core::fmt;
use core::net::Ipv6Addr;

/// Kind of DHCPv6 identity association that leases resources (RFC 9915 §12), with Kea's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ResourceKind {
    /// Association IA_NA, which leases an address.
    #[default]
    Address = 0,
    /// Association IA_PD, which leases a delegated prefix.
    Prefix = 2,
}

/// Resource of one DHCPv6 slot: an address or a delegated prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource {
    /// Kind of the resource: address or prefix.
    pub kind: ResourceKind,
    /// Length of the prefix in bits; 128 for an address.
    pub len: u8,
    /// Address, or prefix with its host bits zero.
    pub address: Ipv6Addr,
}

impl Resource {
    /// Returns the address `address` as a resource.
    #[must_use]
    pub const fn address(address: Ipv6Addr) -> Self {
        Self { kind: ResourceKind::Address, len: 128, address }
    }

    /// Returns the prefix `prefix/len` as a resource; bits after `len` are cleared, a `len` beyond
    /// 128 is 128.
    #[must_use]
    pub const fn prefix(prefix: Ipv6Addr, len: u8) -> Self {
        let len = if len > 128 { 128 } else { len };
        let bits = prefix.to_bits() & network_mask_v6(len);
        Self { kind: ResourceKind::Prefix, len, address: Ipv6Addr::from_bits(bits) }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ResourceKind::Address => write!(f, "{}", self.address),
            ResourceKind::Prefix => write!(f, "{}/{}", self.address, self.len),
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Identity association of a client that sent a message (RFC 9915 §12), borrowed from the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IaIdentity<'a> {
    /// DUID of the client (RFC 9915 §11), 1 to 130 bytes.
    pub duid: &'a [u8],
    /// Kind of the identity association; `iaid` is unique per client and kind.
    pub kind: ResourceKind,
    /// IAID of the identity association.
    pub iaid: u32,
}

impl IaIdentity<'_> {
    /// Returns true if a lease of `kind` stored under `duid` and `iaid` belongs to this
    /// association.
    #[must_use]
    pub fn owns(&self, duid: &[u8], kind: ResourceKind, iaid: u32) -> bool {
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
