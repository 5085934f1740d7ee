//! One round: what all shards want, in one transaction.

use dhcp_lease::Family;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::contract::{Changes, DatabaseError, LeaseDatabase};
use super::family::{KeyOctets, Shared};
use super::operation::{self, Operation, Want, Write};
use super::rule::{Verdict, judge};
use crate::memfile::RowFault;

/// What is wanted in one round.
#[derive(Debug)]
pub(super) struct Round<F: Shared> {
    writes: Vec<Write<F>>,
    clients: Vec<F::Client>,
    asked: Vec<F::Address>,
    /// Lines that cannot be read, with their addresses as far as these can.
    unreadable: Vec<(RowFault, Option<KeyOctets>)>,
}

/// Addresses, and the leases that the database has of them.
type Rows<F> = Vec<(<F as Family>::Address, Option<<F as Family>::Lease>)>;

/// What a round found out.
#[derive(Debug)]
pub(super) struct Outcome<F: Shared> {
    /// Addresses that were not to be written as it was wanted, and what they have.
    pub(super) refused: Rows<F>,
    /// Addresses that were written later by others, and what they have.
    pub(super) kept: Rows<F>,
    /// What was asked for.
    pub(super) answers: Rows<F>,
    /// Addresses whose rows have no room in the database, and what they have.
    pub(super) rejected: Rows<F>,
}

impl<F: Shared> Default for Outcome<F> {
    fn default() -> Self {
        Self { refused: Vec::new(), kept: Vec::new(), answers: Vec::new(), rejected: Vec::new() }
    }
}

impl<F: Shared> Outcome<F> {
    /// Adds what another part of the round found out.
    pub(super) fn add(&mut self, other: Self) {
        self.refused.extend(other.refused);
        self.kept.extend(other.kept);
        self.answers.extend(other.answers);
        self.rejected.extend(other.rejected);
    }
}

impl<F: Shared> Round<F> {
    fn new() -> Self {
        let (writes, clients, asked) = (Vec::new(), Vec::new(), Vec::new());
        Self { writes, clients, asked, unreadable: Vec::new() }
    }

    /// Reads the lines that the shards wrote. A line that cannot be read, which none should be, is
    /// nothing but [`Round::unreadable`].
    pub(super) fn read(batch: &[u8]) -> Self {
        let mut round = Self::new();
        for line in batch.split(|&octet| octet == b'\n').filter(|line| !line.is_empty()) {
            match operation::read::<F>(line) {
                Err(fault) => round.unreadable.push((fault, operation::address_of(line))),
                Ok(Operation::Write(write)) => round.writes.push(write),
                Ok(Operation::Ask(client, addresses)) => {
                    round.clients.push(client);
                    round.asked.extend(addresses);
                }
            }
        }
        round.clients.sort();
        round.clients.dedup();
        round
    }

    /// The lines that could not be read, with their addresses as far as these could.
    pub(super) fn unreadable(&self) -> &[(RowFault, Option<KeyOctets>)] {
        &self.unreadable
    }

    /// Returns the questions alone, as a round of its own.
    pub(super) fn questions(&self) -> Self {
        Self { clients: self.clients.clone(), asked: self.asked.clone(), ..Self::new() }
    }

    /// The leases that it writes.
    pub(super) fn leases(&self) -> &[Write<F>] {
        &self.writes
    }

    /// A round that only writes `writes`.
    pub(super) fn of(writes: &[Write<F>]) -> Self {
        Self { writes: writes.to_vec(), ..Self::new() }
    }

    /// Leases that it writes.
    pub(super) const fn writes(&self) -> usize {
        self.writes.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.clients.is_empty()
    }

    /// Does the round in one transaction.
    ///
    /// # Errors
    ///
    /// What the database said; then the transaction was taken back, or nobody knows.
    pub(super) fn run(
        &self,
        database: &mut impl LeaseDatabase<F>,
        now_s: u64,
    ) -> Result<Outcome<F>, DatabaseError> {
        let result = self.run_once(database, now_s);
        if result.is_err() {
            database.roll_back();
        }
        result
    }

    fn run_once(
        &self,
        database: &mut impl LeaseDatabase<F>,
        now_s: u64,
    ) -> Result<Outcome<F>, DatabaseError> {
        // Everybody locks in the same order.
        let written = self.writes.iter().map(|write| F::address(&write.lease));
        let mut addresses: Vec<F::Address> = written.chain(self.asked.iter().copied()).collect();
        addresses.sort();
        addresses.dedup();
        let (mut known, mut found) = (Vec::new(), Vec::new());
        if self.writes.is_empty() {
            database.look(&self.clients, &addresses, &mut known, &mut found)?;
        } else {
            database.open(&self.clients, &addresses, &mut known, &mut found)?;
        }
        let mut unreadable = database.take_unreadable();
        unreadable.sort_unstable();
        // By the number alone: a database need not tell an address from a prefix.
        found.sort_by_key(|lease| F::octets_of(F::address(lease)));
        let find = |address| {
            let key = F::octets_of(address);
            let at = found.binary_search_by_key(&key, |lease| F::octets_of(F::address(lease)));
            at.ok().map(|at| &found[at])
        };
        let (changes, mut outcome) = self.judge(&find, &unreadable, now_s);
        if !self.writes.is_empty() {
            database.close(&changes)?;
        }
        let is_unreadable = |address| unreadable.binary_search(&F::octets_of(address)).is_ok();
        let asked = self.asked.iter().map(|&address| match is_unreadable(address) {
            true => (address, Some(F::blocked(address))),
            false => told::<F>(address, find(address)),
        });
        let known = known.into_iter().map(|lease| (F::address(&lease), Some(lease)));
        outcome.answers = known.chain(asked).collect();
        Ok(outcome)
    }

    /// What may be written; what may not, and what others wrote later. A row that cannot be read, whose
    /// number is in `unreadable`, is an operator's to replace.
    fn judge<'f>(
        &self,
        find: &impl Fn(F::Address) -> Option<&'f F::Lease>,
        unreadable: &[KeyOctets],
        now_s: u64,
    ) -> (Changes<F>, Outcome<F>)
    where
        F::Lease: 'f,
    {
        let mut changes = Changes::default();
        let mut outcome = Outcome::default();
        let mut taken = HashMap::with_capacity_and_hasher(self.writes.len(), FixedState::default());
        for write in &self.writes {
            let address = F::address(&write.lease);
            // The same number, wanted as an address and as a prefix: the first one has it.
            if *taken.entry(F::octets_of(address)).or_insert(address) != address {
                outcome.refused.push((address, None));
                continue;
            }
            if unreadable.binary_search(&F::octets_of(address)).is_ok() {
                match write.want {
                    Want::Put if !write.is_deletion() => changes.updates.push(write.lease.clone()),
                    Want::Put | Want::Remove => changes.deletions.push(address),
                    _ => outcome.rejected.push((address, Some(F::blocked(address)))),
                }
                continue;
            }
            let found = find(address);
            match judge(write, found, now_s) {
                Verdict::Insert => changes.inserts.push(write.lease.clone()),
                Verdict::Update
                    if found.is_some_and(|found| F::is_renewal(&write.lease, found)) =>
                {
                    changes.renewals.push(write.lease.clone());
                }
                Verdict::Update => changes.updates.push(write.lease.clone()),
                Verdict::Delete => changes.deletions.push(address),
                Verdict::Nothing => {}
                Verdict::Keep => outcome.kept.push(told::<F>(address, found)),
                Verdict::Refuse => outcome.refused.push(told::<F>(address, found)),
            }
        }
        (changes, outcome)
    }
}

/// Returns the message to the operator about a row that cannot be read.
pub(crate) fn left_alone(address: &impl std::fmt::Display) -> String {
    format!(
        "the row of {address} in the lease database is no lease, and its address is left alone until \
         the row is deleted or replaced by command"
    )
}

/// What the table has to know of `address` when the database has `found` under its number.
fn told<F: Shared>(
    address: F::Address,
    found: Option<&F::Lease>,
) -> (F::Address, Option<F::Lease>) {
    (address, found.filter(|lease| F::address(lease) == address).cloned())
}
