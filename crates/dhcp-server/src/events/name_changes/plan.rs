//! Name change requests that follow from lease events, by the rules of Kea.

use std::net::IpAddr;

use dhcp_ddns::LeaseName;
use dhcp_events::LeaseEvent;
use dhcp_lease::{INFINITE_LIFETIME_S, Lease, LeaseEventKind, LeaseState};
use ncr::{NameChangeKind, NameChangeRequest, UpdateName};

use super::family::NameChangeFamily;
use super::terms::LeaseUpdateTerms;

/// Reason why there is no request for a lease that has a name and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanFault {
    /// Name that is no domain name.
    Name,
    /// Client without an identifier that a DHCID can be made of.
    Client,
}

/// Request about a lease, or the reason why there is none.
pub(super) type PlannedRequest = Result<NameChangeRequest, PlanFault>;

/// Returns true if the name of the lease is to be registered, or is registered.
fn has_names<F: NameChangeFamily>(lease: &Lease<F>) -> bool {
    !lease.hostname.is_empty() && (lease.fqdn_fwd || lease.fqdn_rev)
}

/// Returns the request about `lease`; `None` if it has no name in DNS.
pub(super) fn request<F: NameChangeFamily>(
    kind: NameChangeKind,
    lease: &Lease<F>,
    terms: &LeaseUpdateTerms,
) -> Option<PlannedRequest> {
    let address = F::named_address(lease.address).filter(|_| has_names(lease))?;
    Some(filled_request(kind, lease, address, terms))
}

fn filled_request<F: NameChangeFamily>(
    kind: NameChangeKind,
    lease: &Lease<F>,
    address: IpAddr,
    terms: &LeaseUpdateTerms,
) -> PlannedRequest {
    let name = UpdateName::from_text(&lease.hostname).ok_or(PlanFault::Name)?;
    let dhcid = F::dhcid(&lease.client, &name).ok_or(PlanFault::Client)?;
    let keys = terms.of_lease(lease.subnet_id, address);
    Ok(NameChangeRequest {
        kind,
        forward: lease.fqdn_fwd,
        reverse: lease.fqdn_rev,
        name,
        address,
        dhcid,
        ttl_s: keys.ttl_of_lifetime_s(lease.valid_lifetime_s),
        conflict_mode: keys.conflict_mode.unwrap_or_default(),
    })
}

/// Returns the name that `lease` has in DNS; `None` if it has none, or none that can be requested.
pub(super) fn name_of_lease<F: NameChangeFamily>(
    lease: &Lease<F>,
    terms: &LeaseUpdateTerms,
) -> Option<LeaseName> {
    // A lease that stays remembered for its client keeps its names until it is reclaimed.
    let is_named = match lease.state {
        LeaseState::Assigned | LeaseState::Registered | LeaseState::Released => true,
        LeaseState::Declined | LeaseState::ExpiredReclaimed => false,
    };
    let addition = request(NameChangeKind::Add, lease, terms).filter(|_| is_named)?.ok()?;
    Some(LeaseName { addition, since_s: lease.cltt_s, is_one_of_exchange: F::ADDS_ONE })
}

/// Returns the requests that follow from the events of one exchange, or of one event without an
/// exchange: removals first, so that a name that moves to another address is there in the end.
/// `is_removed_by_command` tells if a command that deleted the lease of an address asked for the
/// removal of its name.
pub(super) fn requests<F: NameChangeFamily>(
    events: &[LeaseEvent<F>],
    terms: &LeaseUpdateTerms,
    mut is_removed_by_command: impl FnMut(IpAddr) -> bool,
) -> Vec<PlannedRequest> {
    let (mut removals, mut additions) = (Vec::new(), Vec::new());
    for event in events {
        let change = &event.change;
        let before = change.before.as_ref();
        let removal = || request(NameChangeKind::Remove, before?, terms);
        match change.kind {
            LeaseEventKind::Allocated | LeaseEventKind::Renewed | LeaseEventKind::Registered => {
                let has_added = F::ADDS_ONE && !additions.is_empty();
                let Some(after) = change.after.as_ref().filter(|_| !has_added) else { continue };
                if before.is_none_or(|before| is_due(before, after, event, terms)) {
                    removals.extend(removal());
                    additions.extend(request(NameChangeKind::Add, after, terms));
                }
            }
            // A lease that stays remembered for its client keeps its names until it is reclaimed.
            LeaseEventKind::Released if change.after.is_some() => {}
            LeaseEventKind::Released | LeaseEventKind::Declined | LeaseEventKind::Reclaimed => {
                removals.extend(removal());
            }
            LeaseEventKind::Deleted => {
                let address = F::named_address(change.address);
                if address.is_some_and(&mut is_removed_by_command) {
                    removals.extend(removal());
                }
            }
            LeaseEventKind::NamesRequested => {
                let after = change.after.as_ref();
                additions
                    .extend(after.and_then(|after| request(NameChangeKind::Add, after, terms)));
            }
            // The other server of a shared database requests what its changes need.
            LeaseEventKind::Corrected
            | LeaseEventKind::Recovered
            | LeaseEventKind::Forgotten
            | LeaseEventKind::Added
            | LeaseEventKind::Updated
            | LeaseEventKind::Answered => {}
        }
    }
    removals.append(&mut additions);
    removals
}

/// Returns true if DNS must be updated when `after` replaces `before`: the lease is not a running
/// one of the same client with the same name and flags, or the scope updates at each renewal.
fn is_due<F: NameChangeFamily>(
    before: &Lease<F>,
    after: &Lease<F>,
    event: &LeaseEvent<F>,
    terms: &LeaseUpdateTerms,
) -> bool {
    let now_s = event.changed_us() / 1_000_000;
    let is_infinite = before.valid_lifetime_s == INFINITE_LIFETIME_S;
    let ends_s = before.cltt_s.saturating_add(u64::from(before.valid_lifetime_s));
    let is_running = matches!(before.state, LeaseState::Assigned | LeaseState::Registered)
        && (is_infinite || ends_s > now_s);
    let is_same = is_running
        && F::is_same_client(&before.client, &after.client)
        && before.hostname.eq_ignore_ascii_case(&after.hostname)
        && before.fqdn_fwd == after.fqdn_fwd
        && before.fqdn_rev == after.fqdn_rev;
    let updates_on_renew = || {
        let address = F::named_address(after.address)?;
        terms.of_lease(after.subnet_id, address).updates_on_renew
    };
    !is_same || updates_on_renew().unwrap_or(false)
}
