//! Choice of an address or prefix for one identity association: a reserved one, one that the client
//! has, one that it requests, or a free one (Kea reference §5.1, §5.5).

use core::cmp::Reverse;

use base::Now;
use dhcp_lease::v6::{Facts, Resource, ResourceKind, SlotOccupancy, SlotOwner, SlotView};

use super::association::{MessageAssociation, ResourceLocation};
use super::{Dhcp6Intent, Transaction};
use crate::hosts::ReservationScope;
use crate::links::PoolLocation;
use crate::prefixes::SubnetIndex;
use crate::transaction::CandidateRequest;

/// Choice of a slot for one identity association of a transaction.
pub(super) struct Choice<'c, 'm> {
    pub(super) transaction: &'c Transaction<'m>,
    pub(super) association: &'c MessageAssociation<'m>,
    pub(super) at: usize,
    pub(super) now: Now,
}

impl Choice<'_, '_> {
    /// Returns the row epoch to wait for when an address or prefix that the identity association
    /// could have is being released, until the release is durable.
    pub(super) fn releasing(&self, facts: &Facts) -> Option<u64> {
        let mut mine = facts.client_slots();
        mine.find(|slot| {
            slot.occupancy == SlotOccupancy::Releasing
                && self.transaction.location_of(slot.address).is_some()
        })
        .map(|slot| slot.row_epoch)
    }

    /// Returns the best slot for the identity association, with its location: the free address or
    /// prefix claimed for it; else a reserved one, its running lease, one that it requests, one
    /// held for it by an offer, its ended lease, one that it had. A free one is only claimed when
    /// no other would do, and a claim must be used.
    pub(super) fn best<'f>(&self, facts: &'f Facts) -> Option<(&'f SlotView, ResourceLocation)> {
        let mut best = None;
        let mut best_key = None;
        let mut consider = |slot: &'f SlotView, is_candidate| {
            if slot.is_overlapped || self.transaction.is_chosen_before(self.at, slot.address) {
                return None;
            }
            let location = self.location_of(slot)?;
            let rank = self.rank(slot, location, is_candidate)?;
            // Each server of a pair may have given the association a lease while they could not
            // talk.
            let newest = Reverse(slot.cltt_s);
            let key = (rank, self.order(slot, location), newest, slot.address);
            if best_key.is_none_or(|best_key| key < best_key) {
                (best_key, best) = (Some(key), Some((slot, location)));
            }
            Some(())
        };
        if let Some(slot) = &facts.candidate {
            consider(slot, true);
        }
        for slot in facts.client_slots().chain(facts.address_slots.iter().flatten()) {
            consider(slot, false);
        }
        best
    }

    /// Returns the subnet and pool of a slot that the client could have. It keeps its running lease
    /// of a prefix in a pool that now delegates another length: only new leases have that length.
    fn location_of(&self, slot: &SlotView) -> Option<ResourceLocation> {
        let transaction = self.transaction;
        let location = transaction.location_of(slot.address);
        if location.is_some() || !self.is_running(slot) {
            return location;
        }
        let pool = transaction.snapshot.pool_around(transaction.client.subnet?, slot.address)?;
        transaction.pool_location(pool, slot.address)
    }

    /// Returns true if `slot` is the client's lease and has not ended.
    fn is_running(&self, slot: &SlotView) -> bool {
        slot.occupancy == SlotOccupancy::Leased
            && slot.owner == SlotOwner::Requester
            && !slot.is_available(self.now)
    }

    /// Returns the order of `slot` among slots of equal rank: reserved ones in the subnet where
    /// allocation begins, then in the order of the file, those of subnets before global ones; then
    /// requested ones.
    fn order(&self, slot: &SlotView, location: ResourceLocation) -> usize {
        if location.is_reserved {
            let mut reserved = self.transaction.reserved();
            let position = reserved.position(|resource| resource == slot.address);
            let walked = self.transaction.earlier_grant_subnet(self.at);
            let is_later = walked.is_some_and(|subnet| subnet != location.subnet);
            return (usize::from(is_later) << 16).saturating_add(position.unwrap_or(1 << 15));
        }
        usize::from(!self.association.hints.contains(&Some(slot.address)))
    }

    /// Returns the rank of a slot for the identity association, 0 the best; `None` when the
    /// association cannot have it.
    fn rank(&self, slot: &SlotView, location: ResourceLocation, is_candidate: bool) -> Option<u8> {
        let is_mine = slot.owner == SlotOwner::Requester;
        let is_requested = self.association.hints.contains(&Some(slot.address));
        let is_further = || {
            let mut further = self.transaction.further_reserved(self.association.kind);
            self.association.candidate_request == CandidateRequest::Reserved
                && further.any(|other| other == slot.address)
        };
        let is_available = slot.is_available(self.now);
        let is_running = self.is_running(slot);
        match slot.occupancy {
            _ if is_candidate => Some(0),
            SlotOccupancy::Leased if is_running && location.is_reserved => Some(1),
            SlotOccupancy::Held if is_mine && location.is_reserved => Some(2),
            _ if is_available && location.is_reserved => Some(2),
            // An offer of it under another DUID or IAID does not bind.
            SlotOccupancy::Held if location.is_reserved => Some(3),
            SlotOccupancy::Leased if is_running => Some(4),
            SlotOccupancy::Held if is_mine && is_requested => Some(5),
            SlotOccupancy::Free | SlotOccupancy::Leased | SlotOccupancy::Held
                if is_available && is_requested =>
            {
                Some(5)
            }
            SlotOccupancy::Held if is_mine => Some(6),
            SlotOccupancy::Leased if is_mine => Some(7),
            SlotOccupancy::Free if is_mine => Some(8),
            // A slot whose probation is over is like any other.
            SlotOccupancy::Declined if is_available && is_requested => Some(9),
            _ if (is_available || slot.occupancy == SlotOccupancy::Held) && is_further() => {
                Some(10)
            }
            _ => None,
        }
    }
}

impl Transaction<'_> {
    /// Returns true if an association before position `at` will get `resource`, or one that
    /// overlaps it.
    pub(super) fn is_chosen_before(&self, at: usize, resource: Resource) -> bool {
        let mut before = self.associations.iter().take(at);
        before.any(|other| {
            other.chosen.is_some_and(|(chosen_slot, _)| {
                chosen_slot.address == resource || chosen_slot.address.overlaps(resource)
            })
        })
    }

    /// Returns the subnet and pool of an address or prefix that the client could have: one that is
    /// reserved for the client, or one in a pool that is open to the client and reserved for no
    /// client.
    pub(super) fn location_of(&self, resource: Resource) -> Option<ResourceLocation> {
        if let Some(location) = self.reserved_location(resource) {
            return Some(location);
        }
        let pool_location = self.snapshot.find_pool(self.client.subnet?, resource)?;
        self.pool_location(pool_location, resource)
    }

    /// Returns the subnet and pool of `resource`, which is in the pool at `pool_location`; `None`
    /// when the pool is not open to the client, or the resource is reserved for another one.
    fn pool_location(
        &self,
        pool_location: PoolLocation,
        resource: Resource,
    ) -> Option<ResourceLocation> {
        let is_open = self.snapshot.admits_to_pool(pool_location.pool, &self.client_facts.classes);
        let location = ResourceLocation {
            subnet: pool_location.subnet,
            pool: Some(pool_location.pool),
            is_reserved: false,
        };
        let is_free = is_open
            && !self.is_reserved_for_others(pool_location.subnet, resource)
            && !self.snapshot.overlaps_reserved(resource);
        is_free.then_some(location)
    }

    /// Returns true if an address or prefix in a pool of `subnet` is reserved in that subnet for
    /// other clients only.
    pub(super) fn is_reserved_for_others(&self, subnet: SubnetIndex, resource: Resource) -> bool {
        let hosts = self.client.hosts;
        if hosts.is_empty() {
            return false;
        }
        let subnet = self.snapshot.subnet(subnet);
        let modes = subnet.reservation_modes;
        let looks = modes.in_subnet && !modes.out_of_pool;
        if !looks {
            return false;
        }
        let mut owners = hosts.owners_of(ReservationScope::Subnet(subnet.id), resource).peekable();
        let tells = |host| self.client.identifiers.matches_host(hosts, host);
        owners.peek().is_some() && !owners.any(tells)
    }

    /// Returns the addresses or prefixes of further reservations of the client in pools of its
    /// link. Of several hosts in one subnet that its identifiers match, the first one counts, but
    /// no other client may have the addresses and prefixes of the others.
    pub(super) fn further_reserved(&self, kind: ResourceKind) -> impl Iterator<Item = Resource> {
        let client = &self.client;
        let in_subnets = self.client_facts.client_hosts.in_subnets();
        let reserved_resources = in_subnets.flat_map(move |(subnet, first)| {
            let scope = ReservationScope::Subnet(self.snapshot.subnet(subnet).id);
            let all = client.identifiers.find_all(client.hosts, scope);
            let further = all.filter(move |&host| host != first);
            further.flat_map(|host| client.hosts.get(host).reserved.iter().map(|one| one.resource))
        });
        reserved_resources
            .filter(move |resource| resource.kind == kind && self.location_of(*resource).is_some())
    }

    /// Returns the subnet and pool of an address or prefix that is reserved for the client, in its
    /// link or globally.
    fn reserved_location(&self, resource: Resource) -> Option<ResourceLocation> {
        if self.client_facts.client_hosts.is_empty() {
            return None;
        }
        let selected = self.client.subnet?;
        let snapshot = self.snapshot;
        let pool = snapshot.pool_around(selected, resource).map(|location| location.pool);
        let location = |subnet| ResourceLocation { subnet, pool, is_reserved: true };
        let has =
            |host| self.client.hosts.get(host).addresses().any(|reserved| reserved == resource);
        for (subnet, host) in self.client_facts.client_hosts.in_subnets() {
            let is_ignored =
                snapshot.subnet(subnet).reservation_modes.out_of_pool && pool.is_some();
            let is_open = snapshot.admits(subnet, &self.client_facts.classes);
            if is_open && !is_ignored && has(host) {
                return Some(location(subnet));
            }
        }
        let modes = snapshot.subnet(selected).reservation_modes;
        self.client_facts.client_hosts.global().filter(|&host| modes.global && has(host))?;
        match resource.kind {
            ResourceKind::Address => {
                snapshot.subnet_on_link(selected, resource.address).map(location)
            }
            ResourceKind::Prefix => Some(location(selected)),
        }
    }

    /// Returns all addresses and prefixes that are reserved for the client: those of subnets before
    /// global ones.
    pub(super) fn reserved(&self) -> impl Iterator<Item = Resource> + Clone {
        let snapshot = self.snapshot;
        let (client, hosts) = (&self.client, &self.client_facts.client_hosts);
        let subnet = client.subnet.map(|subnet| snapshot.subnet(subnet));
        let global = if subnet.is_some_and(|subnet| subnet.reservation_modes.global) {
            hosts.global()
        } else {
            None
        };
        let hosts = hosts.in_subnets().map(|(_, host)| host).chain(global);
        hosts.flat_map(move |host| {
            client.hosts.get(host).reserved.iter().map(|reserved| reserved.resource)
        })
    }

    /// Returns the subnet whose host counts for the client: the one in which the client got a
    /// reserved address or prefix, else the one that it is served from.
    pub(super) fn host_subnet(&self) -> Option<SubnetIndex> {
        let mut chosen = self.associations.iter().filter_map(|association| association.chosen);
        let reserved =
            chosen.find(|(_, location)| location.is_reserved).map(|(_, location)| location.subnet);
        reserved.or_else(|| self.served_subnet())
    }

    /// Returns the subnet from which the server serves the client.
    pub(super) fn served_subnet(&self) -> Option<SubnetIndex> {
        let granted = self.associations.iter().filter_map(|association| association.chosen).last();
        granted.map(|(_, location)| location.subnet).or(self.client.subnet)
    }

    /// Returns true if the subnet in which allocation for an identity association begins depends on
    /// the associations of the message that were decided before.
    pub(super) fn follows_earlier_grants(&self) -> bool {
        let is_network = |subnet| self.snapshot.link_subnets(subnet).len() > 1;
        self.associations.len() > 1 && self.client.subnet.is_some_and(is_network)
    }

    /// Returns the subnet of the lease of the identity association before position `at`, if that is
    /// new or the client extends it. Allocation begins there, as in Kea, so that a client has its
    /// addresses and prefixes from one subnet where that is possible.
    fn earlier_grant_subnet(&self, at: usize) -> Option<SubnetIndex> {
        let before = self.associations.iter().take(at);
        let extends = matches!(self.intent, Dhcp6Intent::Renew | Dhcp6Intent::Rebind);
        let counts = |slot: &SlotView| {
            extends || slot.owner != SlotOwner::Requester || slot.occupancy != SlotOccupancy::Leased
        };
        let earlier = before.filter_map(|one| one.chosen).filter(|(slot, _)| counts(slot));
        earlier.last().map(|(_, location)| location.subnet)
    }

    /// Returns the subnet in which allocation begins for the association at position `at`.
    pub(super) fn preferred_subnet(&self, at: usize) -> Option<SubnetIndex> {
        if let Some(subnet) = self.earlier_grant_subnet(at) {
            return Some(subnet);
        }
        let kind = self.associations.get(at)?.kind;
        self.client.subnet.map(|selected| self.snapshot.preference_of(kind).first(selected))
    }

    /// Returns true if any pool is open to the client for the kind of lease of `association`.
    pub(super) fn has_pools(&self, association: &MessageAssociation<'_>) -> bool {
        let Some(selected) = self.client.subnet else { return false };
        let mut pools = self.snapshot.pools_of_link(selected, association.kind).iter();
        pools.any(|&pool| self.snapshot.admits_to_pool(pool, &self.client_facts.classes))
    }
}

impl Transaction<'_> {
    /// Adds the client classes that depend on the leases, once these are known: those of the host
    /// that counts in a shared network, and the `evaluate-additional-classes` of pools, subnet and
    /// network.
    pub(super) fn finish_classes(&mut self) {
        let Some(served) = self.served_subnet() else { return };
        let host_subnet = self.host_subnet();
        let pools = self.associations.iter().filter_map(MessageAssociation::grant);
        let pools = pools.filter_map(|grant| grant.location.pool);
        let (snapshot, hosts) = (self.snapshot, self.client.hosts);
        self.client_facts.settle(snapshot, hosts, &self.view, served, host_subnet, pools);
    }
}
