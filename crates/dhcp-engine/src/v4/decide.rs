//! What to do, given the facts: pure functions from a transaction and its facts to a decision.
//!
//! RFC 2131 §4.3; where Kea deviates, reference §5.3 is followed.

use base::Now;
use dhcp_lease::v4::{Action, Facts, LeaseTerms, Occupancy, Owner, SlotView};

use super::DropReason;
use super::reply::{ReplyKind, Terms};
use super::transaction::{Intent, Transaction};
use crate::links::PoolPlace;
use crate::repeat::remaining_s;

/// What the facts lead to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decision {
    /// Reply; the epoch is that of the slot that was read.
    Reply(Terms, u64),
    /// Change a slot, then reply (or stay silent).
    Change { change_of: SlotView, action: Proposed, reply: Option<Terms> },
    /// A free address is needed to go on.
    NeedCandidate,
    /// Run again after this epoch.
    Wait(u64),
    /// Nothing to say.
    Silence,
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
        Intent::Select(Some(_)) => select(transaction, now, facts),
        Intent::Select(None) => select_any(transaction, now, facts),
        Intent::TakeOtherOffer => offer_not_taken(facts),
        Intent::Reboot(_) => reboot(transaction, now, facts),
        Intent::Renew(_) => renew(transaction, now, facts),
        Intent::Decline(_) => {
            let probation_s = transaction.snapshot.decline_probation_s;
            give_up(facts, Action::Decline { probation_s })
        }
        Intent::Release(_) => give_up(facts, Action::Release),
        Intent::Inform => inform(),
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
        // The client's own running lease needs no hold; the offer repeats what a renewal gives.
        return Decision::Reply(terms, slot.row_epoch);
    }
    let deadline_ns = now.mono_ns + transaction.snapshot.hold_ns;
    let subnet_id = transaction.snapshot.subnet(place.subnet).id;
    Decision::Change {
        change_of: slot,
        action: Proposed::Plain(Action::Hold { deadline_ns, subnet_id }),
        reply: Some(terms),
    }
}

/// A REQUEST that answers our offer.
fn select(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    let Some(slot) = facts.asked[0] else { return nak(0) };
    let Some(place) = transaction.place(slot) else { return nak(slot.row_epoch) };
    if is_releasing_own(slot) {
        return Decision::Wait(slot.row_epoch);
    }
    let is_mine = slot.owner == Owner::Asking && slot.occupancy != Occupancy::Declined;
    if is_mine {
        return lease(transaction, now, slot, place);
    }
    if !slot.is_available(now) || has_other_lease(transaction, now, facts, slot) {
        return nak(slot.row_epoch);
    }
    lease(transaction, now, slot, place)
}

/// A REQUEST that names no address at all: what the client has or was offered, else a new one.
fn select_any(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    match candidate(transaction, facts).or_else(|| own_slot(transaction, now, facts)) {
        Some((slot, place)) => lease(transaction, now, slot, place),
        None => Decision::NeedCandidate,
    }
}

/// INIT-REBOOT (RFC 2131 §4.3.2): silence towards strangers unless we are authoritative.
fn reboot(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    if let Some(slot) = facts.asked[0]
        && slot.owner == Owner::Asking
        && let Some(place) = transaction.place(slot)
    {
        return match slot.occupancy {
            Occupancy::Releasing => Decision::Wait(slot.row_epoch),
            Occupancy::Declined => nak(slot.row_epoch),
            Occupancy::Held | Occupancy::Leased | Occupancy::Free => {
                lease(transaction, now, slot, place)
            }
        };
    }
    let known_epoch = facts.mine().map(|slot| slot.row_epoch).max();
    let asked_epoch = facts.asked[0].map_or(0, |slot| slot.row_epoch);
    match known_epoch {
        Some(epoch) => nak(epoch.max(asked_epoch)),
        None if transaction.is_authoritative() => nak(asked_epoch),
        None => Decision::Drop(DropReason::UnknownClient),
    }
}

/// RENEWING and REBINDING: also serves a client whose lease we have lost, when its address is free.
fn renew(transaction: &Transaction<'_>, now: Now, facts: &Facts) -> Decision {
    let Some((slot, place)) =
        facts.asked[0].and_then(|slot| Some((slot, transaction.place(slot)?)))
    else {
        return Decision::Drop(DropReason::UnknownClient);
    };
    if is_releasing_own(slot) {
        return Decision::Wait(slot.row_epoch);
    }
    let is_mine = slot.owner == Owner::Asking && slot.occupancy != Occupancy::Declined;
    if is_mine || slot.is_available(now) && !has_other_lease(transaction, now, facts, slot) {
        return lease(transaction, now, slot, place);
    }
    nak(slot.row_epoch)
}

fn lease(transaction: &Transaction<'_>, now: Now, slot: SlotView, place: PoolPlace) -> Decision {
    let terms = transaction.terms(ReplyKind::Ack, slot, place);
    if let Some(remaining_s) = transaction.cached_lifetime_s(now, slot, terms.lifetime_s) {
        return Decision::Reply(Terms { lifetime_s: remaining_s, ..terms }, slot.row_epoch);
    }
    let snapshot = transaction.snapshot;
    Decision::Change {
        change_of: slot,
        action: Proposed::Lease {
            valid_lifetime_s: terms.lifetime_s,
            subnet_id: snapshot.subnet(place.subnet).id,
            pool_id: snapshot.pool_id(place.pool),
        },
        reply: Some(terms),
    }
}

/// RELEASE and DECLINE: only the holder of a lease can give it up (RFC 2131 §4.3.3, §4.3.4).
fn give_up(facts: &Facts, action: Action<'static>) -> Decision {
    match facts.asked[0] {
        Some(slot) if slot.owner == Owner::Asking && slot.occupancy == Occupancy::Leased => {
            Decision::Change { change_of: slot, action: Proposed::Plain(action), reply: None }
        }
        _ => Decision::Drop(DropReason::NotTheClientsLease),
    }
}

fn offer_not_taken(facts: &Facts) -> Decision {
    match facts.mine().find(|slot| slot.occupancy == Occupancy::Held) {
        Some(&slot) => Decision::Change {
            change_of: slot,
            action: Proposed::Plain(Action::Unhold),
            reply: None,
        },
        None => Decision::Silence,
    }
}

/// RFC 2131 §4.3.5: parameters only.
pub(super) fn inform() -> Decision {
    Decision::Reply(Terms::without_address(ReplyKind::InformAck), 0)
}

const fn nak(gate_epoch: u64) -> Decision {
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

/// Whether the client has a running lease on this link other than `slot`: one client, one lease.
fn has_other_lease(transaction: &Transaction<'_>, now: Now, facts: &Facts, slot: SlotView) -> bool {
    facts.mine().any(|mine| {
        mine.address != slot.address
            && mine.occupancy == Occupancy::Leased
            && !mine.is_available(now)
            && transaction.place(*mine).is_some()
    })
}

impl Transaction<'_> {
    fn place(&self, slot: SlotView) -> Option<PoolPlace> {
        self.snapshot.place(self.subnet, slot.address)
    }

    fn is_authoritative(&self) -> bool {
        self.snapshot.subnet(self.subnet).is_authoritative
    }

    /// The lifetime that the client gets: what it asks for (option 51) within the subnet's limits.
    fn terms(&self, kind: ReplyKind, slot: SlotView, place: PoolPlace) -> Terms {
        let limits = &self.snapshot.subnet(place.subnet).valid_lifetime;
        let lifetime_s = match self.message.lease_time() {
            Some(wish) => wish.clamp(limits.min_s, limits.max_s),
            None => limits.default_s,
        };
        Terms { kind, address: slot.address, lifetime_s, place: Some(place) }
    }

    /// Seconds left, when the lease is young enough to be repeated instead of renewed (Kea
    /// reference §5.2). A message with a host name is always written, since the name may differ.
    fn cached_lifetime_s(&self, now: Now, slot: SlotView, wanted_s: u32) -> Option<u32> {
        if !self.host_name.as_str().is_empty() {
            return None;
        }
        let repeat = self.snapshot.subnet(self.subnet).repeat;
        let age_s = repeat.age_s(now, &slot, wanted_s)?;
        let place = self.snapshot.place(self.subnet, slot.address)?;
        let is_same = self.snapshot.subnet(place.subnet).id == slot.subnet_id;
        is_same.then(|| remaining_s(wanted_s, age_s))
    }
}
