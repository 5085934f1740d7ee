//! Rows against events: a database that servers share has the rows of a table, refuses some of them
//! and is changed by others; the sum of the events is the sum of the rows at every moment, and both
//! are the leases of the table. So are those of a server that copies them page by page meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use base::{Now, Random};

use super::super::LeaseTable;
use super::copies::TableCopy;
use super::modelled::Modelled;
use super::{SECOND_NS, START, for_both_families};
use crate::contract::{Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, PutMode, SlotView};
use crate::event::{LeaseEventKind, RecordedEvent};
use crate::family::PoolIndex;
use crate::lease::{Lease, LeaseState, RowView};
use crate::pool::PoolSet;
use crate::sample::SampleLease;
use crate::{CommitEpochs, EventOverflow, Expiry, Sweep};

for_both_families! {
    the_sum_of_the_events_is_the_sum_of_the_rows,
}

const SEEDS: u64 = 600;
const OPERATIONS: u32 = 400;
/// First address of the pool, and its size.
const FIRST: u32 = 0x0a00_00fa;
const COUNT: u32 = 10;

/// Leases by address, without those that are only remembered.
type Leases<F> = BTreeMap<u32, Lease<F>>;

/// Table with the database that it shares with other servers.
struct SharedTable<F: Modelled> {
    table: LeaseTable<F>,
    pools: std::sync::Arc<PoolSet<F>>,
    random: Random,
    now: Now,
    /// Epoch of the rows that are logged now.
    epoch: u64,
    settled: u64,
    /// Rows that the table has logged and the database has not decided on.
    pending: Vec<Lease<F>>,
    /// Last rows of the database, by address.
    rows: BTreeMap<u32, Lease<F>>,
    /// Leases of the table by the rows that the database has taken, and by corrections.
    by_rows: Leases<F>,
    by_events: Leases<F>,
    kinds: BTreeMap<LeaseEventKind, u32>,
    /// Copy by a server that does not share the database.
    copy: Option<TableCopy<F>>,
}

fn is_running<F: Modelled>(lease: &Lease<F>) -> bool {
    lease.valid_lifetime_s > 0 && !lease.state.is_past()
}

fn put_in<F: Modelled>(leases: &mut Leases<F>, address: F::Address, lease: Option<Lease<F>>) {
    match lease.filter(is_running) {
        Some(lease) => leases.insert(F::number(address), lease),
        None => leases.remove(&F::number(address)),
    };
}

impl<F: Modelled> SharedTable<F> {
    fn new(seed: u64) -> Self {
        let table = LeaseTable::new(seed);
        let pools = table.configure(&[F::pool(FIRST, FIRST + COUNT - 1)], &[]);
        let mut random = Random::from_seed(seed);
        table.set_expiry(Expiry {
            reclaim_wait_s: 10,
            hold_reclaimed_s: *random.pick(&[0, 60]).unwrap(),
            is_remembering: random.chance(4, 5),
        });
        table.record_events(EventOverflow::Keep);
        Self {
            table,
            pools,
            random,
            now: START,
            epoch: 1,
            settled: 0,
            pending: Vec::new(),
            rows: BTreeMap::new(),
            by_rows: Leases::new(),
            by_events: Leases::new(),
            kinds: BTreeMap::new(),
            copy: None,
        }
    }

    const fn epochs(&self) -> CommitEpochs {
        CommitEpochs { row_epoch: self.epoch, settled_epoch: self.settled }
    }

    fn address(&mut self) -> u32 {
        FIRST + self.random.below(COUNT.into()) as u32
    }

    /// Returns a lease that another server may write.
    fn lease(&mut self) -> Lease<F> {
        let sample = SampleLease {
            address: self.address(),
            client: 0,
            valid_lifetime_s: *self.random.pick(&[20, 200]).unwrap(),
            cltt_s: self.now.wall_s() - self.random.below(10),
            subnet_id: 1,
            pool_id: 0,
            hostname: self.random.pick(&["", "a"]).unwrap(),
            state: *self
                .random
                .pick(&[
                    LeaseState::Assigned,
                    LeaseState::Declined,
                    LeaseState::Released,
                    LeaseState::ExpiredReclaimed,
                ])
                .unwrap(),
            user_context: "",
        };
        F::lease_of(F::who(&mut self.random), &sample)
    }

    /// Fetches as a client that wants an address. Returns the slots that it may change.
    fn fetch(&mut self, who: F::Who) -> Vec<SlotView<F>> {
        let mut addresses = [None; FETCHED_ADDRESSES_MAX];
        addresses[0] = Some(F::address(self.address()));
        let keys = FetchKeys {
            identity: F::identity(who),
            addresses,
            pools: &*self.pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: false,
        };
        let mut facts = Facts::default();
        self.table.fetch(self.now, self.settled, &keys, &mut facts);
        if let Some(candidate) = facts.candidate {
            self.table.release_claim(candidate.address);
        }
        facts.candidate.into_iter().chain(facts.address_slots[0]).collect()
    }

    fn commit(&mut self) {
        let who = F::who(&mut self.random);
        let slots = self.fetch(who);
        let Some(slot) = self.random.pick(&slots).copied() else { return };
        let deadline_ns = self.now.mono_ns + 5 * SECOND_NS;
        let terms = F::terms(*self.random.pick(&[20, 200]).unwrap(), 1, "");
        let actions = [
            Action::Hold { deadline_ns, subnet_id: 1 },
            Action::Lease(terms),
            Action::Lease(terms),
            Action::Register(terms),
            Action::Release,
            Action::Decline { probation_s: 30 },
            Action::Unhold,
        ];
        let action = *self.random.pick(&actions).unwrap();
        let (address, expected_version) = (slot.address, slot.version);
        let change = Change { identity: F::identity(who), address, expected_version, action };
        let (epochs, pending) = (self.epochs(), &mut self.pending);
        let mut log = |row: RowView<'_, F>| pending.push(row.to_lease());
        // A slot that does not permit the action stays as it is.
        let _ = self.table.apply(self.now, &[change], epochs, &mut log);
    }

    fn administer(&mut self) {
        let (lease, epochs) = (self.lease(), self.epochs());
        let pending = &mut self.pending;
        let mut log = |row: RowView<'_, F>| pending.push(row.to_lease());
        let modes = [
            PutMode::Add,
            PutMode::Update,
            PutMode::Force,
            PutMode::UnlessLater,
            PutMode::UnlessTaken,
        ];
        let &mode = self.random.pick(&modes).unwrap();
        // A lease that is missing, or exists, is not changed.
        let _ = if self.random.chance(1, 2) {
            self.table.put(&lease, mode, epochs, &mut log)
        } else {
            self.table.remove(lease.address, epochs, &mut log)
        };
    }

    fn sweep(&mut self) {
        let pending = &mut self.pending;
        let &forced = self.random.pick(&[None, None, None, Some(true), Some(false)]).unwrap();
        let sweep =
            Sweep { settled_epoch: self.settled, row_epoch: self.epoch, budget: 100, forced };
        self.table.sweep_logged(self.now, &sweep, &mut |row| pending.push(row.to_lease()));
    }

    /// Configures the pool again, with reserved addresses.
    fn reserve(&mut self) {
        let reserved: Vec<_> = (0..3).map(|_| F::address(self.address())).collect();
        self.pools = self.table.configure(&[F::pool(FIRST, FIRST + COUNT - 1)], &reserved);
    }

    /// Changes a row of the database as another server does.
    fn change_elsewhere(&mut self) {
        let lease = self.lease();
        self.rows.insert(F::number(lease.address), lease);
    }

    /// Decides on the pending rows, corrects the table and settles their epoch.
    fn settle(&mut self) {
        let epoch = self.epoch;
        let mut written = BTreeSet::new();
        for lease in core::mem::take(&mut self.pending) {
            let (address, number) = (lease.address, F::number(lease.address));
            written.insert(number);
            if self.random.chance(1, 3) {
                let stored = self.rows.get(&number).cloned();
                put_in(&mut self.by_rows, address, stored.clone());
                self.table.refuse(address, stored, epoch);
            } else {
                put_in(&mut self.by_rows, address, Some(lease.clone()));
                self.rows.insert(number, lease);
            }
        }
        for _ in 0..self.random.below(4) {
            let number = self.address();
            let stored = self.rows.get(&number).cloned();
            if !written.contains(&number) {
                put_in(&mut self.by_rows, F::address(number), stored.clone());
            }
            self.table.correct(F::address(number), stored, epoch - 1);
        }
        self.settled = epoch;
        self.epoch += 1;
        self.check();
    }

    /// Follows an event, whose lease before must be the one that the events so far have made.
    fn follow(&mut self, event: &RecordedEvent<F>) {
        *self.kinds.entry(event.kind).or_default() += 1;
        let before = event.before.clone().filter(is_running);
        assert_eq!(before.as_ref(), self.by_events.get(&F::number(event.address)), "{event:?}");
        put_in(&mut self.by_events, event.address, event.after.clone());
    }

    fn check(&mut self) {
        let mut events = Vec::new();
        self.table.take_events(self.settled, &mut events);
        assert_eq!(self.table.waiting_events(), 0);
        events.iter().for_each(|event| self.follow(event));
        let mut leases = Leases::<F>::new();
        self.table.for_each_lease(|lease| put_in(&mut leases, lease.address, Some(lease.clone())));
        assert_eq!(self.by_events, leases);
        // An offer of an address whose lease has ended writes no row: the lease's own has its end.
        let wall_s = self.now.wall_s();
        let lasting = |leases: &Leases<F>| -> Leases<F> {
            let lasting = leases.iter().filter(|(_, lease)| lease.expires_s() > wall_s);
            lasting.map(|(&number, lease)| (number, lease.clone())).collect()
        };
        assert_eq!(lasting(&self.by_events), lasting(&self.by_rows));
    }

    /// Goes on with the copy, or begins another one. After the last page the copy has the leases of
    /// the table.
    fn copy(&mut self) {
        let number = self.random.below(u64::MAX);
        let is_last_round = self.random.chance(1, 2);
        let copy = self.copy.get_or_insert_with(|| TableCopy::begin(&self.table, number));
        if !copy.go_on(&self.table, is_last_round) {
            return;
        }
        let mut leases = Leases::<F>::new();
        self.table.for_each_lease(|lease| put_in(&mut leases, lease.address, Some(lease.clone())));
        assert_eq!(copy.leases, leases);
        if is_last_round {
            self.copy = None;
        }
    }

    fn step(&mut self) {
        if self.random.chance(1, 3) {
            self.copy();
        }
        match self.random.below(100) {
            0..40 => self.commit(),
            40..50 => self.administer(),
            50..58 => self.sweep(),
            58 => self.reserve(),
            59 => {
                let address = self.address();
                self.table.reserve_address(F::address(address));
            }
            60..70 => self.change_elsewhere(),
            70..85 => {
                let ns = self.random.below(15 * SECOND_NS);
                self.now = self.now.after_ns(ns);
            }
            _ => self.settle(),
        }
    }
}

fn the_sum_of_the_events_is_the_sum_of_the_rows<F: Modelled>() {
    let mut kinds = BTreeMap::<LeaseEventKind, u32>::new();
    for seed in 0..SEEDS {
        let mut run = SharedTable::<F>::new(seed);
        for _ in 0..OPERATIONS {
            run.step();
        }
        run.settle();
        run.kinds.into_iter().for_each(|(kind, count)| *kinds.entry(kind).or_default() += count);
    }
    let missing: Vec<_> =
        LeaseEventKind::ALL.into_iter().filter(|kind| !kinds.contains_key(kind)).collect();
    let unchanged = [LeaseEventKind::Answered, LeaseEventKind::NamesRequested];
    assert_eq!(missing, unchanged, "{kinds:?}");
}

/// Methods that may change leases. The test above calls all of them.
const CHANGING: [&str; 13] = [
    "add_candidate",
    "apply",
    "apply_caused",
    "configure",
    "correct",
    "fetch",
    "put",
    "refuse",
    "release_claim",
    "remove",
    "reserve_address",
    "sweep",
    "sweep_logged",
];

/// Methods that change leases without an event: those of the start, when nobody listens yet, and
/// one that moves the times of all leases, after which nobody can go on without a snapshot.
const WITHOUT_EVENTS: [&str; 4] = ["follow_clock", "load", "load_row", "unload"];

/// Methods that change no lease.
const READING: [&str; 38] = [
    "begin",
    "event_overflow",
    "find_leases",
    "for_each_lease",
    "has_events_before",
    "is_recording_answers",
    "is_recording_events",
    "exchange_detail",
    "is_sound",
    "is_sweep_due",
    "lease",
    "leases_before",
    "leases_of",
    "leave_occupied_range",
    "look_up",
    "memory",
    "note_changes",
    "page",
    "pools",
    "prefetch_load",
    "record_answer",
    "record_answers",
    "record_events",
    "record_exchanges",
    "stop_recording_exchanges",
    "record_names_request",
    "set_expiry",
    "set_reclaim_limits",
    "spend_reclaim_time",
    "statistics",
    "statistics_outside",
    "stop_recording_events",
    "take_clock_steps",
    "take_dropped_events",
    "take_event_order",
    "take_events",
    "take_reclaim_warnings",
    "waiting_events",
];

#[test]
fn each_method_of_the_table_is_known_to_change_leases_or_not() {
    let known = [&CHANGING[..], &WITHOUT_EVENTS, &READING, &["usage", "usage_by_subnet"]].concat();
    let known = BTreeSet::from_iter(known.into_iter().chain(["user_context"]).map(str::to_owned));
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/table");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        let blocks = text.split("\nimpl<F: TableFamily> LeaseTable<F> {\n").skip(1);
        for block in blocks.map(|rest| rest.split("\n}\n").next().unwrap_or_default()) {
            let methods = block.split("    pub fn ").skip(1);
            let methods = methods.filter_map(|text| text.split_once('('));
            let on_table = methods.filter(|(_, rest)| rest.trim_start().starts_with("&self"));
            let name = |(name, _): (&str, _)| name.split('<').next().unwrap_or_default().to_owned();
            found.extend(on_table.map(name));
        }
    }
    assert_eq!(found, known, "a new method that changes leases must be called by the test above");
}
