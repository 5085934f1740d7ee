//! Checker of the simulation: rules that leases must keep (no address has two clients, no
//! acknowledged lease is lost), checked at every reply that leaves the server.

use std::collections::BTreeMap;

use dhcp_lease::LeaseState;

use crate::durable::Disk;
use crate::simulated_protocol::{Acknowledgment, LeaseOwner, SimulatedProtocol};

/// Time in seconds by which a client's lease can end before the server's. Clients count a lease
/// from their request (RFC 2131 §4.4.1), and a reply may have waited for its lease row to become
/// durable since then: up to 800 ms in any simulation, and seconds are truncated.
const REQUEST_LEAD_S: u64 = 2;

/// Violation of a rule that leases must keep, described with all data needed to understand it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

/// Lease that the simulated server has acknowledged by a DHCPACK or a DHCPv6 REPLY.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    owner: LeaseOwner,
    /// End of the client's use of the address, as a wall-clock second.
    until_s: u64,
}

/// Checker of the rules that leases must keep. It knows the owners of addresses from the server's
/// acknowledgments (DHCPACK or DHCPv6 REPLY) alone.
#[derive(Debug)]
pub struct Checker<P: SimulatedProtocol> {
    owners: BTreeMap<P::Address, Acknowledged>,
    /// Number of leases that the simulated server has acknowledged.
    pub acknowledged: u64,
    /// Number of acknowledged leases that the checker looked for after a crash.
    pub survived: u64,
    /// Number of commits of lease changes for each client since the client's last reply.
    commits: BTreeMap<usize, u32>,
    violations: Vec<Violation>,
}

impl<P: SimulatedProtocol> Default for Checker<P> {
    fn default() -> Self {
        Self {
            owners: BTreeMap::new(),
            acknowledged: 0,
            survived: 0,
            commits: BTreeMap::new(),
            violations: Vec::new(),
        }
    }
}

impl<P: SimulatedProtocol> Checker<P> {
    /// Checks that a lease that the server acknowledges at `now_s` belongs to no other client.
    pub fn on_ack(&mut self, acknowledgment: Acknowledgment<P::Address>, now_s: u64) {
        self.acknowledged += 1;
        let Acknowledgment { owner, address, lifetime_s } = acknowledgment;
        if let Some(record) = self.owners.get(&address)
            && record.owner != owner
            && record.until_s > now_s
        {
            self.violations.push(Violation(format!(
                "at {now_s} s {address} was acknowledged to {owner:?}, but {:?} owns it until {} s",
                record.owner, record.until_s
            )));
        }
        let until_s = (now_s + u64::from(lifetime_s)).saturating_sub(REQUEST_LEAD_S);
        self.owners.insert(address, Acknowledged { owner, until_s });
    }

    /// Records a commit of a change of `client`'s leases.
    pub fn on_commit(&mut self, client: usize) {
        *self.commits.entry(client).or_default() += 1;
    }

    /// Checks, when a reply to `client` leaves, that the server committed all lease changes of the
    /// client's message at once.
    pub fn on_reply(&mut self, client: usize) {
        let commits = self.commits.remove(&client).unwrap_or(0);
        if commits > 1 {
            self.fail(format!("{commits} commits for one message of client {client}"));
        }
    }

    /// Checks, after the server has stopped and lost all state but `disk`, that the disk has every
    /// lease that the server acknowledged.
    pub(crate) fn on_crash(&mut self, disk: &Disk<P>, now_s: u64) {
        self.commits.clear();
        let mut missing = Vec::new();
        for (&address, record) in self.owners.iter().filter(|(_, record)| record.until_s > now_s) {
            self.survived += 1;
            let stored = disk.row(address);
            let is_stored = stored.is_some_and(|lease| {
                lease.state == LeaseState::Assigned
                    && lease.expires_s() >= record.until_s
                    && P::owner(lease) == Some(record.owner)
            });
            if !is_stored {
                missing.push(format!(
                    "at {now_s} s {record:?} of {address} is not on disk: {stored:?}"
                ));
            }
        }
        self.violations.extend(missing.into_iter().map(Violation));
    }

    /// Records that the server accepted a RELEASE or DECLINE of `address`, which has no owner then.
    pub fn on_lease_end(&mut self, address: P::Address) {
        self.owners.remove(&address);
    }

    /// Records another violation, described by `what`.
    pub fn fail(&mut self, what: String) {
        self.violations.push(Violation(what));
    }

    /// Returns the violations found so far.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dhcp_lease::v4::V4;
    use std::net::Ipv4Addr;

    #[test]
    fn it_sees_two_owners_and_only_those() {
        let address = Ipv4Addr::new(10, 0, 0, 1);
        let to = |client| {
            let owner = LeaseOwner { client, association: 0 };
            Acknowledgment { owner, address, lifetime_s: 10 }
        };
        let mut checker = Checker::<V4>::default();
        checker.on_ack(to(1), 100);
        checker.on_ack(to(1), 105);
        checker.on_ack(to(2), 113);
        assert!(checker.violations().is_empty());
        checker.on_ack(to(3), 120);
        assert_eq!(checker.violations().len(), 1);
        checker.on_lease_end(address);
        checker.on_ack(to(4), 121);
        assert_eq!(checker.violations().len(), 1);
    }

    #[test]
    fn it_sees_what_a_crash_has_lost_and_claims_that_came_apart() {
        let mut checker = Checker::<V4>::default();
        let owner = LeaseOwner { client: 1, association: 0 };
        let address = Ipv4Addr::new(10, 0, 0, 1);
        checker.on_ack(Acknowledgment { owner, address, lifetime_s: 10 }, 100);
        checker.on_crash(&Disk::default(), 200);
        assert!(checker.violations().is_empty(), "it had run out");
        checker.on_crash(&Disk::default(), 105);
        assert_eq!(checker.violations().len(), 1);
        checker.on_commit(1);
        checker.on_reply(1);
        checker.on_commit(1);
        checker.on_commit(1);
        checker.on_reply(1);
        assert_eq!(checker.violations().len(), 2);
    }
}
