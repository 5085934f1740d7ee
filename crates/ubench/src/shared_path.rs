//! Lease operations on a store as the DHCP server does them: looked up in the lease table in
//! memory, changed there by compare-and-set, and done when the change is as durable as configured
//! (its epoch is settled).
//!
//! One thread acts as a shard. It keeps a window of operations in flight, hands over the operations
//! that it has begun, sleeps until some are settled, and fills the window again: a closed loop of
//! clients, each of which waits for its reply. With a fixed number per transaction the window is
//! emptied before it is filled again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base::{Now, ToolError, ToolResult};
use dhcp_lease::contract::{Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys};
use dhcp_lease::v4::{LeaseTerms, PoolSet, PoolSpec, V4};
use dhcp_lease::{
    Allocator, CommitRefusal, Expiry, HardwareAddress, Identity, LeaseStore, LeaseTable,
    SlotOccupancy,
};
use netio::Clock;

use crate::tally::StepRunResult;
use crate::workload::{self, CREATED_LIFETIME_S, HOSTNAME, UPDATED_LIFETIME_S, WorkloadStep};

/// Time after which a waiting thread without a wake-up checks if the store has failed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Returns a lease table with the addresses of `records` records, and its pools. The table forgets
/// released leases.
pub(crate) fn table(records: u32, seed: u64) -> (Arc<LeaseTable<V4>>, Arc<PoolSet>) {
    let table = Arc::new(LeaseTable::new(seed));
    table.set_expiry(Expiry { reclaim_wait_s: 10, hold_reclaimed_s: 0, is_remembering: false });
    let pool = PoolSpec {
        subnet_id: 1,
        pool_id: 0,
        allocator: Allocator::Iterative,
        first: workload::address(0),
        // Searches look for some addresses that have no lease.
        last: workload::address(records + records / 9 + 1),
    };
    let pools = table.configure(&[pool], &[]);
    (table, pools)
}

/// Lease store with operations in flight.
pub(crate) struct SharedPath<S> {
    store: S,
    pools: Arc<PoolSet>,
    window: usize,
    is_emptied_first: bool,
    in_flight: VecDeque<InFlightOperation>,
    facts: Facts<V4>,
}

struct InFlightOperation {
    epoch: u64,
    begin_ns: u64,
}

/// DHCP client of a record, with the identities that it uses.
struct Asker {
    hardware: HardwareAddress,
    client_id: Option<[u8; 7]>,
}

impl Asker {
    fn for_step(step: WorkloadStep, number: u32) -> Self {
        let hardware = HardwareAddress::new(1, &workload::hardware(number));
        let client_id = Some(workload::client_id(number));
        match step {
            WorkloadStep::Search => Self { hardware: HardwareAddress::NONE, client_id: None },
            WorkloadStep::SearchHardware => Self { hardware, client_id: None },
            WorkloadStep::SearchClientId => Self { hardware: HardwareAddress::NONE, client_id },
            WorkloadStep::Create | WorkloadStep::Update | WorkloadStep::Delete => {
                Self { hardware, client_id }
            }
        }
    }

    fn identity(&self) -> Identity<'_> {
        Identity {
            hardware: self.hardware,
            client_id: self.client_id.as_ref().map(|octets| &octets[..]),
            match_client_id: true,
            hardware_only_subnets: &[],
        }
    }
}

fn action(step: WorkloadStep) -> Action<LeaseTerms<'static>> {
    let terms = |valid_lifetime_s| LeaseTerms {
        valid_lifetime_s,
        subnet_id: 1,
        pool_id: 0,
        fqdn_fwd: false,
        fqdn_rev: false,
        hostname: HOSTNAME,
        user_context: "",
        extra: (),
    };
    match step {
        WorkloadStep::Create => Action::Lease(terms(CREATED_LIFETIME_S)),
        WorkloadStep::Update => Action::Lease(terms(UPDATED_LIFETIME_S)),
        _ => Action::Release,
    }
}

impl<S: LeaseStore<V4>> SharedPath<S> {
    /// Creates a path with up to `window` operations in flight; with `is_emptied_first` it waits
    /// for all of them before it begins further ones. The waker of the store's shard must wake the
    /// calling thread.
    pub(crate) fn new(store: S, pools: Arc<PoolSet>, window: u32, is_emptied_first: bool) -> Self {
        Self {
            store,
            pools,
            window: window as usize,
            is_emptied_first,
            in_flight: VecDeque::with_capacity(window as usize),
            facts: Facts::default(),
        }
    }

    /// Runs the operations of `step` on the records with these numbers.
    pub(crate) fn step(
        &mut self,
        step: WorkloadStep,
        numbers: &[u32],
        tally: &mut StepRunResult,
    ) -> ToolResult<()> {
        let first_ns = Clock::mono_ns();
        let mut left = numbers.iter();
        while left.len() > 0 || !self.in_flight.is_empty() {
            if !self.is_emptied_first || self.in_flight.is_empty() {
                let now = Clock::now();
                let mut begin_ns = now.mono_ns;
                while self.in_flight.len() < self.window
                    && let Some(&number) = left.next()
                {
                    let epoch = self.begin(now, step, number, tally)?;
                    self.in_flight.push_back(InFlightOperation { epoch, begin_ns });
                    begin_ns = if self.window > 1 { Clock::mono_ns() } else { begin_ns };
                }
                self.store.submit(now);
            }
            self.finish(tally)?;
        }
        tally.time_ns = Clock::mono_ns() - first_ns;
        Ok(())
    }

    /// Waits until the oldest operation in flight is done, and records all operations that are
    /// done.
    fn finish(&mut self, tally: &mut StepRunResult) -> ToolResult<()> {
        let Some(oldest) = self.in_flight.front() else { return Ok(()) };
        let awaited = oldest.epoch;
        self.wait(awaited)?;
        let settled = self.store.settled_epoch();
        let end_ns = Clock::mono_ns();
        while let Some(done) = self.in_flight.pop_front_if(|operation| operation.epoch <= settled) {
            tally.latency_ns.record(end_ns.saturating_sub(done.begin_ns));
        }
        Ok(())
    }

    fn wait(&self, epoch: u64) -> ToolResult<()> {
        while self.store.settled_epoch() < epoch {
            if self.store.has_failed() {
                return Err(ToolError::failed("write leases", "the store has failed"));
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
        Ok(())
    }

    /// Begins the operation of `step` on record `number`, and returns the epoch (number of the
    /// round of rows) whose durability ends the operation.
    fn begin(
        &mut self,
        now: Now,
        step: WorkloadStep,
        number: u32,
        tally: &mut StepRunResult,
    ) -> ToolResult<u64> {
        let asker = Asker::for_step(step, number);
        let address = workload::address(number);
        let by_address =
            !matches!(step, WorkloadStep::SearchHardware | WorkloadStep::SearchClientId);
        let mut addresses = [None; FETCHED_ADDRESSES_MAX];
        addresses[0] = by_address.then_some(address);
        loop {
            let keys = FetchKeys {
                identity: asker.identity(),
                addresses,
                pools: &*self.pools,
                candidate_pools: &[],
                is_candidate_spare: true,
            };
            self.store.fetch(now, &keys, &mut self.facts);
            let slot = if by_address {
                self.facts.address_slots[0]
            } else {
                self.facts.client_slots().next().copied()
            };
            let is_leased = slot.is_some_and(|slot| slot.occupancy == SlotOccupancy::Leased);
            if step.is_search() {
                tally.record_result(is_leased);
                return Ok(0);
            }
            let Some(slot) = slot else {
                return Err(ToolError::failed(format!("use {address}"), "it has no slot"));
            };
            let change = Change {
                identity: asker.identity(),
                address,
                expected_version: slot.version,
                action: action(step),
            };
            match self.store.commit(now, &[change]) {
                Ok(receipt) => {
                    tally.record_result(is_leased || step == WorkloadStep::Create);
                    return Ok(receipt.row_epoch);
                }
                Err(CommitRefusal::Unsettled(epoch)) => {
                    self.store.submit(now);
                    self.wait(epoch)?;
                }
                Err(refusal) => {
                    return Err(ToolError::failed(
                        format!("{} {address}", step.name()),
                        format!("{refusal:?}"),
                    ));
                }
            }
        }
    }
}
