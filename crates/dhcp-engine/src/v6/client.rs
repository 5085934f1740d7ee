//! Sender of a DHCPv6 message: its classes, its subnet, its hosts and its names, before anything is
//! leased (Kea reference §2.2).

use dhcp_config::IdentifierKind;
use dhcp_lease::HardwareAddress;
use dhcp_lease::identity::{DECLINED_LEASE_DUID, DUID_MAX};
use dhcp_lease::v6::{HardwareSource, V6};

use super::changes::Dhcp6MessageChanges;
use super::{DropReason, Snapshot, hardware, select};
use crate::classify::{Classes, PacketView6};
use crate::client_facts::{ClientFacts, FlexIdValue};
use crate::hosts::{HostBook, Identifiers};
use crate::pair_filters::PairFilters;
use crate::prefixes::SubnetIndex;

/// Scratch memory for the facts about a DHCPv6 client. Each shard (server thread) has one, which it
/// reuses.
#[derive(Debug, Default)]
pub struct Dhcp6ClientScratch {
    /// Facts about the client before its leases are looked up.
    pub(super) client_facts: ClientFacts,
    /// Changes of leases that the message makes, as far as decided.
    pub(super) changes: Dhcp6MessageChanges,
    /// Name of the client in the reply and in the leases.
    pub(super) name: String,
    pub(super) identity: Dhcp6IdentityScratch,
}

/// Scratch memory for the identifiers of a DHCPv6 client.
#[derive(Debug, Default)]
pub(super) struct Dhcp6IdentityScratch {
    flex: FlexIdValue,
    hardware: Vec<u8>,
}

/// Client that sent a DHCPv6 message.
#[derive(Debug)]
pub(super) struct RequestingClient<'m> {
    /// DUID under which the client's leases are stored: its own, or the one that replaces it. Empty
    /// in an INFORMATION-REQUEST that names no client.
    pub(super) duid: &'m [u8],
    pub(super) hardware: (HardwareAddress, HardwareSource),
    pub(super) subnet: Option<SubnetIndex>,
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
        hosts: HostBook<'m, V6>,
        view: &PacketView6<'m>,
        pairs: &PairFilters,
        client_facts: &mut ClientFacts,
        scratch: &'m mut Dhcp6IdentityScratch,
    ) -> Result<Self, DropReason> {
        client_facts.begin(snapshot, view)?;
        // As in Kea, two zero bytes come before an identifier that replaces a DUID.
        scratch.flex.evaluate(snapshot, view, &client_facts.classes, &[0, 0]);
        let flex = &scratch.flex;
        let own = view.packet.message().client_id().unwrap_or_default();
        let duid = lease_duid(flex.replacement().unwrap_or(own))?;
        let sources = &snapshot.own.mac_sources;
        let hardware = hardware::find_address(sources, view.packet, *view.ingress, duid);
        scratch.hardware.clear();
        scratch.hardware.extend_from_slice(hardware.0.octets());
        let hardware_octets = &*scratch.hardware;
        let identifiers = Identifiers::new(&snapshot.host_identifiers, |kind| match kind {
            IdentifierKind::Duid => Some(duid),
            IdentifierKind::HardwareAddress => Some(hardware_octets),
            IdentifierKind::FlexId => Some(flex.octets()),
            IdentifierKind::CircuitId | IdentifierKind::ClientId => None,
        });
        client_facts.find_early(snapshot, hosts, view, &identifiers)?;
        let admits = |subnet| snapshot.admits(subnet, &client_facts.classes);
        let subnet = select::subnet(snapshot, view, admits);
        pairs.admit(snapshot, subnet, view.packet, &mut client_facts.classes)?;
        client_facts.locate(snapshot, hosts, view, subnet, &identifiers)?;
        let is_rejected = client_facts.classes.contains(Classes::REJECT);
        Ok(Self { duid, hardware, subnet, identifiers, hosts, is_rejected })
    }
}

/// Returns `duid` if leases can be stored under it.
fn lease_duid(duid: &[u8]) -> Result<&[u8], DropReason> {
    match duid {
        _ if duid.len() > DUID_MAX => Err(DropReason::ClientIdTooLong),
        // A lease with this DUID would look like a declined one.
        _ if duid == DECLINED_LEASE_DUID => Err(DropReason::NoIdentity),
        _ => Ok(duid),
    }
}
