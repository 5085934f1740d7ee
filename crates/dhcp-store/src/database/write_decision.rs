//! Rule for writing leases to a shared database: an address is leased only if no other client has
//! it in the database.

use dhcp_lease::{Lease, LeaseState};

use super::family::SharedLeaseFamily;
use super::operation::{LeaseRequestKind, Write};

/// Decision of a round about one request to write a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteDecision {
    /// Insert the lease: the database has none of the address.
    Insert,
    /// Replace the lease in the database by that of the request.
    Update,
    /// Delete the lease of the address in the database.
    Delete,
    /// Write nothing: the database already agrees with the request.
    Nothing,
    /// Keep the lease in the database: another server has heard the client later. The lease table
    /// in memory gets it, and the reply to the client may leave as it is.
    Keep,
    /// Refuse the write: another client has the address, or another server has a newer lease. The
    /// lease table in memory gets the lease in the database.
    Refuse,
}

/// Decides on the request `write` when the database has the lease `stored`, at wall-clock second
/// `now_s`.
pub fn decide_write<F: SharedLeaseFamily>(
    write: &Write<F>,
    stored: Option<&Lease<F>>,
    now_s: u64,
) -> WriteDecision {
    let Some(stored) = stored else {
        return match write.kind {
            _ if write.is_deletion() => WriteDecision::Nothing,
            LeaseRequestKind::Give | LeaseRequestKind::Decline | LeaseRequestKind::Put => {
                WriteDecision::Insert
            }
            LeaseRequestKind::Release | LeaseRequestKind::End | LeaseRequestKind::Remove => {
                WriteDecision::Nothing
            }
        };
    };
    let now_s = match write.kind {
        // The server may have heard the client after the round read the clock.
        LeaseRequestKind::Give | LeaseRequestKind::Decline => now_s.max(write.lease.cltt_s),
        LeaseRequestKind::Release
        | LeaseRequestKind::End
        | LeaseRequestKind::Put
        | LeaseRequestKind::Remove => now_s,
    };
    let is_other = write.lease.address != stored.address;
    let is_allowed = match write.kind {
        // One is a prefix and the other an address.
        _ if is_other => is_over::<F>(stored, now_s) && !write.is_deletion(),
        LeaseRequestKind::Put | LeaseRequestKind::Remove => true,
        LeaseRequestKind::Give => is_mine(write, stored) || is_over::<F>(stored, now_s),
        LeaseRequestKind::Decline => is_current(write, stored) || is_over::<F>(stored, now_s),
        LeaseRequestKind::Release => is_current(write, stored),
        LeaseRequestKind::End => is_over::<F>(stored, now_s),
    };
    match write.is_deletion() {
        _ if !is_allowed => WriteDecision::Refuse,
        false if write.kind == LeaseRequestKind::Give && is_older(write, stored, now_s) => {
            WriteDecision::Keep
        }
        true => WriteDecision::Delete,
        false if *stored == write.lease => WriteDecision::Nothing,
        false => WriteDecision::Update,
    }
}

fn is_mine<F: SharedLeaseFamily>(write: &Write<F>, stored: &Lease<F>) -> bool {
    let is_registered = |lease: &Lease<F>| lease.state == LeaseState::Registered;
    if is_registered(&write.lease) && is_registered(stored) {
        // The client that registers an address last is the one that uses it (RFC 9686).
        return true;
    }
    write.client.as_ref().is_some_and(|client| F::owns(client, stored))
}

/// Returns true if `stored` is the lease that the client had when it sent its message: a round that
/// is repeated must not undo a later lease of the client.
fn is_current<F: SharedLeaseFamily>(write: &Write<F>, stored: &Lease<F>) -> bool {
    is_mine(write, stored) && stored.cltt_s <= write.lease.cltt_s
}

/// Returns true if `stored`, by its last transaction time (cltt), is newer than the request, and
/// its lease still runs.
fn is_older<F: SharedLeaseFamily>(write: &Write<F>, stored: &Lease<F>, now_s: u64) -> bool {
    write.lease.cltt_s < stored.cltt_s && !is_over::<F>(stored, now_s)
}

fn is_over<F: SharedLeaseFamily>(stored: &Lease<F>, now_s: u64) -> bool {
    stored.state.is_past() || stored.expires_s() <= now_s
}

#[cfg(test)]
mod tests {
    use dhcp_lease::sample::{SampleFamily, SampleLease};
    use dhcp_lease::v4::V4;

    use super::*;

    /// Returns a lease of one address, with its client, time and state. It is valid for 100
    /// seconds.
    fn lease(client: u32, cltt_s: u64, state: LeaseState) -> dhcp_lease::v4::Lease {
        V4::lease(&SampleLease {
            address: 0x0a00_0001,
            client,
            valid_lifetime_s: 100,
            cltt_s,
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state,
            user_context: "",
        })
    }

    fn judged(
        kind: LeaseRequestKind,
        written: (u32, u64),
        stored: Option<(u32, u64)>,
        now_s: u64,
    ) -> WriteDecision {
        let stored = stored.map(|(client, cltt_s)| (client, cltt_s, Assigned));
        judged_in(kind, written.0, written.1, stored, now_s)
    }

    use LeaseState::{Assigned, Declined, ExpiredReclaimed, Released};

    fn judged_in(
        kind: LeaseRequestKind,
        client: u32,
        cltt_s: u64,
        stored: Option<(u32, u64, LeaseState)>,
        now_s: u64,
    ) -> WriteDecision {
        let written = lease(client, cltt_s, Assigned);
        let client = matches!(
            kind,
            LeaseRequestKind::Give | LeaseRequestKind::Release | LeaseRequestKind::Decline
        )
        .then(|| V4::client_of(&written));
        let stored = stored.map(|(client, cltt_s, state)| lease(client, cltt_s, state));
        decide_write::<V4>(&Write { kind, client, lease: written }, stored.as_ref(), now_s)
    }

    #[test]
    fn an_address_is_given_when_nobody_else_has_it() {
        assert_eq!(judged(LeaseRequestKind::Give, (1, 1000), None, 1000), WriteDecision::Insert);
        assert_eq!(
            judged(LeaseRequestKind::Give, (1, 1000), Some((1, 950)), 1000),
            WriteDecision::Update
        );
        assert_eq!(
            judged(LeaseRequestKind::Give, (1, 1000), Some((2, 950)), 1000),
            WriteDecision::Refuse
        );
        assert_eq!(
            judged(LeaseRequestKind::Give, (1, 1000), Some((2, 900)), 1000),
            WriteDecision::Update
        );
        // The other client's lease ends before the server hears this client, after the round began.
        assert_eq!(
            judged(LeaseRequestKind::Give, (1, 1000), Some((2, 900)), 999),
            WriteDecision::Update
        );
        for (state, verdict) in [
            (Released, WriteDecision::Update),
            (ExpiredReclaimed, WriteDecision::Update),
            (Declined, WriteDecision::Refuse),
        ] {
            assert_eq!(
                judged_in(LeaseRequestKind::Give, 1, 1000, Some((2, 950, state)), 1000),
                verdict
            );
        }
    }

    #[test]
    fn what_is_newer_stays() {
        assert_eq!(
            judged(LeaseRequestKind::Give, (1, 1000), Some((1, 1000)), 1000),
            WriteDecision::Nothing
        );
        assert_eq!(
            judged(LeaseRequestKind::Give, (1, 1000), Some((1, 1010)), 1020),
            WriteDecision::Keep
        );
        assert_eq!(
            judged(LeaseRequestKind::Release, (1, 1000), Some((1, 1010)), 1020),
            WriteDecision::Refuse
        );
        assert_eq!(
            judged(LeaseRequestKind::Release, (1, 1000), Some((2, 950)), 1000),
            WriteDecision::Refuse
        );
        assert_eq!(
            judged(LeaseRequestKind::Release, (1, 1000), None, 1000),
            WriteDecision::Nothing
        );
    }

    #[test]
    fn only_what_is_over_ends() {
        assert_eq!(
            judged(LeaseRequestKind::End, (1, 900), Some((1, 950)), 1000),
            WriteDecision::Refuse
        );
        assert_eq!(
            judged(LeaseRequestKind::End, (1, 890), Some((1, 900)), 1000),
            WriteDecision::Update
        );
        assert_eq!(judged(LeaseRequestKind::End, (1, 900), None, 1000), WriteDecision::Nothing);
    }

    #[test]
    fn an_operator_has_his_way() {
        assert_eq!(
            judged(LeaseRequestKind::Put, (1, 1000), Some((2, 950)), 1000),
            WriteDecision::Update
        );
        assert_eq!(judged(LeaseRequestKind::Put, (1, 1000), None, 1000), WriteDecision::Insert);
        assert_eq!(
            judged(LeaseRequestKind::Remove, (1, 1000), Some((2, 950)), 1000),
            WriteDecision::Delete
        );
        assert_eq!(judged(LeaseRequestKind::Remove, (1, 1000), None, 1000), WriteDecision::Nothing);
    }
}
