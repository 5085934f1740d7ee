//! Prefetch of the memory that a DHCPv6 message will need, before it is served. The result is a
//! guess: it does not consider classes, which may decide the subnet.

use base::Prefetch;
use dhcp_config::IdentifierKind;
use dhcp_lease::v6::{IaIdentity, Resource, ResourceKind, V6};
use dhcp_lease::{ExpectedSlot, LeaseStore};
use dhcp_wire::v6::{self as wire, Packet};

use super::{Snapshot, select};
use crate::hosts::{HostHashes, Identifiers};
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
    let has_hosts = !snapshot.hosts.is_empty();
    let link = packet.relays().rev().map(|relay| relay.link_address).find(select::is_usable);
    let link = if has_hosts || takes_any { link } else { None };
    let subnet = link.and_then(|link| snapshot.subnet_by_prefix(link, |_| true));
    let Some(subnet) = subnet else { return LookupGuess::default() };
    let host_hashes = has_hosts.then(|| {
        let identifiers = Identifiers::new(&snapshot.host_identifiers, |kind| {
            (kind == IdentifierKind::Duid).then_some(duid)
        });
        let terms = snapshot.subnet(subnet);
        HostHashes::new(&snapshot.hosts, terms.id, terms.reservation_modes, &identifiers)
    });
    let first = snapshot.preference.first(subnet);
    let pool = if takes_any { snapshot.first_pool(first) } else { None };
    LookupGuess { host_hashes, pool }
}
