//! Which subnet a message belongs to (Kea reference §5.4).

use core::net::Ipv6Addr;

use super::Snapshot;
use super::client::Arrival;
use crate::prefixes::SubnetIndex;

/// The subnet of a relayed message is that of the Interface-Id that the agent nearest to the client
/// gave, else that of the first usable link address from the client's side. Without either the
/// link is the one that the datagram came over. Only those that `admits` lets pass count.
pub(super) fn subnet(
    snapshot: &Snapshot,
    arrival: &Arrival<'_>,
    admits: impl Fn(SubnetIndex) -> bool,
) -> Option<SubnetIndex> {
    let packet = arrival.packet;
    let interface_id = packet.relays().next_back().and_then(|relay| relay.interface_id());
    if let Some(id) = interface_id
        && let Some(found) = snapshot.subnet_by_interface_id(id, &admits)
    {
        return Some(found);
    }
    let link = packet.relays().rev().map(|relay| relay.link_address).find(is_usable);
    match link {
        Some(link) => snapshot
            .subnet_by_relay(link, &admits)
            .or_else(|| snapshot.subnet_by_prefix(link, &admits)),
        // The agent named a link, and we do not know it.
        None if interface_id.is_some() => None,
        None => arrival
            .interfaces
            .name(arrival.ingress.interface)
            .and_then(|name| snapshot.subnet_by_interface(name, &admits))
            .or_else(|| snapshot.subnet_by_prefix(*arrival.ingress.source.ip(), &admits)),
    }
}

/// Whether a link address tells the link: agents that share one with others leave it unspecified.
pub(super) fn is_usable(link: &Ipv6Addr) -> bool {
    !link.is_unspecified() && !link.is_unicast_link_local()
}
