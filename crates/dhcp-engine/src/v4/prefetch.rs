//! Prefetch of the memory that a DHCPv4 message will need, before it is served. The result is a
//! guess: it does not consider classes, which may decide the subnet.

use base::Prefetch;
use dhcp_lease::v4::V4;
use dhcp_lease::{ExpectedSlot, HardwareAddress, Identity, LeaseStore};
use dhcp_wire::v4::{Message, MessageType, relay};

use super::request::client_id;
use super::{Ingress, Snapshot, identifiers};
use crate::prefixes::SubnetIndex;
use crate::protocol::LookupGuess;

/// Prefetches the memory that a message will need; see
/// [`Protocol::prefetch`](crate::protocol::Protocol::prefetch).
pub(super) fn prefetch_message<S: LeaseStore<V4>>(
    snapshot: &Snapshot,
    message: &Message<'_>,
    ingress: Ingress,
    store: &mut S,
    prefetch: Prefetch,
) -> LookupGuess {
    let hardware = HardwareAddress::new(message.htype(), message.chaddr());
    let client_id = client_id(message).ok().flatten();
    let identity =
        Identity { hardware, client_id, match_client_id: true, hardware_only_subnets: &[] };
    let used = Some(message.ciaddr()).filter(|address| !address.is_unspecified());
    let requested_address = message.requested_address().or(used);
    store.prefetch_message(
        Some(&identity),
        requested_address.map_or(ExpectedSlot::Nothing, ExpectedSlot::Address),
        prefetch,
    );
    let takes_any =
        requested_address.is_none() && message.message_type() == Some(MessageType::Discover);
    LookupGuess::new(
        snapshot,
        takes_any,
        || likely_subnet(snapshot, message, ingress),
        |kind| {
            identifiers::octets_of(kind, message, || message.relay_agent_information(), client_id)
        },
    )
}

/// Returns the subnet that a message belongs to unless classes or names of interfaces decide
/// otherwise.
fn likely_subnet(
    snapshot: &Snapshot,
    message: &Message<'_>,
    ingress: Ingress,
) -> Option<SubnetIndex> {
    let selected = message.relay_agent_information().and_then(relay::link_selection);
    let relay = Some(message.giaddr()).filter(|relay| !relay.is_unspecified());
    snapshot.subnet_by_prefix(selected.or(relay).unwrap_or(ingress.local), |_| true)
}
