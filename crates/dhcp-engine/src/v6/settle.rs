//! Results of the choices for the identity associations of a DHCPv6 message: lifetimes, the
//! client's name, and the changes of leases.

use base::Now;
use dhcp_lease::contract::text_hash;
use dhcp_lease::v6::{
    Action, Change, Facts, LeaseExtra, LeaseTerms, ResourceKind, SlotOccupancy, SlotOwner,
    SlotView, V6,
};
use dhcp_lease::{Answer, AnsweredLease, LeaseStore, PoolIndex};
use dhcp_wire::v6::StatusCode;

use super::association::{AssociationResult, Grant, MessageAssociation, ResourceLocation};
use super::changes::{Planned, PlannedAction};
use super::lifetimes::{LifetimeLimits, Lifetimes};
use super::{Dhcp6Intent, Transaction, name};
use crate::client_name::{DnsUpdates, NameTerms};
use crate::prefixes::SubnetIndex;

impl<'m> Transaction<'m> {
    /// Grants the chosen slot to each identity association and plans the changes of leases; other
    /// leases of the associations on this link end.
    pub(super) fn settle(&mut self, now: Now, facts: &[Facts]) {
        self.name_again();
        let mut losing = [false; super::association::ASSOCIATIONS_MAX];
        for (at, is_losing) in (0..self.associations.len()).zip(&mut losing) {
            let chosen = self.associations.get(at).and_then(|association| association.chosen);
            let Some((slot, location)) = chosen else {
                *is_losing = self.intent.extends();
                continue;
            };
            *is_losing = self.intent.commits_leases();
            self.grant(now, at, slot, location);
        }
        for ((at, facts), _) in facts.iter().enumerate().zip(losing).filter(|(_, losing)| *losing) {
            self.withdraw(now, at, facts);
        }
    }

    fn grant(&mut self, now: Now, at: usize, slot: SlotView, location: ResourceLocation) {
        let Some(association) = self.associations.get(at) else { return };
        let is_running =
            slot.occupancy == SlotOccupancy::Leased && slot.owner == SlotOwner::Requester;
        let repeats_lease = is_running && !slot.is_available(now) && !self.intent.extends();
        let is_short = self.is_nearly_full(&slot, location.subnet);
        let lifetimes = if repeats_lease && !is_short {
            // As in Kea, only a renewal computes lifetimes anew.
            Lifetimes {
                preferred_s: slot.detail.preferred_lifetime_s,
                valid_s: slot.valid_lifetime_s,
            }
        } else {
            let limits = self.limits(location.subnet);
            let limits = if is_short { limits.shortest(now, &slot) } else { limits };
            association.requested_lifetimes.granted(limits)
        };
        let grant = Grant { resource: slot.address, lifetimes, location };
        let mut repeated = None;
        let mut granted = grant;
        if self.intent == Dhcp6Intent::Solicit {
            // A running lease needs no hold.
            if !is_running || slot.is_available(now) {
                let deadline_ns = now.mono_ns + self.snapshot.hold_ns;
                let subnet_id = self.snapshot.subnet(location.subnet).id;
                let hold = Action::Hold { deadline_ns, subnet_id };
                self.changes.push(at, &slot, PlannedAction::Plain(hold));
            }
        } else if let Some(remaining) = self.remaining_lifetimes(now, lifetimes, &slot, location) {
            repeated = Some(grant);
            granted = Grant { lifetimes: remaining, ..grant };
        } else {
            self.changes.push(at, &slot, PlannedAction::Lease(grant));
        }
        if !location.is_reserved && !is_running {
            self.snapshot.preference_of(granted.resource.kind).record_use(location.subnet);
        }
        if let Some(association) = self.associations.get_mut(at) {
            association.repeated = repeated;
            association.result = AssociationResult::Granted(granted);
        }
    }

    /// Returns the lifetimes that are left of the lease in a slot when the lease is repeated
    /// instead of renewed: it is young (`cache-threshold`), and its other data have not changed.
    fn remaining_lifetimes(
        &self,
        now: Now,
        lifetimes: Lifetimes,
        slot: &SlotView,
        location: ResourceLocation,
    ) -> Option<Lifetimes> {
        let text = &slot.text;
        let context = self.context(location.subnet);
        let is_same = text.hostname == text_hash(self.name)
            && text.fqdn_fwd == self.updates().forward
            && text.fqdn_rev == self.updates().reverse
            && (context.is_empty() || text.user_context == text_hash(context));
        let subnet = self.snapshot.subnet(location.subnet);
        if is_same { lifetimes.remaining(now, slot, subnet) } else { None }
    }

    /// Returns the lifetime limits for the client's leases in `subnet`: of the first class that has
    /// any, else of the subnet.
    fn limits(&self, subnet: SubnetIndex) -> LifetimeLimits {
        let subnet = self.snapshot.subnet(subnet);
        let (mut preferred, mut valid) = (None, None);
        for class in self.client_facts.classes.iter().filter_map(|class| self.snapshot.class(class))
        {
            preferred = preferred.or(class.preferred_lifetime);
            valid = valid.or(class.valid_lifetime);
        }
        LifetimeLimits {
            preferred: preferred.unwrap_or(subnet.own.preferred_lifetime),
            valid: valid.unwrap_or(subnet.valid_lifetime),
            preferred_remaining_s: 0,
        }
    }

    /// Returns true if the prefix pools of `subnet` that are open to the client are full enough
    /// that leases are short (`adaptive-lease-time-threshold`). Kea ignores address pools here.
    fn is_nearly_full(&self, slot: &SlotView, subnet: SubnetIndex) -> bool {
        if slot.address.kind != ResourceKind::Prefix {
            return false;
        }
        let snapshot = self.snapshot;
        snapshot.subnet(subnet).adaptive_threshold.is_some_and(|threshold| {
            let pools = snapshot.prefix_pools_of(subnet, slot.address.len);
            let pools =
                pools.filter(|&pool| snapshot.admits_to_pool(pool, &self.client_facts.classes));
            snapshot.pools().occupancy(pools, slot) >= threshold
        })
    }

    /// Makes the client's name, and the Client FQDN option of the reply.
    pub(super) fn make_name(&mut self) {
        let reserved = self.host_terms().map_or("", |host| &host.hostname);
        let terms = self.name_terms();
        let fqdn = self.message.client_fqdn();
        let (name, omissions) = (&mut *self.name, &mut self.client_facts.omissions);
        self.fqdn_answer = name::make(fqdn, reserved, terms, name, omissions);
        if self.snapshot.tunes_names
            && let Some((subnet, _)) = self.name_location()
            && let Some(answer) = &mut self.fqdn_answer
            && let Some(tuning) = self.client_facts.tune_name(self.snapshot, &self.view, subnet)
        {
            let omission = name::tune(answer, tuning, !reserved.is_empty(), terms, self.name);
            name::note(omission, &mut self.client_facts.omissions);
        }
    }

    /// Chooses the client's name again, once the host reservation that counts is known; generates
    /// the name from the address when the client requested a name.
    fn name_again(&mut self) {
        if !self.intent.wants_lease() {
            return;
        }
        let reserved = self.host_terms().map_or("", |host| &host.hostname);
        let terms = self.name_terms();
        let fqdn = self.message.client_fqdn();
        if fqdn.is_some() || !reserved.is_empty() || terms.updates.is_enabled {
            self.make_name();
        }
        if self.fqdn_answer.is_some()
            && self.name.is_empty()
            && self.intent.commits_leases()
            && let Some((slot, _)) = self.chosen_address()
        {
            let (name, omissions) = (&mut *self.name, &mut self.client_facts.omissions);
            name::generate(slot.address.address, terms, name, omissions);
        }
    }

    /// Returns the DNS updates that the server makes for the client's leases.
    pub(super) fn updates(&self) -> DnsUpdates {
        let answer = self.fqdn_answer.filter(|_| !self.name.is_empty());
        answer.map(|answer| answer.updates).unwrap_or_default()
    }

    /// Returns the first address that was chosen for an association, with its location.
    fn chosen_address(&self) -> Option<(SlotView, ResourceLocation)> {
        let mut chosen = self.associations.iter().filter_map(|association| association.chosen);
        chosen.find(|(slot, _)| slot.address.kind == ResourceKind::Address)
    }

    /// Returns the name settings for the client: of the pool or subnet of its address, else of the
    /// subnet of its prefix, else of the subnet of its link.
    pub(super) fn name_terms(&self) -> &'m NameTerms {
        let snapshot = self.snapshot;
        self.name_location()
            .map_or(&snapshot.own.default_names, |(subnet, pool)| snapshot.names(subnet, pool))
    }

    /// Returns the subnet whose settings hold for the client's name, with the pool of its address.
    fn name_location(&self) -> Option<(SubnetIndex, Option<PoolIndex>)> {
        let location = self.chosen_address().map(|(_, location)| (location.subnet, location.pool));
        location.or_else(|| self.served_subnet().map(|subnet| (subnet, None)))
    }

    /// Plans the end of running leases that the identity association at `at` has on this link in
    /// addition to its grant. Leases that do not fit into one commit expire later.
    fn withdraw(&mut self, now: Now, at: usize, facts: &Facts) {
        let Some(selected) = self.client.subnet else { return };
        let granted = self.associations.get(at).and_then(MessageAssociation::grant);
        let granted = granted.map(|grant| grant.resource);
        let snapshot = self.snapshot;
        let is_here = |slot: &&SlotView| {
            let mut link = snapshot.link_subnets(selected).iter();
            link.any(|&subnet| snapshot.subnet(subnet).id == slot.subnet_id)
        };
        let is_withdrawn = |slot: &&SlotView| {
            slot.occupancy == SlotOccupancy::Leased
                && slot.owner == SlotOwner::Requester
                && !slot.is_available(now)
                && Some(slot.address) != granted
        };
        let mut withdrawn = [None; super::association::WITHDRAWN_MAX];
        let slots = facts.client_slots().filter(is_withdrawn).filter(is_here);
        for (slot, entry) in slots.zip(&mut withdrawn) {
            if self.changes.push(at, slot, PlannedAction::Plain(Action::Release)) {
                *entry = Some(slot.address);
            }
        }
        if let Some(association) = self.associations.get_mut(at) {
            association.withdrawn = withdrawn;
        }
    }

    /// Plans RELEASE or DECLINE of all leases of the identity association at `at` that the client
    /// names and has. Leases that do not fit into one commit expire later.
    pub(super) fn give_up(&mut self, at: usize, facts: &Facts, action: Action<'static>) {
        let Some(association) = self.associations.get(at).copied() else { return };
        let mut code = StatusCode::NoBinding;
        for slot in facts.client_slots().filter(|slot| slot.occupancy == SlotOccupancy::Leased) {
            if association.requested_resources().any(|resource| resource == slot.address)
                && self.changes.push(at, slot, PlannedAction::Plain(action))
            {
                code = StatusCode::Success;
            }
        }
        self.conclude(at, AssociationResult::Status(code));
    }

    pub(super) fn change(&self, planned: &Planned) -> Change<'_> {
        let association = self.associations.get(planned.at).expect("it was planned for one");
        Change {
            identity: association.identity(self.client.duid),
            address: planned.address,
            expected_version: planned.expected_version,
            action: match &planned.action {
                PlannedAction::Plain(action) => *action,
                PlannedAction::Lease(grant) => Action::Lease(self.terms(grant)),
            },
        }
    }

    /// Returns the user context of a lease from `subnet`: the relay agent information, where the
    /// subnet has `store-extended-info`.
    fn context(&self, subnet: SubnetIndex) -> &str {
        let is_stored = self.snapshot.subnet(subnet).stores_relay_info;
        if is_stored { &self.client_facts.user_context } else { "" }
    }

    /// Records the leases that the reply repeats as events of the exchange, for listeners that want
    /// them; the reply waits for `gate_epoch`.
    pub(super) fn record_repeated(
        &self,
        now: Now,
        gate_epoch: u64,
        store: &mut impl LeaseStore<V6>,
    ) {
        let row_epoch = gate_epoch.max(store.settled_epoch());
        for association in self.associations.iter() {
            let Some(grant) = &association.repeated else { continue };
            let identity = association.identity(self.client.duid);
            let lease = Some(AnsweredLease { identity, terms: self.terms(grant) });
            store.record_answer(now, &Answer { address: grant.resource, lease, row_epoch });
        }
    }

    /// Returns the terms of the lease that `grant` describes.
    pub(super) fn terms(&self, grant: &Grant) -> LeaseTerms<'_> {
        let pool = grant.location.pool.map(|pool| self.snapshot.pool_terms(pool));
        LeaseTerms {
            valid_lifetime_s: grant.lifetimes.valid_s,
            subnet_id: self.snapshot.subnet(grant.location.subnet).id,
            pool_id: pool.map_or(0, |pool| pool.id),
            fqdn_fwd: self.updates().forward,
            fqdn_rev: self.updates().reverse,
            hostname: self.name,
            user_context: self.context(grant.location.subnet),
            extra: LeaseExtra {
                preferred_lifetime_s: grant.lifetimes.preferred_s,
                hardware: self.client.hardware.0,
                hardware_source: self.client.hardware.1,
            },
        }
    }
}
