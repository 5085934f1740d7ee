//! Implementation of [`SimulatedProtocol`] for DHCPv6.

use std::net::{Ipv6Addr, SocketAddrV6};

use base::Random;
use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_lease::v6::{IaIdentity, Lease, LeaseTable, Resource, ResourceKind, V6};
use dhcp_wire::v6::{MessageType, Packet};

use super::client::{RELAY, SERVER_DUID, SimulatedClient6, granted};
use crate::settings::DhcpSimulationSettings;
use crate::simulated_protocol::{
    Acknowledgment, INTERFACE, LeaseOwner, ReplyReception, SimulatedProtocol, SimulationIncludes,
};

impl SimulatedProtocol for V6 {
    type Client = SimulatedClient6;

    const ANSWERS_ALL: bool = true;

    fn snapshot(settings: &DhcpSimulationSettings, pool_size: u32, table: &LeaseTable) -> Snapshot {
        let text = configuration(settings, pool_size);
        let checked = dhcp_config::parse_dhcp6("world.conf", &text, &mut SimulationIncludes)
            .expect("the world's own configuration is sound");
        Snapshot::compile(&checked.config, &SERVER_DUID, |specs, reserved| {
            table.configure(specs, reserved)
        })
    }

    fn new_client(
        settings: &DhcpSimulationSettings,
        index: usize,
        random: &mut Random,
    ) -> SimulatedClient6 {
        let is_direct = random.chance(settings.direct_permille, 1_000);
        SimulatedClient6::new(index, if is_direct { 0 } else { 1 + index % 2 })
    }

    fn ingress(client: &SimulatedClient6, _octets: &[u8], random: &mut Random) -> Ingress {
        let is_direct = Self::is_direct(client);
        let source = if is_direct {
            SocketAddrV6::new(client.link_local(), 546, 0, 0)
        } else {
            SocketAddrV6::new(RELAY, 547, 0, 0)
        };
        Ingress {
            source,
            local: Ipv6Addr::UNSPECIFIED,
            interface: INTERFACE,
            is_multicast: is_direct || random.chance(1, 2),
            listener_index: 0,
        }
    }

    fn is_direct(client: &SimulatedClient6) -> bool {
        client.relays == 0
    }

    fn reception(
        client: &SimulatedClient6,
        destination: SocketAddrV6,
        reply: &[u8],
    ) -> ReplyReception {
        let relays = Packet::parse(reply).map_or(0, |packet| packet.relay_count());
        let expected = if Self::is_direct(client) {
            SocketAddrV6::new(client.link_local(), 546, 0, INTERFACE)
        } else {
            SocketAddrV6::new(RELAY, 547, 0, 0)
        };
        let can_receive = destination == expected && relays == client.relays;
        if can_receive { ReplyReception::Received } else { ReplyReception::Unreachable }
    }

    fn on_timer(client: &mut SimulatedClient6, random: &mut Random, now_s: u64) -> Option<Vec<u8>> {
        client.on_timer(random, now_s)
    }

    fn claim(client: &mut SimulatedClient6, number: u32, until_s: u64) -> Vec<u8> {
        client.claim(number, until_s)
    }

    fn on_reply(
        client: &mut SimulatedClient6,
        random: &mut Random,
        reply: &[u8],
        now_s: u64,
    ) -> Option<Vec<u8>> {
        client.on_reply(random, &Packet::parse(reply).ok()?.message(), now_s)
    }

    fn recipient(reply: &[u8]) -> Option<usize> {
        SimulatedClient6::index_of(Packet::parse(reply).ok()?.message().client_id()?)
    }

    fn acknowledged(reply: &[u8]) -> Vec<Acknowledgment<Resource>> {
        let Ok(packet) = Packet::parse(reply) else { return Vec::new() };
        let message = packet.message();
        if message.message_type() != MessageType::Reply {
            return Vec::new();
        }
        let Some(client) = message.client_id().and_then(SimulatedClient6::index_of) else {
            return Vec::new();
        };
        granted(&message)
            .map(|(iaid, resource, lifetime_s)| {
                let owner = owner(client, resource.kind, iaid);
                Acknowledgment { owner, address: resource, lifetime_s }
            })
            .collect()
    }

    fn client_number(identity: &IaIdentity<'_>) -> usize {
        SimulatedClient6::index_of(identity.duid).expect("only clients of this world ask")
    }

    fn owner(lease: &Lease) -> Option<LeaseOwner> {
        let client = SimulatedClient6::index_of(lease.client.duid.octets())?;
        Some(owner(client, lease.address.kind, lease.client.iaid))
    }
}

fn owner(client: usize, kind: ResourceKind, iaid: u32) -> LeaseOwner {
    LeaseOwner { client, association: u64::from(iaid) << 8 | kind as u64 }
}

/// Returns the DHCPv6 server's configuration text for pools of `pool_size` addresses, and of at
/// least as many prefixes.
fn configuration(settings: &DhcpSimulationSettings, pool_size: u32) -> String {
    let last = 0x0f + pool_size;
    let prefix_len = 56 - pool_size.next_power_of_two().ilog2();
    format!(
        r#"{{ "Dhcp6": {{
            "interfaces-config": {{ "interfaces": [ "*" ] }},
            "decline-probation-period": 90,
            "valid-lifetime": {lifetime},
            "user-context": {{ "godwit": {{ "hold-time-ms": {hold} }} }},
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64", "interface": "eth0",
                "rapid-commit": {rapid},
                "pools": [ {{ "pool": "2001:db8:1::10 - 2001:db8:1::{last:x}" }} ],
                "pd-pools": [ {{ "prefix": "2001:db8:100::", "prefix-len": {prefix_len},
                                 "delegated-len": 56 }} ] }} ]
        }} }}"#,
        lifetime = settings.lifetime_s,
        hold = settings.hold_ms,
        rapid = settings.allows_rapid_commit,
    )
}
