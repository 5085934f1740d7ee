//! Lease table of both families: one slot for each address or prefix, in 256 stripes shared by all
//! shards.
//!
//! The slot decides which client has an address. Hints lead to slots: free bits (`address_map`) to
//! free slots, indexes from a client to its slots, lists to the slots that end next. They are
//! updated under the stripe's lock and verified by the code that follows them. Locks are taken in
//! the order stripe (ascending), then index; no thread waits while it holds them.

pub(crate) mod address_map;
mod administer;
mod apply;
pub(crate) mod changed;
pub(crate) mod clock;
mod clock_steps;
pub(crate) mod commit_epochs;
mod correct;
pub(crate) mod cycle;
mod deadlines;
pub(crate) mod events;
pub(crate) mod expiry;
mod fetch;
mod fill;
mod filling;
pub(crate) mod index;
pub(crate) mod latest_value;
pub(crate) mod leases_before;
mod list;
mod load;
pub(crate) mod memory;
pub(crate) mod order;
pub(crate) mod overlap;
mod recount;
pub(crate) mod released;
mod reserve;
mod reserved;
pub(crate) mod slot;
mod slots;
mod stripe;
mod sweep;
pub(crate) mod sweep_request;
pub(crate) mod table_family;
pub(crate) mod tally;
#[cfg(test)]
mod tests;
pub(crate) mod usage;
mod uses;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use address_map::{AddressMap, STRIPES};
use base::Now;
use changed::ChangedLeases;
use clock::WallClock;
use cycle::{Cycles, ReclaimLimits};
use events::EventRecording;
use expiry::Expiry;
use overlap::Overlaps as _;
use released::ReleasedLeases;
use reserved::Reserved;
use stripe::{Locked, Stripe};
use table_family::{ClientIndex, OpeningPlan, SlotNumberMap, TableFamily};
use tally::Tallies;
pub use usage::Usage;

use crate::family::PoolIndex;
use crate::pool::{Allocator, PoolSet, PoolSpec};

/// Number of blocks of 256 addresses up to which configuring pools creates their slots; further
/// slots are created when first touched. 2048 blocks take 64 MiB.
const PREFILLED_BLOCKS: usize = 2048;
/// Number of addresses for which the client indexes get room when pools are configured.
const INDEXED_ADDRESSES: usize = 1 << 18;

struct Configuration<F: TableFamily> {
    /// Number of rows of slots that were given to blocks of 256 addresses.
    rows: u32,
    current: Arc<PoolSet<F>>,
    reserved: Reserved<F>,
    tallies: Arc<Tallies<F>>,
}

/// Table of all leases of a server, shared by its shards; see the module.
pub struct LeaseTable<F: TableFamily> {
    stripes: Vec<Stripe<F>>,
    map: AddressMap,
    slot_numbers: F::SlotNumbers,
    index: F::Index,
    /// Secret seed of the random orders of pools.
    seed: u64,
    configuration: Mutex<Configuration<F>>,
    /// Number of the stripe at which the next sweep starts.
    sweep_from: AtomicU32,
    /// Position at which the next pass that reclaims released leases (control command
    /// `leases-reclaim`) continues.
    hurry_from: Mutex<sweep_request::Position>,
    /// True if sweeps reclaim leases that have ended.
    is_reclaiming: AtomicBool,
    /// Numbers of holds, leases and probations that fetches swept when no address was free; the
    /// next sweep reports these numbers.
    swept_early: [AtomicU32; 3],
    /// Limits on the leases that sweeps may reclaim in the current cycle.
    cycles: Cycles,
    wall_clock: WallClock,
    events: EventRecording,
    released: ReleasedLeases<F>,
    changed: ChangedLeases<F>,
}

impl<F: TableFamily> LeaseTable<F> {
    /// Returns an empty lease table. The secret `seed` prevents clients from choosing identities
    /// that collide.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let none = Arc::new(PoolSet::new(&[], Vec::new(), None));
        let tallies = Tallies::none(Arc::clone(&none));
        Self {
            stripes: (0..STRIPES).map(|at| Stripe::new(at, Arc::clone(&tallies))).collect(),
            map: AddressMap::new(),
            slot_numbers: F::SlotNumbers::new(seed),
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
            events: EventRecording::default(),
            released: ReleasedLeases::default(),
            changed: ChangedLeases::default(),
        }
    }

    /// Returns the releases that another server may not know. Nothing is kept there unless the
    /// server has a partner.
    #[must_use]
    pub const fn released(&self) -> &ReleasedLeases<F> {
        &self.released
    }

    /// Returns the empty lease table with an index that leads from the identifier of a client to
    /// all its leases, for lease queries: a DHCPv6 table has none by DUID alone.
    #[must_use]
    pub fn with_whole_clients_indexed(mut self) -> Self {
        self.index.index_whole_clients();
        self
    }

    /// Returns false once a thread has panicked while it changed a part of the lease table.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.stripes.iter().all(Stripe::is_sound)
    }

    /// Makes an empty lease table look for ended leases from `now` on. Without this call the first
    /// sweeps look at each lease that is loaded.
    pub fn begin(&self, now: Now) {
        for stripe in 0..STRIPES {
            self.lock(stripe).state.deadlines.begin(now.wall_s());
        }
    }

    /// Makes `specs` the pools to lease from and returns them for the configuration snapshot. Slots
    /// and leases of addresses that are in no pool any more stay, and transactions on older sets
    /// continue as before. Load leases after this call, since addresses outside every pool have
    /// slower slots.
    ///
    /// Addresses in `reserved`, in any order, are never taken as candidates; a client that requests
    /// one gets it, also outside the pools. A client that has such an address keeps it, and after
    /// the release it is still reserved.
    ///
    /// # Panics
    ///
    /// Panics when a pool ends before it starts.
    pub fn configure(&self, specs: &[PoolSpec<F>], reserved: &[F::Address]) -> Arc<PoolSet<F>> {
        for spec in specs {
            let PoolSpec { first, last, .. } = *spec;
            assert!(first <= last, "a checked configuration has no empty pool");
        }
        let mut configuration = self.lock_configuration();
        let (runs, opening) = self.slot_numbers.plan(specs);
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

    /// Sets the treatment of leases that end to `expiry`, from here on.
    pub fn set_expiry(&self, expiry: Expiry) {
        self.is_reclaiming.store(expiry.reclaim_wait_s > 0, Ordering::Relaxed);
        for stripe in 0..STRIPES {
            self.lock(stripe).state.deadlines.expiry = expiry;
        }
    }

    /// Limits the leases that sweeps reclaim to `limits` from here on; the default is no limit.
    pub fn set_reclaim_limits(&self, limits: ReclaimLimits) {
        self.cycles.set_limits(limits);
    }

    /// Adds `time_ns` nanoseconds, which sweeps have just taken, to the time of the reclaim cycle:
    /// the table has no clock.
    pub fn spend_reclaim_time(&self, time_ns: u64) {
        self.cycles.spend(time_ns);
    }

    /// Returns the number of warnings that became due since the last call: each reports that ended
    /// leases were left over in more reclaim cycles in a row than the second number
    /// (`unwarned-reclaim-cycles`).
    #[must_use]
    pub fn take_reclaim_warnings(&self) -> (u32, u32) {
        self.cycles.take_warnings()
    }

    fn lock_configuration(&self) -> MutexGuard<'_, Configuration<F>> {
        self.configuration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the slot numbers of `opening` ready to be leased, and publishes the opening.
    fn open(
        &self,
        configuration: &mut Configuration<F>,
        opening: OpeningPlan<<F::SlotNumbers as SlotNumberMap<F>>::Publication>,
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
        self.reserve_memory(configuration.rows as usize);
        let mut doubtful = Vec::new();
        for &(first, last) in &opening.ranges {
            configuration.reserved.within(first, last).for_each(|bit| self.map.reserve(bit));
            self.open_range(first, last, rows_before, &mut doubtful);
        }
        // From here on a slot that becomes free sets its bit itself, also one outside the pages.
        let may_have_others = self.slot_numbers.publish(opening.publication);
        self.slot_numbers.clear_overlapped(&self.map, &opening.ranges);
        if may_have_others {
            for stripe in 0..STRIPES {
                doubtful.extend(self.lock(stripe).sparse());
            }
            for block in
                F::SlotNumbers::FIRST_APART.iter().flat_map(|&first| self.map.blocks(first >> 8))
            {
                doubtful.extend(block << 8..=(block << 8 | 0xff));
            }
        }
        for slot_number in doubtful {
            self.lock_of(slot_number).clear_bit_if_taken(slot_number);
        }
    }

    /// Takes a free address of `pool`, with its free bit, so that no other thread gets it, and
    /// returns its slot number; opens more of the pool when all open addresses are taken.
    fn claim(&self, pools: &PoolSet<F>, pool: PoolIndex) -> Option<(u32, F::Address)> {
        let run = pools.run(pool);
        let claim = || self.claim_open(pools, pool);
        if let Some(claimed) = claim() {
            return Some(claimed);
        }
        if !F::SlotNumbers::CAN_GROW {
            return None;
        }
        let mut configuration = self.lock_configuration();
        loop {
            // Another shard may have opened some meanwhile.
            if let Some(claimed) = claim() {
                return Some(claimed);
            }
            let opening = self.slot_numbers.plan_growth(run)?;
            self.open(&mut configuration, opening);
        }
    }

    /// Takes a free open address of `pool`, in the order of its allocator, and returns its slot
    /// number.
    fn claim_open(&self, pools: &PoolSet<F>, pool: PoolIndex) -> Option<(u32, F::Address)> {
        let (spec, run) = (&pools.specs()[pool.0 as usize], pools.run(pool));
        match spec.allocator {
            Allocator::Iterative => {
                let claimed = F::SlotNumbers::claim(&self.map, spec, run, pools.cursor(pool))?;
                pools.advance(pool, claimed.0);
                Some(claimed)
            }
            Allocator::Random => {
                let count = F::SlotNumbers::count(spec, run);
                let (mut start, mut is_open) = (F::SlotNumbers::start(spec, run), true);
                for _ in 0..if count > 0 { order::TRIES } else { 0 } {
                    let step = u64::from(pools.step(pool));
                    let (pass, index) = (step / count, step % count);
                    let seed = self.seed.wrapping_add(u64::from(pool.0) << 40).wrapping_add(pass);
                    let position = order::permuted(index, count, seed.rotate_left(8));
                    let Some((slot_number, address)) = F::SlotNumbers::at(spec, run, position)
                    else {
                        is_open = false;
                        continue;
                    };
                    if self.map.clear_free(slot_number) {
                        return Some((slot_number, address));
                    }
                    start = slot_number;
                }
                // In a pool that is opened in part, hardly any of the random tries may be open.
                if is_open {
                    F::SlotNumbers::claim(&self.map, spec, run, start)
                } else {
                    self.claim_anywhere(pools, pool)
                }
            }
            Allocator::FreeLeaseQueue => {
                self.go_on_filling(pools, pool);
                let queue = pools.queue(pool).expect("such a pool has a queue");
                for _ in 0..order::TRIES {
                    let Some(position) = queue.pop() else { break };
                    // An address that was taken in another way is dropped from the queue.
                    if let Some((slot_number, address)) =
                        F::SlotNumbers::at(spec, run, position.into())
                        && self.map.clear_free(slot_number)
                    {
                        return Some((slot_number, address));
                    }
                }
                self.claim_anywhere(pools, pool)
            }
        }
    }

    /// Opens the slot number that a pool reserves for `address`, if any does.
    fn cover(&self, address: F::Address) {
        if F::SlotNumbers::CAN_GROW {
            let mut configuration = self.lock_configuration();
            if let Some(opening) = self.slot_numbers.plan_cover(address) {
                self.open(&mut configuration, opening);
            }
        }
    }

    /// Reserves memory for slots and index entries, so that the packet path rarely has to.
    fn reserve_memory(&self, rows: usize) {
        for stripe in 0..STRIPES {
            self.lock(stripe).reserve(rows, rows <= PREFILLED_BLOCKS);
        }
        let addresses = (rows * 256).min(INDEXED_ADDRESSES);
        self.index.reserve(addresses);
    }

    /// Marks the slot numbers from `first` to `last` that no pool had before as free. Slot numbers
    /// in blocks with a row below `rows_before`, whose slots may exist already, are added to
    /// `doubtful`, since their bits must be checked again.
    fn open_range(&self, first: u32, last: u32, rows_before: u32, doubtful: &mut Vec<u32>) {
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

    /// Returns the pools that were configured last.
    #[must_use]
    pub fn pools(&self) -> Arc<PoolSet<F>> {
        Arc::clone(&self.lock_configuration().current)
    }

    /// Ends the claim on the candidate `address` of a fetch that no commit used. Harmless at any
    /// other time.
    pub fn release_claim(&self, address: F::Address) {
        if let Some(slot_number) = self.slot_numbers.find(address) {
            self.lock_of(slot_number).set_bit_if_free(slot_number, address);
        }
    }

    /// Marks `address` as free by its free bit; returns false when a use of an overlapping address
    /// or prefix keeps the bit clear.
    fn set_bit(&self, slot_number: u32, address: F::Address) -> bool {
        let Some(bit) = self.slot_numbers.bit(slot_number, address) else { return true };
        if self.slot_numbers.is_guarded(slot_number, address) {
            return self.slot_numbers.set_unless_overlapped(&self.map, bit, address);
        }
        self.map.set_free(bit);
        true
    }

    fn clear_bit(&self, slot_number: u32, address: F::Address) {
        if let Some(bit) = self.slot_numbers.bit(slot_number, address) {
            self.map.clear_free(bit);
        }
    }

    /// Returns the numbers of slots in use in the whole table.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for stripe in 0..STRIPES {
            self.lock(stripe).add_usage(&mut sum);
        }
        sum
    }

    /// Returns the numbers of slots in use of each subnet. Reads every slot, about a thousand at a
    /// time.
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

    fn lock_of(&self, slot_number: u32) -> Locked<'_, F> {
        self.lock(slot_number as usize % STRIPES)
    }

    fn sweep_from(&self) -> usize {
        self.sweep_from.load(Ordering::Relaxed) as usize
    }
}

impl<F: TableFamily> core::fmt::Debug for LeaseTable<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LeaseTable").field("usage", &self.usage()).finish_non_exhaustive()
    }
}
