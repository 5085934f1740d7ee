//! Random operations against a naive model: a sorted map, searched from end to end.

use std::collections::{BTreeMap, BTreeSet};

use base::{Now, Random};

use super::super::LeaseTable;
use super::audit::audit;
use super::modelled::Modelled;
use super::{ActionOf, ChangeBy, SECOND_NS, START, for_both_families};
use crate::contract::{
    ASKED_MAX, Action, Change, Facts, FetchKeys, MINE_MAX, Occupancy, Owner, Receipt, Refusal,
    SlotView, Swept, TextView, text_hash,
};
use crate::family::PoolIndex;
use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
use crate::pool::PoolSet;
use crate::sample::SampleLease;

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

#[derive(Clone)]
struct Known<F: Modelled> {
    version: u32,
    occupancy: Occupancy,
    client: Option<F::Who>,
    subnet_id: u32,
    cltt_s: u64,
    lifetime_s: u32,
    deadline_ns: u64,
    epoch: u64,
    text: TextView,
}

impl<F: Modelled> Known<F> {
    const UNKNOWN: Self = Self {
        version: 0,
        occupancy: Occupancy::Free,
        client: None,
        subnet_id: 0,
        cltt_s: 0,
        lifetime_s: 0,
        deadline_ns: 0,
        epoch: 0,
        text: TextView { hostname: 0, user_context: 0, fqdn_fwd: false, fqdn_rev: false },
    };

    fn expires_s(&self) -> u64 {
        match self.lifetime_s {
            INFINITE_LIFETIME_S => u64::MAX,
            lifetime_s => self.cltt_s + u64::from(lifetime_s),
        }
    }

    fn owner(&self, who: F::Who) -> Owner {
        match self.client {
            None => Owner::Nobody,
            Some(theirs) if F::owns(theirs, who) => Owner::Asking,
            Some(_) => Owner::Other,
        }
    }

    fn view(&self, address: u32, who: F::Who, settled: u64) -> SlotView<F> {
        let occupancy = match self.occupancy {
            Occupancy::Releasing if self.epoch <= settled => Occupancy::Free,
            other => other,
        };
        let is_leased = occupancy == Occupancy::Leased;
        let has_term = [Occupancy::Leased, Occupancy::Declined].contains(&occupancy);
        SlotView {
            address: F::address(address),
            version: self.version,
            occupancy,
            owner: self.owner(who),
            subnet_id: self.subnet_id,
            cltt_s: if has_term { self.cltt_s } else { 0 },
            valid_lifetime_s: if has_term { self.lifetime_s } else { 0 },
            hold_deadline_ns: if occupancy == Occupancy::Held { self.deadline_ns } else { 0 },
            row_epoch: self.epoch,
            text: if is_leased { self.text } else { TextView::default() },
            detail: if is_leased { F::detail(self.lifetime_s) } else { F::Detail::default() },
        }
    }
}

struct Model<F: Modelled> {
    slots: BTreeMap<u32, Known<F>>,
    claimed: BTreeSet<u32>,
    reserved: BTreeSet<u32>,
    cursors: [u32; POOLS.len()],
    now: Now,
    settled: u64,
    open: u64,
    swept: Swept,
}

impl<F: Modelled> Model<F> {
    fn new() -> Self {
        let pooled = POOLS.iter().flat_map(|&(first, last)| first..=last);
        Self {
            slots: pooled.map(|address| (address, Known::UNKNOWN)).collect(),
            claimed: BTreeSet::new(),
            reserved: BTreeSet::new(),
            cursors: POOLS.map(|(first, _)| first),
            now: START,
            settled: 0,
            open: 1,
            swept: Swept::default(),
        }
    }

    fn claim(&mut self, wanted: &[PoolIndex]) -> Option<u32> {
        for &PoolIndex(index) in wanted {
            let (first, last) = POOLS[index as usize];
            let cursor = self.cursors[index as usize].clamp(first, last + 1);
            let free = (cursor..=last).chain(first..cursor).find(|address| {
                self.slots[address].occupancy == Occupancy::Free
                    && !self.claimed.contains(address)
                    && !self.reserved.contains(address)
            });
            if let Some(free) = free {
                self.cursors[index as usize] = free + 1;
                self.claimed.insert(free);
                return Some(free);
            }
        }
        None
    }

    /// Frees what has ended; true when anything had.
    fn sweep(&mut self) -> bool {
        let mut freed = false;
        for (address, slot) in &mut self.slots {
            let has_ended = match slot.occupancy {
                Occupancy::Free => false,
                Occupancy::Held => slot.deadline_ns <= self.now.mono_ns,
                Occupancy::Releasing => slot.epoch <= self.settled,
                _ => slot.expires_s() <= self.now.wall_s(),
            };
            if has_ended {
                match slot.occupancy {
                    Occupancy::Held => self.swept.holds += 1,
                    Occupancy::Leased => self.swept.leases += 1,
                    Occupancy::Declined => self.swept.declined += 1,
                    _ => {}
                }
                slot.occupancy = Occupancy::Free;
                slot.version += 1;
                self.claimed.remove(address);
                freed = true;
            }
        }
        freed
    }

    /// The candidate; for a hold, the first of the oldest.
    fn candidate(&mut self, wanted: &[PoolIndex], who: F::Who) -> Option<SlotView<F>> {
        if wanted.is_empty() {
            return None;
        }
        let mut found = self.claim(wanted);
        if found.is_none() && self.sweep() {
            found = self.claim(wanted);
        }
        if found.is_none() {
            let is_wanted = |address: u32| {
                wanted.iter().any(|&PoolIndex(index)| {
                    let (first, last) = POOLS[index as usize];
                    first <= address && address <= last
                })
            };
            let holds = self.slots.iter().filter(|(address, slot)| {
                slot.occupancy == Occupancy::Held
                    && slot.epoch <= self.settled
                    && !self.reserved.contains(address)
                    && is_wanted(**address)
            });
            found = holds.min_by_key(|(_, slot)| slot.deadline_ns).map(|(&address, _)| address);
        }
        found.map(|address| self.slots[&address].view(address, who, self.settled))
    }

    fn check(&self, who: F::Who, change: &ChangeBy<F>) -> Result<(), Refusal> {
        let address = F::number(change.address);
        let slot = self.slots.get(&address).ok_or(Refusal::NoSuchSlot)?;
        if slot.version != change.expected_version {
            return Err(Refusal::Stale);
        }
        if slot.epoch > self.settled {
            return Err(Refusal::Unsettled(slot.epoch));
        }
        let is_mine = slot.owner(who) == Owner::Asking;
        let is_over = slot.expires_s() <= self.now.wall_s();
        let fits = match (change.action, slot.occupancy) {
            (Action::Hold { .. } | Action::Lease(_), Occupancy::Leased) => is_mine || is_over,
            (Action::Hold { .. } | Action::Lease(_), Occupancy::Declined) => is_over,
            (Action::Hold { .. } | Action::Lease(_), _) => true,
            (Action::Unhold, Occupancy::Held) => is_mine,
            (Action::Release, Occupancy::Leased) => is_mine,
            (Action::Decline { .. }, Occupancy::Leased | Occupancy::Held) => is_mine,
            _ => false,
        };
        if fits { Ok(()) } else { Err(Refusal::Stale) }
    }

    fn commit(&mut self, who: F::Who, changes: &[ChangeBy<F>]) -> Result<Receipt, Refusal> {
        for change in changes {
            self.check(who, change)?;
        }
        let mut row_epoch = 0;
        for change in changes {
            let address = F::number(change.address);
            let slot = self.slots.get_mut(&address).unwrap();
            if matches!(change.action, Action::Hold { .. })
                && slot.occupancy == Occupancy::Leased
                && slot.expires_s() > self.now.wall_s()
            {
                continue;
            }
            slot.version += 1;
            self.claimed.remove(&address);
            match change.action {
                Action::Hold { deadline_ns, subnet_id } => {
                    slot.occupancy = Occupancy::Held;
                    slot.client = Some(who);
                    slot.deadline_ns = deadline_ns;
                    slot.subnet_id = subnet_id;
                    continue;
                }
                Action::Unhold => {
                    slot.occupancy = Occupancy::Free;
                    continue;
                }
                Action::Lease(terms) => {
                    slot.occupancy = Occupancy::Leased;
                    slot.client = Some(who);
                    let terms = F::common(&terms);
                    slot.lifetime_s = terms.valid_lifetime_s;
                    slot.subnet_id = terms.subnet_id;
                    slot.text = TextView {
                        hostname: text_hash(terms.text.hostname),
                        user_context: 0,
                        fqdn_fwd: terms.text.fqdn_fwd,
                        fqdn_rev: terms.text.fqdn_rev,
                    };
                }
                Action::Release => {
                    slot.occupancy = Occupancy::Releasing;
                    slot.lifetime_s = 0;
                }
                Action::Decline { probation_s } => {
                    slot.occupancy = Occupancy::Declined;
                    slot.client = None;
                    slot.lifetime_s = probation_s;
                }
            }
            slot.cltt_s = self.now.wall_s();
            slot.epoch = self.open;
            row_epoch = self.open;
        }
        Ok(Receipt { row_epoch })
    }
}

/// The table and the model side by side.
struct Run<F: Modelled> {
    table: LeaseTable<F>,
    pools: std::sync::Arc<PoolSet<F>>,
    model: Model<F>,
    random: Random,
    facts: Facts<F>,
}

impl<F: Modelled> Run<F> {
    fn new(seed: u64) -> Self {
        let table = LeaseTable::new(seed);
        let pools = table.configure(&specs::<F>(), &[]);
        let (model, random) = (Model::new(), Random::from_seed(seed));
        Self { table, pools, model, random, facts: Facts::default() }
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
        let asked = [(); ASKED_MAX].map(|()| self.random.chance(2, 3).then(|| self.address()));
        let mut wanted: Vec<_> = (0..POOLS.len() as u32).map(PoolIndex).collect();
        self.random.shuffle(&mut wanted);
        wanted.truncate(self.random.below(4) as usize);
        let is_spare = self.random.chance(1, 2);
        let keys = FetchKeys {
            identity: F::identity(who),
            addresses: asked.map(|address| address.map(F::address)),
            pools: &*self.pools,
            candidate_pools: &wanted,
            is_candidate_spare: is_spare,
        };
        self.table.fetch(self.model.now, self.model.settled, &keys, &mut self.facts);
        self.check_mine(who);
        for (got, address) in self.facts.asked.iter().zip(asked) {
            let known =
                address.and_then(|address| Some((address, self.model.slots.get(&address)?)));
            let expected = known.map(|(at, slot)| slot.view(at, who, self.model.settled));
            assert_eq!(*got, expected);
        }
        if is_spare && self.facts.mine_count > 0 {
            wanted.clear();
        }
        let expected = self.model.candidate(&wanted, who);
        match (self.facts.candidate, expected) {
            // Of holds of the same age any will do.
            (Some(got), Some(expected)) if got.occupancy == Occupancy::Held => {
                assert_eq!(expected.occupancy, Occupancy::Held);
                assert_eq!(got.hold_deadline_ns, expected.hold_deadline_ns);
            }
            (got, expected) => assert_eq!(got, expected),
        }
    }

    fn check_mine(&self, who: F::Who) {
        let is_mine = |(_, slot): &(&u32, &Known<F>)| slot.owner(who) == Owner::Asking;
        let is_sure = |(_, slot): &(&u32, &Known<F>)| {
            slot.client.is_some_and(|theirs| F::owns_surely(theirs, who))
        };
        let has_sure = self.model.slots.iter().any(|entry| {
            let occupancy = entry.1.view(*entry.0, who, self.model.settled).occupancy;
            is_sure(&entry) && occupancy != Occupancy::Free
        });
        let expected: BTreeMap<_, _> = self
            .model
            .slots
            .iter()
            .filter(is_mine)
            .filter(|entry| !has_sure || is_sure(entry))
            .map(|(&at, slot)| (at, slot.view(at, who, self.model.settled)))
            .collect();
        assert_eq!(self.facts.mine_count, expected.len().min(MINE_MAX));
        let mut got = BTreeMap::new();
        for view in self.facts.mine() {
            let address = F::number(view.address);
            assert_eq!(expected.get(&address), Some(view));
            assert_eq!(got.insert(address, *view), None, "reported twice");
        }
        let count = |views: &BTreeMap<u32, SlotView<F>>| {
            views.values().filter(|view| view.occupancy != Occupancy::Free).count()
        };
        assert_eq!(count(&got), count(&expected).min(MINE_MAX), "past ones give way");
    }

    fn action(&mut self) -> ActionOf<F> {
        let lifetime_s = match self.random.below(8) {
            0 => INFINITE_LIFETIME_S,
            1 => 5_000 + self.random.below(20_000) as u32,
            _ => 1 + self.random.below(100) as u32,
        };
        match self.random.below(10) {
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
        let got = self.table.apply(now, &changes, open, settled, &mut |row| {
            rows.push(F::sample(&F::to_lease(&row)))
        });
        assert_eq!(got, self.model.commit(who, &changes));
        assert!(rows.iter().all(|row| row.cltt_s == now.wall_s()));
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|row| {
                let hostname =
                    if row.state == LeaseState::Released { "".into() } else { row.hostname };
                let has_client = !row.client.is_empty();
                (F::number(row.address), row.valid_lifetime_s, row.state, has_client, hostname)
            })
            .collect();
        let expected: Vec<Row> = changes.iter().filter_map(expected_row::<F>).collect();
        assert_eq!(rows, if got.is_ok() { expected } else { Vec::new() });
    }

    fn load(&mut self) {
        let (address, who) = (self.address(), F::who(&mut self.random));
        let (lifetime_s, state) = match self.random.below(6) {
            0 => (0, LeaseState::Assigned),
            1 => (500, LeaseState::Declined),
            2 => (500, LeaseState::ExpiredReclaimed),
            _ => (200, LeaseState::Assigned),
        };
        let is_free = lifetime_s == 0 || state == LeaseState::ExpiredReclaimed;
        if is_free && !self.model.slots.contains_key(&address) {
            return;
        }
        let cltt_s = self.model.now.wall_s() - 100;
        let sample = SampleLease {
            address,
            client: 0,
            valid_lifetime_s: lifetime_s,
            cltt_s,
            subnet_id: 4,
            pool_id: 0,
            hostname: "",
            state,
            user_context: "",
        };
        self.table.load(F::lease_of(who, &sample));
        let slot = self.model.slots.entry(address).or_insert(Known::UNKNOWN);
        *slot = Known {
            version: slot.version + 1,
            occupancy: match state {
                _ if is_free => Occupancy::Free,
                LeaseState::Declined => Occupancy::Declined,
                _ => Occupancy::Leased,
            },
            client: Some(who),
            subnet_id: 4,
            cltt_s,
            lifetime_s,
            deadline_ns: 0,
            epoch: 0,
            text: TextView::default(),
        };
        self.model.claimed.remove(&address);
    }

    fn sweep(&mut self) {
        let budget = 1 + self.random.below(20) as u32;
        let mut sum = Swept::default();
        loop {
            let swept = self.table.sweep(self.model.now, self.model.settled, budget);
            sum.holds += swept.holds;
            sum.leases += swept.leases;
            sum.declined += swept.declined;
            if !swept.is_more_due {
                break;
            }
        }
        self.model.sweep();
        assert_eq!(sum, core::mem::take(&mut self.model.swept));
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
                model.slots.entry(address).or_insert(Known::UNKNOWN);
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
        match self.random.below(102) {
            100.. => self.reserve(),
            0..35 => self.fetch(),
            35..75 => self.commit(),
            75..78 => self.load(),
            78..86 => self.sweep(),
            86..90 => {
                let claimed: Vec<_> = self.model.claimed.iter().copied().collect();
                if let Some(&address) = self.random.pick(&claimed) {
                    self.model.claimed.remove(&address);
                    self.table.give_back(F::address(address));
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

fn specs<F: Modelled>() -> [F::Spec; POOLS.len()] {
    POOLS.map(|(first, last)| F::pool(first, last))
}

/// What of a row follows from the change alone.
type Row = (u32, u32, LeaseState, bool, Box<str>);

fn expected_row<F: Modelled>(change: &ChangeBy<F>) -> Option<Row> {
    let (lifetime_s, state, hostname) = match change.action {
        Action::Lease(terms) => {
            let terms = F::common(&terms);
            (terms.valid_lifetime_s, LeaseState::Assigned, Box::from(terms.text.hostname))
        }
        Action::Release => (0, LeaseState::Released, "".into()),
        Action::Decline { probation_s } => (probation_s, LeaseState::Declined, "".into()),
        Action::Hold { .. } | Action::Unhold => return None,
    };
    let has_client = state != LeaseState::Declined;
    Some((F::number(change.address), lifetime_s, state, has_client, hostname))
}

fn the_table_agrees_with_a_naive_model<F: Modelled>() {
    for seed in 0..SEEDS {
        let mut run = Run::<F>::new(seed);
        for _ in 0..OPERATIONS {
            run.step();
        }
        let claimed = run.model.claimed.iter().map(|&address| F::address(address));
        audit(&run.table, &claimed.collect());
    }
}
