//! DHCPv6 identity associations and the addresses and prefixes leased in them (RFC 9915 §21.4 to
//! §21.6, §21.21, §21.22).

use base::address_bits::network_mask_v6;
use core::net::Ipv6Addr;

use base::ByteReader;

use super::{Dhcp6OptionIterator, option};

base::named! {
    /// Kind of a DHCPv6 identity association.
    pub enum IaKind {
        /// Identity association for addresses (option 3).
        Na = "IA_NA",
        /// Identity association for temporary addresses (option 4), which RFC 9915 made obsolete.
        Ta = "IA_TA",
        /// Identity association for delegated prefixes (option 25).
        Pd = "IA_PD",
    }
}

impl IaKind {
    /// Returns the option code of this kind of identity association.
    pub const fn code(self) -> u16 {
        match self {
            Self::Na => option::IA_NA,
            Self::Ta => option::IA_TA,
            Self::Pd => option::IA_PD,
        }
    }

    /// Returns the kind of identity association whose option has this code; `None` for other
    /// options.
    #[inline]
    pub const fn from_code(code: u16) -> Option<Self> {
        match code {
            option::IA_NA => Some(Self::Na),
            option::IA_TA => Some(Self::Ta),
            option::IA_PD => Some(Self::Pd),
            _ => None,
        }
    }
}

/// Identity association (IA) in a DHCPv6 message: IA_NA, IA_TA or IA_PD.
#[derive(Clone, Copy, Debug)]
pub struct Ia<'a> {
    /// Kind of the identity association.
    pub kind: IaKind,
    /// Number that the client gave the identity association (IAID), unique within its kind.
    pub iaid: u32,
    /// Time T1 after which the client sends RENEW, in seconds; 0 in an IA_TA, which has none.
    pub t1_s: u32,
    /// Time T2 after which the client sends REBIND, in seconds; 0 in an IA_TA, which has none.
    pub t2_s: u32,
    /// Options in the identity association, such as addresses and prefixes.
    pub options: Dhcp6OptionIterator<'a>,
}

impl<'a> Ia<'a> {
    /// Reads the value of an IA option; returns `None` when it is too short.
    #[inline]
    pub(super) fn read(kind: IaKind, value: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(value);
        let iaid = reader.u32()?;
        let (t1_s, t2_s) = if kind == IaKind::Ta { (0, 0) } else { (reader.u32()?, reader.u32()?) };
        Some(Self { kind, iaid, t1_s, t2_s, options: Dhcp6OptionIterator::new(reader.rest()) })
    }

    /// Returns the addresses (option 5, IA Address) in the identity association, in order.
    #[inline]
    pub fn addresses(&self) -> impl Iterator<Item = IaAddress<'a>> + Clone + use<'a> {
        let found = self.options.filter(|&(code, _)| code == option::IAADDR);
        found.filter_map(|(_, value)| IaAddress::read(value))
    }

    /// Returns the prefixes (option 26, IA Prefix) in the identity association, in order; as in
    /// Kea, a prefix of more than 128 bits counts as not sent.
    #[inline]
    pub fn prefixes(&self) -> impl Iterator<Item = IaPrefix<'a>> + Clone + use<'a> {
        let found = self.options.filter(|&(code, _)| code == option::IAPREFIX);
        found.filter_map(|(_, value)| IaPrefix::read(value))
    }

    /// Returns code and text of the identity association's Status Code (option 13); `None` means
    /// success.
    pub fn status(&self) -> Option<(u16, &'a [u8])> {
        self.options.status()
    }
}

/// Address in a DHCPv6 identity association (option 5, IA Address), with its lifetimes.
#[derive(Clone, Copy, Debug)]
pub struct IaAddress<'a> {
    /// Address that the server leases to the client.
    pub address: Ipv6Addr,
    /// Preferred lifetime of the address, in seconds; all ones is infinite.
    pub preferred_s: u32,
    /// Valid lifetime of the address, in seconds; all ones is infinite.
    pub valid_s: u32,
    /// Options in the IA Address option, such as a Status Code.
    pub options: Dhcp6OptionIterator<'a>,
}

impl<'a> IaAddress<'a> {
    #[inline]
    fn read(value: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(value);
        Some(Self {
            address: reader.array::<16>()?.into(),
            preferred_s: reader.u32()?,
            valid_s: reader.u32()?,
            options: Dhcp6OptionIterator::new(reader.rest()),
        })
    }

    /// Returns code and text of the address's Status Code (option 13); `None` means success.
    pub fn status(&self) -> Option<(u16, &'a [u8])> {
        self.options.status()
    }
}

/// Delegated prefix in an IA_PD (option 26, IA Prefix), with its lifetimes.
#[derive(Clone, Copy, Debug)]
pub struct IaPrefix<'a> {
    /// Delegated prefix as sent: bits after its length may be set.
    pub prefix: Ipv6Addr,
    /// Length of the delegated prefix in bits, at most 128.
    pub len: u8,
    /// Preferred lifetime of the prefix, in seconds; all ones is infinite.
    pub preferred_s: u32,
    /// Valid lifetime of the prefix, in seconds; all ones is infinite.
    pub valid_s: u32,
    /// Options in the IA Prefix option, such as a Status Code or a PD Exclude.
    pub options: Dhcp6OptionIterator<'a>,
}

impl<'a> IaPrefix<'a> {
    #[inline]
    fn read(value: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(value);
        let (preferred_s, valid_s, len) = (reader.u32()?, reader.u32()?, reader.u8()?);
        let prefix = reader.array::<16>()?.into();
        if len > 128 {
            return None;
        }
        Some(Self {
            prefix,
            len,
            preferred_s,
            valid_s,
            options: Dhcp6OptionIterator::new(reader.rest()),
        })
    }

    /// Returns code and text of the prefix's Status Code (option 13); `None` means success.
    pub fn status(&self) -> Option<(u16, &'a [u8])> {
        self.options.status()
    }

    /// Returns the prefix that is excluded from this one, with its length in bits (option 67, PD
    /// Exclude, RFC 6603 §4.2); `None` if there is no such option or if it is invalid.
    pub fn excluded(&self) -> Option<(Ipv6Addr, u8)> {
        let (&len, subnet) = self.options.get(option::PD_EXCLUDE)?.split_first()?;
        if len <= self.len || len > 128 || subnet.len() != excluded_octets(self.len, len) {
            return None;
        }
        let mut bits = [0; 16];
        bits[..subnet.len()].copy_from_slice(subnet);
        let subnet = u128::from_be_bytes(bits) >> self.len;
        let prefix = self.prefix.to_bits() & network_mask_v6(self.len) | subnet;
        Some((Ipv6Addr::from_bits(prefix & network_mask_v6(len)), len))
    }
}

/// Returns the number of bytes that PD Exclude (option 67) has for the bits between the lengths of
/// the delegated and the excluded prefix (RFC 6603 §4.2).
pub(super) const fn excluded_octets(delegated_len: u8, excluded_len: u8) -> usize {
    (excluded_len - delegated_len).div_ceil(8) as usize
}
