//! Other shards' messages in the middle of a transaction: before a shard's commit, the world may
//! let the other shard run a whole message. What was fetched is then stale, as on real threads.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use base::{Now, Random};
use dhcp_engine::v4::{Ingress, Shard, Transmit};
use dhcp_lease::v4::{Action, Change, Facts, FetchKeys, LeaseStore, Receipt, Refusal, Swept, V4};

use super::world::{Deed, Deeds};

/// A shard that the world and its neighbors' stores can run.
pub type SharedShard<S> = Rc<RefCell<Shard<Interposed<S>>>>;

/// A message that is due for a shard.
#[derive(Clone, Debug)]
pub struct Due {
    /// The shard.
    pub shard: usize,
    /// The message.
    pub octets: Rc<[u8]>,
    /// How it came in.
    pub ingress: Ingress,
}

/// What all interposed stores share.
#[derive(Debug)]
pub struct Junction<S> {
    /// The shards; the one that runs is borrowed.
    pub shards: Vec<Weak<RefCell<Shard<Interposed<S>>>>>,
    /// Messages that may run early.
    pub due: Vec<Due>,
    /// Decides which.
    pub random: Random,
    /// Where the shards' deeds are written down.
    pub deeds: Deeds,
    /// Messages that ran inside another one.
    pub interposed: u64,
}

/// A store that lets other shards in before each fetch and commit.
#[derive(Debug)]
pub struct Interposed<S> {
    inner: S,
    junction: Rc<RefCell<Junction<S>>>,
}

impl<S: LeaseStore<V4>> Interposed<S> {
    /// Wraps `inner`.
    pub const fn new(inner: S, junction: Rc<RefCell<Junction<S>>>) -> Self {
        Self { inner, junction }
    }

    fn let_others_in(&self, now: Now) {
        loop {
            let Some((shard, due, mut deeds)) = self.next_due() else { return };
            shard.borrow_mut().handle(now, &due.octets, due.ingress, &mut deeds);
        }
    }

    /// A due message of a shard that is not running, perhaps.
    fn next_due(&self) -> Option<(SharedShard<S>, Due, Deeds)> {
        let mut junction = self.junction.borrow_mut();
        if junction.due.is_empty() || junction.random.chance(1, 2) {
            return None;
        }
        let at = junction.due.iter().position(|due| {
            junction.shards[due.shard].upgrade().is_some_and(|shard| shard.try_borrow_mut().is_ok())
        })?;
        let due = junction.due.remove(at);
        junction.interposed += 1;
        let shard = junction.shards[due.shard].upgrade()?;
        Some((shard, due, junction.deeds.clone()))
    }
}

impl<S: LeaseStore<V4>> LeaseStore<V4> for Interposed<S> {
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_>, facts: &mut Facts) {
        self.let_others_in(now);
        self.inner.fetch(now, keys, facts);
    }

    fn commit(&mut self, now: Now, changes: &[Change<'_>]) -> Result<Receipt, Refusal> {
        self.let_others_in(now);
        let receipt = self.inner.commit(now, changes)?;
        for change in changes {
            if matches!(change.action, Action::Release | Action::Decline { .. }) {
                let deeds = self.junction.borrow().deeds.clone();
                deeds.0.borrow_mut().push(Deed::TookBack(change.address));
            }
        }
        Ok(receipt)
    }

    fn give_back(&mut self, address: std::net::Ipv4Addr) {
        self.inner.give_back(address);
    }

    fn submit(&mut self, now: Now) {
        self.inner.submit(now);
    }

    fn settled_epoch(&self) -> u64 {
        self.inner.settled_epoch()
    }

    fn sweep(&mut self, now: Now, budget: u32) -> Swept {
        self.inner.sweep(now, budget)
    }

    fn has_failed(&self) -> bool {
        self.inner.has_failed()
    }
}

impl Transmit for Deeds {
    fn transmit(
        &mut self,
        _destination: std::net::SocketAddrV4,
        _ingress: Ingress,
        octets: &[u8],
    ) -> bool {
        self.0.borrow_mut().push(Deed::Replied(octets.to_vec()));
        true
    }
}
