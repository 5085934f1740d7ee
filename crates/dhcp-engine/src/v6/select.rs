//! Which subnet a message belongs to (Kea reference §5.4).

use core::net::Ipv6Addr;

use dhcp_wire::v6::Packet;

use super::{Ingress, Snapshot};
use crate::InterfaceNames;
use crate::prefixes::SubnetIndex;

/// The subnet of a relayed message is that of the Interface-Id that the agent nearest to the client
/// gave, else that of the first usable link address from the client's side. Without either the
/// link is the one that the datagram came over.
pub(super) fn subnet(
    snapshot: &Snapshot,
    packet: &Packet<'_>,
    ingress: Ingress,
    interfaces: &InterfaceNames,
) -> Option<SubnetIndex> {
    let interface_id = packet.relays().next_back().and_then(|relay| relay.interface_id());
    if let Some(id) = interface_id
        && let Some(found) = snapshot.subnet_by_interface_id(id)
    {
        return Some(found);
    }
    let link = packet.relays().rev().map(|relay| relay.link_address).find(is_usable);
    match link {
        Some(link) => snapshot.subnet_by_relay(link).or_else(|| snapshot.subnet_by_prefix(link)),
        // The agent named a link, and we do not know it.
        None if interface_id.is_some() => None,
        None => interfaces
            .name(ingress.interface)
            .and_then(|name| snapshot.subnet_by_interface(name))
            .or_else(|| snapshot.subnet_by_prefix(*ingress.source.ip())),
    }
}

/// Whether a link address tells the link: agents that share one with others leave it unspecified.
fn is_usable(link: &Ipv6Addr) -> bool {
    !link.is_unspecified() && !link.is_unicast_link_local()
}
