//! What to do, given the facts: pure functions from a transaction and its facts to a decision.
//!
//! RFC 2131 §4.3; where Kea deviates, reference §5.3 is followed.

use base::Now;
use dhcp_lease::v4::{Action, Facts, LeaseTerms, Occupancy, Owner, SlotView};

use super::DropReason;
use super::lifetime;
use super::reply::{ReplyKind, Terms};
use super::request::{Intent, Stage};
use super::transaction::Transaction;
use crate::links::PoolPlace;
use crate::repeat::remaining_s;

/// What the facts lead to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decision {
    /// Reply; the epoch is that of the slot that was read.
    Reply(Terms, u64),
    /// Change a slot and end the client's lease of another, then reply (or stay silent).
    Change {
        change_of: SlotView,
        action: Proposed,
        gives_up: Option<SlotView>,
        reply: Option<Terms>,
    },
    /// A free address is needed to go on.
    NeedCandidate,
    /// Run again after this epoch.
    Wait(u64),
    /// Nothing to say, counted.
    Drop(DropReason),
}

/// An [`Action`] that does not borrow the host name yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proposed {
    Plain(Action<'static>),
    Lease { valid_lifetime_s: u32, subnet_id: u32, pool_id: u32 },
}

impl Proposed {
    pub(super) fn with_host_name<'t>(self, transaction: &'t Transaction<'_>) -> Action<'t> {
        match self {
            Self::Plain(action) => action,
            Self::Lease { valid_lifetime_s, subnet_id, pool_id } => Action::Lease(LeaseTerms {
                valid_lifetime_s,
                subnet_id,
                pool_id,
                fqdn_fwd: false,
                fqdn_rev: false,
                hostname: transaction.host_name.as_str(),
                user_context: "",
            }),
        }
    }
}

pub(super) fn decide(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    match transaction.intent {
        Intent::Discover(_) => discover(transaction, now, facts),
        Intent::Request(_, None) => request_any(transaction, now, facts),
        Intent::Request(Stage::Rebooting, Some(_)) => reboot(transaction, now, facts),
        Intent::Request(_, Some(_)) => request(transaction, now, facts),
        Intent::TakeOtherOffer => offer_not_taken(facts),
        Intent::Decline(_) => {
            let probation_s = transaction.snapshot.decline_probation_s;
            give_up(facts, Action::Decline { probation_s }, |slot| !slot.is_available(now))
        }
        Intent::Release(_) => give_up(facts, Action::Release, |_| true),
        Intent::Inform => Decision::Reply(Terms::without_address(ReplyKind::InformAck), 0),
    }
}

/// RFC 2131 §4.3.1: the client's current address, its previous one, the one it asks for, a new one.
fn discover(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    // A candidate is only claimed when nothing else would do, and a claim must be used.
    if let Some((slot, place)) = candidate(transaction, facts) {
        return offer(transaction, now, slot, place);
    }
    if let Some((slot, place)) = own_slot(transaction, now, facts) {
        return offer(transaction, now, slot, place);
    }
    if let Some(slot) = facts.asked[0]
        && slot.is_available(now)
        && let Some(place) = transaction.place(slot)
    {
        return offer(transaction, now, slot, place);
    }
    Decision::NeedCandidate
}

fn offer(transaction: &Transaction<'_>, now: Now, slot: SlotView, place: PoolPlace) -> Decision {
    let terms = transaction.terms(ReplyKind::Offer, slot, place);
    let is_leased = slot.occupancy == Occupancy::Leased && slot.owner == Owner::Asking;
    if is_leased && !slot.is_available(now) {
        // The client's own running lease needs no hold; the offer says what a request will get.
        let terms = match transaction.cached_lifetime_s(now, slot, terms.lifetime_s) {
            Some(remaining_s) => terms.repeated(remaining_s),
            None => terms,
        };
        return Decision::Reply(terms, slot.row_epoch);
    }
    let deadline_ns = now.mono_ns + transaction.snapshot.hold_ns;
    let subnet_id = transaction.snapshot.subnet(place.subnet).id;
    Decision::Change {
        change_of: slot,
        action: Proposed::Plain(Action::Hold { deadline_ns, subnet_id }),
        gives_up: None,
        reply: Some(terms),
    }
}

/// A REQUEST for an address: what the client has, or what is free. Whatever else the client has on
/// this link is given up for it, as in Kea.
fn request(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    // An address that is in no pool may be another server's.
    let Some((slot, place)) =
        facts.asked[0].and_then(|slot| Some((slot, transaction.place(slot)?)))
    else {
        return Decision::Drop(DropReason::UnknownClient);
    };
    if is_releasing_own(slot) {
        return Decision::Wait(slot.row_epoch);
    }
    let is_mine = slot.owner == Owner::Asking && slot.occupancy != Occupancy::Declined;
    if !is_mine && !slot.is_available(now) {
        return nak(slot.row_epoch);
    }
    lease(transaction, now, facts, (slot, place))
}

/// A REQUEST that names no address at all: what the client has or was offered, else a new one.
fn request_any(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    match candidate(transaction, facts).or_else(|| own_slot(transaction, now, facts)) {
        Some(found) => lease(transaction, now, facts, found),
        None => Decision::NeedCandidate,
    }
}

/// INIT-REBOOT (RFC 2131 §4.3.2): silence towards strangers unless we are authoritative.
fn reboot(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    let asked = facts.asked[0];
    let is_mine = |slot: &SlotView| slot.owner == Owner::Asking;
    if asked.is_some_and(|slot| is_mine(&slot) && transaction.place(slot).is_some()) {
        return request(transaction, now, facts);
    }
    let known_epoch = facts
        .mine()
        .filter(|slot| slot.occupancy != Occupancy::Held && transaction.place(**slot).is_some())
        .map(|slot| slot.row_epoch)
        .max();
    let asked_epoch = asked.map_or(0, |slot| slot.row_epoch);
    match known_epoch {
        Some(epoch) => nak(epoch.max(asked_epoch)),
        None if transaction.is_authoritative() => nak(asked_epoch),
        None => Decision::Drop(DropReason::UnknownClient),
    }
}

fn lease(
    transaction: &Transaction<'_>,
    now: Now,
    facts: &Facts,
    (slot, place): (SlotView, PoolPlace),
) -> Decision {
    let terms = transaction.terms(ReplyKind::Ack, slot, place);
    if let Some(remaining_s) = transaction.cached_lifetime_s(now, slot, terms.lifetime_s) {
        return Decision::Reply(terms.repeated(remaining_s), slot.row_epoch);
    }
    let snapshot = transaction.snapshot;
    Decision::Change {
        change_of: slot,
        action: Proposed::Lease {
            valid_lifetime_s: terms.lifetime_s,
            subnet_id: snapshot.subnet(place.subnet).id,
            pool_id: snapshot.pool_id(place.pool),
        },
        gives_up: other_lease(transaction, now, facts, slot),
        reply: Some(terms),
    }
}

/// RELEASE and DECLINE: only the holder of a lease can give it up (RFC 2131 §4.3.3, §4.3.4).
fn give_up(facts: &Facts, action: Action<'static>, may: impl Fn(&SlotView) -> bool) -> Decision {
    let is_leased =
        |slot: &SlotView| slot.owner == Owner::Asking && slot.occupancy == Occupancy::Leased;
    match facts.asked[0].filter(|slot| is_leased(slot) && may(slot)) {
        Some(slot) => Decision::Change {
            change_of: slot,
            action: Proposed::Plain(action),
            gives_up: None,
            reply: None,
        },
        None => Decision::Drop(DropReason::NotTheClientsLease),
    }
}

fn offer_not_taken(facts: &Facts) -> Decision {
    match facts.mine().find(|slot| slot.occupancy == Occupancy::Held) {
        Some(&slot) => Decision::Change {
            change_of: slot,
            action: Proposed::Plain(Action::Unhold),
            gives_up: None,
            reply: None,
        },
        None => Decision::Drop(DropReason::ClientChoseOtherServer),
    }
}

pub(super) const fn nak(gate_epoch: u64) -> Decision {
    Decision::Reply(Terms::without_address(ReplyKind::Nak), gate_epoch)
}

fn is_releasing_own(slot: SlotView) -> bool {
    slot.occupancy == Occupancy::Releasing && slot.owner == Owner::Asking
}

/// The client's best slot on this link: a running lease, a hold, an ended lease, a memory.
fn own_slot(
    transaction: &Transaction<'_>,
    now: Now,
    facts: &Facts,
) -> Option<(SlotView, PoolPlace)> {
    let rank = |slot: &SlotView| match slot.occupancy {
        Occupancy::Leased if !slot.is_available(now) => 0,
        Occupancy::Held => 1,
        Occupancy::Leased => 2,
        Occupancy::Free => 3,
        Occupancy::Releasing | Occupancy::Declined => 4,
    };
    facts
        .mine()
        .filter(|slot| rank(slot) < 4)
        .filter_map(|slot| Some((*slot, transaction.place(*slot)?)))
        .min_by_key(|(slot, _)| (rank(slot), slot.address))
}

fn candidate(transaction: &Transaction<'_>, facts: &Facts) -> Option<(SlotView, PoolPlace)> {
    facts.candidate.and_then(|slot| Some((slot, transaction.place(slot)?)))
}

/// The client's running lease on this link other than `slot`: one client, one lease.
fn other_lease(
    transaction: &Transaction<'_>,
    now: Now,
    facts: &Facts,
    slot: SlotView,
) -> Option<SlotView> {
    let is_other = |mine: &&SlotView| {
        mine.address != slot.address
            && mine.occupancy == Occupancy::Leased
            && !mine.is_available(now)
            && transaction.place(**mine).is_some()
    };
    facts.mine().find(is_other).copied()
}

impl Transaction<'_> {
    pub(super) fn place(&self, slot: SlotView) -> Option<PoolPlace> {
        self.snapshot.place(self.subnet?, slot.address)
    }

    fn is_authoritative(&self) -> bool {
        self.subnet.map_or(self.snapshot.is_authoritative, |subnet| {
            self.snapshot.subnet(subnet).is_authoritative
        })
    }

    /// What the client gets.
    fn terms(&self, kind: ReplyKind, slot: SlotView, place: PoolPlace) -> Terms {
        let limits = &self.snapshot.subnet(place.subnet).valid_lifetime;
        let lifetime_s = lifetime::granted_s(limits, self.message.lease_time());
        Terms { kind, address: slot.address, lifetime_s, place: Some(place), is_repeated: false }
    }

    /// Seconds left, when the lease is young enough to be repeated instead of renewed (Kea
    /// reference §5.2). A message with a host name is always written, since the name may differ.
    fn cached_lifetime_s(&self, now: Now, slot: SlotView, wanted_s: u32) -> Option<u32> {
        if !self.host_name.as_str().is_empty() {
            return None;
        }
        let place = self.place(slot)?;
        let subnet = self.snapshot.subnet(place.subnet);
        if subnet.id != slot.subnet_id {
            return None;
        }
        let age_s = subnet.repeat.age_s(now, &slot, wanted_s)?;
        Some(remaining_s(wanted_s, age_s))
    }
}
