//! Course of a transaction, written once for both families: its steps, the responses to them, and
//! the loop that runs it to its end against a lease store.

use base::Now;
use dhcp_lease::Family;
use dhcp_lease::SlotOccupancy;
use dhcp_lease::contract::{ChangeOf, CommitRefusal, Facts, FetchKeys, LeaseStore, Receipt};

use crate::reason::DropReason;

/// Largest number of commits that one message may lose to others before the server drops it. Each
/// loss means that another client got a slot in the microseconds since it was fetched.
pub const COMMIT_TRIES_MAX: u8 = 8;

/// Reason why a message has no reply, or none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReply {
    /// Silence: the protocol requires no reply to the message.
    Silence,
    /// Delay: a lease row that the message depends on is not durable yet; run the message again
    /// once this row epoch has settled.
    Wait(u64),
    /// Delay: hosts that the transaction needs are not looked up yet; run the message again when
    /// they are.
    AwaitHosts,
    /// Drop: the message gets no reply, and this reason is counted.
    Drop(DropReason),
}

impl From<DropReason> for NoReply {
    fn from(reason: DropReason) -> Self {
        Self::Drop(reason)
    }
}

/// Step that a transaction needs next, or its outcome. `R` describes the reply.
#[derive(Debug)]
pub enum TransactionStep<'t, F: Family, R> {
    /// Fetch the slots and free addresses (or prefixes) for these keys into the facts at this
    /// position, and step with [`TransactionInput::Facts`].
    Fetch(usize, FetchKeys<'t, F>),
    /// Fetch the facts for these keys into this position, while the free address or prefix that was
    /// claimed before stays claimed; step with [`TransactionInput::Facts`].
    FetchAnother(usize, FetchKeys<'t, F>),
    /// Commit all changes of [`MessageTransaction::with_changes`] and step with
    /// [`TransactionInput::Committed`].
    Commit,
    /// Mark this address or prefix, which is reserved for another client, as one that no client
    /// gets from a search of the pools; then commit as for [`TransactionStep::Commit`].
    SetAside(F::Address),
    /// End of the transaction, with its reply, which waits for its row epoch.
    Done(Result<R, NoReply>),
}

/// Response of the owner to the last step of a transaction.
#[derive(Debug)]
pub enum TransactionInput<'f, F: Family> {
    /// Begin of the transaction: the caller has no response to a step yet.
    Begin,
    /// Facts that were fetched so far, one for each identity association of the message.
    Facts(&'f [Facts<F>]),
    /// Result of the commit that the last step required, with the facts on which its decision
    /// rests.
    Committed(Result<Receipt, CommitRefusal>),
}

/// Transaction of one message, as [`drive`] runs it.
///
/// The transaction touches no lease itself. The owner calls [`MessageTransaction::step`] with
/// [`TransactionInput::Begin`], and after that with the response to the step before: facts after a
/// fetch, the result after a commit. Facts are those of the moment of the fetch; a commit that
/// fails since they have changed is passed in as an error, and the transaction fetches again.
/// `Done` ends the transaction, and no step follows it. On [`NoReply::Wait`] and
/// [`NoReply::AwaitHosts`] the owner keeps the message and begins a new transaction for it later.
pub trait MessageTransaction<F: Family> {
    /// Description of the reply that the transaction decides on.
    type Reply: Copy;

    /// Continues the transaction with the response to its last step, and returns the next step.
    fn step(
        &mut self,
        now: Now,
        input: &TransactionInput<'_, F>,
    ) -> TransactionStep<'_, F, Self::Reply>;

    /// Passes the changes of leases to commit to `commit`, and returns its result.
    fn with_changes<R>(&self, commit: impl FnOnce(&[ChangeOf<'_, F>]) -> R) -> R;

    /// Returns the addresses and prefixes that a host look-up outside of the configuration has
    /// found to be reserved for the client. The lease table may not know yet that clients may have
    /// them.
    fn looked_up_claims(&self) -> impl Iterator<Item = F::Address>;
}

/// Request of a transaction for a free address or prefix at the next fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CandidateRequest {
    /// No request: the fetch claims no free address or prefix.
    Nothing,
    /// Request for a free address or prefix only when the client has no slot at all (in DHCPv6 for
    /// the identity association).
    SpareCandidate,
    /// Request for a free address or prefix: none that the client has or requested will do.
    Candidate,
    /// No request, since no free address or prefix was left: another reservation of the client may
    /// do.
    Reserved,
}

impl CandidateRequest {
    /// Returns true if the fetch searches the pools for a free address or prefix.
    pub(crate) const fn searches_pools(self) -> bool {
        matches!(self, Self::SpareCandidate | Self::Candidate)
    }

    /// Returns true if the pools were searched for a free address or prefix, in the fetch of
    /// `facts` or in one before.
    pub(crate) const fn was_made<F: Family>(self, facts: &Facts<F>) -> bool {
        match self {
            Self::Nothing => false,
            Self::SpareCandidate => facts.client_slot_count == 0,
            Self::Candidate | Self::Reserved => true,
        }
    }
}

/// Purpose of a commit that only prepares a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreparatoryCommit {
    /// Hold of free addresses or prefixes while their reservations are looked up.
    Hold,
    /// Return of an address or prefix that the client held and that is reserved for another client.
    SetAside,
}

/// Progress of a transaction's commits.
#[derive(Debug, Default)]
pub(crate) struct CommitProgress {
    /// Number of commits that other clients' changes have refused so far.
    tries: u8,
    /// Purpose of the commit in progress, when the commit only prepares a decision.
    preparing: Option<PreparatoryCommit>,
}

impl CommitProgress {
    /// Records that the next commit only holds candidates, until hosts are looked up.
    pub(crate) const fn begin_hold(&mut self) {
        self.preparing = Some(PreparatoryCommit::Hold);
    }

    /// Records that the next commit only gives up a slot that is reserved for another client.
    ///
    /// # Errors
    ///
    /// When the transaction has lost too many slots to others.
    pub(crate) fn begin_set_aside(&mut self) -> Result<(), NoReply> {
        if self.tries >= COMMIT_TRIES_MAX {
            return Err(DropReason::Contention.into());
        }
        self.tries += 1;
        self.preparing = Some(PreparatoryCommit::SetAside);
        Ok(())
    }

    /// Returns the receipt of the commit that ends the transaction; `None` when the transaction has
    /// to fetch again. When a commit that only prepares a decision is refused, other transactions
    /// were faster.
    ///
    /// # Errors
    ///
    /// The reason why the transaction ends without a reply.
    pub(crate) fn finish(
        &mut self,
        result: Result<Receipt, CommitRefusal>,
    ) -> Result<Option<Receipt>, NoReply> {
        match (self.preparing.take(), result) {
            (_, Err(CommitRefusal::Failed)) => Err(DropReason::StoreFailed.into()),
            (Some(PreparatoryCommit::SetAside), _) => Ok(None),
            (Some(PreparatoryCommit::Hold), _) => Err(NoReply::AwaitHosts),
            (None, Ok(receipt)) => Ok(Some(receipt)),
            (None, Err(CommitRefusal::Stale)) if self.tries < COMMIT_TRIES_MAX => {
                self.tries += 1;
                Ok(None)
            }
            (None, Err(CommitRefusal::Stale | CommitRefusal::NoSuchSlot)) => {
                Err(DropReason::Contention.into())
            }
            (None, Err(CommitRefusal::Unsettled(epoch))) => Err(NoReply::Wait(epoch)),
        }
    }
}

/// Runs a transaction to its end against a lease store that answers at once. `facts` has a position
/// for every fetch of the transaction.
pub(crate) fn drive<F: Family, T: MessageTransaction<F>>(
    transaction: &mut T,
    now: Now,
    store: &mut impl LeaseStore<F>,
    facts: &mut [Facts<F>],
) -> Result<T::Reply, NoReply> {
    transaction.looked_up_claims().for_each(|address| store.reserve_address(address));
    let mut committed = None;
    let mut has_facts = false;
    loop {
        let input = match committed.take() {
            Some(result) => TransactionInput::Committed(result),
            None if has_facts => TransactionInput::Facts(facts),
            None => TransactionInput::Begin,
        };
        match transaction.step(now, &input) {
            TransactionStep::Fetch(at, keys) => {
                // Without this, the candidate of an earlier try would be missing from the pool in
                // this one.
                if let Some(unused) = facts[at].candidate.take()
                    && unused.occupancy == SlotOccupancy::Free
                {
                    store.release_claim(unused.address);
                }
                fetch(now, store, &keys, &mut facts[at])?;
                has_facts = true;
            }
            TransactionStep::FetchAnother(at, keys) => {
                fetch(now, store, &keys, &mut facts[at])?;
                has_facts = true;
            }
            TransactionStep::Commit => {
                committed = Some(transaction.with_changes(|changes| store.commit(now, changes)));
            }
            TransactionStep::SetAside(address) => {
                store.reserve_address(address);
                committed = Some(transaction.with_changes(|changes| match changes {
                    [] => {
                        store.release_claim(address);
                        Ok(Receipt { row_epoch: 0 })
                    }
                    _ => store.commit(now, changes),
                }));
            }
            TransactionStep::Done(outcome) => return outcome,
        }
    }
}

fn fetch<F: Family>(
    now: Now,
    store: &mut impl LeaseStore<F>,
    keys: &FetchKeys<'_, F>,
    facts: &mut Facts<F>,
) -> Result<(), NoReply> {
    store.fetch(now, keys, facts);
    if facts.unread_epoch > 0 { Err(NoReply::Wait(facts.unread_epoch)) } else { Ok(()) }
}
