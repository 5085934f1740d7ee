//! Who may write what: an address is given only when nobody else has it in the database.

use dhcp_lease::LeaseState;

use super::family::Shared;
use super::operation::{Want, Write};

/// What is to be done with what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no lease: add this one.
    Insert,
    /// Replace the one that is there.
    Update,
    /// Delete the one that is there.
    Delete,
    /// It is so already.
    Nothing,
    /// The client has been heard later than that by another server: what that one wrote stays, and
    /// the table has to learn it. The client may be told what it was about to be told.
    Keep,
    /// Others have the address, or know better: the table has to learn what is there.
    Refuse,
}

/// What becomes of `write` when the database has `found`, at this second of the wall clock.
pub fn judge<F: Shared>(write: &Write<F>, found: Option<&F::Lease>, now_s: u64) -> Verdict {
    let Some(found) = found else {
        return match write.want {
            _ if write.is_deletion() => Verdict::Nothing,
            Want::Give | Want::Decline | Want::Put => Verdict::Insert,
            Want::Release | Want::End | Want::Remove => Verdict::Nothing,
        };
    };
    let now_s = match write.want {
        // The client may have been heard after the round took the time.
        Want::Give | Want::Decline => now_s.max(F::times(&write.lease).cltt_s),
        Want::Release | Want::End | Want::Put | Want::Remove => now_s,
    };
    let is_other = F::address(&write.lease) != F::address(found);
    let is_allowed = match write.want {
        // A prefix where an address is to be, or the other way round.
        _ if is_other => is_over::<F>(found, now_s) && !write.is_deletion(),
        Want::Put | Want::Remove => true,
        Want::Give => is_mine(write, found) || is_over::<F>(found, now_s),
        Want::Decline => is_current(write, found) || is_over::<F>(found, now_s),
        Want::Release => is_current(write, found),
        Want::End => is_over::<F>(found, now_s),
    };
    match write.is_deletion() {
        _ if !is_allowed => Verdict::Refuse,
        false if write.want == Want::Give && is_older(write, found, now_s) => Verdict::Keep,
        true => Verdict::Delete,
        false if *found == write.lease => Verdict::Nothing,
        false => Verdict::Update,
    }
}

fn is_mine<F: Shared>(write: &Write<F>, found: &F::Lease) -> bool {
    let is_registered = |lease| F::times(lease).state == LeaseState::Registered;
    if is_registered(&write.lease) && is_registered(found) {
        // The last one who registers an address is the one who uses it (RFC 9686).
        return true;
    }
    write.client.as_ref().is_some_and(|client| F::owns(client, found))
}

/// Whether `found` is the lease that the client had when it spoke: a round that is done again must
/// not undo what the client has got since.
fn is_current<F: Shared>(write: &Write<F>, found: &F::Lease) -> bool {
    is_mine(write, found) && F::times(found).cltt_s <= F::times(&write.lease).cltt_s
}

/// Whether the client has been heard again since, and still has the lease.
fn is_older<F: Shared>(write: &Write<F>, found: &F::Lease, now_s: u64) -> bool {
    F::times(&write.lease).cltt_s < F::times(found).cltt_s && !is_over::<F>(found, now_s)
}

fn is_over<F: Shared>(found: &F::Lease, now_s: u64) -> bool {
    let times = F::times(found);
    times.state.is_past() || times.expires_s <= now_s
}

#[cfg(test)]
mod tests {
    use dhcp_lease::sample::{Sample, SampleLease};
    use dhcp_lease::v4::V4;

    use super::*;

    /// The lease of one address: whose, since when, in what state. It is valid for 100 seconds.
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

    fn judged(want: Want, written: (u32, u64), found: Option<(u32, u64)>, now_s: u64) -> Verdict {
        judged_in(want, written, found.map(|(client, cltt_s)| (client, cltt_s, Assigned)), now_s)
    }

    use LeaseState::{Assigned, Declined, ExpiredReclaimed, Released};

    fn judged_in(
        want: Want,
        (client, cltt_s): (u32, u64),
        found: Option<(u32, u64, LeaseState)>,
        now_s: u64,
    ) -> Verdict {
        let written = lease(client, cltt_s, Assigned);
        let client = matches!(want, Want::Give | Want::Release | Want::Decline)
            .then(|| V4::client_of(&written));
        let found = found.map(|(client, cltt_s, state)| lease(client, cltt_s, state));
        judge::<V4>(&Write { want, client, lease: written }, found.as_ref(), now_s)
    }

    #[test]
    fn an_address_is_given_when_nobody_else_has_it() {
        assert_eq!(judged(Want::Give, (1, 1000), None, 1000), Verdict::Insert);
        assert_eq!(judged(Want::Give, (1, 1000), Some((1, 950)), 1000), Verdict::Update);
        assert_eq!(judged(Want::Give, (1, 1000), Some((2, 950)), 1000), Verdict::Refuse);
        assert_eq!(judged(Want::Give, (1, 1000), Some((2, 900)), 1000), Verdict::Update);
        // The other's lease is over when this client is heard, after the round has begun.
        assert_eq!(judged(Want::Give, (1, 1000), Some((2, 900)), 999), Verdict::Update);
        for (state, verdict) in [
            (Released, Verdict::Update),
            (ExpiredReclaimed, Verdict::Update),
            (Declined, Verdict::Refuse),
        ] {
            assert_eq!(judged_in(Want::Give, (1, 1000), Some((2, 950, state)), 1000), verdict);
        }
    }

    #[test]
    fn what_is_newer_stays() {
        assert_eq!(judged(Want::Give, (1, 1000), Some((1, 1000)), 1000), Verdict::Nothing);
        assert_eq!(judged(Want::Give, (1, 1000), Some((1, 1010)), 1020), Verdict::Keep);
        assert_eq!(judged(Want::Release, (1, 1000), Some((1, 1010)), 1020), Verdict::Refuse);
        assert_eq!(judged(Want::Release, (1, 1000), Some((2, 950)), 1000), Verdict::Refuse);
        assert_eq!(judged(Want::Release, (1, 1000), None, 1000), Verdict::Nothing);
    }

    #[test]
    fn only_what_is_over_ends() {
        assert_eq!(judged(Want::End, (1, 900), Some((1, 950)), 1000), Verdict::Refuse);
        assert_eq!(judged(Want::End, (1, 890), Some((1, 900)), 1000), Verdict::Update);
        assert_eq!(judged(Want::End, (1, 900), None, 1000), Verdict::Nothing);
    }

    #[test]
    fn an_operator_has_his_way() {
        assert_eq!(judged(Want::Put, (1, 1000), Some((2, 950)), 1000), Verdict::Update);
        assert_eq!(judged(Want::Put, (1, 1000), None, 1000), Verdict::Insert);
        assert_eq!(judged(Want::Remove, (1, 1000), Some((2, 950)), 1000), Verdict::Delete);
        assert_eq!(judged(Want::Remove, (1, 1000), None, 1000), Verdict::Nothing);
    }
}
