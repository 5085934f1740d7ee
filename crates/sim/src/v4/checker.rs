//! The invariants, checked at every reply that leaves the server.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Clients count a lease from when they asked (RFC 2131 §4.4.1), and a reply may have waited for
/// its row since then: up to 800 ms in any world, and seconds are cut.
const ASKED_BEFORE_S: u64 = 2;

/// What went wrong, with everything needed to understand it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

/// A lease that the server has acknowledged.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    client: usize,
    /// Wall-clock second at which the client must have stopped using the address.
    until_s: u64,
}

/// Who owns what, as told by the acknowledgments alone.
#[derive(Debug, Default)]
pub struct Checker {
    owners: BTreeMap<Ipv4Addr, Acknowledged>,
    /// Acknowledgments seen.
    pub acknowledged: u64,
    violations: Vec<Violation>,
}

impl Checker {
    /// The server acknowledges `address` to `client` for `lifetime_s` at `now_s`.
    pub fn on_ack(&mut self, client: usize, address: Ipv4Addr, lifetime_s: u32, now_s: u64) {
        self.acknowledged += 1;
        if let Some(owner) = self.owners.get(&address)
            && owner.client != client
            && owner.until_s > now_s
        {
            self.violations.push(Violation(format!(
                "at {now_s} s {address} was acknowledged to client {client}, but client {} owns it \
                 until {} s",
                owner.client, owner.until_s
            )));
        }
        let until_s = (now_s + u64::from(lifetime_s)).saturating_sub(ASKED_BEFORE_S);
        self.owners.insert(address, Acknowledged { client, until_s });
    }

    /// A RELEASE or DECLINE was taken in: `address` is nobody's.
    pub fn on_given_up(&mut self, address: Ipv4Addr) {
        self.owners.remove(&address);
    }

    /// Records that something else is wrong.
    pub fn fail(&mut self, what: String) {
        self.violations.push(Violation(what));
    }

    /// What was found.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sees_two_owners_and_only_those() {
        let address = Ipv4Addr::new(10, 0, 0, 1);
        let mut checker = Checker::default();
        checker.on_ack(1, address, 10, 100);
        checker.on_ack(1, address, 10, 105);
        checker.on_ack(2, address, 10, 113);
        assert!(checker.violations().is_empty());
        checker.on_ack(3, address, 10, 120);
        assert_eq!(checker.violations().len(), 1);
        checker.on_given_up(address);
        checker.on_ack(4, address, 10, 121);
        assert_eq!(checker.violations().len(), 1);
    }
}
