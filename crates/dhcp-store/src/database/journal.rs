//! Journal of a shard whose leases are in a database: its requests to the writer, and its lookups
//! of clients.

use std::hash::BuildHasher;
use std::sync::Arc;

use base::Now;
use base::time::NS_PER_S;
use dhcp_lease::RowView;
use dhcp_lease::contract::{Facts, FetchKeys, SlotOccupancy, SlotOwner, SlotView};
use foldhash::fast::FixedState;

use super::family::SharedLeaseFamily;
use super::operation;
use super::refusals::{AddressRefusalReason, Refusals};
use crate::log::{RowBuffer, ShardLog};
use crate::store::{Cause, StoreJournal};

/// Time for which the result of a client lookup in the database is valid, in nanoseconds.
const LOOKUP_VALID_NS: u64 = NS_PER_S;
/// Number of sets of remembered client lookups, found by a hash; each set has [`WAYS`] lookups.
const SETS: usize = 4096;
const WAYS: usize = 4;

/// Lookup of a client in the database that a shard remembers.
#[derive(Clone, Copy, Debug, Default)]
struct ClientLookup {
    hash: u64,
    /// Epoch with which the lookup's result is in the lease table; 0 for an empty entry.
    epoch: u64,
    since_ns: u64,
    /// Number of the DHCP message that needed the lookup.
    message: u64,
}

/// Journal of a shard whose leases are in a database.
#[derive(Debug)]
pub struct SharedJournal {
    refusals: Arc<Refusals>,
    /// Remembered client lookups; empty if no other server writes to the database.
    lookups: Box<[[ClientLookup; WAYS]]>,
    /// Number of the DHCP message that the shard serves; 0 before the first.
    message: u64,
}

impl SharedJournal {
    /// Creates a journal; with `is_shared`, other servers write to the database as well, and the
    /// journal looks up in the database the clients that the lease table does not know.
    #[must_use]
    pub fn new(refusals: Arc<Refusals>, is_shared: bool) -> Self {
        let sets = if is_shared { SETS } else { 0 };
        Self { refusals, lookups: vec![[ClientLookup::default(); WAYS]; sets].into(), message: 0 }
    }
}

impl<F: SharedLeaseFamily> StoreJournal<F> for SharedJournal {
    fn append(&self, cause: Cause<'_, '_, F>, row: &RowView<'_, F>, buffer: &mut RowBuffer) {
        operation::write(&cause, row, &mut buffer.rows);
    }

    fn begin_message(&mut self, number: u64) {
        self.message = number;
    }

    fn read_through(
        &mut self,
        now: Now,
        keys: &FetchKeys<'_, F>,
        facts: &Facts<F>,
        log: &ShardLog,
    ) -> u64 {
        let has = |slot: &SlotView<F>| {
            matches!(slot.occupancy, SlotOccupancy::Held | SlotOccupancy::Leased)
        };
        let has_lease = facts.client_slots().any(has);
        // An address that the client names may have become its own at another server, whatever its
        // state here: free, or another client's, while the table knows the client by a lease that
        // it no longer has.
        let belongs_to_client =
            |slot: &SlotView<F>| slot.owner == SlotOwner::Requester && has(slot);
        let more = || facts.address_slots.iter().flatten().filter(|slot| !belongs_to_client(slot));
        let names_more = more().next().is_some();
        if (has_lease && !names_more) || self.lookups.is_empty() {
            return 0;
        }
        // A row written here after the lookup says no more than the table already assumed: the
        // database has yet to judge it.
        let unjudged_epoch = more().map(|slot| slot.row_epoch).max().unwrap_or(0);
        if unjudged_epoch > log.settled() {
            log.await_epoch(unjudged_epoch);
            return unjudged_epoch;
        }
        let mut hash = F::hash_of(&keys.identity);
        if names_more {
            // This is a separate lookup: the result for the client alone may be older than its
            // lease.
            for address in keys.addresses.iter().flatten() {
                hash = FixedState::with_seed(hash).hash_one(F::octets_of(*address));
            }
        }
        let set = &mut self.lookups[hash as usize % SETS];
        // A message that names more addresses uses only its own lookup, however long that took: the
        // next message that names them looks up again.
        let is_valid = |lookup: &&ClientLookup| {
            let is_recent = now.mono_ns.saturating_sub(lookup.since_ns) < LOOKUP_VALID_NS;
            lookup.hash == hash
                && lookup.epoch > 0
                && (lookup.message == self.message || (is_recent && !names_more))
        };
        if let Some(lookup) = set.iter().find(is_valid) {
            if lookup.epoch <= log.settled() {
                return 0;
            }
            log.await_epoch(lookup.epoch);
            return lookup.epoch;
        }
        let mut buffer = log.buffer();
        let epoch = buffer.epoch();
        operation::write_lookup(keys, &mut buffer.rows);
        drop(buffer);
        log.await_epoch(epoch);
        let oldest = set.iter_mut().min_by_key(|lookup| (lookup.since_ns, lookup.epoch));
        *oldest.expect("a set has ways") =
            ClientLookup { hash, epoch, since_ns: now.mono_ns, message: self.message };
        epoch
    }

    fn is_refused(&self, epoch: u64, reply: &[u8]) -> bool {
        self.refusals.is_refused(epoch, reply)
    }

    fn is_refused_for_data(&self, epoch: u64, reply: &[u8]) -> bool {
        self.refusals.reason(epoch, reply) == Some(AddressRefusalReason::Data)
    }

    // Other servers decide by the database whether a lease has ended.
    const SWEEPS_UNLOGGED: bool = false;
}
