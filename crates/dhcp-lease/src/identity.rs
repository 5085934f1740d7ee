//! Who a client is: hardware address and client identifier, borrowed from a message or kept in a
//! slot without a heap allocation in the common case.

use core::fmt;

/// Longest hardware address that is kept (Kea's limit).
pub const HARDWARE_ADDRESS_MAX: usize = 20;
/// Longest client identifier that leases keep: as many octets as an option has.
pub const CLIENT_ID_MAX: usize = 255;
/// Longest DUID that leases keep, with its type (RFC 9915 §11.1).
pub const DUID_MAX: usize = 130;
/// Kea's DUID of nobody, which declined leases have. No client may come with it.
pub const NOBODYS_DUID: [u8; 3] = [0; 3];
/// Longest client identifier that is kept without a heap allocation.
pub const CLIENT_ID_INLINE_MAX: usize = 22;

/// A hardware address with its type (`htype`, `hlen`, `chaddr` of RFC 2131 §2).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HardwareAddress {
    htype: u8,
    len: u8,
    octets: [u8; HARDWARE_ADDRESS_MAX],
}

impl HardwareAddress {
    /// No hardware address.
    pub const NONE: Self = Self { htype: 0, len: 0, octets: [0; HARDWARE_ADDRESS_MAX] };

    /// A hardware address of type `htype`; octets beyond [`HARDWARE_ADDRESS_MAX`] are cut.
    #[must_use]
    pub fn new(htype: u8, octets: &[u8]) -> Self {
        let len = octets.len().min(HARDWARE_ADDRESS_MAX);
        let mut kept = [0; HARDWARE_ADDRESS_MAX];
        kept[..len].copy_from_slice(&octets[..len]);
        Self { htype, len: len as u8, octets: kept }
    }

    /// The first `len` of `octets`, of type `htype`; `None` when there are not as many or what follows
    /// is not zero.
    #[must_use]
    pub fn padded(htype: u8, len: u8, octets: [u8; HARDWARE_ADDRESS_MAX]) -> Option<Self> {
        let padding = octets.get(usize::from(len)..)?;
        padding.iter().all(|&octet| octet == 0).then_some(Self { htype, len, octets })
    }

    /// The hardware type (1 = Ethernet).
    #[must_use]
    pub const fn htype(&self) -> u8 {
        self.htype
    }

    /// The address itself; empty when the client has none.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }

    /// True when there are no octets.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.htype)?;
        write_colon_hex(f, self.octets())
    }
}

/// A client identifier (option 61, RFC 2132 §9.14) as a slot keeps it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ClientId {
    /// Up to [`CLIENT_ID_INLINE_MAX`] octets in place.
    Inline {
        /// Octets used.
        len: u8,
        /// The octets, zero after `len`.
        octets: [u8; CLIENT_ID_INLINE_MAX],
    },
    /// A longer one on the heap.
    Heap(Box<[u8]>),
}

impl ClientId {
    /// Keeps a copy of `octets`.
    #[must_use]
    pub fn new(octets: &[u8]) -> Self {
        if octets.len() <= CLIENT_ID_INLINE_MAX {
            let mut kept = [0; CLIENT_ID_INLINE_MAX];
            kept[..octets.len()].copy_from_slice(octets);
            Self::Inline { len: octets.len() as u8, octets: kept }
        } else {
            Self::Heap(octets.into())
        }
    }

    /// The octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        match self {
            Self::Inline { len, octets } => &octets[..usize::from(*len)],
            Self::Heap(octets) => octets,
        }
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_colon_hex(f, self.octets())
    }
}

/// The identities under which one message asks, borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// From the fixed header.
    pub hardware: HardwareAddress,
    /// Option 61, when sent.
    pub client_id: Option<&'a [u8]>,
    /// False: clients are told apart by hardware address only (Kea's `match-client-id`), though
    /// the client identifier is still stored.
    pub match_client_id: bool,
}

impl Identity<'_> {
    /// Whether a lease kept under `hardware` and `client_id` belongs to this client. With client
    /// identifiers on both sides these decide alone; else the hardware address does (RFC 2131
    /// §4.2, Kea reference §5.3).
    #[must_use]
    pub fn owns(&self, hardware: &HardwareAddress, client_id: Option<&[u8]>) -> bool {
        match (self.match_client_id, self.client_id, client_id) {
            (true, Some(mine), Some(theirs)) => mine == theirs,
            _ => !self.hardware.is_empty() && self.hardware == *hardware,
        }
    }
}

/// By what an administrator asks for a client's leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKey<'a> {
    /// The octets of its hardware address, of whatever type.
    Hardware(&'a [u8]),
    /// Its client identifier (v4) or its DUID (v6).
    Identifier(&'a [u8]),
    /// v6: its DUID and the IAID of an association, of addresses or of prefixes.
    Association(&'a [u8], u32),
}

fn write_colon_hex(f: &mut fmt::Formatter<'_>, octets: &[u8]) -> fmt::Result {
    for (index, octet) in octets.iter().enumerate() {
        if index > 0 {
            f.write_str(":")?;
        }
        write!(f, "{octet:02x}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_identifiers_decide_when_both_sides_have_one() {
        let hardware = HardwareAddress::new(1, &[2, 0, 0, 0, 0, 1]);
        let other = HardwareAddress::new(1, &[2, 0, 0, 0, 0, 2]);
        let asking = Identity { hardware, client_id: Some(b"a"), match_client_id: true };
        assert!(asking.owns(&other, Some(b"a")));
        assert!(!asking.owns(&hardware, Some(b"b")));
        assert!(asking.owns(&hardware, None));
        let by_hardware = Identity { match_client_id: false, ..asking };
        assert!(by_hardware.owns(&hardware, Some(b"b")));
        assert!(!by_hardware.owns(&other, Some(b"a")));
    }

    #[test]
    fn long_client_identifiers_are_kept_whole() {
        for len in [0, 1, 22, 23, 255] {
            let octets: Vec<u8> = (0..len).map(|n| n as u8).collect();
            assert_eq!(ClientId::new(&octets).octets(), octets);
        }
    }
}
