//! Identity of a DHCP client: hardware address and client identifier, borrowed from a message or
//! kept in a slot without a heap allocation in the common case.

use core::fmt;

use base::ColonHex;

/// Largest length of a client's hardware address, in bytes (Kea's limit).
pub const HARDWARE_ADDRESS_MAX: usize = 20;
/// Largest length of a client identifier that leases keep, in bytes: the longest value of an
/// option.
pub const CLIENT_ID_MAX: usize = 255;
/// Largest length of a DUID that leases keep, in bytes, with its type (RFC 9915 §11.1).
pub const DUID_MAX: usize = 130;
/// DUID that Kea stores in declined leases, which stands for no client. No client may use it.
pub const DECLINED_LEASE_DUID: [u8; 3] = [0; 3];
/// Largest length of a client identifier that is stored without a heap allocation, in bytes.
pub const CLIENT_ID_INLINE_MAX: usize = 22;

/// Hardware address of a client, with its type (`htype`, `hlen`, `chaddr` of RFC 2131 §2).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HardwareAddress {
    htype: u8,
    len: u8,
    octets: [u8; HARDWARE_ADDRESS_MAX],
}

impl HardwareAddress {
    /// Value for a client without a hardware address.
    pub const NONE: Self = Self { htype: 0, len: 0, octets: [0; HARDWARE_ADDRESS_MAX] };

    /// Returns a hardware address of type `htype`; bytes beyond [`HARDWARE_ADDRESS_MAX`] are cut
    /// off.
    #[must_use]
    pub fn new(htype: u8, octets: &[u8]) -> Self {
        let len = octets.len().min(HARDWARE_ADDRESS_MAX);
        let mut stored = [0; HARDWARE_ADDRESS_MAX];
        stored[..len].copy_from_slice(&octets[..len]);
        Self { htype, len: len as u8, octets: stored }
    }

    /// Returns the first `len` bytes of `octets` as a hardware address of type `htype`; `None` when
    /// `len` is too large or a byte after them is not zero.
    #[must_use]
    pub fn padded(htype: u8, len: u8, octets: [u8; HARDWARE_ADDRESS_MAX]) -> Option<Self> {
        let padding = octets.get(usize::from(len)..)?;
        padding.iter().all(|&octet| octet == 0).then_some(Self { htype, len, octets })
    }

    /// Returns the type of the hardware address (1 = Ethernet).
    #[must_use]
    pub const fn htype(&self) -> u8 {
        self.htype
    }

    /// Returns the bytes of the hardware address; empty when the client has none.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }

    /// Returns true if the hardware address has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.htype)?;
        ColonHex(self.octets()).fmt(f)
    }
}

/// Client identifier (option 61, RFC 2132 §9.14) or DUID, as a slot keeps it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ClientId {
    /// Client identifier of up to [`CLIENT_ID_INLINE_MAX`] bytes, stored inline.
    Inline {
        /// Length of the identifier, in bytes.
        len: u8,
        /// Bytes of the client identifier, zero after `len`.
        octets: [u8; CLIENT_ID_INLINE_MAX],
    },
    /// Client identifier longer than [`CLIENT_ID_INLINE_MAX`] bytes, stored on the heap.
    Heap(Box<[u8]>),
}

impl ClientId {
    /// Returns a client identifier with a copy of `octets`.
    #[must_use]
    pub fn new(octets: &[u8]) -> Self {
        if octets.len() <= CLIENT_ID_INLINE_MAX {
            let mut stored = [0; CLIENT_ID_INLINE_MAX];
            stored[..octets.len()].copy_from_slice(octets);
            Self::Inline { len: octets.len() as u8, octets: stored }
        } else {
            Self::Heap(octets.into())
        }
    }

    /// Returns the bytes of the client identifier.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        match self {
            Self::Inline { len, octets } => &octets[..usize::from(*len)],
            Self::Heap(octets) => octets,
        }
    }
}

/// Identifier without bytes: no client.
impl Default for ClientId {
    fn default() -> Self {
        Self::Inline { len: 0, octets: [0; CLIENT_ID_INLINE_MAX] }
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ColonHex(self.octets()).fmt(f)
    }
}

/// Identities of the DHCPv4 client that sent a message, borrowed from the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// Hardware address of the client, from the fixed header of the message.
    pub hardware: HardwareAddress,
    /// Client identifier (option 61), if the client sent it.
    pub client_id: Option<&'a [u8]>,
    /// False if the server distinguishes clients by hardware address only (Kea's
    /// `match-client-id`); it still stores the client identifier.
    pub match_client_id: bool,
    /// Numbers of the subnets in which hardware addresses alone identify clients although
    /// `match_client_id` is true: those of a shared network that has subnets of both kinds.
    pub hardware_only_subnets: &'a [u32],
}

impl Identity<'_> {
    fn counts_client_id_in(&self, subnet_id: u32) -> bool {
        let is_hardware_only = || self.hardware_only_subnets.contains(&subnet_id);
        self.match_client_id && (self.hardware_only_subnets.is_empty() || !is_hardware_only())
    }

    /// Returns true if a lease of the subnet `subnet_id`, stored under `hardware` and `client_id`,
    /// belongs to this client. When both sides have a client identifier and it counts in that
    /// subnet, the identifiers alone decide; otherwise the hardware address does (RFC 2131 §4.2,
    /// Kea reference §5.3).
    #[must_use]
    pub fn owns(
        &self,
        subnet_id: u32,
        hardware: &HardwareAddress,
        client_id: Option<&[u8]>,
    ) -> bool {
        match (self.client_id, client_id) {
            (Some(mine), Some(theirs)) if self.counts_client_id_in(subnet_id) => mine == theirs,
            _ => !self.hardware.is_empty() && self.hardware == *hardware,
        }
    }
}

/// Key by which an administrator looks up a client's leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKey<'a> {
    /// Bytes of the client's hardware address, of any type.
    Hardware(&'a [u8]),
    /// Client identifier (DHCPv4) or DUID (DHCPv6), in bytes.
    Identifier(&'a [u8]),
    /// DUID and IAID of a DHCPv6 identity association, of addresses or of prefixes.
    Association(&'a [u8], u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_identifiers_decide_when_both_sides_have_one() {
        let hardware = HardwareAddress::new(1, &[2, 0, 0, 0, 0, 1]);
        let other = HardwareAddress::new(1, &[2, 0, 0, 0, 0, 2]);
        let asking = Identity {
            hardware,
            client_id: Some(b"a"),
            match_client_id: true,
            hardware_only_subnets: &[7],
        };
        assert!(asking.owns(1, &other, Some(b"a")));
        assert!(!asking.owns(1, &hardware, Some(b"b")));
        assert!(asking.owns(1, &hardware, None));
        assert!(!asking.owns(7, &other, Some(b"a")));
        assert!(asking.owns(7, &hardware, Some(b"b")));
        let by_hardware = Identity { match_client_id: false, ..asking };
        assert!(by_hardware.owns(1, &hardware, Some(b"b")));
        assert!(!by_hardware.owns(1, &other, Some(b"a")));
    }

    #[test]
    fn long_client_identifiers_are_kept_whole() {
        for len in [0, 1, 22, 23, 255] {
            let octets: Vec<u8> = (0..len).map(|n| n as u8).collect();
            assert_eq!(ClientId::new(&octets).octets(), octets);
        }
    }
}
