//! Who sent a message: its classes, its subnet, the hosts that it is and its names, before anything
//! is leased (Kea reference §2.2).

use dhcp_config::{IdentifierKind, ReservationModes};
use dhcp_lease::v6::HardwareSource;
use dhcp_lease::{HardwareAddress, PoolIndex};
use dhcp_wire::v6::Packet;

use super::{DropReason, Ingress, Snapshot, hardware, select};
use crate::InterfaceNames;
use crate::classify::{ClassIndex, ClassSet, Classes, PacketView6, Workspace};
use crate::hosts::{self, ClientHosts, HostIndex, HostSubnet, Identifiers};
use crate::prefixes::SubnetIndex;

/// Octets of a DUID at most (RFC 9915 §11.1).
const DUID_MAX: usize = 130;

/// What is found out about a client and need not be kept: one for each shard, reused.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) classes: ClassSet,
    pub(super) evaluation: Workspace,
    flex_evaluation: Workspace,
    flex_id: Vec<u8>,
    duid: Vec<u8>,
    hosts: ClientHosts,
    pub(super) pools: Vec<PoolIndex>,
    pub(super) name: String,
    pub(super) context: String,
}

/// The buffers that a transaction goes on writing into.
#[derive(Debug)]
pub(super) struct Buffers<'m> {
    pub(super) classes: &'m mut ClassSet,
    pub(super) evaluation: &'m mut Workspace,
    pub(super) pools: &'m mut Vec<PoolIndex>,
    pub(super) name: &'m mut String,
    pub(super) context: &'m mut String,
}

/// A message and how it came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'m> {
    pub(super) packet: &'m Packet<'m>,
    pub(super) ingress: Ingress,
    pub(super) interfaces: &'m InterfaceNames,
}

impl Arrival<'_> {
    /// What expressions see of it.
    pub(super) const fn view(&self) -> PacketView6<'_> {
        PacketView6 {
            packet: self.packet,
            ingress: &self.ingress,
            interfaces: self.interfaces,
        }
    }
}

/// The client.
#[derive(Debug)]
pub(super) struct Client<'m> {
    /// What its leases are kept under: its DUID, or what takes its place. Empty in an
    /// INFORMATION-REQUEST that names no client.
    pub(super) duid: &'m [u8],
    pub(super) hardware: (HardwareAddress, HardwareSource),
    pub(super) identifiers: Identifiers<'m>,
    pub(super) subnet: Option<SubnetIndex>,
    pub(super) hosts: &'m ClientHosts,
    /// In the class REJECT.
    pub(super) is_rejected: bool,
}

impl<'m> Client<'m> {
    /// Finds out who sent a message.
    ///
    /// # Errors
    ///
    /// Why it is dropped.
    pub(super) fn recognize(
        snapshot: &Snapshot,
        arrival: Arrival<'m>,
        scratch: &'m mut Scratch,
    ) -> Result<(Self, Buffers<'m>), DropReason> {
        let Scratch { classes, evaluation, flex_evaluation, flex_id, duid, hosts, .. } = scratch;
        let told = arrival.packet.message().client_id().unwrap_or_default();
        let view = arrival.view();
        snapshot.classes.evaluate_early(&view, classes, evaluation);
        refuse_dropped(classes)?;
        flex_id.clear();
        if let Some(program) = &snapshot.flex_id.program {
            program.evaluate(&view, classes, flex_evaluation, flex_id);
        }
        let duid = lease_duid(snapshot, told, flex_id, duid)?;
        let hardware = hardware::of(&snapshot.mac_sources, arrival.packet, arrival.ingress, duid);
        let mut client = Recognition {
            snapshot,
            arrival,
            identifiers: Identifiers::new(&snapshot.host_identifiers, |kind| match kind {
                IdentifierKind::Duid => Some(duid),
                IdentifierKind::HardwareAddress => None,
                IdentifierKind::FlexId => Some(flex_id),
                IdentifierKind::CircuitId | IdentifierKind::ClientId => None,
            }),
            classes,
            evaluation,
            hosts,
        };
        client.hosts.clear();
        client.find_early()?;
        let subnet = client.select();
        client.find(subnet);
        client.finish(subnet)?;
        let Recognition { identifiers, classes, evaluation, hosts, .. } = client;
        let is_rejected = classes.contains(Classes::REJECT);
        let client = Self { duid, hardware, identifiers, subnet, hosts, is_rejected };
        let Scratch { pools, name, context, .. } = scratch;
        Ok((client, Buffers { classes, evaluation, pools, name, context }))
    }

    /// The host that counts for a client that is served from `subnet`.
    pub(super) fn host(&self, snapshot: &Snapshot, subnet: SubnetIndex) -> Option<HostIndex> {
        self.hosts.current(subnet, snapshot.subnet(subnet).reservation_modes)
    }
}
