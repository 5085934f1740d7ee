//! Updates that wait while the partner does not answer (`delayed-updates-limit`), and their way to
//! the partner when it does.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dhcp_config::HaPeer;
use dhcp_ha::{CommandResult, Relationship, UpdateVerdict};
use serde_json::Map;

use super::sender::{PendingUpdate, UpdateSender};
use super::{LOGGER, PairState};
use crate::service::DaemonFamily;

/// Maximum number of updates that are sent before the state is looked at again.
const BATCH_MAX: usize = 256;
/// Wait before an update is sent again that found another change of its lease under way.
const BUSY_WAIT: Duration = Duration::from_millis(5);
/// Result code of the outcome if the partner refuses an update.
const REFUSED: i64 = 4;

/// Updates that wait for the partner: the last one of each address. The lock is taken after that
/// of the relationship.
#[derive(Debug)]
pub(super) struct DelayedUpdates<P: DaemonFamily>(Mutex<UpdateQueue<P>>);

impl<P: DaemonFamily> Default for DelayedUpdates<P> {
    fn default() -> Self {
        Self(Mutex::new(UpdateQueue { updates: BTreeMap::new(), last_number: 0 }))
    }
}

#[derive(Debug)]
struct UpdateQueue<P: DaemonFamily> {
    /// Updates by their addresses, each with its number.
    updates: BTreeMap<P::Address, (u64, PendingUpdate<P>)>,
    last_number: u64,
}

impl<P: DaemonFamily> UpdateQueue<P> {
    /// Adds `updates`, so that at most `limit` wait. Returns the number of those that were dropped.
    fn add(&mut self, updates: Vec<PendingUpdate<P>>, limit: usize) -> u64 {
        let mut dropped = 0;
        for update in updates {
            let address = update.lease.address;
            self.last_number += 1;
            if self.updates.len() < limit || self.updates.contains_key(&address) {
                self.updates.insert(address, (self.last_number, update));
            } else {
                dropped += 1;
            }
        }
        dropped
    }

    fn len(&self) -> u64 {
        self.updates.len() as u64
    }

    /// Returns the first updates with their numbers, at most [`BATCH_MAX`].
    fn batch(&self) -> (Vec<u64>, Vec<PendingUpdate<P>>) {
        self.updates.values().take(BATCH_MAX).cloned().unzip()
    }

    /// Removes an update that the partner has, unless a later one of its address has come.
    fn remove(&mut self, number: u64, update: &PendingUpdate<P>) {
        let address = &update.lease.address;
        if self.updates.get(address).is_some_and(|(other, _)| *other == number) {
            self.updates.remove(address);
        }
    }
}

impl<P: DaemonFamily> DelayedUpdates<P> {
    fn lock(&self) -> MutexGuard<'_, UpdateQueue<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps `updates` until the partner answers, in the state communication-recovery.
    pub(super) fn add(&self, relationship: &mut Relationship, updates: Vec<PendingUpdate<P>>) {
        let limit = relationship.config().limits.delayed_updates as usize;
        let mut queue = self.lock();
        if relationship.delayed_updates() == 0 {
            // Those of an earlier time in this state are no longer wanted.
            queue.updates.clear();
        }
        let dropped = queue.add(updates, limit);
        relationship.record_delayed_updates(queue.len(), dropped);
    }
}

/// Sends a part of the updates that wait to the partner. Returns success if the partner has them or
/// wants them again, an answer with another code if it refuses one, or the reason why they do not
/// reach it.
pub(super) fn send_delayed<P: DaemonFamily>(
    state: &PairState,
    delayed: &DelayedUpdates<P>,
    partner: &HaPeer,
) -> Result<CommandResult, String> {
    let (mut sender, (numbers, updates)) = {
        let relationship = state.relationship();
        let sender = UpdateSender::new(partner, relationship.config());
        (sender, delayed.lock().batch())
    };
    let verdicts = sender.send(&updates, state.update_form(P::VERSION));
    let mut outcome = Ok(CommandResult { code: 0, text: String::new(), arguments: Map::new() });
    let mut is_busy = false;
    let mut relationship = state.relationship();
    let mut queue = delayed.lock();
    for ((number, update), verdict) in numbers.into_iter().zip(&updates).zip(verdicts) {
        match verdict {
            Ok(UpdateVerdict::Taken | UpdateVerdict::Outdated(_)) => {
                queue.remove(number, update);
            }
            Ok(UpdateVerdict::Busy) => is_busy = true,
            Ok(UpdateVerdict::Refused(reason)) => {
                tracing::warn!(
                    target: LOGGER,
                    id = "HA_LEASES_BACKLOG_FAILED",
                    "the server {} refuses the late update of {}: {reason}; both servers copy the \
                     leases of the other",
                    partner.name,
                    update.address()
                );
                outcome = outcome.map(|answer| CommandResult { code: REFUSED, ..answer });
            }
            Err(reason) => outcome = Err(reason),
        }
    }
    if relationship.delays_updates() {
        relationship.record_delayed_updates(queue.len(), 0);
    }
    drop(queue);
    drop(relationship);
    if is_busy {
        std::thread::sleep(BUSY_WAIT);
    }
    outcome
}
