//! Destination of the leases that are loaded from lease files.

use std::sync::{Mutex, PoisonError};
use std::vec::Drain;

use dhcp_lease::{Family, Lease, LeaseTable};
use hashbrown::HashMap;

use super::format::LeaseFileFamily;
use super::load::{PARTITIONS, partition_of};

/// Progress of a load of lease files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseLoadProgress {
    /// Size of the rows in all lease files, in bytes.
    pub octets: u64,
    /// Size of the rows that were loaded so far, in bytes.
    pub octets_done: u64,
    /// Number of rows that were loaded so far.
    pub rows: u64,
}

/// Content of a lease file's row: a lease, or the deletion of one.
#[derive(Debug)]
pub enum FileRow<F: LeaseFileFamily> {
    /// Lease of the address, from the row.
    Lease(Lease<F>),
    /// Address whose lease the row deletes.
    Deleted(F::Address),
}

/// Receiver of leases as they are read from lease files. Several threads call it at once, but the
/// rows of one address come one after the other, each newer than those before.
pub trait Intake<F: LeaseFileFamily>: Sync {
    /// Takes the next rows of some addresses from `rows`.
    fn take(&self, rows: Drain<'_, FileRow<F>>);

    /// Reports the progress of the load, once for each few thousand rows.
    fn progress(&self, _progress: LeaseLoadProgress) {}
}

/// Number of rows between the calls of `expect`, which prefetches a lease's memory, and of `take`
/// for the same row.
const AHEAD: usize = 12;

/// Passes each of `rows` to `take`, and its lease to `expect` [`AHEAD`] rows earlier, for
/// prefetching.
pub fn take_prefetched<F: LeaseFileFamily>(
    mut rows: Drain<'_, FileRow<F>>,
    expect: impl Fn(&Lease<F>),
    mut take: impl FnMut(FileRow<F>),
) {
    let expect = |row: &FileRow<F>| {
        if let FileRow::Lease(lease) = row {
            expect(lease);
        }
    };
    rows.as_slice().iter().take(AHEAD).for_each(expect);
    while let Some(row) = rows.next() {
        rows.as_slice().get(AHEAD - 1).into_iter().for_each(expect);
        take(row);
    }
}

/// Intake of a lease table, which loads exactly the leases of the rows.
impl<F: LeaseFileFamily> Intake<F> for LeaseTable<F> {
    fn take(&self, rows: Drain<'_, FileRow<F>>) {
        for row in rows {
            match row {
                FileRow::Lease(lease) => self.load(lease),
                FileRow::Deleted(address) => drop(self.unload(address)),
            }
        }
    }
}

type Newest<F> = HashMap<<F as Family>::Address, Lease<F>, foldhash::fast::FixedState>;

/// Intake that keeps the newest row of each address.
pub(super) struct NewestRowIntake<F: LeaseFileFamily> {
    partitions: Vec<Mutex<Newest<F>>>,
}

impl<F: LeaseFileFamily> Default for NewestRowIntake<F> {
    fn default() -> Self {
        Self { partitions: (0..PARTITIONS).map(|_| Mutex::default()).collect() }
    }
}

impl<F: LeaseFileFamily> NewestRowIntake<F> {
    /// Returns the newest leases of all addresses, in no particular order.
    pub(super) fn into_leases(self) -> Vec<Lease<F>> {
        let mut leases = Vec::new();
        for partition in self.partitions {
            let partition = partition.into_inner().unwrap_or_else(PoisonError::into_inner);
            leases.extend(partition.into_values());
        }
        leases
    }
}

impl<F: LeaseFileFamily> Intake<F> for NewestRowIntake<F> {
    fn take(&self, rows: Drain<'_, FileRow<F>>) {
        for row in rows {
            let address = match &row {
                FileRow::Lease(lease) => lease.address,
                FileRow::Deleted(address) => *address,
            };
            // Rows of one call belong to one partition, so its lock is free.
            let partition = self.partitions[partition_of::<F>(address)].lock();
            let mut newest = partition.unwrap_or_else(PoisonError::into_inner);
            match row {
                FileRow::Lease(lease) => drop(newest.insert(address, lease)),
                FileRow::Deleted(address) => drop(newest.remove(&address)),
            }
        }
    }
}
