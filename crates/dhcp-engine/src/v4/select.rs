//! Which subnet a message belongs to (Kea reference §5.4).

use dhcp_wire::v4::{Message, option, relay};

use super::{Ingress, Snapshot};
use crate::InterfaceNames;
use crate::prefixes::SubnetIndex;

/// The subnet of a message: that of the link it names (option 82.5 or 118), of its relay, or of the
/// link that it came over.
pub(super) fn subnet(
    snapshot: &Snapshot,
    message: &Message<'_>,
    ingress: Ingress,
    interfaces: &InterfaceNames,
) -> Option<SubnetIndex> {
    let link = message
        .relay_agent_information()
        .filter(|_| !snapshot.ignores_link_selection)
        .and_then(relay::link_selection)
        .or_else(|| message.option(option::SUBNET_SELECTION).and_then(|value| value.address()));
    if let Some(link) = link.filter(|link| !link.is_unspecified()) {
        return snapshot.subnet_by_prefix(link);
    }
    let relay = message.giaddr();
    if relay.is_unspecified() {
        return subnet_of_direct(snapshot, message, ingress, interfaces);
    }
    snapshot.subnet_by_relay(relay).or_else(|| snapshot.subnet_by_prefix(relay))
}

/// A client that sends to our address has one itself, and that tells its subnet. One that sends to
/// all may have an address of another link, so the interface tells.
fn subnet_of_direct(
    snapshot: &Snapshot,
    message: &Message<'_>,
    ingress: Ingress,
    interfaces: &InterfaceNames,
) -> Option<SubnetIndex> {
    let addresses = [message.ciaddr(), *ingress.source.ip()];
    if let Some(&address) = addresses.iter().find(|address| !address.is_unspecified())
        && !ingress.is_broadcast
    {
        return snapshot.subnet_by_prefix(address);
    }
    interfaces
        .name(ingress.interface)
        .and_then(|name| snapshot.subnet_by_interface(name))
        .or_else(|| snapshot.subnet_by_prefix(ingress.local))
}
