//! Reservations of DHCPv6 hosts: addresses and prefixes.

use core::net::Ipv6Addr;

use dhcp_config::Reserved6;
use dhcp_lease::v6::{Resource, V6};

use crate::hosts::ReservationProtocol;

/// Address or prefix that is reserved for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedResource {
    /// Reserved address or prefix itself.
    pub resource: Resource,
    /// Prefix that the client must not use within its reserved prefix (RFC 6603,
    /// `excluded-prefixes`): address and length in bits.
    pub excluded: Option<(Ipv6Addr, u8)>,
}

impl ReservationProtocol for V6 {
    type Reserved = ReservedResource;
    type Configured = Reserved6;
    type Place = Ipv6Addr;
    type Code = u16;
    type Own = ();

    const NOTHING: ReservedResource =
        ReservedResource { resource: Resource::address(Ipv6Addr::UNSPECIFIED), excluded: None };

    fn own(_: &Reserved6) {}

    fn reserved(configured: &Reserved6) -> impl Iterator<Item = ReservedResource> {
        let addresses = configured.addresses.iter().map(|&address| ReservedResource {
            resource: Resource::address(address),
            excluded: None,
        });
        let prefixes = configured.prefixes.iter().map(|reserved| {
            let (prefix, len) = reserved.prefix;
            let resource = Resource::prefix(prefix, len);
            ReservedResource { resource, excluded: reserved.excluded }
        });
        addresses.chain(prefixes)
    }

    fn address(reserved: ReservedResource) -> Resource {
        reserved.resource
    }

    fn address_key(resource: Resource) -> Ipv6Addr {
        resource.address
    }
}
