//! Hardware address of a DHCPv6 client, as far as its message reveals it: for hosts that are
//! identified by it, and for readers of leases. Kea's manual, "MAC/Hardware Addresses in DHCPv6".

use core::net::Ipv6Addr;

use dhcp_config::MacSource;
use dhcp_lease::HardwareAddress;
use dhcp_lease::v6::HardwareSource;
use dhcp_wire::v6::duid::Duid;
use dhcp_wire::v6::{Dhcp6OptionIterator, Packet, option};

use super::Ingress;

/// Hardware type of Ethernet, whose addresses have six bytes.
const ETHERNET: u8 = 1;
/// Enterprise number of CableLabs, whose sub-options contain hardware addresses of cable modems.
const CABLE_LABS: u32 = 4491;
/// Code of CableLabs' sub-option (of the DHCPv6 option 17) in which a cable modem sends its own
/// hardware address.
const DEVICE_ID: u16 = 36;
/// Code of CableLabs' sub-option (of the DHCPv6 option 17) in which the cable modem termination
/// system (CMTS) sends the hardware address of the modem.
const MODEM_ADDRESS: u16 = 1026;

/// Returns the client's hardware address from the first of `sources` (Kea's `mac-sources`) that has
/// one. The source `raw` never has one, since the server does not see the Ethernet frame; nor has
/// `subscriber-id`, as in Kea.
pub(super) fn find_address(
    sources: &[MacSource],
    packet: &Packet<'_>,
    ingress: Ingress,
    duid: &[u8],
) -> (HardwareAddress, HardwareSource) {
    let address_and_source = sources.iter().find_map(|&source| from(source, packet, ingress, duid));
    address_and_source.unwrap_or((HardwareAddress::NONE, HardwareSource::Unknown))
}

fn from(
    source: MacSource,
    packet: &Packet<'_>,
    ingress: Ingress,
    duid: &[u8],
) -> Option<(HardwareAddress, HardwareSource)> {
    let nearest = packet.relays().next_back();
    let address = |htype: u16, octets: &[u8], source| {
        let is_one = !octets.is_empty();
        is_one.then(|| (HardwareAddress::new(htype as u8, octets), source))
    };
    match source {
        MacSource::Raw | MacSource::SubscriberId => None,
        MacSource::Duid => {
            let (htype, octets) = Duid::parse(duid).link_layer_address()?;
            address(htype, octets, HardwareSource::Duid)
        }
        MacSource::Ipv6LinkLocal => {
            let client = nearest.map_or_else(|| *ingress.source.ip(), |relay| relay.peer_address);
            Some((HardwareAddress::new(ETHERNET, &embedded(client)?), HardwareSource::LinkLocal))
        }
        MacSource::ClientLinkAddress => {
            let (htype, octets) = nearest?.client_link_layer_address()?;
            address(htype, octets, HardwareSource::ClientLinkAddress)
        }
        MacSource::RemoteId => {
            let (_, octets) = nearest?.remote_id()?;
            address(ETHERNET.into(), octets, HardwareSource::RemoteId)
        }
        MacSource::DocsisCmts => {
            let mut levels = packet.relays().rev();
            let octets = levels.find_map(|relay| cable_labs(relay.options, MODEM_ADDRESS))?;
            address(ETHERNET.into(), octets, HardwareSource::DocsisCmts)
        }
        MacSource::DocsisModem => {
            let octets = cable_labs(packet.message().options(), DEVICE_ID)?;
            address(ETHERNET.into(), octets, HardwareSource::DocsisModem)
        }
    }
}

/// Returns the value of CableLabs' first sub-option with this code that is not empty, in the vendor
/// option 17 (RFC 9915 §21.17).
fn cable_labs(options: Dhcp6OptionIterator<'_>, code: u16) -> Option<&[u8]> {
    let values = options.all(option::VENDOR_OPTS).filter_map(|value| value.split_first_chunk());
    values
        .filter(|(enterprise, _)| u32::from_be_bytes(**enterprise) == CABLE_LABS)
        .filter_map(|(_, inside)| Dhcp6OptionIterator::new(inside).get(code))
        .find(|octets| !octets.is_empty())
}

/// Returns the Ethernet address in an interface identifier of the modified EUI-64 format (RFC 4291
/// §2.5.1), when its bits mark the address as that of a single station and unique worldwide, as Kea
/// requires.
fn embedded(address: Ipv6Addr) -> Option<[u8; 6]> {
    let [.., a, b, c, 0xff, 0xfe, d, e, f] = address.octets() else { return None };
    let is_universal = a & 3 == 2;
    (address.is_unicast_link_local() && is_universal).then_some([a ^ 2, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use core::net::SocketAddrV6;

    use dhcp_wire::v6::{MessageType, RelayWriter};

    use super::*;

    #[test]
    fn an_ethernet_address_is_found_in_a_link_local_one() {
        let link_local = "fe80::5254:ff:fe12:3456".parse().unwrap();
        assert_eq!(embedded(link_local), Some([0x50, 0x54, 0, 0x12, 0x34, 0x56]));
        for local_or_group in ["fe80::5054:ff:fe12:3456", "fe80::5354:ff:fe12:3456"] {
            assert_eq!(embedded(local_or_group.parse().unwrap()), None);
        }
        assert_eq!(embedded("fe80::1".parse().unwrap()), None);
        assert_eq!(embedded("2001:db8::5254:ff:fe12:3456".parse().unwrap()), None);
    }

    /// Writes a message through two relay agents that has an address in every source.
    fn packet(buffer: &mut [u8]) -> usize {
        let peer = "fe80::200:ff:fe00:2".parse().unwrap();
        let cable = [&[0, 0, 0x11, 0x8b, 4, 2, 0, 2][..], &[6, 6]].concat();
        let mut writer = RelayWriter::forward(buffer)
            .level(1, Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST)
            .option(option::VENDOR_OPTS, &cable)
            .option(option::CLIENT_LINKLAYER_ADDR, &[0, 1, 9, 9])
            .level(0, Ipv6Addr::UNSPECIFIED, peer)
            .option(option::CLIENT_LINKLAYER_ADDR, &[0, 6, 3, 3])
            .option(option::REMOTE_ID, &[0, 0, 0, 9, 4, 4])
            .option(option::SUBSCRIBER_ID, &[5, 5])
            .message(MessageType::Solicit, 1);
        let modem = [&[0, 0, 0x11, 0x8b, 0, 36, 0, 2][..], &[7, 7]].concat();
        let other = [&[0, 0, 0x11, 0x8c, 0, 36, 0, 2][..], &[8, 8]].concat();
        writer.option(option::VENDOR_OPTS, &other).option(option::VENDOR_OPTS, &modem);
        writer.finish().unwrap()
    }

    #[test]
    fn the_first_source_that_has_an_address_gives_it() {
        let mut buffer = [0; 400];
        let len = packet(&mut buffer);
        let packet = Packet::parse(&buffer[..len]).unwrap();
        let ingress = Ingress {
            source: SocketAddrV6::new(Ipv6Addr::LOCALHOST, 547, 0, 0),
            local: Ipv6Addr::UNSPECIFIED,
            interface: 0,
            is_multicast: true,
            listener_index: 0,
        };
        let duid = [0, 3, 0, 1, 1, 1];
        use MacSource::*;
        for (sources, octets, source) in [
            (&[Raw, SubscriberId, Duid, RemoteId][..], &[1, 1][..], HardwareSource::Duid),
            (&[Ipv6LinkLocal], &[0, 0, 0, 0, 0, 2], HardwareSource::LinkLocal),
            (&[ClientLinkAddress, Duid], &[3, 3], HardwareSource::ClientLinkAddress),
            (&[RemoteId], &[4, 4], HardwareSource::RemoteId),
            (&[DocsisCmts], &[6, 6], HardwareSource::DocsisCmts),
            (&[DocsisModem], &[7, 7], HardwareSource::DocsisModem),
            (&[Raw, SubscriberId], &[], HardwareSource::Unknown),
            (&[], &[], HardwareSource::Unknown),
        ] {
            let address_and_source = find_address(sources, &packet, ingress, &duid);
            assert_eq!(
                (address_and_source.0.octets(), address_and_source.1),
                (octets, source),
                "{sources:?}"
            );
        }
    }
}
