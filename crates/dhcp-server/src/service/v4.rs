//! DHCPv4 daemon: the parts of the server that differ from DHCPv6.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use dhcp_config::Dhcp4;
use dhcp_control::Selector;
use dhcp_engine::classify::Classes;
use dhcp_engine::v4::{Ingress, Snapshot};
use dhcp_lease::v4::{Lease, LeaseTable, V4};
use dhcp_store::sql::HostFamily;
use dhcp_wire::OptionParsing;
use dhcp_wire::v4::{HEADER_LEN, Message, MessageType, option};
use netio::InboundDatagram;
use netio::packet::ReceivedPacket;
use netio::steer::{ExchangeStartTest, SteeringKey};
use serde_json::Value;

use super::DaemonFamily;
use crate::ServerError;
use crate::frames::{self, FrameCounters};
use crate::listeners::{
    ListenerSet, ListenerSettings, ListenerSocketRole, ShardListener, Steering,
};

/// Offset of the last four bytes of an Ethernet `chaddr` in a DHCPv4 message, in bytes.
pub(crate) const CLIENT_OFFSET: u32 = 30;

/// Offset of `giaddr` in a DHCPv4 message, in bytes.
pub(crate) const RELAY_OFFSET: u32 = 24;

/// Offset of the first option's code in a DHCPv4 message, in bytes.
const FIRST_OPTION: u32 = HEADER_LEN as u32;

/// Test for DHCPDISCOVER in the option after the magic cookie, where clients put the message's type
/// (RFC 2131 §3 lets it be anywhere; BOOTP has none).
const BEGINNING: ExchangeStartTest = ExchangeStartTest::Octet {
    mark_at: FIRST_OPTION,
    mark: option::MESSAGE_TYPE,
    at: FIRST_OPTION + 2,
    value: MessageType::Discover.code(),
};

impl DaemonFamily for V4 {
    const NAME: &'static str = "dhcp4";
    const LEASE_FILE: &'static str = dhcp_config::v4::LEASE_FILE;
    const STEERING: Steering = (SteeringKey::Payload(CLIENT_OFFSET), BEGINNING);
    type Constants = ();

    fn client_classes(config: &Dhcp4) -> Classes {
        Classes::compile(&config.client_classes, [])
    }

    fn listening(config: &Dhcp4) -> ListenerSettings {
        ListenerSettings::v4(&config.interfaces)
    }

    fn constants(_config: &Dhcp4) -> Result<(), ServerError> {
        Ok(())
    }

    fn compile(config: &Dhcp4, _constants: &(), table: &LeaseTable) -> Arc<Snapshot> {
        Arc::new(Snapshot::compile(config, |specs, reserved| table.configure(specs, reserved)))
    }

    const HOST_FAMILY: HostFamily = HostFamily::V4;

    fn host_document(definitions: &Value, host: Value) -> Value {
        dhcp_config::host_document4(definitions, host)
    }

    fn addresses_at(address: IpAddr) -> Vec<Ipv4Addr> {
        match address {
            IpAddr::V4(address) => vec![address],
            IpAddr::V6(_) => Vec::new(),
        }
    }

    fn select(snapshot: &Snapshot, selector: &Selector) -> Option<u32> {
        let v4 = |address: Option<IpAddr>| match address {
            Some(IpAddr::V4(address)) if !address.is_unspecified() => Some(address),
            _ => None,
        };
        let classes = snapshot.classes.named(&selector.classes);
        let admits = |subnet| snapshot.admits(subnet, &classes);
        let of_address = |address| snapshot.subnet_by_prefix(address, admits);
        // The order is that of the engine for a message.
        let found = if let Some(link) = v4(selector.link).or_else(|| v4(selector.subnet)) {
            of_address(link)
        } else if let Some(relay) = v4(selector.relay) {
            snapshot.subnet_by_relay(relay, admits).or_else(|| of_address(relay))
        } else if let Some(address) = v4(selector.address).or_else(|| v4(selector.remote)) {
            of_address(address)
        } else {
            let of_interface = |name: &String| snapshot.subnet_by_interface(name, admits);
            let named = selector.interface.as_ref().and_then(of_interface);
            named.or_else(|| v4(selector.local).and_then(of_address))
        };
        found.map(|at| snapshot.subnet(at).id)
    }

    fn lease_at(table: &LeaseTable, ip: Ipv4Addr, _kind: ()) -> Option<Lease> {
        table.lease(ip)
    }

    fn last_at(ip: Ipv4Addr) -> Ipv4Addr {
        ip
    }

    const LOCAL_NAMES: &'static str = "dhcp4";

    fn host_address(address: Ipv4Addr) -> Option<IpAddr> {
        Some(address.into())
    }

    fn reserved_names(config: &Dhcp4) -> Vec<(IpAddr, &str)> {
        let in_subnets = config.subnets.iter().flat_map(|subnet| &subnet.reservations);
        let reservations = in_subnets.chain(&config.reservations);
        let named = reservations.filter(|reservation| !reservation.hostname.is_empty());
        named
            .filter_map(|reservation| {
                Some((reservation.reserved.address?.into(), &*reservation.hostname))
            })
            .collect()
    }

    fn counts_prefixes(_kind: ()) -> bool {
        false
    }

    fn fitting_subnet(snapshot: &Snapshot, lease: &Lease) -> Option<u32> {
        snapshot.subnet_by_prefix(lease.address, |_| true).map(|at| snapshot.subnet(at).id)
    }

    fn message_name(octets: &[u8]) -> Option<&'static str> {
        let message = Message::parse_as(octets, OptionParsing::Lenient).ok()?;
        message.message_type().map(MessageType::name)
    }

    fn ingress(
        datagram: &InboundDatagram<'_>,
        doors: &ListenerSet,
        door: &ShardListener,
        lane: ListenerSocketRole,
    ) -> Option<Ingress> {
        let SocketAddr::V4(source) = datagram.source else { return None };
        // A message for this server alone is sent to the address that it answers from.
        let is_broadcast = datagram.destination != datagram.local;
        let local = match datagram.local {
            // For a broadcast the kernel names another interface's address if this one has none.
            _ if is_broadcast && doors.address(datagram.interface).is_none() => None,
            Some(IpAddr::V4(local)) => Some(local),
            _ => None,
        };
        let local = local.unwrap_or(Ipv4Addr::UNSPECIFIED);
        if is_broadcast && !is_shared_by_filter(datagram.destination?) {
            // Every socket of the port has a copy.
            door.takes_copy(lane, source).then_some(())?;
        }
        let (interface, door) = (datagram.interface, door.id);
        Some(Ingress { source, local, interface, is_broadcast, listener_index: door, mac: None })
    }

    fn open<'p>(
        packet: &ReceivedPacket<'p>,
        doors: &ListenerSet,
        door: u16,
        counters: &FrameCounters,
    ) -> Option<(&'p [u8], Ingress)> {
        frames::open(packet, doors, door, counters)
    }
}

/// Returns true if the filters of the sockets give a message to `destination` to one socket only
/// ([`netio::filter::BroadcastShare`]).
const fn is_shared_by_filter(destination: IpAddr) -> bool {
    match destination {
        IpAddr::V4(address) => address.is_broadcast() || address.is_multicast(),
        IpAddr::V6(_) => false,
    }
}
