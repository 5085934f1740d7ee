//! The client's hardware address as far as a message tells it, for those who read leases.

use core::net::Ipv6Addr;

use dhcp_lease::HardwareAddress;
use dhcp_lease::v6::HardwareSource;
use dhcp_wire::v6::Packet;
use dhcp_wire::v6::duid::Duid;

use super::Ingress;

/// Hardware type of Ethernet.
const ETHERNET: u8 = 1;

/// In Kea's order: from a link-layer DUID, from a link-local address that was made from one (RFC
/// 4291 §2.5.1), from what the agent nearest to the client says (RFC 6939).
pub(super) fn of(
    packet: &Packet<'_>,
    ingress: Ingress,
    duid: &[u8],
) -> (HardwareAddress, HardwareSource) {
    if let Some((htype, octets)) = Duid::parse(duid).link_layer_address() {
        return (HardwareAddress::new(htype as u8, octets), HardwareSource::Duid);
    }
    let nearest = packet.relays().next_back();
    let client = nearest.as_ref().map_or_else(|| *ingress.source.ip(), |relay| relay.peer_address);
    if let Some(octets) = embedded(client) {
        return (HardwareAddress::new(ETHERNET, &octets), HardwareSource::LinkLocal);
    }
    match nearest.and_then(|relay| relay.client_link_layer_address()) {
        Some((htype, octets)) => {
            (HardwareAddress::new(htype as u8, octets), HardwareSource::ClientLinkAddress)
        }
        None => (HardwareAddress::NONE, HardwareSource::Unknown),
    }
}

/// The Ethernet address in an interface identifier of the modified EUI-64 format.
fn embedded(address: Ipv6Addr) -> Option<[u8; 6]> {
    let [.., a, b, c, 0xff, 0xfe, d, e, f] = address.octets() else { return None };
    address.is_unicast_link_local().then_some([a ^ 2, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ethernet_address_is_found_in_a_link_local_one() {
        let link_local = "fe80::5054:ff:fe12:3456".parse().unwrap();
        assert_eq!(embedded(link_local), Some([0x52, 0x54, 0, 0x12, 0x34, 0x56]));
        assert_eq!(embedded("fe80::1".parse().unwrap()), None);
        assert_eq!(embedded("2001:db8::5054:ff:fe12:3456".parse().unwrap()), None);
    }
}
