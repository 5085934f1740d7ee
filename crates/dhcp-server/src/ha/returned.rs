//! Own leases that a copy of the partner's leases has found the partner to lack, such as those
//! whose updates were on their way when this server ended, and their way to the partner.

use dhcp_config::HaPeer;
use dhcp_ha::{CommandResult, RETURNED_MAX, Relationship, UpdateVerdict};
use dhcp_lease::Lease;
use serde_json::Map;

use super::sender::{PendingUpdate, UpdateSender};
use super::{LOGGER, PairState};
use crate::service::DaemonFamily;

/// Maximum number of leases that are sent before the partner's silence is renewed.
const BATCH_MAX: usize = 256;

/// Leases that the partner is to get.
#[derive(Debug)]
pub(super) struct ReturnedLeases<P: DaemonFamily> {
    updates: Vec<PendingUpdate<P>>,
    /// Number of leases if there are more than [`RETURNED_MAX`], so that none is kept; otherwise 0.
    too_many: u64,
}

impl<P: DaemonFamily> Default for ReturnedLeases<P> {
    fn default() -> Self {
        Self { updates: Vec::new(), too_many: 0 }
    }
}

impl<P: DaemonFamily> ReturnedLeases<P> {
    /// Adds a lease.
    pub(super) fn add(&mut self, lease: &Lease<P>) {
        if self.too_many > 0 {
            self.too_many += 1;
        } else if (self.updates.len() as u64) < RETURNED_MAX {
            self.updates.push(PendingUpdate::of_lease(lease, false));
        } else {
            self.too_many = self.updates.len() as u64 + 1;
            self.updates = Vec::new();
        }
    }

    /// Removes the leases of those addresses for which `is_listed` returns true.
    pub(super) fn remove(&mut self, is_listed: impl Fn(&P::Address) -> bool) {
        self.updates.retain(|update| !is_listed(&update.lease.address));
    }

    /// Records after the last page of a copy that the partner lacks the leases.
    pub(super) fn record(&mut self, relationship: &mut Relationship) {
        let leases = self.too_many.max(self.updates.len() as u64);
        if !relationship.record_missing_leases(leases) {
            *self = Self::default();
        }
    }
}

/// Sends a part of the leases to the partner. Returns success if the partner has answered each, or
/// the reason why they do not reach it.
pub(super) fn send_returned<P: DaemonFamily>(
    state: &PairState,
    returned: &mut ReturnedLeases<P>,
    partner: &HaPeer,
) -> Result<CommandResult, String> {
    let mut sender = UpdateSender::new(partner, state.relationship().config());
    let rest = returned.updates.split_off(returned.updates.len().min(BATCH_MAX));
    let batch = core::mem::replace(&mut returned.updates, rest);
    let verdicts = sender.send(&batch, state.update_form(P::VERSION));
    let mut outcome = Ok(CommandResult { code: 0, text: String::new(), arguments: Map::new() });
    for (mut update, verdict) in batch.into_iter().zip(verdicts) {
        match verdict {
            Ok(UpdateVerdict::Taken | UpdateVerdict::Outdated(_)) => {}
            Ok(UpdateVerdict::Busy) => returned.updates.push(update),
            Ok(UpdateVerdict::Refused(_)) if update.is_release() => {
                // Kea before 2.7 refuses the state, and may not have sent a heartbeat yet.
                update.is_deletion = true;
                returned.updates.push(update);
            }
            // It would be refused again, as in Kea the lease of a subnet that is not configured.
            Ok(UpdateVerdict::Refused(reason)) => tracing::warn!(
                target: LOGGER,
                id = "HA_LEASE_UPDATE_REJECTED",
                "the server {} refuses the lease of {}, which it lacks: {reason}",
                partner.name,
                update.address()
            ),
            Err(reason) => outcome = Err(reason),
        }
    }
    let left = returned.updates.len() as u64;
    state.relationship().record_leases_to_return(left);
    outcome
}
