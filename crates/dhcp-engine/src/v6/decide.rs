//! What to do for one association, given its facts: pure functions to a decision.
//!
//! RFC 9915 §18.3; where it leaves a choice, Kea's is followed (reference §5.15).

use base::Now;
use dhcp_lease::v6::{Action, Facts, IaKind, Occupancy, Owner, SlotView};
use dhcp_wire::v6::{IaKind as WireKind, StatusCode};

use super::DropReason;
use super::association::{Association, Grant, none_available};
use super::lifetimes::Limits;
use super::transaction::{Intent, Outcome, Transaction};
use crate::links::PoolPlace;
use crate::prefixes::SubnetIndex;

/// What the facts lead to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decision {
    /// This is granted, after the change if there is one.
    Grant(Grant, Option<(SlotView, Action<'static>)>),
    /// Nothing is granted.
    Status(StatusCode),
    /// Whatever the client names and has is changed like this.
    GiveUp(Action<'static>),
    /// Something free is needed to go on.
    NeedCandidate,
    /// Run the message again after this epoch.
    Wait(u64),
}

pub(super) fn decide(
    transaction: &Transaction<'_>,
    now: Now,
    at: usize,
    facts: &Facts,
) -> Decision {
    let association = transaction.associations.iter().nth(at).expect("there are so many");
    match transaction.intent {
        Intent::Release => return give_up(facts, Action::Release),
        Intent::Decline => {
            let probation_s = transaction.snapshot.decline_probation_s;
            return give_up(facts, Action::Decline { probation_s });
        }
        _ => {}
    }
    let Some(subnet) = transaction.subnet else {
        return Decision::Status(match transaction.intent {
            Intent::Renew => StatusCode::NoBinding,
            _ => none_available(association.ia.kind),
        });
    };
    if transaction.intent == Intent::Request && is_off_link(transaction, association, subnet) {
        return Decision::Status(StatusCode::NotOnLink);
    }
    let choice = Choice { transaction, association, at, now, subnet };
    if let Some(epoch) = choice.releasing(facts) {
        return Decision::Wait(epoch);
    }
    match choice.best(facts) {
        Some((slot, place)) => choice.grant(slot, place),
        None => Decision::NeedCandidate,
    }
}

/// RFC 9915 §18.3.3: the addresses fit the link or they do not, whoever has them. Temporary ones
/// count, prefixes do not.
pub(super) fn confirm(transaction: &mut Transaction<'_>) -> Outcome {
    let ias = transaction.message.ias().filter(|ia| ia.kind != WireKind::Pd);
    let mut addresses = ias.flat_map(|ia| ia.addresses()).peekable();
    if addresses.peek().is_none() {
        return Outcome::Drop(DropReason::NothingToConfirm);
    }
    let Some(subnet) = transaction.subnet else { return Outcome::Drop(DropReason::NoSubnet) };
    let is_on_link = |address| transaction.snapshot.is_on_link(subnet, address);
    let all_fit = addresses.all(|address| is_on_link(address.address));
    transaction.status = Some(if all_fit { StatusCode::Success } else { StatusCode::NotOnLink });
    Outcome::Reply(0)
}

/// A client that gives up what it has waits for an earlier change of the same.
fn give_up(facts: &Facts, action: Action<'static>) -> Decision {
    match facts.mine().find(|slot| slot.occupancy == Occupancy::Releasing) {
        Some(slot) => Decision::Wait(slot.row_epoch),
        None => Decision::GiveUp(action),
    }
}

/// RFC 9915 §18.3.2: whether the client asks for an address that does not fit its link.
fn is_off_link(
    transaction: &Transaction<'_>,
    association: &Association<'_>,
    subnet: SubnetIndex,
) -> bool {
    association.kind == IaKind::Address
        && association.named().any(|named| !transaction.snapshot.is_on_link(subnet, named.address))
}

/// The choice of a slot for one association.
struct Choice<'c, 'm> {
    transaction: &'c Transaction<'m>,
    association: &'c Association<'m>,
    at: usize,
    now: Now,
    subnet: SubnetIndex,
}

impl Choice<'_, '_> {
    fn place(&self, slot: &SlotView) -> Option<PoolPlace> {
        self.transaction.snapshot.place(self.subnet, slot.address)
    }

    /// Whether an association that was decided before has it.
    fn is_taken(&self, slot: &SlotView) -> bool {
        let mut before = self.transaction.associations.iter().take(self.at);
        before.any(|other| other.grant().is_some_and(|grant| grant.resource == slot.address))
    }

    /// The epoch to wait for when something that the association could have is on its way back.
    fn releasing(&self, facts: &Facts) -> Option<u64> {
        let mut mine = facts.mine();
        mine.find(|slot| slot.occupancy == Occupancy::Releasing && self.place(slot).is_some())
            .map(|slot| slot.row_epoch)
    }

    /// The claimed candidate; else the association's running lease, what it asks for, its hold, its
    /// ended lease, what it had. A candidate is only claimed when nothing else would do, and a
    /// claim must be used.
    fn best(&self, facts: &Facts) -> Option<(SlotView, PoolPlace)> {
        let ranked = |slot: &SlotView, is_candidate: bool| {
            let place = self.place(slot).filter(|_| !self.is_taken(slot))?;
            let rank = self.rank(slot, is_candidate)?;
            let is_unasked = !self.association.hints.contains(&Some(slot.address));
            Some((rank, is_unasked, *slot, place))
        };
        let candidate = facts.candidate.iter().filter_map(|slot| ranked(slot, true));
        let others = facts.mine().chain(facts.asked.iter().flatten());
        let others = others.filter_map(|slot| ranked(slot, false));
        let best = candidate
            .chain(others)
            .min_by_key(|&(rank, is_unasked, slot, _)| (rank, is_unasked, slot.address));
        best.map(|(_, _, slot, place)| (slot, place))
    }

    /// How good a slot is, 0 the best; `None` when it cannot be given.
    fn rank(&self, slot: &SlotView, is_candidate: bool) -> Option<u8> {
        let is_mine = slot.owner == Owner::Asking;
        let is_asked = self.association.hints.contains(&Some(slot.address));
        let is_available = slot.is_available(self.now);
        match slot.occupancy {
            _ if is_candidate => Some(0),
            Occupancy::Leased if is_mine && !is_available => Some(1),
            Occupancy::Held if is_mine && is_asked => Some(2),
            Occupancy::Free | Occupancy::Leased | Occupancy::Held if is_available && is_asked => {
                Some(2)
            }
            Occupancy::Held if is_mine => Some(3),
            Occupancy::Leased if is_mine => Some(4),
            Occupancy::Free if is_mine => Some(5),
            // A probation that is over leaves a slot like any other.
            Occupancy::Declined if is_available && is_asked => Some(6),
            _ => None,
        }
    }

    fn grant(&self, slot: SlotView, place: PoolPlace) -> Decision {
        let transaction = self.transaction;
        let subnet = transaction.snapshot.subnet(place.subnet);
        let lifetimes = self
            .association
            .wished
            .granted(Limits { preferred: subnet.preferred_lifetime, valid: subnet.valid_lifetime });
        let grant = Grant { resource: slot.address, lifetimes, place };
        if transaction.intent == Intent::Solicit {
            let is_running = slot.occupancy == Occupancy::Leased && slot.owner == Owner::Asking;
            if is_running && !slot.is_available(self.now) {
                // A running lease needs no hold; the offer repeats what a renewal gives.
                return Decision::Grant(grant, None);
            }
            let deadline_ns = self.now.mono_ns + transaction.snapshot.hold_ns;
            let hold = Action::Hold { deadline_ns, subnet_id: subnet.id };
            return Decision::Grant(grant, Some((slot, hold)));
        }
        match lifetimes.left(self.now, &slot, subnet) {
            Some(left) => Decision::Grant(Grant { lifetimes: left, ..grant }, None),
            None => Decision::Grant(grant, Some((slot, Action::Lease(transaction.terms(&grant))))),
        }
    }
}
