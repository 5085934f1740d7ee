//! Sender of a DHCPv6 message: its classes, its subnet, its hosts and its names, before anything is
//! leased (Kea reference §2.2).

use dhcp_config::IdentifierKind;
use dhcp_lease::identity::{DECLINED_LEASE_DUID, DUID_MAX};
use dhcp_lease::v6::{HardwareSource, V6};
use dhcp_lease::{HardwareAddress, PoolIndex};
use dhcp_wire::v6::Packet;

use super::changes::Dhcp6MessageChanges;
use super::{DropReason, Ingress, Snapshot, hardware, select};
use crate::InterfaceNames;
use crate::classify::{ClassIndex, ClassSet, Classes, PacketView6, Workspace};
use crate::hosts::{ClientHosts, HostBook, HostIndex, HostSubnet, Identifiers};
use crate::omission::Omissions;
use crate::prefixes::SubnetIndex;

/// Scratch memory for the facts about a DHCPv6 client. Each shard (server thread) has one, which it
/// reuses.
#[derive(Debug, Default)]
pub struct Dhcp6ClientScratch {
    pub(super) classes: ClassSet,
    pub(super) class_workspace: Workspace,
    flex_evaluation: Workspace,
    flex_id: Vec<u8>,
    duid: Vec<u8>,
    hardware: Vec<u8>,
    client_hosts: ClientHosts,
    changes: Dhcp6MessageChanges,
    pub(super) pools: Vec<PoolIndex>,
    pub(super) name: String,
    pub(super) context: String,
    pub(super) omissions: Omissions,
}

/// Buffers of a shard that a DHCPv6 transaction writes into while it runs.
#[derive(Debug)]
pub(super) struct Buffers<'m> {
    pub(super) classes: &'m mut ClassSet,
    pub(super) class_workspace: &'m mut Workspace,
    /// Changes of leases that the message makes, as far as decided.
    pub(super) changes: &'m mut Dhcp6MessageChanges,
    pub(super) pools: &'m mut Vec<PoolIndex>,
    pub(super) name: &'m mut String,
    pub(super) context: &'m mut String,
    /// Omissions from the client's leases because of size limits of lease fields.
    pub(super) omissions: &'m mut Omissions,
}

impl Buffers<'_> {
    /// Returns the buffers for the client's name and for the omissions.
    pub(super) const fn name_and_omissions(&mut self) -> (&mut String, &mut Omissions) {
        (self.name, self.omissions)
    }
}

/// DHCPv6 message with its ingress.
#[derive(Clone, Copy, Debug)]
pub struct IngressPacket<'m> {
    /// DHCPv6 message with the levels of its relay agents.
    pub packet: &'m Packet<'m>,
    /// Address and interface at which the message was received.
    pub ingress: Ingress,
    /// Names of the machine's network interfaces.
    pub interfaces: &'m InterfaceNames,
}

impl IngressPacket<'_> {
    /// Returns the view that class expressions have of the message.
    pub(super) const fn view(&self) -> PacketView6<'_> {
        PacketView6 { packet: self.packet, ingress: &self.ingress, interfaces: self.interfaces }
    }
}

/// Client that sent a DHCPv6 message.
#[derive(Debug)]
pub(super) struct RequestingClient<'m> {
    /// DUID under which the client's leases are stored: its own, or the one that replaces it. Empty
    /// in an INFORMATION-REQUEST that names no client.
    pub(super) duid: &'m [u8],
    pub(super) hardware: (HardwareAddress, HardwareSource),
    pub(super) subnet: Option<SubnetIndex>,
    pub(super) client_hosts: &'m ClientHosts,
    /// Identifiers by which the client's hosts are found.
    pub(super) identifiers: Identifiers<'m>,
    /// Hosts with reservations, of the configuration and of the cache.
    pub(super) hosts: HostBook<'m, V6>,
    /// True if the client is in the built-in class `REJECT`.
    pub(super) is_rejected: bool,
}

impl<'m> RequestingClient<'m> {
    /// Determines the client that sent a message: its identity, classes, hosts and subnet.
    ///
    /// # Errors
    ///
    /// The reason why the message is dropped.
    pub(super) fn recognize(
        snapshot: &Snapshot,
        book: HostBook<'m, V6>,
        arrival: IngressPacket<'m>,
        scratch: &'m mut Dhcp6ClientScratch,
    ) -> Result<(Self, Buffers<'m>), DropReason> {
        let Dhcp6ClientScratch {
            classes,
            class_workspace,
            flex_evaluation,
            flex_id,
            duid,
            hardware,
            client_hosts,
            changes,
            pools,
            name,
            context,
            omissions,
            ..
        } = scratch;
        changes.clear();
        *omissions = Omissions::default();
        let client_id = arrival.packet.message().client_id().unwrap_or_default();
        let view = arrival.view();
        snapshot.classes.evaluate_early(&view, classes, class_workspace);
        refuse_dropped(classes)?;
        flex_id.clear();
        if let Some(program) = &snapshot.own.flex_id.program {
            program.evaluate(&view, classes, flex_evaluation, flex_id);
        }
        let flex_id = &**flex_id;
        let duid = lease_duid(snapshot, client_id, flex_id, duid)?;
        let hardware_address = hardware::find_address(
            &snapshot.own.mac_sources,
            arrival.packet,
            arrival.ingress,
            duid,
        );
        hardware.clear();
        hardware.extend_from_slice(hardware_address.0.octets());
        let hardware = &**hardware;
        let identifiers = Identifiers::new(&snapshot.host_identifiers, |kind| match kind {
            IdentifierKind::Duid => Some(duid),
            IdentifierKind::HardwareAddress => Some(hardware),
            IdentifierKind::FlexId => Some(flex_id),
            IdentifierKind::CircuitId | IdentifierKind::ClientId => None,
        });
        client_hosts.clear();
        let mut recognition = Recognition {
            snapshot,
            hosts: book,
            arrival,
            identifiers,
            classes,
            class_workspace,
            client_hosts,
        };
        recognition.find_early()?;
        let subnet = recognition.select();
        recognition.find(subnet);
        recognition.finish()?;
        let is_rejected = classes.contains(Classes::REJECT);
        let hardware = hardware_address;
        let client =
            Self { duid, hardware, subnet, client_hosts, identifiers, hosts: book, is_rejected };
        Ok((client, Buffers { classes, class_workspace, changes, pools, name, context, omissions }))
    }

    /// Returns the host that counts for a client that is served from `subnet`.
    pub(super) fn host(&self, snapshot: &Snapshot, subnet: SubnetIndex) -> Option<HostIndex> {
        self.client_hosts.current(subnet, snapshot.subnet(subnet).reservation_modes)
    }
}

/// Returns an error for a client in the built-in class `DROP`, whose messages get no reply.
fn refuse_dropped(classes: &ClassSet) -> Result<(), DropReason> {
    if classes.contains(Classes::DROP) { Err(DropReason::Filtered) } else { Ok(()) }
}

/// Returns the DUID under which the client's leases are stored: the client's, or, with
/// `replace-client-id` of Kea's flex-id hook, two zero bytes and the flexible identifier, as in
/// Kea.
fn lease_duid<'m>(
    snapshot: &Snapshot,
    client_duid: &'m [u8],
    flex_id: &[u8],
    buffer: &'m mut Vec<u8>,
) -> Result<&'m [u8], DropReason> {
    let duid = if snapshot.own.flex_id.replaces_client_id && !flex_id.is_empty() {
        buffer.clear();
        buffer.extend_from_slice(&[0, 0]);
        buffer.extend_from_slice(flex_id);
        buffer
    } else {
        client_duid
    };
    match duid {
        _ if duid.len() > DUID_MAX => Err(DropReason::ClientIdTooLong),
        // A lease with this DUID would look like a declined one.
        _ if duid == DECLINED_LEASE_DUID => Err(DropReason::NoIdentity),
        _ => Ok(duid),
    }
}

/// Facts about a DHCPv6 client while they are being determined.
struct Recognition<'r, 'm> {
    snapshot: &'r Snapshot,
    hosts: HostBook<'m, V6>,
    arrival: IngressPacket<'m>,
    identifiers: Identifiers<'m>,
    classes: &'r mut ClassSet,
    class_workspace: &'r mut Workspace,
    client_hosts: &'r mut ClientHosts,
}

impl Recognition<'_, '_> {
    /// Looks up the client's global host before the subnet is selected
    /// (`early-global-reservations-lookup`): its classes may decide the subnet.
    fn find_early(&mut self) -> Result<(), DropReason> {
        if !self.snapshot.looks_up_global_host_early {
            return Ok(());
        }
        let global_host = self.client_hosts.find_global(self.hosts, &self.identifiers);
        let Some(host) = global_host else { return Ok(()) };
        self.give_classes(Some(host));
        self.classes.insert(Classes::KNOWN);
        self.evaluate_late();
        refuse_dropped(self.classes)
    }

    fn select(&self) -> Option<SubnetIndex> {
        let admits = |subnet| self.snapshot.admits(subnet, self.classes);
        select::subnet(self.snapshot, &self.arrival, admits)
    }

    /// Looks up the client's hosts on the link of `subnet`, and assigns their classes. In a shared
    /// network, the classes of a subnet's host wait until the serving subnet is known.
    fn find(&mut self, subnet: Option<SubnetIndex>) {
        if self.hosts.is_empty() {
            return;
        }
        let Some(selected) = subnet else { return };
        let snapshot = self.snapshot;
        let is_early = snapshot.looks_up_global_host_early;
        let modes = snapshot.subnet(selected).reservation_modes;
        let link = snapshot.link_subnets(selected).iter().copied();
        let classes = &*self.classes;
        let subnets = link.filter(|&index| snapshot.admits(index, classes)).map(|index| {
            let subnet = snapshot.subnet(index);
            HostSubnet { index, id: subnet.id, reservation_modes: subnet.reservation_modes }
        });
        self.client_hosts.find(self.hosts, modes, subnets, &self.identifiers, is_early);
        let current = self.client_hosts.current(selected, modes);
        let has_classes =
            |host| self.hosts.terms(host).is_some_and(|host| !host.classes.is_empty());
        let global = if modes.global { self.client_hosts.global() } else { None };
        let is_alone = snapshot.subnet(selected).network.is_none();
        if !is_early && has_classes(global) || is_alone && has_classes(current) {
            self.give_classes(current);
        }
    }

    fn give_classes(&mut self, host: Option<HostIndex>) {
        let host_classes: &[ClassIndex] = self.hosts.terms(host).map_or(&[], |host| &host.classes);
        if !host_classes.is_empty() {
            let view = self.arrival.view();
            self.snapshot.classes.evaluate_again(
                host_classes,
                &view,
                self.classes,
                self.class_workspace,
            );
        }
    }

    fn finish(&mut self) -> Result<(), DropReason> {
        let class = if self.client_hosts.is_empty() { Classes::UNKNOWN } else { Classes::KNOWN };
        self.classes.insert(class);
        self.evaluate_late();
        refuse_dropped(self.classes)
    }

    fn evaluate_late(&mut self) {
        let view = self.arrival.view();
        self.snapshot.classes.evaluate_late(&view, self.classes, self.class_workspace);
    }
}
