//! Updates that wait while the partner does not answer (`delayed-updates-limit`), and their way to
//! the partner when it does.

use std::collections::BTreeMap;
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

/// Updates that wait for the partner: the last one of each address.
#[derive(Debug, Default)]
pub(super) struct DelayedUpdates {
    /// Updates by the bytes of their addresses, each with its number.
    updates: BTreeMap<Vec<u8>, (u64, PendingUpdate)>,
    last_number: u64,
}

impl DelayedUpdates {
    /// Adds `updates`, so that at most `limit` wait. Returns the number of those that were dropped.
    fn add(&mut self, updates: Vec<PendingUpdate>, limit: usize) -> u64 {
        let mut dropped = 0;
        for update in updates {
            self.last_number += 1;
            if self.updates.len() < limit || self.updates.contains_key(&update.octets) {
                self.updates.insert(update.octets.clone(), (self.last_number, update));
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
    fn batch(&self) -> (Vec<u64>, Vec<PendingUpdate>) {
        self.updates.values().take(BATCH_MAX).cloned().unzip()
    }

    /// Removes an update that the partner has, unless a later one of its address has come.
    fn remove(&mut self, number: u64, update: &PendingUpdate) {
        if self.updates.get(&update.octets).is_some_and(|(other, _)| *other == number) {
            self.updates.remove(&update.octets);
        }
    }
}

impl PairState {
    /// Keeps `updates` until the partner answers, in the state communication-recovery.
    pub(super) fn delay(&self, relationship: &mut Relationship, updates: Vec<PendingUpdate>) {
        let limit = relationship.config().limits.delayed_updates as usize;
        let mut delayed = self.delayed();
        if relationship.delayed_updates() == 0 {
            // Those of an earlier time in this state are no longer wanted.
            delayed.updates.clear();
        }
        let dropped = delayed.add(updates, limit);
        relationship.record_delayed_updates(delayed.len(), dropped);
    }
}

/// Sends a part of the updates that wait to the partner. Returns success if the partner has them or
/// wants them again, an answer with another code if it refuses one, or the reason why they do not
/// reach it.
pub(super) fn send_delayed<P: DaemonFamily>(
    state: &PairState,
    partner: &HaPeer,
) -> Result<CommandResult, String> {
    let (mut sender, (numbers, updates)) = {
        let relationship = state.relationship();
        let sender = UpdateSender::new(partner, relationship.config());
        (sender, state.delayed().batch())
    };
    let verdicts = sender.send::<P>(&updates, state.takes_bulk_updates());
    let mut outcome = Ok(CommandResult { code: 0, text: String::new(), arguments: Map::new() });
    let mut is_busy = false;
    let mut relationship = state.relationship();
    let mut delayed = state.delayed();
    for ((number, update), verdict) in numbers.into_iter().zip(&updates).zip(verdicts) {
        match verdict {
            Ok(UpdateVerdict::Taken | UpdateVerdict::Outdated(_)) => {
                delayed.remove(number, update);
            }
            Ok(UpdateVerdict::Busy) => is_busy = true,
            Ok(UpdateVerdict::Refused(reason)) => {
                tracing::warn!(
                    target: LOGGER,
                    id = "HA_LEASES_BACKLOG_FAILED",
                    "the server {} refuses the late update of {}: {reason}; both servers copy the \
                     leases of the other",
                    partner.name,
                    update.address
                );
                outcome = outcome.map(|answer| CommandResult { code: REFUSED, ..answer });
            }
            Err(reason) => outcome = Err(reason),
        }
    }
    if relationship.delays_updates() {
        relationship.record_delayed_updates(delayed.len(), 0);
    }
    drop(delayed);
    drop(relationship);
    if is_busy {
        std::thread::sleep(BUSY_WAIT);
    }
    outcome
}
