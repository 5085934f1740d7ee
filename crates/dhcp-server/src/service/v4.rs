//! The DHCPv4 daemon.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use dhcp_config::{Checked, Dhcp4};
use dhcp_engine::v4::{Ingress, Snapshot};
use dhcp_lease::v4::{Lease, LeaseTable, V4};
use netio::packet::Packet;
use netio::{Datagram, UdpSocket};

use super::{Common, Service};
use crate::ServerError;
use crate::doors::{Door, Doors, Listening};
use crate::frames::{self, FrameCounters};
use crate::reload::read_dhcp4;

/// Octets of a DHCPv4 message in front of the last four of an Ethernet `chaddr`.
pub(crate) const CLIENT_OFFSET: u32 = 30;

impl Service for V4 {
    const NAME: &'static str = "dhcp4";
    const LEASE_FILE: &'static str = dhcp_config::v4::LEASE_FILE;
    type Config = Dhcp4;
    type Constants = ();

    fn read(path: &Path) -> Result<Checked<Dhcp4>, ServerError> {
        read_dhcp4(path)
    }

    fn shared(config: &Dhcp4) -> Common<'_> {
        Common {
            listening: Listening::v4(&config.interfaces),
            godwit: &config.godwit,
            lease_database: &config.lease_database,
            lease_checks: config.lease_checks,
            loggers: &config.loggers,
            control_sockets: &config.control_sockets,
            data_directory: None,
        }
    }

    fn constants(_config: &Dhcp4) -> Result<(), ServerError> {
        Ok(())
    }

    fn compile(config: &Dhcp4, _constants: &(), table: &LeaseTable) -> Arc<Snapshot> {
        Arc::new(Snapshot::compile(config, |specs, reserved| table.configure(specs, reserved)))
    }

    fn subnet_count(snapshot: &Snapshot) -> usize {
        snapshot.subnet_count()
    }

    fn subnet_ids<'l>(snapshot: &Snapshot, lease: &'l mut Lease) -> (&'l mut u32, Option<u32>) {
        let fitting = snapshot.subnet_by_prefix(lease.address).map(|at| snapshot.subnet(at).id);
        (&mut lease.subnet_id, fitting)
    }

    fn steer(socket: &UdpSocket, shards: u32) -> Result<(), std::io::Error> {
        netio::steer::by_payload(socket, CLIENT_OFFSET, shards)
    }

    fn ingress(datagram: &Datagram<'_>, door: &Door) -> Option<Ingress> {
        let SocketAddr::V4(source) = datagram.source else { return None };
        let local = match datagram.local {
            Some(IpAddr::V4(local)) => local,
            _ => Ipv4Addr::UNSPECIFIED,
        };
        // What is for us alone is sent to the address that we answer from.
        let is_broadcast = datagram.destination != datagram.local;
        Some(Ingress { source, local, interface: datagram.interface, is_broadcast, door: door.id })
    }

    fn open<'p>(
        packet: &Packet<'p>,
        doors: &Doors,
        door: u16,
        counters: &FrameCounters,
    ) -> Option<(&'p [u8], Ingress)> {
        frames::open(packet, doors, door, counters)
    }
}
