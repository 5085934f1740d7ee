//! Prefetch of the memory that a DHCPv6 message will need, before it is served. The result is a
//! guess: it does not consider classes, which may decide the subnet.

use base::Prefetch;
use dhcp_config::IdentifierKind;
use dhcp_lease::v6::{IaIdentity, Resource, ResourceKind, V6};
use dhcp_lease::{ExpectedSlot, LeaseStore};
use dhcp_wire::v6::{self as wire, Packet};

use super::{Snapshot, select};
use crate::protocol::LookupGuess;

/// Prefetches the memory that a message will need; see
/// [`Protocol::prefetch`](crate::protocol::Protocol::prefetch). Most messages have one identity
/// association; further ones are read without prefetch.
pub(super) fn prefetch_message<S: LeaseStore<V6>>(
    snapshot: &Snapshot,
    packet: &Packet<'_>,
    store: &mut S,
    prefetch: Prefetch,
) -> LookupGuess {
    let message = packet.message();
    let Some(duid) = message.client_id() else { return LookupGuess::default() };
    let Some(ia) = message.ias().next() else { return LookupGuess::default() };
    let (kind, requested) = match ia.kind {
        wire::IaKind::Na => {
            let first = ia.addresses().next();
            (ResourceKind::Address, first.map(|hint| Resource::address(hint.address)))
        }
        wire::IaKind::Pd => (ResourceKind::Prefix, None),
        wire::IaKind::Ta => return LookupGuess::default(),
    };
    let identity = IaIdentity { duid, kind, iaid: ia.iaid };
    store.prefetch_message(
        Some(&identity),
        requested.map_or(ExpectedSlot::Nothing, ExpectedSlot::Address),
        prefetch,
    );
    let takes_any = kind == ResourceKind::Address && requested.is_none();
    let likely_subnet = || {
        let mut links = packet.relays().rev().map(|relay| relay.link_address);
        snapshot.subnet_by_prefix(links.find(select::is_usable)?, |_| true)
    };
    LookupGuess::new(snapshot, takes_any, likely_subnet, |kind| {
        (kind == IdentifierKind::Duid).then_some(duid)
    })
}
