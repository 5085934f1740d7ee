//! DHCPv6 daemon: the parts of the server that differ from DHCPv4.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use dhcp_config::{Dhcp6, Subnet6};
use dhcp_control::Selector;
use dhcp_engine::classify::Classes;
use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_lease::v6::{Lease, LeaseTable, Resource, ResourceKind, V6};
use dhcp_store::sql::HostFamily;
use dhcp_wire::OptionParsing;
use dhcp_wire::v6::{MessageType, Packet, option};
use netio::packet::ReceivedPacket;
use netio::steer::{ExchangeStartTest, SteeringKey};
use netio::{Clock, InboundDatagram};
use serde_json::Value;

use super::DaemonFamily;
use crate::ServerError;
use crate::events::DelegatedPrefix;
use crate::frames::FrameCounters;
use crate::listeners::{
    ListenerSet, ListenerSettings, ListenerSocketRole, ShardListener, Steering,
};
use crate::policy;
use crate::server_id::server_duid;

/// Offsets in bytes of the four 32-bit words of `peer-address` in a RELAY-FORW (RFC 9915 §9); the
/// address distinguishes clients.
const PEER_ADDRESS: [u32; 4] = [18, 22, 26, 30];

/// Key that spreads DHCPv6 messages over sockets by the `peer-address` of a RELAY-FORW.
const KEY: SteeringKey<'static> =
    SteeringKey::After { first: MessageType::RelayForw.code(), words: &PEER_ADDRESS };

/// Test for a DHCPv6 SOLICIT, also inside a message of a relay agent.
const BEGINNING: ExchangeStartTest = ExchangeStartTest::Wrapped {
    wrapper: MessageType::RelayForw.code(),
    head_bytes: PEER_ADDRESS[3] + 4,
    option: option::RELAY_MSG,
    value: MessageType::Solicit.code(),
};

impl DaemonFamily for V6 {
    const NAME: &'static str = "dhcp6";
    const LEASE_FILE: &'static str = dhcp_config::v6::LEASE_FILE;
    const STEERING: Steering = (KEY, BEGINNING);
    /// DUID of the DHCPv6 server.
    type Constants = Vec<u8>;

    fn client_classes(config: &Dhcp6) -> Classes {
        Classes::compile(&config.client_classes, [])
    }

    fn listening(config: &Dhcp6) -> ListenerSettings {
        ListenerSettings::v6(&config.interfaces)
    }

    fn data_folder(config: &Dhcp6) -> PathBuf {
        config.own.data_directory.as_ref().map_or_else(|| policy::DATA.path(), PathBuf::from)
    }

    fn constants(config: &Dhcp6) -> Result<Vec<u8>, ServerError> {
        server_duid(&config.own.server_id, &Self::data_folder(config), Clock::now().wall_s())
    }

    fn compile(config: &Dhcp6, duid: &Vec<u8>, table: &LeaseTable) -> Arc<Snapshot> {
        Arc::new(Snapshot::compile(config, duid, |specs, reserved| {
            table.configure(specs, reserved)
        }))
    }

    fn follow(snapshot: &Snapshot, previous: &Snapshot) {
        snapshot.preference.follow(&previous.preference);
        snapshot.own.prefix_preference.follow(&previous.own.prefix_preference);
    }

    const HOST_FAMILY: HostFamily = HostFamily::V6;

    fn host_document(definitions: &Value, host: Value) -> Value {
        dhcp_config::host_document6(definitions, host)
    }

    fn addresses_at(address: IpAddr) -> Vec<Resource> {
        let IpAddr::V6(address) = address else { return Vec::new() };
        // A shorter prefix begins at a lower address.
        let shortest = 128 - address.to_bits().trailing_zeros() as u8;
        let prefixes = (shortest.max(1)..=128).map(|len| Resource::prefix(address, len));
        core::iter::once(Resource::address(address)).chain(prefixes).collect()
    }

    fn prefix_pools(subnet: &Subnet6) -> Vec<(u32, u128)> {
        let pools = subnet.own.pd_pools.iter();
        pools
            .map(|pool| {
                let bits = u32::from(pool.delegated_len - pool.prefix.1);
                (pool.pool_id, 1_u128.checked_shl(bits).unwrap_or(u128::MAX))
            })
            .collect()
    }

    fn select(snapshot: &Snapshot, selector: &Selector) -> Option<u32> {
        let v6 = |address: Option<IpAddr>| match address {
            Some(IpAddr::V6(address)) if !address.is_unspecified() => Some(address),
            _ => None,
        };
        let classes = snapshot.classes.named(&selector.classes);
        let admits = |subnet| snapshot.admits(subnet, &classes);
        let by_prefix = |address| snapshot.subnet_by_prefix(address, admits);
        // The order is that of the engine for a message.
        let by_id = selector
            .interface_id
            .as_ref()
            .and_then(|id| snapshot.subnet_by_interface_id(id, admits));
        let found = by_id.or_else(|| match v6(selector.link) {
            Some(link) => snapshot.subnet_by_relay(link, admits).or_else(|| by_prefix(link)),
            None => {
                let by_interface = |name: &String| snapshot.subnet_by_interface(name, admits);
                let named = selector.interface.as_ref().and_then(by_interface);
                named.or_else(|| v6(selector.remote).and_then(by_prefix))
            }
        });
        found.map(|at| snapshot.subnet(at).id)
    }

    fn lease_at(table: &LeaseTable, ip: Ipv6Addr, kind: ResourceKind) -> Option<Lease> {
        let at = |len| table.lease(Resource { kind, len, address: ip });
        match kind {
            ResourceKind::Address => at(128),
            ResourceKind::Prefix => (0..=128).find_map(at),
        }
    }

    fn last_at(ip: Ipv6Addr) -> Resource {
        Resource { kind: ResourceKind::Prefix, len: 128, address: ip }
    }

    const LOCAL_NAMES: &'static str = "dhcp6";

    fn host_address(address: Resource) -> Option<IpAddr> {
        (address.kind == ResourceKind::Address).then_some(address.address.into())
    }

    fn reserved_names(config: &Dhcp6) -> Vec<(IpAddr, &str)> {
        let in_subnets = config.subnets.iter().flat_map(|subnet| &subnet.reservations);
        let reservations = in_subnets.chain(&config.reservations);
        let named = reservations.filter(|reservation| !reservation.hostname.is_empty());
        named
            .flat_map(|reservation| {
                let addresses = reservation.reserved.addresses.iter();
                addresses.map(|address| (IpAddr::V6(*address), &*reservation.hostname))
            })
            .collect()
    }

    fn delegated_prefix(address: Resource) -> Option<DelegatedPrefix> {
        let Resource { kind, len, address } = address;
        (kind == ResourceKind::Prefix).then_some(DelegatedPrefix { address, len })
    }

    fn counts_prefixes(kind: ResourceKind) -> bool {
        kind == ResourceKind::Prefix
    }

    fn fitting_subnet(snapshot: &Snapshot, lease: &Lease) -> Option<u32> {
        match lease.address.kind {
            ResourceKind::Address => {
                let found = snapshot.subnet_by_prefix(lease.address.address, |_| true);
                found.map(|at| snapshot.subnet(at).id)
            }
            // A delegated prefix need not be in its subnet.
            ResourceKind::Prefix => Some(lease.subnet_id),
        }
    }

    fn message_name(octets: &[u8]) -> Option<&'static str> {
        let packet = Packet::parse_as(octets, OptionParsing::Lenient).ok()?;
        Some(packet.message().message_type().name())
    }

    fn ingress(
        datagram: &InboundDatagram<'_>,
        _doors: &ListenerSet,
        door: &ShardListener,
        _lane: ListenerSocketRole,
    ) -> Option<Ingress> {
        let SocketAddr::V6(source) = datagram.source else { return None };
        let local = match datagram.local {
            Some(IpAddr::V6(local)) => local,
            _ => Ipv6Addr::UNSPECIFIED,
        };
        let is_multicast = datagram.destination.is_some_and(|to| to.is_multicast());
        Some(Ingress {
            source,
            local,
            interface: datagram.interface,
            is_multicast,
            listener_index: door.id,
        })
    }

    fn open<'p>(
        _packet: &ReceivedPacket<'p>,
        _doors: &ListenerSet,
        _door: u16,
        _counters: &FrameCounters,
    ) -> Option<(&'p [u8], Ingress)> {
        // Every IPv6 station has an address, so no packet socket is opened.
        None
    }
}
