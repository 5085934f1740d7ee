//! Selection of the subnet that a DHCPv6 message belongs to (Kea reference §5.4).

use core::net::Ipv6Addr;

use super::Snapshot;
use crate::classify::PacketView6;
use crate::prefixes::SubnetIndex;

/// Returns the subnet of a DHCPv6 message, as Kea selects it. If a relay agent names a link, the
/// subnet is that of the Interface-Id option (18) of the agent nearest to the client, else that of
/// the first usable link address from the client's side. If no agent does (a client's own message,
/// or one through Lightweight DHCPv6 Relay Agents alone, RFC 6221), the subnet is that of the
/// interface that the datagram came over, else that of the address that it came from. Only subnets
/// that `admits` accepts count.
pub(super) fn subnet(
    snapshot: &Snapshot,
    view: &PacketView6<'_>,
    admits: impl Fn(SubnetIndex) -> bool,
) -> Option<SubnetIndex> {
    let packet = view.packet;
    let link = packet.relays().rev().map(|relay| relay.link_address).find(is_usable);
    let Some(link) = link else {
        return view
            .interfaces
            .name(view.ingress.interface)
            .and_then(|name| snapshot.subnet_by_interface(name, &admits))
            .or_else(|| snapshot.subnet_by_prefix(*view.ingress.source.ip(), &admits));
    };
    packet
        .relays()
        .next_back()
        .and_then(|relay| relay.interface_id())
        .and_then(|id| snapshot.subnet_by_interface_id(id, &admits))
        .or_else(|| snapshot.subnet_by_relay(link, &admits))
        .or_else(|| snapshot.subnet_by_prefix(link, &admits))
}

/// Returns true if a relay agent's link address identifies the link: agents that share a link with
/// others leave it unspecified.
pub(super) fn is_usable(link: &Ipv6Addr) -> bool {
    !link.is_unspecified() && !link.is_unicast_link_local()
}
