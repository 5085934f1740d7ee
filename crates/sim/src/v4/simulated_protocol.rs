//! Implementation of [`SimulatedProtocol`] for DHCPv4.

use std::net::{Ipv4Addr, SocketAddrV4};

use base::Random;
use dhcp_engine::v4::{Destination, Ingress, Snapshot};
use dhcp_lease::v4::{Lease, LeaseTable, V4};
use dhcp_wire::v4::{Message, MessageType};

use super::client::{RELAY, SERVER, SimulatedClient4, SimulatedClientLink};
use crate::settings::DhcpSimulationSettings;
use crate::simulated_protocol::{
    Acknowledgment, INTERFACE, LeaseOwner, ReplyReception, SimulatedProtocol, SimulationIncludes,
};

impl SimulatedProtocol for V4 {
    type Client = SimulatedClient4;

    const ANSWERS_ALL: bool = false;

    fn snapshot(settings: &DhcpSimulationSettings, pool_size: u32, table: &LeaseTable) -> Snapshot {
        let text = configuration(settings, pool_size);
        let checked = dhcp_config::parse_dhcp4("world.conf", &text, &mut SimulationIncludes)
            .expect("the world's own configuration is sound");
        Snapshot::compile(&checked.config, |specs, reserved| table.configure(specs, reserved))
    }

    fn new_client(
        settings: &DhcpSimulationSettings,
        index: usize,
        random: &mut Random,
    ) -> SimulatedClient4 {
        let is_direct = random.chance(settings.direct_permille, 1_000);
        let direct = SimulatedClientLink::Direct { wants_broadcast: random.chance(1, 3) };
        let link = if is_direct { direct } else { SimulatedClientLink::Relayed };
        SimulatedClient4::new(index, link, settings.has_client_ids && index.is_multiple_of(2))
    }

    /// Returns the ingress of a DHCPv4 message: from the relay, or, on the server's own link, from
    /// `ciaddr`, and as a broadcast if `ciaddr` is 0.0.0.0 or by chance.
    fn ingress(_client: &SimulatedClient4, octets: &[u8], random: &mut Random) -> Ingress {
        let message = Message::parse(octets).expect("clients send well-formed messages");
        if !message.giaddr().is_unspecified() {
            return Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER);
        }
        // A client that has an address sends by unicast, and in the end (REBINDING) to all servers.
        let client = message.ciaddr();
        let is_broadcast = client.is_unspecified() || random.chance(1, 4);
        Ingress {
            interface: INTERFACE,
            is_broadcast,
            ..Ingress::routed(SocketAddrV4::new(client, 68), SERVER)
        }
    }

    fn is_direct(client: &SimulatedClient4) -> bool {
        client.link != SimulatedClientLink::Relayed
    }

    fn reception(
        client: &SimulatedClient4,
        destination: Destination,
        reply: &[u8],
    ) -> ReplyReception {
        let leased = Message::parse(reply).map_or(Ipv4Addr::UNSPECIFIED, |reply| reply.yiaddr());
        let can_receive = match (destination, client.link) {
            (Destination::Relay(to), SimulatedClientLink::Relayed) => {
                to == SocketAddrV4::new(RELAY, 67)
            }
            (Destination::Client(to), SimulatedClientLink::Direct { .. }) => {
                let is_there = to.port() == 68 && client.address() == Some(*to.ip());
                return if is_there { ReplyReception::Received } else { ReplyReception::Missed };
            }
            (
                Destination::Hardware { mac, address },
                SimulatedClientLink::Direct { wants_broadcast },
            ) => {
                let is_for_client = mac == client.hardware() && *address.ip() == leased;
                is_for_client
                    && address.port() == 68
                    && !wants_broadcast
                    && !leased.is_unspecified()
            }
            (Destination::Broadcast, SimulatedClientLink::Direct { .. }) => true,
            _ => false,
        };
        if can_receive { ReplyReception::Received } else { ReplyReception::Unreachable }
    }

    fn on_timer(client: &mut SimulatedClient4, random: &mut Random, now_s: u64) -> Option<Vec<u8>> {
        client.on_timer(random, now_s)
    }

    fn claim(client: &mut SimulatedClient4, number: u32, until_s: u64) -> Vec<u8> {
        client.claim(Ipv4Addr::new(10, 0, 0, 10 + number as u8), until_s)
    }

    fn on_reply(
        client: &mut SimulatedClient4,
        random: &mut Random,
        reply: &[u8],
        now_s: u64,
    ) -> Option<Vec<u8>> {
        client.on_reply(random, &Message::parse(reply).ok()?, now_s)
    }

    fn recipient(reply: &[u8]) -> Option<usize> {
        Message::parse(reply).ok().map(|reply| SimulatedClient4::index_of(reply.chaddr()))
    }

    fn acknowledged(reply: &[u8]) -> Vec<Acknowledgment<Ipv4Addr>> {
        let Ok(reply) = Message::parse(reply) else { return Vec::new() };
        let ack = (reply.message_type() == Some(MessageType::Ack)).then(|| Acknowledgment {
            owner: LeaseOwner {
                client: SimulatedClient4::index_of(reply.chaddr()),
                association: 0,
            },
            address: reply.yiaddr(),
            lifetime_s: reply.lease_time().unwrap_or(0),
        });
        ack.into_iter().collect()
    }

    fn client_number(identity: &dhcp_lease::Identity<'_>) -> usize {
        SimulatedClient4::index_of(identity.hardware.octets())
    }

    fn owner(lease: &Lease) -> Option<LeaseOwner> {
        let client = SimulatedClient4::index_of(lease.client.hardware.octets().get(..6)?);
        Some(LeaseOwner { client, association: 0 })
    }
}

/// Returns the DHCPv4 server's configuration text for a pool of `pool_size` addresses.
fn configuration(settings: &DhcpSimulationSettings, pool_size: u32) -> String {
    let last = 9 + pool_size;
    format!(
        r#"{{ "Dhcp4": {{
                "interfaces-config": {{ "interfaces": [ "*" ], "dhcp-socket-type": "udp" }},
                "authoritative": {authoritative},
                "decline-probation-period": 90,
                "valid-lifetime": {lifetime},
                "user-context": {{ "godwit": {{ "hold-time-ms": {hold} }} }},
                "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/24", "interface": "eth0",
                                "pools": [ {{ "pool": "10.0.0.10 - 10.0.0.{last}" }} ] }} ]
            }} }}"#,
        authoritative = settings.is_authoritative,
        lifetime = settings.lifetime_s,
        hold = settings.hold_ms,
    )
}
