//! Decisions of a DHCPv6 transaction for one identity association: pure functions from its facts to
//! a decision.
//!
//! They follow RFC 9915 §18.3; where it leaves a choice, they follow Kea (reference §5.5, §5.15).

use base::Now;
use dhcp_lease::INFINITE_LIFETIME_S;
use dhcp_lease::v6::{Action, Facts, ResourceKind, SlotOccupancy, SlotView};
use dhcp_wire::v6::{IaKind as WireKind, StatusCode};

use super::association::{MessageAssociation, ResourceLocation, none_available};
use super::choice::Choice;
use super::transaction::Transaction;
use super::{Dhcp6Intent, DropReason};
use crate::prefixes::SubnetIndex;
use crate::transaction::NoReply;

/// Decision that the facts of an identity association lead to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decision {
    /// Grant the address or prefix of this slot to the identity association.
    Take(SlotView, ResourceLocation),
    /// Grant nothing to the identity association and reply with this status code (RFC 9915 §21.13).
    Status(StatusCode),
    /// Apply this action, a release or a decline, to all leases of the identity association that
    /// the client names and has.
    GiveUp(Action<'static>),
    /// Fetch a free address or prefix, then decide again.
    NeedCandidate,
    /// Run the message again after this row epoch has settled.
    Wait(u64),
    /// Send no reply, and count this reason.
    Drop(DropReason),
}

pub(super) fn decide(
    transaction: &Transaction<'_>,
    now: Now,
    at: usize,
    facts: &Facts,
) -> Decision {
    let association = transaction.associations.get(at).expect("there are so many");
    match transaction.intent {
        Dhcp6Intent::Release => return give_up(facts, Action::Release),
        Dhcp6Intent::Decline if association.kind == ResourceKind::Prefix => {
            // RFC 9915 §18.2.8: clients decline addresses only.
            return Decision::Status(StatusCode::NoBinding);
        }
        Dhcp6Intent::Decline => {
            let probation_s = transaction.snapshot.decline_probation_s;
            return give_up(facts, Action::Decline { probation_s });
        }
        _ => {}
    }
    let Some(subnet) = transaction.client.subnet else {
        return Decision::Status(match transaction.intent {
            Dhcp6Intent::Renew => StatusCode::NoBinding,
            _ => none_available(association.ia.kind),
        });
    };
    if transaction.intent == Dhcp6Intent::Request && is_off_link(transaction, association, subnet) {
        return Decision::Status(StatusCode::NotOnLink);
    }
    let choice = Choice { transaction, association, at, now };
    if let Some(epoch) = choice.releasing(facts) {
        return Decision::Wait(epoch);
    }
    // A SOLICIT may get another address: the client has none to lose.
    let requests_own_lease = matches!(
        transaction.intent,
        Dhcp6Intent::Request | Dhcp6Intent::Renew | Dhcp6Intent::Rebind
    );
    if requests_own_lease && names_unreadable(association, facts) {
        return Decision::Drop(DropReason::LeaseRefused);
    }
    match choice.best(facts) {
        Some((slot, location)) => Decision::Take(*slot, location),
        None => Decision::NeedCandidate,
    }
}

/// Decides on a CONFIRM (RFC 9915 §18.3.3): the status of the reply is Success when all addresses
/// fit the link, whichever client has them. Temporary addresses (IA_TA) count, prefixes do not. If
/// no subnet is known, another server may know the link, so there is no reply; Kea replies
/// NotOnLink.
pub(super) fn confirm(transaction: &mut Transaction<'_>) -> Result<u64, NoReply> {
    let ias = transaction.message.ias().filter(|ia| ia.kind != WireKind::Pd);
    let mut addresses = ias.flat_map(|ia| ia.addresses()).peekable();
    if addresses.peek().is_none() {
        return Err(DropReason::NothingToConfirm.into());
    }
    let Some(subnet) = transaction.client.subnet else {
        return Err(DropReason::NoSubnet.into());
    };
    let is_on_link = |address| transaction.snapshot.is_on_link(subnet, address);
    let all_fit = addresses.all(|address| is_on_link(address.address));
    transaction.status = Some(if all_fit { StatusCode::Success } else { StatusCode::NotOnLink });
    Ok(0)
}

/// Decides on RELEASE and DECLINE for an identity association: the message waits until an earlier
/// change of the same lease is durable.
fn give_up(facts: &Facts, action: Action<'static>) -> Decision {
    match facts.client_slots().find(|slot| slot.occupancy == SlotOccupancy::Releasing) {
        Some(slot) => Decision::Wait(slot.row_epoch),
        None => Decision::GiveUp(action),
    }
}

/// Returns true if the identity association names an address or prefix for which the lease store
/// has a row that it cannot read. The row may be the client's own, so a fault of the store is no
/// reason to give the client another address or prefix.
fn names_unreadable(association: &MessageAssociation<'_>, facts: &Facts) -> bool {
    let is_unreadable = |slot: &&SlotView| {
        slot.occupancy == SlotOccupancy::Declined && slot.valid_lifetime_s == INFINITE_LIFETIME_S
    };
    let mut unreadable = facts.address_slots.iter().flatten().filter(is_unreadable);
    unreadable
        .any(|slot| association.requested_resources().any(|resource| resource == slot.address))
}

/// Returns true if the client requests for the identity association an address that does not fit
/// its link (RFC 9915 §18.3.2).
fn is_off_link(
    transaction: &Transaction<'_>,
    association: &MessageAssociation<'_>,
    subnet: SubnetIndex,
) -> bool {
    association.kind == ResourceKind::Address
        && association
            .requested_resources()
            .any(|resource| !transaction.snapshot.is_on_link(subnet, resource.address))
}
