//! A copy that begins with a walk over the table and follows events has all leases exactly once,
//! whatever changes during the walk.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Now, Random};

use super::super::LeaseTable;
use super::super::leases_before::TableCursor;
use super::{SECOND_NS, START, change, for_both_families, lease_for, slot};
use crate::contract::{Action, PutMode};
use crate::event::{Answer, EventRef, ExchangeDetail, RecordedEvent};
use crate::lease::{Lease, LeaseState};
use crate::pool::PoolSet;
use crate::sample::{SampleFamily, SampleLease};
use crate::{CommitEpochs, EventOverflow, Expiry, Sweep};

for_both_families! {
    a_snapshot_and_the_events_after_it_are_the_leases,
}

/// Numbers of the first and the last address of the pool: two stripes have several parts.
const POOL: (u32, u32) = (0x0a00_0000, 0x0a00_0027);
/// Address outside of the pool.
const OUTSIDE: u32 = 0xcb00_7101;
const SEEDS: u64 = 100;

/// Leases by address, without those that have ended.
type Leases<F> = BTreeMap<u32, Lease<F>>;

struct Run<F: SampleFamily> {
    table: LeaseTable<F>,
    pools: Arc<PoolSet<F>>,
    random: Random,
    now: Now,
    epochs: CommitEpochs,
    /// Events that were taken, oldest first.
    taken: Vec<EventRef<F>>,
}

fn follow<F: SampleFamily>(leases: &mut Leases<F>, event: &RecordedEvent<F>) {
    let number = F::number(event.address);
    match event.after.as_ref().filter(|lease| !lease.state.is_past()) {
        Some(lease) => leases.insert(number, lease.clone()),
        None => leases.remove(&number),
    };
}

impl<F: SampleFamily> Run<F> {
    fn new(seed: u64) -> Self {
        let table = LeaseTable::new(seed);
        let pools = table.configure(&[F::pool(POOL.0, POOL.1)], &[]);
        let mut random = Random::from_seed(seed);
        let (hold_reclaimed_s, is_remembering) = (60, random.chance(1, 2));
        table.set_expiry(Expiry { reclaim_wait_s: 10, hold_reclaimed_s, is_remembering });
        let epochs = CommitEpochs { row_epoch: 1, settled_epoch: 0 };
        Self { table, pools, random, now: START, epochs, taken: Vec::new() }
    }

    fn address(&mut self) -> u32 {
        let (first, last) = POOL;
        let number = first + self.random.below(u64::from(last - first) + 1) as u32;
        if self.random.chance(1, 10) { OUTSIDE } else { number }
    }

    fn put(&mut self) {
        let lease = F::lease(&SampleLease {
            address: self.address(),
            client: self.random.below(4) as u32,
            valid_lifetime_s: self.random.below(100) as u32,
            cltt_s: self.now.wall_s(),
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        });
        let _ = self.table.put(&lease, PutMode::Force, self.epochs, &mut |_| {});
    }

    fn serve(&mut self) {
        let address = self.address();
        let lifetime_s = 1 + self.random.below(60) as u32;
        let action = match self.random.below(6) {
            0..3 => lease_for::<F>(lifetime_s),
            3 => Action::Release,
            4 => Action::Decline { probation_s: lifetime_s },
            _ => {
                let deadline_ns = self.now.mono_ns + SECOND_NS;
                Action::Hold { deadline_ns, subnet_id: 1 }
            }
        };
        let Some(slot) = slot(&self.table, &self.pools, self.now, address) else { return };
        let change = change(self.random.below(4) as u32, &slot, action);
        let _ = self.table.apply(self.now, &[change], self.epochs, &mut |_| {});
    }

    /// Does one random thing: a change, a step of time, a flush, or the taking of events.
    fn step(&mut self) {
        match self.random.below(13) {
            0..5 => self.serve(),
            5 => self.put(),
            6 => {
                let address = F::address(self.address());
                let _ = self.table.remove(address, self.epochs, &mut |_| {});
            }
            7 => {
                self.now.mono_ns += 10 * SECOND_NS;
                self.now.wall_us += 10_000_000;
                let CommitEpochs { row_epoch, settled_epoch } = self.epochs;
                let sweep = Sweep { settled_epoch, row_epoch, budget: 100, forced: None };
                self.table.sweep_logged(self.now, &sweep, &mut |_| {});
            }
            8 | 9 => self.epochs.row_epoch += 1,
            12 => {
                // Answers change nothing, whatever lease the address has.
                let address = F::address(self.address());
                let answer = Answer { address, lease: None, row_epoch: self.epochs.row_epoch };
                self.table.record_answer(self.now, &answer, None);
            }
            10 => self.epochs.settled_epoch = self.epochs.row_epoch - 1,
            _ => self.take(),
        }
    }

    fn take(&mut self) {
        self.table.take_events(self.epochs.settled_epoch, &mut self.taken);
    }

    /// Returns the leases of a snapshot at the present position, with changes during the walk.
    fn snapshot(&mut self) -> Leases<F> {
        let (position, mut leases) = (self.taken.len(), BTreeMap::new());
        let mut cursor = TableCursor::default();
        loop {
            let later = &self.taken[position..];
            let undo = |undo: &mut dyn FnMut(&RecordedEvent<F>)| {
                later.iter().rev().for_each(|event| undo(event))
            };
            let Some(part) = self.table.leases_before(&mut cursor, undo) else { return leases };
            for lease in part {
                let before = leases.insert(F::number(lease.address), lease);
                assert!(before.is_none(), "{before:?}");
            }
            for _ in 0..self.random.below(3) {
                self.step();
            }
        }
    }
}

fn a_snapshot_and_the_events_after_it_are_the_leases<F: SampleFamily>() {
    for seed in 0..SEEDS {
        let mut run = Run::<F>::new(seed);
        (0..100).for_each(|_| run.step());
        // Recording begins while leases exist.
        run.table.record_events(EventOverflow::Keep);
        run.table.record_exchanges(ExchangeDetail::Content);
        run.table.record_answers(true);
        (0..run.random.below(60)).for_each(|_| run.step());
        let position = run.taken.len();
        let mut leases = run.snapshot();
        (0..30).for_each(|_| run.step());
        run.epochs.settled_epoch = run.epochs.row_epoch;
        run.take();
        for event in run.taken[position..].iter().filter(|event| event.is_change()) {
            let before = event.before.as_ref().filter(|lease| !lease.state.is_past());
            assert_eq!(leases.get(&F::number(event.address)), before, "seed {seed}: {event:?}");
            follow(&mut leases, event);
        }
        let mut expected = BTreeMap::new();
        run.table.for_each_lease(|lease| {
            if !lease.state.is_past() {
                expected.insert(F::number(lease.address), lease);
            }
        });
        assert_eq!(leases, expected, "seed {seed}");
        assert!(run.taken.len() > 10, "seed {seed} has hardly any event");
    }
}
