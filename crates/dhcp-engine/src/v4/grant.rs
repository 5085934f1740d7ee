//! Grant of a DHCPv4 client: the terms of its lease and the scopes whose options its reply carries,
//! by its host, its classes and its subnet and pool (Kea reference §1.4, §5.8).

use core::net::Ipv4Addr;

use base::Now;
use dhcp_lease::v4::{LeaseTerms, PoolIndex, SlotView, V4};
use dhcp_lease::{AnsweredLease, INFINITE_LIFETIME_S};

use super::claim::AddressLocation;
use super::lifetime;
use super::reply::{Reply, ReplyKind, ReplyTerms};
use super::scopes::CompiledClassTerms4;
use super::transaction::Transaction;
use crate::adaptive;
use crate::hosts::HostTerms;
use crate::omission::Omissions;
use crate::options::ScopeOptions;
use crate::prefixes::SubnetIndex;

impl<'m> Transaction<'m> {
    /// Returns true if the client of the message speaks BOOTP.
    #[must_use]
    pub fn is_bootp(&self) -> bool {
        self.view.message.message_type().is_none()
    }

    /// Chooses the name that the client has with `address` in `location`.
    pub(super) fn choose_name(&mut self, location: AddressLocation, address: Ipv4Addr) {
        if self.name.is_chosen_for(location, address) {
            return;
        }
        let reserved = self.host_terms(location.subnet).map_or("", |terms| &*terms.hostname);
        let terms = self.snapshot.names(location.subnet, location.pool);
        let tuning = self.client_facts.tune_name(self.snapshot, &self.view, location.subnet);
        self.name.choose(location, address, reserved, terms, tuning);
    }

    /// Returns the omissions from the client's lease because of a size limit.
    pub(super) fn omissions(&self) -> Omissions {
        let mut omissions = self.client_facts.omissions;
        self.name.note(&mut omissions);
        omissions
    }

    /// Returns the user context with relay agent information that the client's lease in `subnet`
    /// stores (`store-extended-info`).
    pub(super) fn user_context(&self, subnet: SubnetIndex) -> &str {
        let keeps = self.snapshot.subnet(subnet).stores_relay_info;
        if keeps { &self.client_facts.user_context } else { "" }
    }

    pub(super) fn is_authoritative(&self) -> bool {
        self.subnet.map_or(self.snapshot.own.is_authoritative, |subnet| {
            self.snapshot.subnet(subnet).own.is_authoritative
        })
    }

    /// Returns the terms of the lease that the client gets.
    pub(super) fn terms(
        &self,
        now: Now,
        kind: ReplyKind,
        slot: SlotView,
        location: AddressLocation,
    ) -> ReplyTerms {
        let lifetime_s = self.lifetime_s(now, &slot, location.subnet);
        ReplyTerms {
            kind,
            address: slot.address,
            lifetime_s,
            written_lifetime_s: lifetime_s,
            location: Some(location),
            is_repeated: false,
        }
    }

    /// Returns the lifetime of the client's lease in `subnet`, in seconds: within the
    /// `valid-lifetime` limits of the first class that has any, else of the subnet; the shortest
    /// when the subnet is nearly full (`adaptive-lease-time-threshold`).
    fn lifetime_s(&self, now: Now, slot: &SlotView, subnet: SubnetIndex) -> u32 {
        if self.is_bootp() {
            return INFINITE_LIFETIME_S;
        }
        let of_class = self.class_terms().find_map(|class| class.valid_lifetime.as_ref());
        let of_subnet = &self.snapshot.subnet(subnet).valid_lifetime;
        let limits = of_class.unwrap_or(of_subnet);
        if self.is_nearly_full(slot, subnet) {
            let remaining_s = adaptive::remaining_lifetime_s(now, slot, slot.valid_lifetime_s);
            return adaptive::shortest(*limits, remaining_s).default_s;
        }
        lifetime::granted_s(limits, self.view.message.lease_time())
    }

    /// Returns true if the pools of `subnet` that are open to the client are full enough that
    /// leases are short (`adaptive-lease-time-threshold`).
    fn is_nearly_full(&self, slot: &SlotView, subnet: SubnetIndex) -> bool {
        let snapshot = self.snapshot;
        snapshot.subnet(subnet).adaptive_threshold.is_some_and(|threshold| {
            let is_admitted = |&pool: &PoolIndex| {
                self.is_open || snapshot.admits_to_pool(pool, &self.client_facts.classes)
            };
            let pools = snapshot.pools_of(subnet).filter(is_admitted);
            snapshot.pools().occupancy(pools, slot) >= threshold
        })
    }

    /// Returns the lifetime of the lease that a DHCPOFFER in `subnet` already makes, in seconds
    /// (Kea's `offer-lifetime`); `None` when an offer makes none.
    pub(super) fn offer_lifetime_s(&self, subnet: SubnetIndex) -> Option<u32> {
        let of_class = self.class_terms().find_map(|class| class.offer_lifetime_s);
        let of_subnet = self.snapshot.subnet(subnet).own.offer_lifetime_s;
        Some(of_class.unwrap_or(of_subnet)).filter(|&seconds| seconds > 0)
    }

    /// Returns the compiled terms of the client's classes, in the order of assignment.
    pub(super) fn class_terms(&self) -> impl Iterator<Item = &'m CompiledClassTerms4> {
        let snapshot = self.snapshot;
        self.client_facts.classes.iter().filter_map(|class| snapshot.class(class))
    }

    /// Returns the scopes whose options a reply may carry, in order of precedence: host, pool,
    /// subnet, network, classes, the global one.
    pub(super) fn scopes(
        &self,
        subnet: SubnetIndex,
        pool: Option<PoolIndex>,
    ) -> impl Iterator<Item = &'m ScopeOptions<u8>> {
        let snapshot = self.snapshot;
        let host = self.host_terms(subnet).map(|terms| &terms.options);
        let pool = pool.map(|pool| &snapshot.pool_terms(pool).scope.options);
        let subnet = snapshot.subnet(subnet);
        let network = snapshot.network(subnet).map(|network| &network.options);
        let near = [host, pool, Some(&subnet.scope.options), network];
        let classes = self.class_terms().map(|class| &class.options);
        near.into_iter().flatten().chain(classes).chain([&snapshot.options])
    }

    /// Returns the terms of the client's host that counts in `subnet`; `None` when the client has
    /// none there.
    pub(super) fn host_terms(&self, subnet: SubnetIndex) -> Option<&'m HostTerms<V4>> {
        self.hosts.terms(self.client_facts.current_host(self.snapshot, subnet))
    }

    /// Returns the client's lease that `reply` repeats or offers without a change of the lease.
    pub(super) fn answered_lease(&self, reply: &Reply) -> Option<AnsweredLease<'_, V4>> {
        let location = reply.terms.location?;
        let writes_nothing = match reply.terms.kind {
            ReplyKind::Offer => !self.has_planned_lease(),
            ReplyKind::Ack => reply.terms.is_repeated,
            ReplyKind::InformAck | ReplyKind::Nak => false,
        };
        let terms = self.lease_terms(location, reply.terms.written_lifetime_s);
        writes_nothing.then_some(AnsweredLease { identity: *self.identity(), terms })
    }

    /// Returns the terms of a lease for `valid_lifetime_s` in `location`, with the client's name.
    pub(super) fn lease_terms(
        &self,
        location: AddressLocation,
        valid_lifetime_s: u32,
    ) -> LeaseTerms<'_> {
        let snapshot = self.snapshot;
        LeaseTerms {
            valid_lifetime_s,
            subnet_id: snapshot.subnet(location.subnet).id,
            pool_id: location.pool.map_or(0, |pool| snapshot.pool_terms(pool).id),
            fqdn_fwd: self.name.updates().forward,
            fqdn_rev: self.name.updates().reverse,
            hostname: self.name.text(),
            user_context: self.user_context(location.subnet),
            extra: (),
        }
    }

    /// Chooses the client's name in the subnet and pool of the reply, and evaluates the client
    /// classes that depend on these.
    pub(super) fn settle(&mut self, reply: &Reply) {
        if let Some(location) = reply.terms.location {
            self.choose_name(location, reply.terms.address);
        }
        if let Some(subnet) = reply.subnet() {
            let pool = reply.terms.location.and_then(|location| location.pool).into_iter();
            let (snapshot, hosts) = (self.snapshot, self.hosts);
            self.client_facts.settle(snapshot, hosts, &self.view, subnet, Some(subnet), pool);
        }
    }
}
