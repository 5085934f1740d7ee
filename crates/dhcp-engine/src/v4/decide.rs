//! Decisions of DHCPv4 transactions: pure functions from a transaction and its facts to a decision.
//!
//! They follow RFC 2131 §4.3; where Kea deviates, they follow Kea reference §5.3 and §5.5.

use core::cmp::Reverse;
use core::net::Ipv4Addr;

use base::Now;
use dhcp_lease::contract::text_hash;
use dhcp_lease::v4::{Action, Facts, SlotOccupancy, SlotOwner, SlotView};
use dhcp_lease::{INFINITE_LIFETIME_S, Identity, LeaseState};

use super::DropReason;
use super::claim::{AddressLocation, Claim};
use super::reply::{ReplyKind, ReplyTerms};
use super::request::{Dhcp4Intent, RequestingClientState};
use super::transaction::Transaction;
use crate::prefixes::SubnetIndex;
use crate::repeat::remaining_s;

/// Decision that the facts of a DHCPv4 transaction lead to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decision {
    /// Send a reply with these terms once the row epoch of the slot that was read has settled.
    Reply(ReplyTerms, u64),
    /// Change a slot and end the client's lease of another slot, then reply (or stay silent).
    Change {
        change_of: SlotView,
        action: ProposedAction,
        gives_up: Option<SlotView>,
        reply: Option<ReplyTerms>,
    },
    /// Fetch a free address, then decide again.
    NeedCandidate,
    /// Run the message again after this row epoch has settled.
    Wait(u64),
    /// Send no reply to the message, and count this reason.
    Drop(DropReason),
}

/// Action on a slot, in a form that does not borrow the lease's texts yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProposedAction {
    Plain(Action<'static>),
    Hold { deadline_ns: u64, subnet: SubnetIndex },
    Lease { valid_lifetime_s: u32, location: AddressLocation },
}

impl ProposedAction {
    pub(super) fn with_texts<'t>(self, transaction: &'t Transaction<'_>) -> Action<'t> {
        match self {
            Self::Plain(action) => action,
            Self::Hold { deadline_ns, subnet } => {
                let subnet_id = transaction.snapshot.subnet(subnet).id;
                Action::Hold { deadline_ns, subnet_id }
            }
            Self::Lease { valid_lifetime_s, location } => {
                Action::Lease(transaction.lease_terms(location, valid_lifetime_s))
            }
        }
    }

    /// Returns the client's identity under which the slot is changed. It lacks the client
    /// identifier in a subnet with `match-client-id` false, so that the lease is stored without
    /// one, as in Kea.
    pub(super) fn identity<'m>(&self, transaction: &Transaction<'m>) -> Identity<'m> {
        let subnet = match self {
            Self::Plain(_) => None,
            Self::Hold { subnet, .. } => Some(*subnet),
            Self::Lease { location, .. } => Some(location.subnet),
        };
        let counts =
            subnet.is_none_or(|subnet| transaction.snapshot.subnet(subnet).own.match_client_id);
        let identity = *transaction.identity();
        if counts { identity } else { Identity { client_id: None, ..identity } }
    }
}

/// Decision of a DHCPv4 transaction, with a reservation conflict that the facts show.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecisionWithConflict {
    pub(super) decision: Decision,
    /// Subnet of the client's reserved address, when another client has the address in use.
    pub(super) conflict: Option<SubnetIndex>,
}

pub(super) fn decide(
    transaction: &Transaction<'_>,
    now: Now,
    facts: &Facts,
) -> DecisionWithConflict {
    let claim = transaction.claim(facts);
    let decider = LeaseDecider { transaction, now, facts, claim };
    let decision = match transaction.intent {
        Dhcp4Intent::Discover(requested) => decider.discover(requested),
        Dhcp4Intent::Request(_, None) => decider.request_any(),
        Dhcp4Intent::Request(RequestingClientState::Rebooting, Some(address)) => {
            decider.reboot(address)
        }
        Dhcp4Intent::Request(_, Some(address)) => decider.request(address),
        Dhcp4Intent::TakeOtherOffer => decider.give_up_offer(),
        Dhcp4Intent::Decline(address) => {
            let probation_s = transaction.snapshot.decline_probation_s;
            let action = Action::Decline { probation_s };
            decider.give_up(address, action, |slot| !slot.is_available(now))
        }
        Dhcp4Intent::Release(address) => decider.give_up(address, Action::Release, |_| true),
        Dhcp4Intent::Inform => {
            Decision::Reply(ReplyTerms::without_address(ReplyKind::InformAck), 0)
        }
    };
    let conflict = match transaction.intent {
        Dhcp4Intent::Discover(_) => decider.conflict(),
        _ => None,
    };
    DecisionWithConflict { decision, conflict }
}

/// Returns the address and location of the client's running lease on its link, which a reply may
/// repeat: the transaction makes the name for this lease before any decision.
pub(super) fn running(
    transaction: &Transaction<'_>,
    now: Now,
    facts: &Facts,
) -> Option<(Ipv4Addr, AddressLocation)> {
    if !matches!(transaction.intent, Dhcp4Intent::Discover(_) | Dhcp4Intent::Request(..)) {
        return None;
    }
    let is_running =
        |slot: &&SlotView| slot.occupancy == SlotOccupancy::Leased && !slot.is_available(now);
    let mut running = facts.client_slots().filter(is_running).peekable();
    running.peek()?;
    let decider = LeaseDecider { transaction, now, facts, claim: transaction.claim(facts) };
    let located = running.filter_map(|slot| Some((slot, decider.location_of(slot.address)?)));
    let newest = located.min_by_key(|(slot, _)| (Reverse(slot.cltt_s), slot.address));
    newest.map(|(slot, location)| (slot.address, location))
}

/// Transaction with its facts and its claim to a reserved address, over which the DHCPv4 decisions
/// are made.
struct LeaseDecider<'c, 'm> {
    transaction: &'c Transaction<'m>,
    now: Now,
    facts: &'c Facts,
    claim: Option<Claim>,
}

impl LeaseDecider<'_, '_> {
    /// Decides on a DHCPDISCOVER (RFC 2131 §4.3.1): offers the address reserved for the client,
    /// else its current address, its previous one, the one it requests, or a new one.
    fn discover(&self, requested: Option<Ipv4Addr>) -> Decision {
        // A candidate is only claimed when no other address would do, and a claim must be used.
        if let Some((slot, location)) = self.candidate() {
            return self.offer(slot, location);
        }
        if let Some(epoch) = self.releasing() {
            return Decision::Wait(epoch);
        }
        if let Some(claim) = self.claim
            && let Some(slot) = self.slot(claim.address)
            && (is_own(slot) || self.is_claimable(slot))
        {
            return self.offer(slot, claim.location);
        }
        if let Some((slot, location)) = self.own_slot() {
            return self.offer(slot, location);
        }
        if let Some(slot) = requested.and_then(|address| self.slot(address))
            && slot.is_available(self.now)
            && !self.transaction.is_reserved_for_others(slot.address)
            && let Some(location) = self.location_of(slot.address)
        {
            return self.offer(slot, location);
        }
        self.further()
            .map_or(Decision::NeedCandidate, |(slot, location)| self.offer(slot, location))
    }

    fn offer(&self, slot: SlotView, location: AddressLocation) -> Decision {
        let terms = self.transaction.terms(self.now, ReplyKind::Offer, slot, location);
        let is_running = slot.occupancy == SlotOccupancy::Leased
            && slot.owner == SlotOwner::Requester
            && !slot.is_available(self.now);
        let offer_lifetime_s = self
            .transaction
            .offer_lifetime_s(location.subnet)
            .filter(|&s| !is_running || self.now.wall_s() + u64::from(s) >= slot.expires_s());
        if let Some(valid_lifetime_s) = offer_lifetime_s {
            return Decision::Change {
                change_of: slot,
                action: ProposedAction::Lease { valid_lifetime_s, location },
                gives_up: None,
                reply: Some(terms),
            };
        }
        if is_running {
            // The client's own running lease needs no hold; the offer has the terms that a REQUEST
            // would get.
            let remaining_s = self.repeatable_s(slot, location, terms.lifetime_s);
            let terms = remaining_s.map_or(terms, |remaining_s| terms.repeated(remaining_s));
            return Decision::Reply(terms, slot.row_epoch);
        }
        let deadline_ns = self.now.mono_ns + self.transaction.snapshot.hold_ns;
        Decision::Change {
            change_of: slot,
            action: ProposedAction::Hold { deadline_ns, subnet: location.subnet },
            gives_up: None,
            reply: Some(terms),
        }
    }

    /// Decides on a DHCPREQUEST for an address: grants one that the client has or that is free. The
    /// client's other lease on this link ends then, as in Kea.
    fn request(&self, address: Ipv4Addr) -> Decision {
        let slot = self.slot(address);
        let epoch = slot.map_or(0, |slot| slot.row_epoch);
        if self.transaction.is_reserved_for_others(address) {
            return nak(epoch);
        }
        if slot.is_some_and(is_releasing_own) {
            return Decision::Wait(epoch);
        }
        if slot.is_some_and(is_unreadable) {
            return Decision::Drop(DropReason::LeaseRefused);
        }
        let is_claimed = self.claim.is_some_and(|claim| claim.address == address);
        let is_free =
            |slot: SlotView| slot.is_available(self.now) || (is_claimed && self.is_claimable(slot));
        if slot.is_some_and(|slot| !is_own(slot) && !is_free(slot)) {
            return nak(epoch);
        }
        let claimed = if is_claimed { None } else { self.claim };
        if let Some(claimed) = claimed.and_then(|claim| self.slot(claim.address))
            && self.is_claimable(claimed)
        {
            // The address reserved for the client is free again: the NAK makes the client discover
            // it.
            return nak(epoch.max(claimed.row_epoch));
        }
        match slot.and_then(|slot| Some((slot, self.location_of(address)?))) {
            Some((slot, location)) => self.lease(slot, location),
            None if self.transaction.is_in_link_pool(address) => nak(epoch),
            // An address that is in no pool may be another server's.
            None => Decision::Drop(DropReason::UnknownClient),
        }
    }

    /// Decides on a DHCPREQUEST that names no address: grants the address reserved for the client,
    /// the address that it has or was offered, else a new one.
    fn request_any(&self) -> Decision {
        if let Some((slot, location)) = self.candidate() {
            return self.lease(slot, location);
        }
        if let Some(epoch) = self.releasing() {
            return Decision::Wait(epoch);
        }
        if let Some(claim) = self.claim {
            return self.request(claim.address);
        }
        let choice = self.own_slot().or_else(|| self.further());
        choice.map_or(Decision::NeedCandidate, |(slot, location)| self.lease(slot, location))
    }

    /// Decides on a DHCPREQUEST of a client in INIT-REBOOT (RFC 2131 §4.3.2): the server stays
    /// silent towards unknown clients unless it is `authoritative`.
    fn reboot(&self, address: Ipv4Addr) -> Decision {
        let transaction = self.transaction;
        let on_link = |address| {
            transaction.subnet.is_some_and(|at| transaction.snapshot.is_on_link(at, address))
        };
        let requested_slot = self.slot(address);
        if requested_slot
            .is_some_and(|slot| slot.owner == SlotOwner::Requester && on_link(slot.address))
        {
            return self.request(address);
        }
        if requested_slot.is_some_and(is_unreadable) && on_link(address) {
            return Decision::Drop(DropReason::LeaseRefused);
        }
        let lease_epoch = self
            .facts
            .client_slots()
            .filter(|slot| has_lease(**slot) && on_link(slot.address))
            .map(|slot| slot.row_epoch)
            .max();
        let requested_epoch = requested_slot.map_or(0, |slot| slot.row_epoch);
        match lease_epoch {
            Some(epoch) => nak(epoch.max(requested_epoch)),
            None if transaction.is_authoritative() => nak(requested_epoch),
            None => Decision::Drop(DropReason::UnknownClient),
        }
    }

    fn lease(&self, slot: SlotView, location: AddressLocation) -> Decision {
        let terms = self.transaction.terms(self.now, ReplyKind::Ack, slot, location);
        if let Some(remaining_s) = self.repeatable_s(slot, location, terms.lifetime_s) {
            return Decision::Reply(terms.repeated(remaining_s), slot.row_epoch);
        }
        Decision::Change {
            change_of: slot,
            action: ProposedAction::Lease { valid_lifetime_s: terms.lifetime_s, location },
            gives_up: self.other_lease(slot),
            reply: Some(terms),
        }
    }

    /// Decides on DHCPRELEASE and DHCPDECLINE: only the holder of a lease can give it up (RFC 2131
    /// §4.3.3, §4.3.4).
    fn give_up(
        &self,
        address: Ipv4Addr,
        action: Action<'static>,
        may: impl Fn(&SlotView) -> bool,
    ) -> Decision {
        let is_leased = |slot: &SlotView| {
            slot.owner == SlotOwner::Requester && slot.occupancy == SlotOccupancy::Leased
        };
        match self.slot(address).filter(|slot| is_leased(slot) && may(slot)) {
            Some(slot) => Decision::Change {
                change_of: slot,
                action: ProposedAction::Plain(action),
                gives_up: None,
                reply: None,
            },
            None => Decision::Drop(DropReason::NotTheClientsLease),
        }
    }

    fn give_up_offer(&self) -> Decision {
        match self.facts.client_slots().find(|slot| slot.occupancy == SlotOccupancy::Held) {
            Some(&slot) => Decision::Change {
                change_of: slot,
                action: ProposedAction::Plain(Action::Unhold),
                gives_up: None,
                reply: None,
            },
            None => Decision::Drop(DropReason::ClientChoseOtherServer),
        }
    }

    /// Returns true if the client can have `slot`, whose address is reserved for it. An offer of
    /// the address to another client does not count: the same client may have sent the DHCPDISCOVER
    /// under another identifier.
    fn is_claimable(&self, slot: SlotView) -> bool {
        slot.is_available(self.now) || slot.occupancy == SlotOccupancy::Held
    }

    /// Returns the slot of `address`, if the transaction fetched it by address.
    fn slot(&self, address: Ipv4Addr) -> Option<SlotView> {
        self.facts.address_slots.iter().flatten().find(|slot| slot.address == address).copied()
    }

    /// Returns the row epoch to wait for when an address that the client could have is being
    /// released, until the release is durable.
    fn releasing(&self) -> Option<u64> {
        let addresses = self.facts.address_slots.iter().flatten();
        let mut slots = self.facts.client_slots().chain(addresses);
        slots
            .find(|slot| is_releasing_own(**slot) && self.location_of(slot.address).is_some())
            .map(|slot| slot.row_epoch)
    }

    /// Returns the subnet and pool in which the client may have `address`: where the address is
    /// reserved for it, or in a pool.
    fn location_of(&self, address: Ipv4Addr) -> Option<AddressLocation> {
        let claimed = self.claim.filter(|claim| claim.address == address);
        claimed.map(|claim| claim.location).or_else(|| self.transaction.location_in_pool(address))
    }

    /// Returns the client's best slot on its link, with the location: its running lease, an address
    /// held for it by an offer, its ended lease, or an address that it once had. Of several leases
    /// the newest counts: each server of a pair may have given the client one while they could not
    /// talk, and the client has heard of the last one.
    fn own_slot(&self) -> Option<(SlotView, AddressLocation)> {
        let rank = |slot: &SlotView| match slot.occupancy {
            SlotOccupancy::Leased if !slot.is_available(self.now) => 0,
            SlotOccupancy::Held => 1,
            SlotOccupancy::Leased => 2,
            SlotOccupancy::Free => 3,
            SlotOccupancy::Releasing | SlotOccupancy::Declined => 4,
        };
        self.facts
            .client_slots()
            .filter(|slot| rank(slot) < 4 && !self.transaction.is_reserved_for_others(slot.address))
            .filter_map(|slot| Some((*slot, self.location_of(slot.address)?)))
            .min_by_key(|(slot, _)| (rank(slot), Reverse(slot.cltt_s), slot.address))
    }

    /// Returns the slot of another address that is reserved for the client, once no other address
    /// is left.
    fn further(&self) -> Option<(SlotView, AddressLocation)> {
        let transaction = self.transaction;
        if !transaction.wants_further_reserved() {
            return None;
        }
        transaction.further_reserved().find_map(|address| {
            let slot = self.slot(address).filter(|slot| self.is_claimable(*slot))?;
            Some((slot, transaction.location_in_pool(address)?))
        })
    }

    fn candidate(&self) -> Option<(SlotView, AddressLocation)> {
        let slot = self.facts.candidate?;
        // Addresses reserved in the configuration never become candidates.
        if self.transaction.hosts.has_external_source()
            && self.transaction.is_reserved_for_others(slot.address)
        {
            return None;
        }
        Some((slot, self.transaction.location_in_pool(slot.address)?))
    }

    /// Returns the subnet of the client's reserved address, when another client has the address in
    /// use.
    fn conflict(&self) -> Option<SubnetIndex> {
        let claim = self.claim?;
        let slot = self.slot(claim.address)?;
        let is_in_use = slot.owner != SlotOwner::Requester && !self.is_claimable(slot);
        is_in_use.then_some(claim.location.subnet)
    }

    /// Returns the client's running lease on its link other than `slot`: one client, one lease.
    fn other_lease(&self, slot: SlotView) -> Option<SlotView> {
        let (snapshot, selected) = (self.transaction.snapshot, self.transaction.subnet?);
        let is_other = |mine: &&SlotView| {
            mine.address != slot.address
                && mine.occupancy == SlotOccupancy::Leased
                && !mine.is_available(self.now)
                && snapshot.is_on_link(selected, mine.address)
        };
        self.facts.client_slots().find(is_other).copied()
    }

    /// Returns the seconds that are left of the lease in `slot`, when the lease is young enough to
    /// be repeated instead of renewed (Kea's `cache-threshold`) and a renewal would write it
    /// unchanged (Kea reference §5.2).
    fn repeatable_s(
        &self,
        slot: SlotView,
        location: AddressLocation,
        lifetime_s: u32,
    ) -> Option<u32> {
        let subnet = self.transaction.snapshot.subnet(location.subnet);
        let user_context = self.transaction.user_context(location.subnet);
        let name = &self.transaction.name;
        let is_same = subnet.id == slot.subnet_id
            && slot.detail.is_same_client
            && name.is_chosen_for(location, slot.address)
            && slot.text.hostname == text_hash(name.stored_text()?)
            && slot.text.fqdn_fwd == name.updates().forward
            && slot.text.fqdn_rev == name.updates().reverse
            && (user_context.is_empty() || slot.text.user_context == text_hash(user_context));
        if !is_same {
            return None;
        }
        let age_s = subnet.repeat.age_s(self.now, &slot, lifetime_s)?;
        Some(remaining_s(lifetime_s, age_s))
    }
}

pub(super) const fn nak(gate_epoch: u64) -> Decision {
    Decision::Reply(ReplyTerms::without_address(ReplyKind::Nak), gate_epoch)
}

fn is_own(slot: SlotView) -> bool {
    slot.owner == SlotOwner::Requester && slot.occupancy != SlotOccupancy::Declined
}

/// Returns true if the slot represents a row that the lease store has and cannot read: the row may
/// be the requesting client's, so a fault of the store is no reason to refuse the client its lease.
/// The slot of a declined lease differs: it has the time of the decline.
fn is_unreadable(slot: SlotView) -> bool {
    slot.occupancy == SlotOccupancy::Declined
        && slot.valid_lifetime_s == INFINITE_LIFETIME_S
        && slot.cltt_s == 0
}

/// Returns true if `slot` has a lease, running or past. An offer does not count: the client may
/// have chosen another server since, so the offer does not prove where the client is (RFC 2131
/// §4.3.2).
fn has_lease(slot: SlotView) -> bool {
    match slot.occupancy {
        SlotOccupancy::Held => false,
        SlotOccupancy::Free => slot.state != LeaseState::Assigned,
        SlotOccupancy::Leased | SlotOccupancy::Declined | SlotOccupancy::Releasing => true,
    }
}

fn is_releasing_own(slot: SlotView) -> bool {
    slot.occupancy == SlotOccupancy::Releasing && slot.owner == SlotOwner::Requester
}
