//! The lease table of both families: one slot for each address, in 256 stripes shared by all
//! shards.
//!
//! The slot decides who has an address. Around it: free bits (`address_map`) that lead to free
//! slots, indexes that lead from a client to its slots, lists that lead to what ends next. All of
//! those are kept in step under the stripe's lock and verified by whoever follows them. Locks are
//! taken in the order stripe (ascending), then index; nothing waits under them.

pub(crate) mod address_map;
mod administer;
mod apply;
pub(crate) mod clock;
mod correct;
pub(crate) mod cycle;
mod deadlines;
pub(crate) mod expiry;
mod fetch;
mod filling;
pub(crate) mod index;
pub(crate) mod leased;
mod list;
mod load;
pub(crate) mod memory;
pub(crate) mod order;
pub(crate) mod overlap;
pub(crate) mod published;
mod reserved;
pub(crate) mod slot;
mod slots;
mod stripe;
pub(crate) mod sweep;
pub(crate) mod tally;
#[cfg(test)]
mod tests;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use address_map::AddressMap;
use base::Now;
use clock::WallClock;
use cycle::{Cycles, ReclaimLimits};
use expiry::Expiry;
use leased::{ClientIndex, Leased, Opening, Places};
use overlap::Overlaps as _;
use reserved::Reserved;
use stripe::{Locked, Stripe};
use tally::Tallies;

use crate::family::PoolIndex;
use crate::pool::{Allocator, PoolSet};

/// Stripes of the table. Consecutive addresses lie in different ones.
const STRIPES: usize = 256;
/// Blocks of 256 addresses up to which slots are made when pools are configured; beyond, when they
/// are first touched. 2048 blocks take 64 MiB.
const PREFILLED_BLOCKS: usize = 2048;
/// Addresses for which the indexes are given room when pools are configured.
const INDEXED_ADDRESSES: usize = 1 << 18;

/// Slots by what they are used for. Free ones are not counted: there are as many as pools have
/// addresses, less these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Offered.
    pub held: u64,
    /// Leased, also when the lease has run out and has not been swept.
    pub leased: u64,
    /// On probation.
    pub declined: u64,
    /// Given back, the row not settled.
    pub releasing: u64,
}

struct Configuration<F: Leased> {
    /// Rows given to blocks.
    rows: u32,
    current: Arc<PoolSet<F>>,
    reserved: Reserved<F>,
    tallies: Arc<Tallies<F>>,
}

/// All leases of a server. Shared by its shards; see the module.
pub struct LeaseTable<F: Leased> {
    stripes: Vec<Stripe<F>>,
    map: AddressMap,
    places: F::Places,
    index: F::Index,
    /// What nobody foresees random orders by.
    seed: u64,
    configuration: Mutex<Configuration<F>>,
    /// Stripe at which the next sweep starts.
    sweep_from: AtomicU32,
    /// Where the next pass that takes back released leases goes on.
    hurry_from: Mutex<sweep::Position>,
    /// Whether sweeps take back leases that have ended.
    is_reclaiming: AtomicBool,
    /// What fetches swept when they found no free address, for the next sweep to report: holds,
    /// leases, probations.
    swept_early: [AtomicU32; 3],
    /// How much may be reclaimed now.
    cycles: Cycles,
    wall_clock: WallClock,
}

impl<F: Leased> LeaseTable<F> {
    /// An empty table. `seed` keeps clients from choosing identities that collide.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let none = Arc::new(PoolSet::new(&[], Vec::new(), None));
        let tallies = Tallies::none(Arc::clone(&none));
        Self {
            stripes: (0..STRIPES).map(|_| Stripe::new(Arc::clone(&tallies))).collect(),
            map: AddressMap::new(),
            places: F::Places::new(seed),
            index: F::Index::new(seed),
            seed: order::mixed(seed, 1),
            configuration: Mutex::new(Configuration {
                rows: 0,
                current: none,
                reserved: Reserved::default(),
                tallies,
            }),
            sweep_from: AtomicU32::new(0),
            hurry_from: Mutex::default(),
            is_reclaiming: AtomicBool::new(true),
            swept_early: [const { AtomicU32::new(0) }; 3],
            cycles: Cycles::default(),
            wall_clock: WallClock::new(),
        }
    }

    /// False once a thread has panicked while it changed a part of the table.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.stripes.iter().all(Stripe::is_sound)
    }

    /// Has an empty table look for what ends from `now` on. Not calling it costs a look at each lease
    /// that is loaded, in the first sweeps.
    pub fn begin(&self, now: Now) {
        for stripe in 0..STRIPES {
            self.lock(stripe).state.deadlines.begin(now.wall_s());
        }
    }

    /// Makes `specs` the pools to give addresses from and returns them for the configuration
    /// snapshot. Slots and leases of addresses that are in no pool any more stay, and transactions
    /// on older sets go on as before. Leases are best loaded after this, since addresses outside
    /// every pool have slower slots.
    ///
    /// What is `reserved`, in any order, is never taken as a candidate; it is given to whoever asks
    /// for it, also outside the pools. Who has it keeps it, and when he gives it back it is reserved
    /// still.
    ///
    /// # Panics
    ///
    /// When a pool ends before it starts.
    pub fn configure(&self, specs: &[F::Spec], reserved: &[F::Address]) -> Arc<PoolSet<F>> {
        for spec in specs {
            let (first, last) = F::bounds(spec);
            assert!(first <= last, "a checked configuration has no empty pool");
        }
        let mut configuration = self.lock_configuration();
        let (runs, opening) = self.places.plan(specs);
        let set = Arc::new(PoolSet::new(specs, runs, Some(&configuration.current)));
        self.open(&mut configuration, opening);
        self.guard_configured(&configuration, reserved);
        self.reserve(&mut configuration, reserved);
        self.recount(&mut configuration.tallies, &set);
        set.count_by(configuration.tallies.of_pools());
        self.fill_queues(&set, &configuration.current);
        configuration.current = Arc::clone(&set);
        set
    }

    /// Has leases that end treated as `expiry` says from here on.
    pub fn set_expiry(&self, expiry: Expiry) {
        self.is_reclaiming.store(expiry.reclaim_wait_s > 0, Ordering::Relaxed);
        for stripe in 0..STRIPES {
            self.lock(stripe).state.deadlines.expiry = expiry;
        }
    }

    /// Has sweeps reclaim no more than `limits` from here on; at first there are none.
    pub fn set_reclaim_limits(&self, limits: ReclaimLimits) {
        self.cycles.set_limits(limits);
    }

    /// Counts `time_ns` nanoseconds that sweeps have just taken as time of the cycle: the table has
    /// no clock.
    pub fn spend_reclaim_time(&self, time_ns: u64) {
        self.cycles.spend(time_ns);
    }

    /// How many warnings have become due since this was last asked: each says that leases were left
    /// over in more cycles in a row than the second number.
    #[must_use]
    pub fn take_reclaim_warnings(&self) -> (u32, u32) {
        self.cycles.take_warnings()
    }

    fn lock_configuration(&self) -> MutexGuard<'_, Configuration<F>> {
        self.configuration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the places of `opening` ready to be given away, and lets that be seen.
    fn open(
        &self,
        configuration: &mut Configuration<F>,
        opening: Opening<<F::Places as Places<F>>::Publication>,
    ) {
        let rows_before = configuration.rows;
        for &(first, last) in &opening.ranges {
            for block in first >> 8..=last >> 8 {
                if self.map.row(block << 8).is_none() {
                    self.map.set_row(block << 8, configuration.rows);
                    configuration.rows += 1;
                }
            }
        }
        self.make_room(configuration.rows as usize);
        let mut doubtful = Vec::new();
        for &range in &opening.ranges {
            configuration.reserved.within(range).for_each(|bit| self.map.reserve(bit));
            self.open_range(range, rows_before, &mut doubtful);
        }
        // From here on a slot that becomes free sets its bit itself, also one outside the pages.
        let may_have_others = self.places.publish(opening.publication);
        self.places.clear_overlapped(&self.map, &opening.ranges);
        if may_have_others {
            for stripe in 0..STRIPES {
                doubtful.extend(self.lock(stripe).sparse());
            }
            for block in
                F::Places::FIRST_APART.iter().flat_map(|&first| self.map.blocks(first >> 8))
            {
                doubtful.extend(block << 8..=(block << 8 | 0xff));
            }
        }
        for place in doubtful {
            self.lock_of(place).clear_bit_if_taken(place);
        }
    }

    /// Takes a free address of `pool` away from everybody else, with its free bit; opens more of
    /// the pool when all that is open is taken.
    fn claim(&self, pools: &PoolSet<F>, pool: PoolIndex) -> Option<(u32, F::Address)> {
        let run = pools.run(pool);
        let claim = || self.claim_open(pools, pool);
        if let Some(claimed) = claim() {
            return Some(claimed);
        }
        if !F::Places::CAN_GROW {
            return None;
        }
        let mut configuration = self.lock_configuration();
        loop {
            // Another shard may have opened some meanwhile.
            if let Some(claimed) = claim() {
                return Some(claimed);
            }
            let opening = self.places.plan_growth(run)?;
            self.open(&mut configuration, opening);
        }
    }

    /// Takes a free address of `pool` that is open, in the order of its allocator.
    fn claim_open(&self, pools: &PoolSet<F>, pool: PoolIndex) -> Option<(u32, F::Address)> {
        let (spec, run) = (&pools.specs()[pool.0 as usize], pools.run(pool));
        match F::allocator(spec) {
            Allocator::Iterative => {
                let claimed = F::Places::claim(&self.map, spec, run, pools.cursor(pool))?;
                pools.advance(pool, claimed.0);
                Some(claimed)
            }
            Allocator::Random => {
                let count = F::Places::count(spec, run);
                let (mut start, mut is_open) = (F::Places::start(spec, run), true);
                for _ in 0..if count > 0 { order::TRIES } else { 0 } {
                    let step = u64::from(pools.step(pool));
                    let (pass, index) = (step / count, step % count);
                    let seed = self.seed.wrapping_add(u64::from(pool.0) << 40).wrapping_add(pass);
                    let position = order::permuted(index, count, seed.rotate_left(8));
                    let Some((place, address)) = F::Places::at(spec, run, position) else {
                        is_open = false;
                        continue;
                    };
                    if self.map.clear(place) {
                        return Some((place, address));
                    }
                    start = place;
                }
                // Where not all is open what is tried may hardly ever be.
                match is_open {
                    true => F::Places::claim(&self.map, spec, run, start),
                    false => self.claim_anywhere(pools, pool),
                }
            }
            Allocator::FreeLeaseQueue => {
                self.go_on_filling(pools, pool);
                let queue = pools.queue(pool).expect("such a pool has a queue");
                for _ in 0..order::TRIES {
                    let Some(position) = queue.pop() else { break };
                    // What was taken in another way is dropped from the queue.
                    if let Some((place, address)) = F::Places::at(spec, run, position.into())
                        && self.map.clear(place)
                    {
                        return Some((place, address));
                    }
                }
                self.claim_anywhere(pools, pool)
            }
        }
    }

    /// Opens the place that a pool keeps for `address`, if any does.
    fn cover(&self, address: F::Address) {
        if F::Places::CAN_GROW {
            let mut configuration = self.lock_configuration();
            if let Some(opening) = self.places.plan_cover(address) {
                self.open(&mut configuration, opening);
            }
        }
    }

    /// Reserves slots and index entries, so that the packet path rarely has to.
    fn make_room(&self, rows: usize) {
        for stripe in 0..STRIPES {
            self.lock(stripe).reserve(rows, rows <= PREFILLED_BLOCKS);
        }
        let addresses = (rows * 256).min(INDEXED_ADDRESSES);
        self.index.reserve(addresses);
    }

    /// Marks the places from `first` to `last` that no pool had before as free. Where slots could
    /// exist already (blocks with a row below `rows_before`) the bits have to be looked at again.
    fn open_range(&self, (first, last): (u32, u32), rows_before: u32, doubtful: &mut Vec<u32>) {
        let last = u64::from(last);
        let mut from = u64::from(first);
        while from <= last {
            let end = (from | 63).min(last);
            let mut new = self.map.pool_word(from as u32, end as u32);
            if self.map.row(from as u32).is_some_and(|row| row < rows_before) {
                while new != 0 {
                    doubtful.push((from as u32 & !63) | new.trailing_zeros());
                    new &= new - 1;
                }
            }
            from = end + 1;
        }
    }

    /// The pools configured last.
    #[must_use]
    pub fn pools(&self) -> Arc<PoolSet<F>> {
        Arc::clone(&self.lock_configuration().current)
    }

    /// Ends a claim that a fetch made and no commit used. Harmless at any other time.
    pub fn give_back(&self, address: F::Address) {
        if let Some(place) = self.places.find(address) {
            self.lock_of(place).set_bit_if_free(place, address);
        }
    }

    /// Sets the free bit of `address`; false when what overlaps it keeps the bit clear.
    fn set_bit(&self, place: u32, address: F::Address) -> bool {
        let Some(bit) = self.places.bit(place, address) else { return true };
        if self.places.is_guarded(place, address) {
            return self.places.set_unless_overlapped(&self.map, bit, address);
        }
        self.map.set(bit);
        true
    }

    fn clear_bit(&self, place: u32, address: F::Address) {
        if let Some(bit) = self.places.bit(place, address) {
            self.map.clear(bit);
        }
    }

    /// Slots in use.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for stripe in 0..STRIPES {
            self.lock(stripe).add_usage(&mut sum);
        }
        sum
    }

    /// Slots in use for each subnet. Reads every slot, about a thousand at a time.
    #[must_use]
    pub fn usage_by_subnet(&self) -> BTreeMap<u32, Usage> {
        let mut sums = BTreeMap::new();
        for stripe in 0..STRIPES {
            for part in 0.. {
                if !self.lock(stripe).add_usage_by_subnet(part, &mut sums) {
                    break;
                }
            }
        }
        sums
    }

    fn lock(&self, stripe: usize) -> Locked<'_, F> {
        self.stripes[stripe].lock(self)
    }

    fn lock_of(&self, place: u32) -> Locked<'_, F> {
        self.lock(place as usize % STRIPES)
    }

    fn sweep_from(&self) -> usize {
        self.sweep_from.load(Ordering::Relaxed) as usize
    }
}

impl<F: Leased> core::fmt::Debug for LeaseTable<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LeaseTable").field("usage", &self.usage()).finish_non_exhaustive()
    }
}
