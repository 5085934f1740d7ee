//! Ledger of promises to clients: every change in the order in which it was made, and the last one
//! that was acknowledged.

use std::collections::BTreeMap;

use dhcp_lease::{Lease, LeaseState};

use crate::power_cut::case::SimulatedFamily;

/// Contents of a lease file about an address; `None` = free.
pub type RecordedLease = Option<(LeaseState, Vec<u8>, u64, u32)>;

/// Returns the part of a lease that its client knows; `None` if the lease is past.
pub fn recorded<F: SimulatedFamily>(lease: &Lease<F>) -> RecordedLease {
    let sample = F::sample(lease);
    let recorded = (sample.state, F::owner(lease), sample.cltt_s, sample.valid_lifetime_s);
    (!sample.state.is_past()).then_some(recorded)
}

fn has_ended(recorded: &RecordedLease, now_s: u64) -> bool {
    recorded.as_ref().is_none_or(|(_, _, cltt_s, valid_s)| cltt_s + u64::from(*valid_s) <= now_s)
}

#[derive(Debug)]
struct History {
    states: Vec<RecordedLease>,
    /// Index of the last acknowledged state.
    acknowledged: usize,
}

#[derive(Debug)]
struct UnsettledChange<A> {
    epoch: u64,
    address: A,
    state: usize,
}

/// Promises during one life of a server.
#[derive(Debug)]
pub struct PromiseLedger<F: SimulatedFamily> {
    histories: BTreeMap<F::Address, History>,
    waiting: Vec<UnsettledChange<F::Address>>,
    /// Number of acknowledgments so far.
    pub acknowledged: u64,
}

impl<F: SimulatedFamily> Default for PromiseLedger<F> {
    fn default() -> Self {
        Self { histories: BTreeMap::new(), waiting: Vec::new(), acknowledged: 0 }
    }
}

impl<F: SimulatedFamily> PromiseLedger<F> {
    /// Begins a life with the loaded leases, which all count as promised.
    pub fn begin(leases: &[Lease<F>]) -> Self {
        let mut ledger = Self::default();
        for lease in leases {
            let address = F::sample(lease).address;
            let history = History { states: vec![recorded::<F>(lease)], acknowledged: 0 };
            let previous = ledger.histories.insert(address, history);
            assert!(previous.is_none(), "{address} was loaded twice");
        }
        ledger
    }

    fn history(&mut self, address: F::Address) -> &mut History {
        self.histories
            .entry(address)
            .or_insert_with(|| History { states: vec![None], acknowledged: 0 })
    }

    /// Records a committed change; its reply waits for `epoch`.
    pub fn commit(
        &mut self,
        address: F::Address,
        state: RecordedLease,
        epoch: u64,
        now_s: u64,
    ) -> Result<(), String> {
        let history = self.history(address);
        let before = history.states.last().expect("a history begins with a state");
        let is_reassigned = match (before, &state) {
            (Some((LeaseState::Assigned, before, ..)), Some((LeaseState::Assigned, after, ..))) => {
                before != after
            }
            (Some((LeaseState::Declined, ..)), _) => true,
            _ => false,
        };
        if is_reassigned && !has_ended(before, now_s) {
            return Err(format!("{address} was taken from its owner: {before:?} to {state:?}"));
        }
        history.states.push(state);
        let state = history.states.len() - 1;
        self.waiting.push(UnsettledChange { epoch, address, state });
        Ok(())
    }

    /// Returns the number of changes that are not settled.
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Settles all epochs through `epoch`: replies leave, except those that `is_refused` holds
    /// back.
    pub fn settle_unless(&mut self, epoch: u64, is_refused: impl Fn(u64, F::Address) -> bool) {
        let (ready, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|one| one.epoch <= epoch);
        self.waiting = waiting;
        let ready: Vec<UnsettledChange<F::Address>> = ready;
        for one in ready {
            if is_refused(one.epoch, one.address) {
                continue;
            }
            self.history(one.address).acknowledged = one.state;
            self.acknowledged += 1;
        }
    }

    /// Checks that the loaded leases keep all promises: each address has the acknowledged state or
    /// a later one. An expired lease may be missing.
    pub fn check(&self, leases: &[Lease<F>], now_s: u64) -> Result<(), String> {
        let mut loaded: BTreeMap<F::Address, RecordedLease> = BTreeMap::new();
        for lease in leases {
            let address = F::sample(lease).address;
            if loaded.insert(address, recorded::<F>(lease)).is_some() {
                return Err(format!("{address} was loaded twice"));
            }
        }
        for (address, history) in &self.histories {
            let present = loaded.remove(address).unwrap_or(None);
            let possible = &history.states[history.acknowledged..];
            let is_possible = possible.contains(&present)
                || (present.is_none() && possible.iter().any(|state| has_ended(state, now_s)));
            if !is_possible {
                return Err(format!("{address}: found {present:?}, promised {possible:?}"));
            }
        }
        match loaded.into_iter().find(|(_, recorded)| recorded.is_some()) {
            Some((address, recorded)) => {
                Err(format!("{address}: found {recorded:?} out of nowhere"))
            }
            None => Ok(()),
        }
    }
}
