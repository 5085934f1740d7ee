//! Random operations, compared with a naive model.

mod naive;
mod shadow;

use std::collections::{BTreeMap, BTreeSet};

use base::{HostName, Random};

use super::super::LeaseTable;
use super::audit::audit;
use super::modelled::Modelled;
use super::{ActionOf, ChangeBy, SECOND_NS, for_both_families};
use crate::contract::{
    Action, CLIENT_SLOTS_MAX, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, PutMode,
    SlotOccupancy, SlotOwner, SlotView, SweepCounts,
};
use crate::family::PoolIndex;
use crate::lease::{INFINITE_LIFETIME_S, Lease, LeaseState, RowView};
use crate::pool::{PoolSet, PoolSpec};
use crate::sample::SampleLease;
use crate::{CommitEpochs, EventOverflow, Expiry, PoolStatistics, Sweep};
use naive::{ModelSlot, TableModel};
use shadow::EventShadow;

for_both_families! {
    the_table_agrees_with_a_naive_model,
}

/// Pools that meet the edges of words, blocks and stripes.
const POOLS: [(u32, u32); 3] =
    [(0x0a00_00fa, 0x0a00_0103), (0x0a00_0040, 0x0a00_0047), (0xc000_02ff, 0xc000_02ff)];
const OUTSIDE: [u32; 2] = [0x0a00_0001, 0xcb00_7101];
const SEEDS: u64 = 2_000;
const OPERATIONS: u32 = 300;
const HOLD_NS: u64 = 10 * SECOND_NS;

/// Returns the pool that holds `address`.
fn is_pooled(address: u32) -> Option<u32> {
    let pool = POOLS.iter().position(|&(first, last)| first <= address && address <= last);
    pool.map(|pool| pool as u32)
}

/// Table and model that run the same operations.
struct ModelRun<F: Modelled> {
    table: LeaseTable<F>,
    pools: std::sync::Arc<PoolSet<F>>,
    model: TableModel<F>,
    random: Random,
    facts: Facts<F>,
    /// Leases by events, in every other run.
    shadow: Option<EventShadow<F>>,
}

impl<F: Modelled> ModelRun<F> {
    fn new(seed: u64) -> Self {
        let mut table = LeaseTable::new(seed);
        if seed.is_multiple_of(2) {
            table = table.with_whole_clients_indexed();
        }
        let pools = table.configure(&specs::<F>(), &[]);
        let mut random = Random::from_seed(seed);
        let expiry = Expiry {
            reclaim_wait_s: 10,
            hold_reclaimed_s: *random.pick(&[0, 60, 3_600]).unwrap(),
            is_remembering: random.chance(4, 5),
        };
        table.set_expiry(expiry);
        let model = TableModel::new(expiry);
        let shadow = seed.is_multiple_of(2).then(EventShadow::default);
        if shadow.is_some() {
            table.record_events(EventOverflow::Keep);
        }
        Self { table, pools, model, random, facts: Facts::default(), shadow }
    }

    fn address(&mut self) -> u32 {
        if self.random.chance(1, 10) {
            return *self.random.pick(&OUTSIDE).unwrap();
        }
        let &(first, last) = self.random.pick(&POOLS).unwrap();
        first + self.random.below(u64::from(last - first) + 1) as u32
    }

    fn fetch(&mut self) {
        let who = F::who(&mut self.random);
        let requested =
            [(); FETCHED_ADDRESSES_MAX].map(|()| self.random.chance(2, 3).then(|| self.address()));
        let mut candidate_pools: Vec<_> = (0..POOLS.len() as u32).map(PoolIndex).collect();
        self.random.shuffle(&mut candidate_pools);
        candidate_pools.truncate(self.random.below(4) as usize);
        let is_spare = self.random.chance(1, 2);
        let keys = FetchKeys {
            identity: F::identity(who),
            addresses: requested.map(|address| address.map(F::address)),
            pools: &*self.pools,
            candidate_pools: &candidate_pools,
            is_candidate_spare: is_spare,
        };
        self.table.fetch(self.model.now, self.model.settled, &keys, &mut self.facts);
        self.check_mine(who);
        for (got, address) in self.facts.address_slots.iter().zip(requested) {
            let model_slot =
                address.and_then(|address| Some((address, self.model.slots.get(&address)?)));
            let expected = model_slot.map(|(at, slot)| slot.view(at, who, self.model.settled));
            assert_eq!(*got, expected);
        }
        if is_spare && self.facts.client_slot_count > 0 {
            candidate_pools.clear();
        }
        let expected = self.model.candidate(&candidate_pools, who);
        match (self.facts.candidate, expected) {
            // Among holds of the same age any one is accepted.
            (Some(got), Some(expected)) if got.occupancy == SlotOccupancy::Held => {
                assert_eq!(expected.occupancy, SlotOccupancy::Held);
                assert_eq!(got.hold_deadline_ns, expected.hold_deadline_ns);
            }
            (got, expected) => assert_eq!(got, expected),
        }
    }

    fn check_mine(&self, who: F::Who) {
        let is_mine = |(_, slot): &(&u32, &ModelSlot<F>)| slot.owner(who) == SlotOwner::Requester;
        let is_sure = |(_, slot): &(&u32, &ModelSlot<F>)| {
            slot.client.is_some_and(|theirs| F::owns_surely(theirs, who))
        };
        let has_sure = self.model.slots.iter().any(|entry| {
            let occupancy = entry.1.view(*entry.0, who, self.model.settled).occupancy;
            is_sure(&entry) && occupancy != SlotOccupancy::Free
        });
        let expected: BTreeMap<_, _> = self
            .model
            .slots
            .iter()
            .filter(is_mine)
            .filter(|entry| !has_sure || is_sure(entry))
            .map(|(&at, slot)| (at, slot.view(at, who, self.model.settled)))
            .collect();
        assert_eq!(self.facts.client_slot_count, expected.len().min(CLIENT_SLOTS_MAX));
        let mut got = BTreeMap::new();
        for view in self.facts.client_slots() {
            let address = F::number(view.address);
            assert_eq!(expected.get(&address), Some(view));
            assert_eq!(got.insert(address, *view), None, "reported twice");
        }
        let count = |views: &BTreeMap<u32, SlotView<F>>| {
            views.values().filter(|view| view.occupancy != SlotOccupancy::Free).count()
        };
        assert_eq!(count(&got), count(&expected).min(CLIENT_SLOTS_MAX), "past ones give way");
    }

    fn action(&mut self) -> ActionOf<F> {
        let lifetime_s = match self.random.below(8) {
            0 => INFINITE_LIFETIME_S,
            1 => 5_000 + self.random.below(20_000) as u32,
            _ => 1 + self.random.below(100) as u32,
        };
        match self.random.below(11) {
            10 => Action::Register(F::terms(lifetime_s, 2, "a")),
            0..3 => Action::Hold {
                deadline_ns: self.model.now.mono_ns + HOLD_NS,
                subnet_id: self.random.below(3) as u32,
            },
            3 => Action::Unhold,
            4..8 => {
                let subnet_id = self.random.below(3) as u32;
                let hostname = self.random.pick(&["", "a", "b.example"]).unwrap();
                Action::Lease(F::terms(lifetime_s, subnet_id, hostname))
            }
            8 => Action::Release,
            _ => Action::Decline { probation_s: lifetime_s },
        }
    }

    fn commit(&mut self) {
        let who = F::who(&mut self.random);
        let count = if self.random.chance(4, 5) { 1 } else { 1 + self.random.below(8) };
        let addresses: BTreeSet<u32> = (0..count).map(|_| self.address()).collect();
        let identity = F::identity(who);
        let mut changes: Vec<_> = addresses
            .into_iter()
            .map(|address| {
                let version = self.model.slots.get(&address).map_or(0, |slot| slot.version);
                let is_wrong = self.random.chance(1, 15);
                Change {
                    identity,
                    address: F::address(address),
                    expected_version: version + u32::from(is_wrong),
                    action: self.action(),
                }
            })
            .collect();
        self.random.shuffle(&mut changes);
        let mut rows = Vec::new();
        let (now, open, settled) = (self.model.now, self.model.open, self.model.settled);
        let got = self.table.apply(
            now,
            &changes,
            CommitEpochs { row_epoch: open, settled_epoch: settled },
            &mut |row| rows.push(F::sample(&row.to_lease())),
        );
        let expected = self.model.commit(who, &changes);
        assert_eq!(got, expected.as_ref().map(|(receipt, _)| *receipt).map_err(|refusal| *refusal));
        assert!(rows.iter().all(|row| row.cltt_s == now.wall_s()));
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|row| {
                let has_client = !row.client.is_empty();
                let hostname = if row.valid_lifetime_s == 0 { "".into() } else { row.hostname };
                (F::number(row.address), row.valid_lifetime_s, row.state, has_client, hostname)
            })
            .collect();
        let states = expected.map_or_else(|_| Vec::new(), |(_, states)| states);
        let expected = changes.iter().zip(states);
        let expected: Vec<Row> = expected
            .filter_map(|(change, state)| Some(expected_row::<F>(change, state?)))
            .collect();
        assert_eq!(rows, expected);
    }

    /// Returns a lease that a file or an operator might have.
    fn sample(&mut self) -> SampleLease<'static> {
        let (valid_lifetime_s, state) = match self.random.below(8) {
            0 => (0, LeaseState::Assigned),
            1 => (500, LeaseState::Declined),
            2 => (500, LeaseState::ExpiredReclaimed),
            3 => (500, LeaseState::Released),
            4 => (500, LeaseState::Registered),
            _ => (200, LeaseState::Assigned),
        };
        SampleLease {
            address: self.address(),
            client: 0,
            valid_lifetime_s,
            cltt_s: self.model.now.wall_s() - 100,
            subnet_id: 4,
            pool_id: 0,
            hostname: "",
            state,
            user_context: "",
        }
    }

    fn load(&mut self) {
        let (sample, who) = (self.sample(), F::who(&mut self.random));
        self.table.load(F::lease_of(who, &sample));
        self.model.install(who, &sample, 0);
        if let Some(shadow) = &mut self.shadow {
            shadow.load(&self.table, sample.address);
        }
    }

    /// Puts a lease as an operator, or deletes one.
    fn administer(&mut self) {
        let (sample, who) = (self.sample(), F::who(&mut self.random));
        let (row_epoch, settled_epoch) = (self.model.open, self.model.settled);
        let epochs = CommitEpochs { row_epoch, settled_epoch };
        let mut rows = Vec::new();
        let mut log = |row: RowView<'_, F>| rows.push(F::sample(&row.to_lease()));
        let got = if self.random.chance(1, 2) && sample.valid_lifetime_s > 0 {
            let modes = [PutMode::Add, PutMode::Update, PutMode::Force, PutMode::UnlessLater];
            let &mode = self.random.pick(&modes).unwrap();
            let got = self.table.put(&F::lease_of(who, &sample), mode, epochs, &mut log);
            assert_eq!(got, self.model.put(who, &sample, mode));
            got
        } else {
            let got = self.table.remove(F::address(sample.address), epochs, &mut log);
            assert_eq!(got, self.model.remove(sample.address));
            got
        };
        assert_eq!(rows.len(), usize::from(got.is_ok()));
        assert!(rows.iter().all(|row| F::number(row.address) == sample.address));
    }

    fn sweep(&mut self) {
        let budget = 1 + self.random.below(20) as u32;
        let mut sum = SweepCounts::default();
        let mut rows = Vec::new();
        let (settled_epoch, row_epoch) = (self.model.settled, self.model.open);
        loop {
            let sweep = Sweep { settled_epoch, row_epoch, budget, forced: None };
            let swept = self.table.sweep_logged(self.model.now, &sweep, &mut |row| {
                let row = F::sample(&row.to_lease());
                rows.push((F::number(row.address), row.state, row.valid_lifetime_s == 0));
            });
            sum.holds += swept.holds;
            sum.leases += swept.leases;
            sum.declined += swept.declined;
            sum.released += swept.released;
            sum.flushed += swept.flushed;
            if !swept.is_more_due {
                break;
            }
        }
        self.model.sweep(false);
        assert_eq!(sum, core::mem::take(&mut self.model.swept));
        rows.sort_unstable_by_key(|row| row.0);
        assert_eq!(rows, core::mem::take(&mut self.model.rows));
    }

    /// Compares the table's counters with the model's.
    fn check_statistics(&self) {
        let mut got: BTreeMap<_, _> = (0..POOLS.len() as u32)
            .map(|pool| ((Some(pool), 0), self.table.statistics(PoolIndex(pool))))
            .collect();
        let outside = self.table.statistics_outside();
        got.extend(outside.into_iter().map(|((subnet_id, _), sums)| ((None, subnet_id), sums)));
        got.retain(|_, sums| *sums != PoolStatistics::default());
        assert_eq!(got, self.model.statistics());
    }

    /// Compares the listed leases, as a whole, in pages and one by one.
    fn check_lists(&mut self) {
        let visible_state =
            self.model.slots.iter().filter_map(|(&at, slot)| Some((at, slot.visible_state()?)));
        let expected: Vec<(u32, LeaseState)> = visible_state.collect();
        let outline = |lease: &Lease<F>| {
            let sample = F::sample(lease);
            (F::number(sample.address), sample.state)
        };
        let mut all = Vec::new();
        self.table.for_each_lease(|lease| all.push(outline(&lease)));
        all.sort_unstable_by_key(|&(at, _)| at);
        assert_eq!(all, expected);
        let limit = 1 + self.random.below(9) as usize;
        let mut paged: Vec<(u32, LeaseState)> = Vec::new();
        loop {
            let after = paged.last().map(|&(at, _)| F::address(at));
            let page = self.table.page(after, limit);
            paged.extend(page.iter().map(outline));
            if page.len() < limit {
                break;
            }
        }
        assert_eq!(paged, expected);
        let address = self.address();
        let one = self.table.lease(F::address(address)).map(|lease| outline(&lease).1);
        assert_eq!(one, self.model.slots.get(&address).and_then(ModelSlot::visible_state));
    }

    /// Reserves other addresses than before.
    fn reserve(&mut self) {
        let count = self.random.below(6);
        let reserved: BTreeSet<u32> = (0..count).map(|_| self.address()).collect();
        let addresses: Vec<_> = reserved.iter().map(|&address| F::address(address)).collect();
        self.pools = self.table.configure(&specs::<F>(), &addresses);
        let model = &mut self.model;
        for address in OUTSIDE {
            if reserved.contains(&address) {
                model.slots.entry(address).or_insert(ModelSlot::UNKNOWN);
            } else if model.slots.get(&address).is_some_and(|slot| slot.version == 0) {
                model.slots.remove(&address);
            }
        }
        model
            .claimed
            .retain(|address| reserved.contains(address) || !model.reserved.contains(address));
        model.reserved = reserved;
    }

    fn step(&mut self) {
        match self.random.below(110) {
            100..102 => self.reserve(),
            102..106 => self.administer(),
            106..108 => self.check_statistics(),
            108.. if self.random.chance(1, 5) => self.check_lists(),
            108.. => {}
            0..35 => self.fetch(),
            35..75 => self.commit(),
            75..78 => self.load(),
            78..86 => self.sweep(),
            86..90 => {
                let claimed: Vec<_> = self.model.claimed.iter().copied().collect();
                if let Some(&address) = self.random.pick(&claimed) {
                    self.model.claimed.remove(&address);
                    self.table.release_claim(F::address(address));
                }
            }
            90..95 => {
                self.model.settled += self.random.below(self.model.open - self.model.settled + 1);
                self.model.open = self.model.open.max(self.model.settled + 1);
            }
            95..98 => self.model.open += 1,
            _ => {
                let most_s = *self.random.pick(&[2, 20, 200, 9_000]).unwrap();
                let ns = self.random.below(most_s * SECOND_NS);
                self.model.now = self.model.now.after_ns(ns);
            }
        }
    }
}

fn specs<F: Modelled>() -> [PoolSpec<F>; POOLS.len()] {
    POOLS.map(|(first, last)| F::pool(first, last))
}

/// Columns of a row that follow from the change alone.
type Row = (u32, u32, LeaseState, bool, HostName);

fn expected_row<F: Modelled>(change: &ChangeBy<F>, state: LeaseState) -> Row {
    let (lifetime_s, hostname) = match change.action {
        Action::Lease(terms) | Action::Register(terms) => {
            (terms.valid_lifetime_s, HostName::from(terms.hostname))
        }
        Action::Decline { probation_s } => (probation_s, "".into()),
        Action::Release | Action::Hold { .. } | Action::Unhold => (0, "".into()),
    };
    let has_client = state != LeaseState::Declined;
    (F::number(change.address), lifetime_s, state, has_client, hostname)
}

fn the_table_agrees_with_a_naive_model<F: Modelled>() {
    for seed in 0..SEEDS {
        let mut run = ModelRun::<F>::new(seed);
        for _ in 0..OPERATIONS {
            run.step();
            if let Some(shadow) = &mut run.shadow {
                shadow.check(&run.table);
            }
        }
        let claimed = run.model.claimed.iter().map(|&address| F::address(address));
        audit(&run.table, &claimed.collect());
    }
}
