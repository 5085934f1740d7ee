//! Where loaded leases go.

use std::sync::{Mutex, PoisonError};
use std::vec::Drain;

use dhcp_lease::{Family, LeaseTable};
use hashbrown::HashMap;

use super::format::Rows;
use super::load::{LANES, lane_of};

/// How far a load has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Octets of rows in all files.
    pub octets: u64,
    /// How many of them were loaded.
    pub octets_done: u64,
    /// Rows that were loaded.
    pub rows: u64,
}

/// What a row says of its address.
#[derive(Debug)]
pub enum FileRow<F: Rows> {
    /// It has this lease.
    Lease(F::Lease),
    /// It has none any more.
    Deleted(F::Address),
}

/// Takes leases as they are read. Several threads give at once, but the rows of one address come
/// one after the other, each newer than those before.
pub trait Intake<F: Rows>: Sync {
    /// Takes the next rows of some addresses.
    fn take(&self, rows: Drain<'_, FileRow<F>>);

    /// Called now and then, for each few thousand rows.
    fn progress(&self, _progress: Progress) {}
}

/// Rows that are expected before the one that is being taken.
const AHEAD: usize = 12;

/// Gives each of `rows` to `take`, and to `expect` some rows before.
pub fn take_foreseen<F: Rows>(
    mut rows: Drain<'_, FileRow<F>>,
    expect: impl Fn(&F::Lease),
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

/// What is in the rows and nothing else.
impl<F: Rows> Intake<F> for LeaseTable<F> {
    fn take(&self, rows: Drain<'_, FileRow<F>>) {
        for row in rows {
            match row {
                FileRow::Lease(lease) => self.load(lease),
                FileRow::Deleted(address) => drop(self.unload(address)),
            }
        }
    }
}

type Newest<F> = HashMap<<F as Family>::Address, <F as Family>::Lease, foldhash::fast::FixedState>;

/// Keeps the newest row of each address.
pub(super) struct Collected<F: Rows> {
    lanes: Vec<Mutex<Newest<F>>>,
}

impl<F: Rows> Default for Collected<F> {
    fn default() -> Self {
        Self { lanes: (0..LANES).map(|_| Mutex::default()).collect() }
    }
}

impl<F: Rows> Collected<F> {
    /// All leases, in no order.
    pub(super) fn into_leases(self) -> Vec<F::Lease> {
        let mut leases = Vec::new();
        for lane in self.lanes {
            let lane = lane.into_inner().unwrap_or_else(PoisonError::into_inner);
            leases.extend(lane.into_values());
        }
        leases
    }
}

impl<F: Rows> Intake<F> for Collected<F> {
    fn take(&self, rows: Drain<'_, FileRow<F>>) {
        for row in rows {
            let address = match &row {
                FileRow::Lease(lease) => F::address(lease),
                FileRow::Deleted(address) => *address,
            };
            // Rows that come together are of one lane: its lock is free.
            let lane = self.lanes[lane_of::<F>(address)].lock();
            let mut newest = lane.unwrap_or_else(PoisonError::into_inner);
            match row {
                FileRow::Lease(lease) => drop(newest.insert(address, lease)),
                FileRow::Deleted(address) => drop(newest.remove(&address)),
            }
        }
    }
}
