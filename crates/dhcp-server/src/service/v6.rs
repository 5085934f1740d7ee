//! The DHCPv6 daemon.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use dhcp_config::{Checked, Dhcp6};
use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_lease::v6::{IaKind, Lease, LeaseTable, V6};
use dhcp_wire::v6::MessageType;
use netio::packet::Packet;
use netio::{Clock, Datagram, UdpSocket};

use super::{Common, Service};
use crate::ServerError;
use crate::doors::{Door, Doors, Listening};
use crate::frames::FrameCounters;
use crate::leases::data_folder;
use crate::reload::read_dhcp6;
use crate::server_id::server_duid;

/// Octets of a RELAY-FORW in front of the four words of `peer-address` (RFC 9915 §9), which tells
/// clients apart.
const PEER_ADDRESS: [u32; 4] = [18, 22, 26, 30];

impl Service for V6 {
    const NAME: &'static str = "dhcp6";
    const LEASE_FILE: &'static str = dhcp_config::v6::LEASE_FILE;
    type Config = Dhcp6;
    /// The server's DUID.
    type Constants = Vec<u8>;

    fn read(path: &Path) -> Result<Checked<Dhcp6>, ServerError> {
        read_dhcp6(path)
    }

    fn shared(config: &Dhcp6) -> Common<'_> {
        Common {
            listening: Listening::v6(&config.interfaces),
            godwit: &config.godwit,
            lease_database: &config.lease_database,
            lease_checks: config.lease_checks,
            data_directory: config.data_directory.as_deref(),
        }
    }

    fn constants(config: &Dhcp6) -> Result<Vec<u8>, ServerError> {
        let folder = data_folder(config.data_directory.as_deref());
        server_duid(&config.server_id, &folder, Clock::now().wall_s())
    }

    fn compile(config: &Dhcp6, duid: &Vec<u8>, table: &LeaseTable) -> Arc<Snapshot> {
        Arc::new(Snapshot::compile(config, duid, |specs, reserved| {
            table.configure(specs, reserved)
        }))
    }

    fn subnet_count(snapshot: &Snapshot) -> usize {
        snapshot.subnet_count()
    }

    fn subnet_ids<'l>(snapshot: &Snapshot, lease: &'l mut Lease) -> (&'l mut u32, Option<u32>) {
        let fitting = match lease.resource.kind {
            IaKind::Address => {
                let found = snapshot.subnet_by_prefix(lease.resource.address, |_| true);
                found.map(|at| snapshot.subnet(at).id)
            }
            // A delegated prefix need not lie in its subnet.
            IaKind::Prefix => Some(lease.subnet_id),
        };
        (&mut lease.subnet_id, fitting)
    }

    fn steer(socket: &UdpSocket, shards: u32) -> Result<(), std::io::Error> {
        let relayed = MessageType::RelayForw.code();
        netio::steer::by_payload_after(socket, relayed, &PEER_ADDRESS, shards)
    }

    fn ingress(datagram: &Datagram<'_>, door: &Door) -> Option<Ingress> {
        let SocketAddr::V6(source) = datagram.source else { return None };
        let local = match datagram.local {
            Some(IpAddr::V6(local)) => local,
            _ => Ipv6Addr::UNSPECIFIED,
        };
        let is_multicast = datagram.destination.is_some_and(|to| to.is_multicast());
        Some(Ingress { source, local, interface: datagram.interface, is_multicast, door: door.id })
    }

    fn open<'p>(
        _packet: &Packet<'p>,
        _doors: &Doors,
        _door: u16,
        _counters: &FrameCounters,
    ) -> Option<(&'p [u8], Ingress)> {
        // Every IPv6 station has an address, so no packet socket is opened.
        None
    }
}
