//! Selection of the subnet that a DHCPv4 message belongs to (Kea reference §5.4).

use dhcp_wire::v4::{option, relay};

use super::Snapshot;
use crate::classify::PacketView4;
use crate::prefixes::SubnetIndex;

/// Returns the subnet of a DHCPv4 message: that of the link it names (sub-option 5 of option 82,
/// RFC 3527; option 118, RFC 3011), of its relay agent, or of the link that it was received over;
/// of several, the first that `admits` accepts.
pub(super) fn subnet(
    snapshot: &Snapshot,
    view: &PacketView4<'_>,
    admits: impl Fn(SubnetIndex) -> bool,
) -> Option<SubnetIndex> {
    let message = view.message;
    let link_selection = if snapshot.own.ignores_link_selection {
        None
    } else {
        view.relay_agent_information().and_then(relay::link_selection)
    };
    let link = link_selection
        .or_else(|| message.option(option::SUBNET_SELECTION).and_then(|value| value.address()));
    if let Some(link) = link.filter(|link| !link.is_unspecified()) {
        return snapshot.subnet_by_prefix(link, admits);
    }
    let relay = message.giaddr();
    if relay.is_unspecified() {
        return subnet_of_direct(snapshot, view, admits);
    }
    snapshot.subnet_by_relay(relay, &admits).or_else(|| snapshot.subnet_by_prefix(relay, &admits))
}

/// Returns the subnet of a DHCPv4 client that sends without a relay agent. A client that sends to
/// the server's address has an address itself, which identifies its subnet. A client that sends to
/// all stations may have an address of another link, so the interface identifies the subnet.
fn subnet_of_direct(
    snapshot: &Snapshot,
    view: &PacketView4<'_>,
    admits: impl Fn(SubnetIndex) -> bool,
) -> Option<SubnetIndex> {
    let ingress = view.ingress;
    let addresses = [view.message.ciaddr(), *ingress.source.ip()];
    if let Some(&address) = addresses.iter().find(|address| !address.is_unspecified())
        && !ingress.is_broadcast
    {
        return snapshot.subnet_by_prefix(address, admits);
    }
    view.interfaces
        .name(ingress.interface)
        .and_then(|name| snapshot.subnet_by_interface(name, &admits))
        .or_else(|| snapshot.subnet_by_prefix(ingress.local, &admits))
}
