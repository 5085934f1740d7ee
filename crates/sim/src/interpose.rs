//! Interposition of other shards' messages in the middle of a transaction: before a shard fetches
//! leases or commits changes of them, the simulation may run a whole message on the other shard.
//! Leases that the first shard fetched before are then outdated, as with real threads.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use base::{Now, Prefetch, Random};
use dhcp_engine::{ReplySink, Shard};
use dhcp_lease::contract::{Action, ChangeOf, ExpectedSlot, Facts, FetchKeys, LeaseSearch};
use dhcp_lease::{
    Answer, CommitRefusal, ExchangeCell, ExchangeDetail, Lease, LeaseStore, PutMode, PutRefusal,
    Receipt, SweepCounts,
};

use crate::simulated_protocol::SimulatedProtocol;
use crate::simulation::{ShardAction, ShardActionLog};

/// Shard that the simulation and the stores of other shards can run.
pub type SharedShard<P, S> = Rc<RefCell<Shard<P, Interposed<P, S>>>>;
type WeakShard<P, S> = Weak<RefCell<Shard<P, Interposed<P, S>>>>;
/// Shard with the message that it will handle next, and the list to which its actions are added.
type NextDue<P, S> = (SharedShard<P, S>, DueMessage<P>, ShardActionLog<P>);

/// DHCP message that is due for a shard of the simulated server.
#[derive(Clone, Debug)]
pub struct DueMessage<P: SimulatedProtocol> {
    /// Index of the shard in the simulated server.
    pub shard: usize,
    /// Bytes of the DHCP message.
    pub octets: Rc<[u8]>,
    /// Ingress of the DHCP message: the interface and addresses with which it arrives.
    pub ingress: P::Ingress,
}

/// State that all [`Interposed`] stores of a simulation share.
#[derive(Debug)]
pub struct InterposerState<P: SimulatedProtocol, S> {
    /// Shards of the simulated server; the one that runs is borrowed.
    pub shards: Vec<WeakShard<P, S>>,
    /// DHCP messages that may run early, in the middle of another message.
    pub due_messages: Vec<DueMessage<P>>,
    /// Source of the random choice of the messages that run early.
    pub random: Random,
    /// List to which the actions of the shards are added.
    pub actions: ShardActionLog<P>,
    /// Number of DHCP messages that ran in the middle of another message's transaction.
    pub interposed: u64,
}

/// Lease store of a shard that lets other shards run before each fetch and commit.
#[derive(Debug)]
pub struct Interposed<P: SimulatedProtocol, S> {
    inner: S,
    interposer: Rc<RefCell<InterposerState<P, S>>>,
}

impl<P: SimulatedProtocol, S: LeaseStore<P>> Interposed<P, S> {
    /// Wraps the lease store `inner` of a shard.
    pub const fn new(inner: S, interposer: Rc<RefCell<InterposerState<P, S>>>) -> Self {
        Self { inner, interposer }
    }

    fn run_due_messages(&self, now: Now) {
        loop {
            let Some((shard, message, mut actions)) = self.next_due() else { return };
            shard.borrow_mut().handle(now, &message.octets, message.ingress, &mut actions);
        }
    }

    /// Returns a due DHCP message of a shard that is not running, with its shard; `None` if there
    /// is none, and by chance half of the time.
    fn next_due(&self) -> Option<NextDue<P, S>> {
        let mut interposer = self.interposer.borrow_mut();
        if interposer.due_messages.is_empty() || interposer.random.chance(1, 2) {
            return None;
        }
        let at = interposer.due_messages.iter().position(|message| {
            interposer.shards[message.shard]
                .upgrade()
                .is_some_and(|shard| shard.try_borrow_mut().is_ok())
        })?;
        let message = interposer.due_messages.remove(at);
        interposer.interposed += 1;
        let shard = interposer.shards[message.shard].upgrade()?;
        Some((shard, message, interposer.actions.clone()))
    }
}

impl<P: SimulatedProtocol, S: LeaseStore<P>> LeaseStore<P> for Interposed<P, S> {
    fn begin_message(&mut self, number: u64) {
        self.inner.begin_message(number);
    }

    fn set_exchange(&mut self, exchange: Option<&Arc<ExchangeCell>>) {
        self.inner.set_exchange(exchange);
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        self.inner.exchange_detail()
    }

    fn is_recording_answers(&self) -> bool {
        self.inner.is_recording_answers()
    }

    fn record_answer(&mut self, now: Now, answer: &Answer<'_, P>) {
        self.inner.record_answer(now, answer);
    }

    fn take_event_order(&self) -> u64 {
        self.inner.take_event_order()
    }

    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, P>, facts: &mut Facts<P>) {
        self.run_due_messages(now);
        self.inner.fetch(now, keys, facts);
    }

    fn prefetch_message(
        &mut self,
        identity: Option<&P::Identity<'_>>,
        expected: ExpectedSlot<'_, P>,
        prefetch: Prefetch,
    ) {
        self.inner.prefetch_message(identity, expected, prefetch);
    }

    fn user_context(
        &mut self,
        now: Now,
        address: P::Address,
        identity: &P::Identity<'_>,
        target: &mut String,
    ) -> bool {
        self.inner.user_context(now, address, identity, target)
    }

    fn find_leases(&mut self, search: LeaseSearch<'_, P>, leases: &mut Vec<Lease<P>>) -> u64 {
        self.inner.find_leases(search, leases)
    }

    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, P>]) -> Result<Receipt, CommitRefusal> {
        self.run_due_messages(now);
        let receipt = self.inner.commit(now, changes)?;
        let actions = self.interposer.borrow().actions.clone();
        let mut actions = actions.0.borrow_mut();
        if let Some(change) = changes.first() {
            actions.push(ShardAction::Committed(P::client_number(&change.identity)));
        }
        for change in changes {
            if matches!(change.action, Action::Release | Action::Decline { .. }) {
                actions.push(ShardAction::Ended(change.address));
            }
        }
        Ok(receipt)
    }

    fn release_claim(&mut self, address: P::Address) {
        self.inner.release_claim(address);
    }

    fn reserve_address(&mut self, address: P::Address) {
        self.inner.reserve_address(address);
    }

    fn submit(&mut self, now: Now) {
        self.inner.submit(now);
    }

    fn settled_epoch(&self) -> u64 {
        self.inner.settled_epoch()
    }

    fn sweep(&mut self, now: Now, budget: u32) -> SweepCounts {
        self.inner.sweep(now, budget)
    }

    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> SweepCounts {
        self.inner.reclaim(now, is_removing, budget)
    }

    fn put(&mut self, lease: &Lease<P>, mode: PutMode) -> Result<Receipt, PutRefusal> {
        self.inner.put(lease, mode)
    }

    fn remove(&mut self, address: P::Address) -> Result<Receipt, PutRefusal> {
        self.inner.remove(address)
    }

    fn is_sound(&self) -> bool {
        self.inner.is_sound()
    }

    fn has_failed(&self) -> bool {
        self.inner.has_failed()
    }

    fn is_refused(&self, epoch: u64, reply: &[u8]) -> bool {
        self.inner.is_refused(epoch, reply)
    }

    fn is_refused_for_data(&self, epoch: u64, reply: &[u8]) -> bool {
        self.inner.is_refused_for_data(epoch, reply)
    }
}

impl<P: SimulatedProtocol> ReplySink<P> for ShardActionLog<P> {
    fn transmit(&mut self, to: P::Destination, _ingress: P::Ingress, octets: &[u8]) -> bool {
        self.0.borrow_mut().push(ShardAction::Replied(to, octets.to_vec()));
        true
    }
}
