//! DHCPv6 daemon: the parts of the server that differ from DHCPv4.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dhcp_config::{CheckedConfig, ConfigProblem, Dhcp6, GlobalSettings, Subnet6};
use dhcp_control::{Selector, SubnetFacts};
use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_lease::v6::{Lease, LeaseTable, Resource, ResourceKind, V6};
use dhcp_store::sql::HostFamily;
use dhcp_wire::v6::{MessageType, option};
use netio::packet::ReceivedPacket;
use netio::steer::{ExchangeStartTest, SteeringKey};
use netio::{Clock, InboundDatagram};

use super::{DaemonFamily, HostOf, SubnetSummary};
use crate::ServerError;
use crate::frames::FrameCounters;
use crate::listeners::{
    ListenerSet, ListenerSettings, ListenerSocketRole, ShardListener, Steering,
};
use crate::policy;
use crate::reload::{ConfigurationReadOptions, parse_dhcp6, read_dhcp6};
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
    type Config = Dhcp6;
    /// DUID of the DHCPv6 server.
    type Constants = Vec<u8>;

    fn read(
        path: &Path,
        terms: ConfigurationReadOptions,
    ) -> Result<CheckedConfig<Dhcp6>, ServerError> {
        read_dhcp6(path, terms)
    }

    fn parse_text(
        name: &str,
        text: &str,
        configuration: &Path,
        terms: ConfigurationReadOptions,
    ) -> Result<CheckedConfig<Dhcp6>, Vec<ConfigProblem>> {
        parse_dhcp6(name, text, configuration, terms)
    }

    fn global(config: &Dhcp6) -> &GlobalSettings {
        &config.global
    }

    fn listening(config: &Dhcp6) -> ListenerSettings {
        ListenerSettings::v6(&config.interfaces)
    }

    fn data_folder(config: &Dhcp6) -> PathBuf {
        config.data_directory.as_ref().map_or_else(|| policy::DATA.path(), PathBuf::from)
    }

    fn constants(config: &Dhcp6) -> Result<Vec<u8>, ServerError> {
        server_duid(&config.server_id, &Self::data_folder(config), Clock::now().wall_s())
    }

    fn compile(config: &Dhcp6, duid: &Vec<u8>, table: &LeaseTable) -> Arc<Snapshot> {
        Arc::new(Snapshot::compile(config, duid, |specs, reserved| {
            table.configure(specs, reserved)
        }))
    }

    fn follow(snapshot: &Snapshot, previous: &Snapshot) {
        snapshot.follow(previous);
    }

    const HOST_FAMILY: HostFamily = HostFamily::V6;

    fn read_host(
        definitions: &str,
        host: &str,
    ) -> Result<(HostOf<Self>, Vec<ConfigProblem>), Vec<ConfigProblem>> {
        dhcp_config::parse_host6(definitions, host)
    }

    fn hosts(config: &mut Dhcp6, subnet_id: u32) -> Option<&mut Vec<HostOf<Self>>> {
        if subnet_id == 0 {
            return Some(&mut config.reservations);
        }
        let subnet = config.subnets.iter_mut().find(|subnet| subnet.id == subnet_id)?;
        Some(&mut subnet.reservations)
    }

    fn outlines(config: &Dhcp6) -> Vec<SubnetSummary> {
        let outline = |subnet: &Subnet6| SubnetSummary {
            facts: SubnetFacts {
                id: subnet.id,
                prefix: subnet.prefix.0.into(),
                length: subnet.prefix.1,
                valid_lifetime_s: subnet.valid_lifetime.default_s,
            },
            network: subnet.network.map(|at| config.networks[at].name.clone()),
            pools: subnet
                .pools
                .iter()
                .map(|pool| {
                    let distance = pool.last.to_bits() - pool.first.to_bits();
                    (pool.pool_id, distance.saturating_add(1))
                })
                .collect(),
            prefix_pools: subnet
                .pd_pools
                .iter()
                .map(|pool| {
                    let bits = u32::from(pool.delegated_len - pool.prefix.1);
                    (pool.pool_id, 1_u128.checked_shl(bits).unwrap_or(u128::MAX))
                })
                .collect(),
        };
        config.subnets.iter().map(outline).collect()
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
