//! Disk of the simulation: durable lease rows, and rows that a crash may lose.

use std::collections::{BTreeMap, VecDeque};

use base::Random;
use dhcp_lease::{Lease, LeaseTable};

use crate::simulated_protocol::SimulatedProtocol;

/// Disk of the simulated server: lease rows in the order in which they were logged.
#[derive(Debug)]
pub(crate) struct Disk<P: SimulatedProtocol> {
    /// Last durable lease row of every address.
    safe: BTreeMap<P::Address, Lease<P>>,
    /// Lease rows that are not durable yet, each with the epoch (batch of the log) with which it
    /// becomes durable.
    pending: VecDeque<(u64, Lease<P>)>,
}

impl<P: SimulatedProtocol> Default for Disk<P> {
    fn default() -> Self {
        Self { safe: BTreeMap::new(), pending: VecDeque::new() }
    }
}

impl<P: SimulatedProtocol> Disk<P> {
    /// Logs lease rows, which become durable with `epoch` at the latest.
    pub(crate) fn log(&mut self, epoch: u64, rows: Vec<Lease<P>>) {
        self.pending.extend(rows.into_iter().map(|row| (epoch, row)));
    }

    /// Makes all lease rows up to `epoch` durable.
    pub(crate) fn settle(&mut self, epoch: u64) {
        while let Some((_, row)) = self.pending.pop_front_if(|(at, _)| *at <= epoch) {
            self.safe.insert(row.address, row);
        }
    }

    /// Stops the simulated machine. A random number of the oldest rows that are not durable yet
    /// reach the disk, and the others are lost.
    pub(crate) fn crash(&mut self, random: &mut Random) {
        let survivors = random.below(self.pending.len() as u64 + 1) as usize;
        for (_, row) in self.pending.drain(..).take(survivors) {
            self.safe.insert(row.address, row);
        }
    }

    /// Loads the durable lease rows into `table`, as a server does when it starts.
    pub(crate) fn load(&self, table: &LeaseTable<P>) {
        for row in self.safe.values() {
            table.load(row.clone());
        }
    }

    /// Returns the durable lease row of `address`.
    pub(crate) fn row(&self, address: P::Address) -> Option<&Lease<P>> {
        self.safe.get(&address)
    }
}
