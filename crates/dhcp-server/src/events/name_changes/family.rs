//! Differences between DHCPv4 and DHCPv6 leases for DNS updates.

use std::net::IpAddr;

use dhcp_lease::Family;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::{ResourceKind, V6};
use ncr::{Dhcid, UpdateName};

/// Family whose leases have names in DNS.
pub(crate) trait NameChangeFamily: Family {
    /// True if one exchange adds the name of one lease only. Kea adds the first address of a DHCPv6
    /// client, and no others.
    const ADDS_ONE: bool;

    /// Returns the address of a lease; `None` for a prefix, which has no name.
    fn named_address(address: Self::Address) -> Option<IpAddr>;

    /// Returns the identification of the client of a lease in DNS; `None` if the client has no
    /// usable identifier.
    fn dhcid(client: &Self::LeaseClient, name: &UpdateName) -> Option<Dhcid>;

    /// Returns true if both clients are the same one, by the identifiers of a DHCID.
    fn is_same_client(one: &Self::LeaseClient, other: &Self::LeaseClient) -> bool;
}

impl NameChangeFamily for V4 {
    const ADDS_ONE: bool = false;

    fn named_address(address: Self::Address) -> Option<IpAddr> {
        Some(address.into())
    }

    fn dhcid(client: &Self::LeaseClient, name: &UpdateName) -> Option<Dhcid> {
        match client.identifier() {
            Some(client_id) => Dhcid::from_client_id(client_id, name),
            None => Dhcid::from_hardware(client.hardware.htype(), client.hardware.octets(), name),
        }
    }

    fn is_same_client(one: &Self::LeaseClient, other: &Self::LeaseClient) -> bool {
        match (one.identifier(), other.identifier()) {
            (Some(one), Some(other)) => one == other,
            (None, None) => one.hardware == other.hardware,
            _ => false,
        }
    }
}

impl NameChangeFamily for V6 {
    const ADDS_ONE: bool = true;

    fn named_address(address: Self::Address) -> Option<IpAddr> {
        (address.kind == ResourceKind::Address).then_some(address.address.into())
    }

    fn dhcid(client: &Self::LeaseClient, name: &UpdateName) -> Option<Dhcid> {
        Dhcid::from_duid(client.duid.octets(), name)
    }

    fn is_same_client(one: &Self::LeaseClient, other: &Self::LeaseClient) -> bool {
        one.duid == other.duid
    }
}
