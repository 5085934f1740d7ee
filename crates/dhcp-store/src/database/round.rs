//! Round over the lease database: the requests of all shards, in one transaction.

use dhcp_lease::{Family, Lease};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::contract::{DatabaseError, LeaseDatabaseConnection, RoundChanges};
use super::family::{KeyOctets, SharedLeaseFamily, blocked_lease};
use super::operation::{self, LeaseRequestKind, Operation, Write};
use super::write_decision::{WriteDecision, decide_write};
use crate::memfile::RowFault;

/// Requests of all shards that one round carries out.
#[derive(Debug)]
pub(super) struct RoundRequests<F: SharedLeaseFamily> {
    writes: Vec<Write<F>>,
    clients: Vec<F::Client>,
    lookup_addresses: Vec<F::Address>,
    /// Faults of unreadable request lines, each with its address if the address is readable.
    unreadable: Vec<(RowFault, Option<KeyOctets>)>,
}

/// Addresses, each with its lease in the database; `None` without a lease.
type Rows<F> = Vec<(<F as Family>::Address, Option<Lease<F>>)>;

/// Results of a round, by which the lease table is corrected.
#[derive(Debug)]
pub(super) struct RoundResults<F: SharedLeaseFamily> {
    /// Addresses whose requests were refused, with the leases in the database.
    pub(super) refused: Rows<F>,
    /// Addresses that other servers wrote later than the request, with the leases in the database.
    pub(super) superseded: Rows<F>,
    /// Addresses that the clients' lookups found, with the leases in the database.
    pub(super) answers: Rows<F>,
    /// Addresses whose lease rows do not fit the database, with the leases in the database.
    pub(super) rejected: Rows<F>,
}

impl<F: SharedLeaseFamily> Default for RoundResults<F> {
    fn default() -> Self {
        Self {
            refused: Vec::new(),
            superseded: Vec::new(),
            answers: Vec::new(),
            rejected: Vec::new(),
        }
    }
}

impl<F: SharedLeaseFamily> RoundResults<F> {
    /// Adds the results of another part of the same round.
    pub(super) fn add(&mut self, other: Self) {
        self.refused.extend(other.refused);
        self.superseded.extend(other.superseded);
        self.answers.extend(other.answers);
        self.rejected.extend(other.rejected);
    }
}

impl<F: SharedLeaseFamily> RoundRequests<F> {
    fn new() -> Self {
        let (writes, clients, lookup_addresses) = (Vec::new(), Vec::new(), Vec::new());
        Self { writes, clients, lookup_addresses, unreadable: Vec::new() }
    }

    /// Parses the request lines that the shards wrote. An unreadable line, which should never
    /// occur, counts in [`RoundRequests::unreadable`] only.
    pub(super) fn read(batch: &[u8]) -> Self {
        let mut round = Self::new();
        for line in batch.split(|&octet| octet == b'\n').filter(|line| !line.is_empty()) {
            match operation::read::<F>(line) {
                Err(fault) => round.unreadable.push((fault, operation::address_of(line))),
                Ok(Operation::Write(write)) => round.writes.push(write),
                Ok(Operation::Lookup(client, addresses)) => {
                    round.clients.push(client);
                    round.lookup_addresses.extend(addresses);
                }
            }
        }
        round.clients.sort();
        round.clients.dedup();
        round
    }

    /// Returns the faults of unreadable request lines, each with its address if the address is
    /// readable.
    pub(super) fn unreadable(&self) -> &[(RowFault, Option<KeyOctets>)] {
        &self.unreadable
    }

    /// Returns a round of this round's lookups alone.
    pub(super) fn lookups(&self) -> Self {
        Self {
            clients: self.clients.clone(),
            lookup_addresses: self.lookup_addresses.clone(),
            ..Self::new()
        }
    }

    /// Returns the round's requests to write leases.
    pub(super) fn leases(&self) -> &[Write<F>] {
        &self.writes
    }

    /// Creates a round that only writes `writes`.
    pub(super) fn from_writes(writes: &[Write<F>]) -> Self {
        Self { writes: writes.to_vec(), ..Self::new() }
    }

    /// Returns the number of leases that the round writes.
    pub(super) const fn writes(&self) -> usize {
        self.writes.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.clients.is_empty()
    }

    /// Runs the round in one database transaction.
    ///
    /// # Errors
    ///
    /// Returns the database's error; then the transaction was rolled back, or its outcome is
    /// unknown.
    pub(super) fn run(
        &self,
        database: &mut impl LeaseDatabaseConnection<F>,
        now_s: u64,
    ) -> Result<RoundResults<F>, DatabaseError> {
        let result = self.run_once(database, now_s);
        if result.is_err() {
            database.roll_back();
        }
        result
    }

    fn run_once(
        &self,
        database: &mut impl LeaseDatabaseConnection<F>,
        now_s: u64,
    ) -> Result<RoundResults<F>, DatabaseError> {
        // All servers lock in the same order.
        let written = self.writes.iter().map(|write| write.lease.address);
        let mut addresses: Vec<F::Address> =
            written.chain(self.lookup_addresses.iter().copied()).collect();
        addresses.sort();
        addresses.dedup();
        let (mut client_leases, mut address_leases) = (Vec::new(), Vec::new());
        if self.writes.is_empty() {
            database.read_unlocked(
                &self.clients,
                &addresses,
                &mut client_leases,
                &mut address_leases,
            )?;
        } else {
            database.begin_and_lock(
                &self.clients,
                &addresses,
                &mut client_leases,
                &mut address_leases,
            )?;
        }
        let mut unreadable = database.take_unreadable();
        unreadable.sort_unstable();
        // The number is the only key: a database need not distinguish an address from a prefix.
        address_leases.sort_by_key(|lease| F::octets_of(lease.address));
        let find = |address| {
            let key = F::octets_of(address);
            let at = address_leases.binary_search_by_key(&key, |lease| F::octets_of(lease.address));
            at.ok().map(|at| &address_leases[at])
        };
        let (changes, mut outcome) = self.decide(&find, &unreadable, now_s);
        if !self.writes.is_empty() {
            database.write_and_commit(&changes)?;
        }
        let is_unreadable = |address| unreadable.binary_search(&F::octets_of(address)).is_ok();
        let of_addresses = self.lookup_addresses.iter().map(|&address| {
            if is_unreadable(address) {
                (address, Some(blocked_lease(address)))
            } else {
                table_lease::<F>(address, find(address))
            }
        });
        let client_leases = client_leases.into_iter().map(|lease| (lease.address, Some(lease)));
        outcome.answers = client_leases.chain(of_addresses).collect();
        Ok(outcome)
    }

    /// Decides which of the round's requests are written, which are refused, and which yield to
    /// later rows of other servers. An unreadable row, whose number is in `unreadable`, can only be
    /// replaced by an operator.
    fn decide<'f>(
        &self,
        find: &impl Fn(F::Address) -> Option<&'f Lease<F>>,
        unreadable: &[KeyOctets],
        now_s: u64,
    ) -> (RoundChanges<F>, RoundResults<F>)
    where
        Lease<F>: 'f,
    {
        let mut changes = RoundChanges::default();
        let mut outcome = RoundResults::default();
        let mut addresses_by_key =
            HashMap::with_capacity_and_hasher(self.writes.len(), FixedState::default());
        for write in &self.writes {
            let address = write.lease.address;
            // If one number is wanted as an address and as a prefix, the first request has it.
            if *addresses_by_key.entry(F::octets_of(address)).or_insert(address) != address {
                outcome.refused.push((address, None));
                continue;
            }
            if unreadable.binary_search(&F::octets_of(address)).is_ok() {
                match write.kind {
                    LeaseRequestKind::Put if !write.is_deletion() => {
                        changes.updates.push(write.lease.clone())
                    }
                    LeaseRequestKind::Put | LeaseRequestKind::Remove => {
                        changes.deletions.push(address)
                    }
                    _ => outcome.rejected.push((address, Some(blocked_lease(address)))),
                }
                continue;
            }
            let stored = find(address);
            match decide_write(write, stored, now_s) {
                WriteDecision::Insert => changes.inserts.push(write.lease.clone()),
                WriteDecision::Update
                    if stored.is_some_and(|stored| is_renewal(&write.lease, stored)) =>
                {
                    changes.renewals.push(write.lease.clone());
                }
                WriteDecision::Update => changes.updates.push(write.lease.clone()),
                WriteDecision::Delete => changes.deletions.push(address),
                WriteDecision::Nothing => {}
                WriteDecision::Keep => outcome.superseded.push(table_lease::<F>(address, stored)),
                WriteDecision::Refuse => outcome.refused.push(table_lease::<F>(address, stored)),
            }
        }
        (changes, outcome)
    }
}

/// Returns the message to the operator about the database row of `address`, which cannot be read.
pub(crate) fn unreadable_row_message(address: &impl std::fmt::Display) -> String {
    format!(
        "the row of {address} in the lease database is not a valid lease; the server does not \
         assign its address until a command deletes or replaces the row"
    )
}

/// Returns the lease that the lease table in memory must have for `address` when the database has
/// `stored` under its number.
fn table_lease<F: SharedLeaseFamily>(
    address: F::Address,
    stored: Option<&Lease<F>>,
) -> (F::Address, Option<Lease<F>>) {
    (address, stored.filter(|lease| lease.address == address).cloned())
}

/// Returns true if `lease` differs from `stored` only in the time at which the server last heard
/// the client.
fn is_renewal<F: SharedLeaseFamily>(lease: &Lease<F>, stored: &Lease<F>) -> bool {
    *lease == Lease { cltt_s: lease.cltt_s, ..stored.clone() }
}

#[cfg(test)]
mod tests {
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::V6;

    use super::*;

    fn unreadable_lines_are_faults<F: SharedLeaseFamily>() {
        let batch = b"Z,0,\n\n?\nG,1,1,02:00,01,10.0.0.1,02:00\n\xff\x00,,,,\n";
        let round = RoundRequests::<F>::read(batch);
        assert_eq!(round.unreadable().len(), 4);
        assert_eq!(round.writes(), 0);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_a_fault_of_the_round_and_ends_nothing() {
        unreadable_lines_are_faults::<V4>();
        unreadable_lines_are_faults::<V6>();
    }
}
