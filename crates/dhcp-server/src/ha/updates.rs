//! Listener of lease events that sends each change of a client's lease to the partner, or to a
//! backup server. Replies wait until the partner has acknowledged the change; for backup servers
//! they wait only if the configuration says so.
//!
//! An update that does not reach the partner is sent again until the partner answers or the
//! relationship leaves the states with updates; then the partner will copy the leases, or gets the
//! updates late ([`DelayedUpdates`](super::delayed::DelayedUpdates)). A backup server copies leases
//! only when its administrator demands it, so its updates are sent again until it answers; if no
//! reply waits for them, the oldest are dropped beyond [`BACKLOG_MAX`]. Of several changes of one
//! address that wait, only the last is sent, so that no two updates of an address are ever under
//! way. An update that the partner refuses closes the gate for its reply only.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use base::time::US_PER_S;
use dhcp_config::{HaPeer, HaRelationship, HaRole};
use dhcp_engine::EventGate;
use dhcp_events::{FallBehindPolicy, LeaseEvent};
use dhcp_ha::UpdateVerdict;
use dhcp_lease::{ExchangeDetail, Lease, LeaseEventKind, LeaseState, LeaseTable};
use netio::Clock;

use super::delayed::DelayedUpdates;
use super::sender::{PendingUpdate, UpdateForm, UpdateSender};
use super::subnets::RelationshipSubnets;
use super::{LOGGER, PairState};
use crate::events::EventListener;
use crate::service::DaemonFamily;

/// Wait before an update is sent again that found another change of its lease under way.
const BUSY_WAIT: Duration = Duration::from_millis(5);
/// Wait before updates are sent again that did not reach the partner.
const FAILURE_WAIT: Duration = Duration::from_millis(200);
/// Wait before updates are sent again that did not reach a backup server.
const BACKUP_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of events that wait for a backup server for which no reply waits.
const BACKLOG_MAX: usize = 32_768;

/// Server to which a listener sends updates.
#[derive(Clone, Debug)]
pub(super) struct UpdateTarget {
    /// Name of the listener.
    name: &'static str,
    peer: HaPeer,
    /// True if replies wait until the server has the lease.
    holds_replies: bool,
}

impl UpdateTarget {
    /// Returns the target of updates to the partner `peer` by the listener `name`.
    pub(super) fn partner(name: &'static str, peer: &HaPeer) -> Self {
        Self { name, peer: peer.clone(), holds_replies: true }
    }

    /// Returns the target of updates to the backup server `peer` by the listener `name`.
    pub(super) fn backup(name: &'static str, peer: &HaPeer, holds_replies: bool) -> Self {
        Self { name, peer: peer.clone(), holds_replies }
    }

    fn is_backup(&self) -> bool {
        self.peer.role == HaRole::Backup
    }
}

/// Listener that sends updates of leases to the partner or to a backup server.
pub(crate) struct PartnerListener<P: DaemonFamily> {
    state: Arc<PairState>,
    delayed: Arc<DelayedUpdates<P>>,
    gate: Arc<EventGate>,
    table: Arc<LeaseTable<P>>,
    target: UpdateTarget,
    sender: UpdateSender,
    /// True if the last updates did not reach the server.
    has_failed: bool,
    /// True if the backup server refuses the state of released leases, as Kea before 2.7 does.
    is_old_backup: bool,
}

impl<P: DaemonFamily> PartnerListener<P> {
    pub(super) fn new(
        state: Arc<PairState>,
        delayed: Arc<DelayedUpdates<P>>,
        gate: Arc<EventGate>,
        table: Arc<LeaseTable<P>>,
        target: UpdateTarget,
        config: &HaRelationship,
    ) -> Self {
        let sender = UpdateSender::new(&target.peer, config);
        let (has_failed, is_old_backup) = (false, false);
        Self { state, delayed, gate, table, target, sender, has_failed, is_old_backup }
    }

    /// Applies a verdict about `update`. Returns the update if it is to be sent again.
    fn settle(
        &mut self,
        mut update: PendingUpdate<P>,
        verdict: UpdateVerdict,
    ) -> Option<PendingUpdate<P>> {
        match verdict {
            UpdateVerdict::Busy => return Some(update),
            UpdateVerdict::Taken if self.target.is_backup() => {}
            UpdateVerdict::Taken => {
                self.state.relationship().record_accepted_update(|| update.client());
            }
            UpdateVerdict::Refused(_) if self.target.is_backup() && update.is_release() => {
                // No heartbeat of the backup server shows its version.
                self.is_old_backup = true;
                update.is_deletion = true;
                return Some(update);
            }
            UpdateVerdict::Outdated(reason) => self.refuse(&update, &reason),
            UpdateVerdict::Refused(reason) => {
                self.refuse(&update, &reason);
                if !self.target.is_backup() {
                    let (now, client) = (Clock::now(), update.client());
                    self.state.with(|relationship| relationship.record_refusal(now, &client));
                }
            }
        }
        None
    }

    /// Closes the gate for the replies of `update`, which the server refuses for `reason`.
    fn refuse(&self, update: &PendingUpdate<P>, reason: &str) {
        if self.target.holds_replies {
            let (octets, len) = P::octets_of(update.lease.address);
            for epoch in &update.epochs {
                self.gate.refuse(*epoch, &octets[..len]);
            }
        }
        let no_reply = if self.target.holds_replies { "; the client gets no reply" } else { "" };
        tracing::warn!(
            target: LOGGER,
            id = "HA_LEASE_UPDATE_REJECTED",
            "the server {} refuses the lease of {}: {reason}{no_reply}",
            self.target.peer.name,
            update.address()
        );
    }

    /// Sends `updates` until the server has answered all of them, or the state has no updates.
    /// Returns the addresses of those that the server did not get.
    fn deliver(&mut self, mut updates: Vec<PendingUpdate<P>>) -> HashSet<P::Address> {
        while !updates.is_empty() {
            {
                // Under one lock: the partner must not see a state with updates before the count.
                let mut relationship = self.state.relationship();
                let is_delayed = !self.target.is_backup() && relationship.delays_updates();
                if is_delayed || !relationship.sends_updates_to(&self.target.peer) {
                    let unsent = updates.iter().map(|update| update.lease.address).collect();
                    if is_delayed {
                        self.delayed.add(&mut relationship, updates);
                    } else {
                        relationship.count_unsent(updates.len() as u64);
                    }
                    return unsent;
                }
            }
            if self.has_failed && self.state.is_ending() {
                return HashSet::new();
            }
            let form = if self.target.is_backup() {
                UpdateForm::of_backup(P::VERSION)
            } else {
                self.state.update_form(P::VERSION)
            };
            let verdicts = self.sender.send(&updates, form);
            let mut failure = None;
            let mut rest = Vec::new();
            for (update, verdict) in updates.into_iter().zip(verdicts) {
                match verdict {
                    Ok(verdict) => rest.extend(self.settle(update, verdict)),
                    Err(reason) => {
                        failure.get_or_insert(reason);
                        rest.push(update);
                    }
                }
            }
            updates = rest;
            let had_failed = core::mem::replace(&mut self.has_failed, failure.is_some());
            match failure {
                Some(reason) if self.target.is_backup() => self.await_backup(&reason, had_failed),
                Some(reason) => self.await_partner(reason),
                None => {
                    self.log_recovery(had_failed);
                    if !updates.is_empty() {
                        std::thread::sleep(BUSY_WAIT);
                    }
                }
            }
        }
        HashSet::new()
    }

    /// Adds the releases among `events` whose updates are `unsent` to the list for a partner that
    /// copies the leases of `subnets`, and removes those of addresses that clients have again.
    fn note_releases(
        &self,
        events: &[LeaseEvent<P>],
        unsent: &HashSet<P::Address>,
        subnets: &RelationshipSubnets,
    ) {
        let released = self.table.released();
        for event in events.iter().filter(|event| event.change.is_change()) {
            let change = &event.change;
            let Some(lease) = change.after.as_ref().or(change.before.as_ref()) else { continue };
            if !subnets.updates(lease.subnet_id) {
                continue;
            }
            let is_unsent = unsent.contains(&lease.address);
            match change.kind {
                LeaseEventKind::Released if is_unsent => {}
                // The lease table no longer remembers the lease; the list still does.
                LeaseEventKind::Reclaimed | LeaseEventKind::Forgotten => continue,
                _ => {
                    released.remove(lease.address);
                    continue;
                }
            }
            let until_s = change.before.as_ref().map_or(0, Lease::expires_s);
            let mut release = lease.clone();
            if change.after.is_none() {
                release.cltt_s = event.changed_us() / US_PER_S;
                release.valid_lifetime_s = 0;
                release.state = LeaseState::Released;
            }
            released.add(release, until_s, Clock::now().wall_s());
        }
    }

    /// Records that updates did not reach the partner, and waits until a heartbeat succeeds or
    /// the state has no updates.
    fn await_partner(&self, reason: String) {
        tracing::warn!(
            target: LOGGER,
            id = "HA_LEASE_UPDATE_COMMUNICATIONS_FAILED",
            "updates of leases do not reach the partner: {reason}; trying again"
        );
        self.state.with(|relationship| relationship.record_update_failure(Clock::now(), reason));
        let is_unavailable = || {
            let relationship = self.state.relationship();
            relationship.sends_updates_to(&self.target.peer)
                && relationship.partner().state.is_none()
        };
        while is_unavailable() && !self.state.is_ending() {
            self.state.wait(FAILURE_WAIT);
        }
    }

    /// Logs the first failure in a row to reach the backup server, and waits before the next
    /// attempt.
    fn await_backup(&self, reason: &str, had_failed: bool) {
        if !had_failed {
            tracing::warn!(
                target: LOGGER,
                id = "HA_LEASE_UPDATE_COMMUNICATIONS_FAILED",
                "updates of leases do not reach the backup server {}: {reason}; trying again",
                self.target.peer.name
            );
        }
        if !self.state.is_ending() {
            self.state.wait(BACKUP_WAIT);
        }
    }

    /// Logs the first success to reach the backup server after a failure.
    fn log_recovery(&self, had_failed: bool) {
        if had_failed && self.target.is_backup() {
            tracing::info!(
                target: LOGGER,
                id = "HA_COMMUNICATION_RESUMED",
                "the backup server {} answers again",
                self.target.peer.name
            );
        }
    }
}

/// Returns the changes that the server must have, the last one of each address.
fn pending_updates<P: DaemonFamily>(
    events: &[LeaseEvent<P>],
    is_old: bool,
    subnets: &RelationshipSubnets,
) -> Vec<PendingUpdate<P>> {
    let mut updates: Vec<Option<PendingUpdate<P>>> = Vec::new();
    let mut indexes: HashMap<P::Address, usize> = HashMap::new();
    for event in events {
        let change = &event.change;
        let is_of_client = matches!(
            change.kind,
            LeaseEventKind::Allocated
                | LeaseEventKind::Renewed
                | LeaseEventKind::Registered
                | LeaseEventKind::Released
                | LeaseEventKind::Declined
        );
        if change.exchange.is_none() || !is_of_client {
            continue;
        }
        let Some(lease) = change.after.as_ref().or(change.before.as_ref()) else { continue };
        if !subnets.updates(lease.subnet_id) {
            continue;
        }
        let mut update = PendingUpdate::of_lease(lease, is_old);
        update.is_deletion |= change.after.is_none();
        update.epochs.push(change.row_epoch);
        if let Some(at) = indexes.insert(lease.address, updates.len()) {
            let earlier = updates.get_mut(at).and_then(Option::take);
            update.epochs.extend(earlier.into_iter().flat_map(|earlier| earlier.epochs));
        }
        updates.push(Some(update));
    }
    updates.into_iter().flatten().collect()
}

impl<P: DaemonFamily> EventListener<P> for PartnerListener<P> {
    fn name(&self) -> &'static str {
        self.target.name
    }

    fn policy(&self) -> FallBehindPolicy {
        if self.target.holds_replies {
            FallBehindPolicy::HoldReplies
        } else {
            FallBehindPolicy::DropAbove(BACKLOG_MAX)
        }
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        ExchangeDetail::Group
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        let is_old = if self.target.is_backup() {
            self.is_old_backup
        } else {
            self.state.relationship().partner().is_old
        };
        let subnets = self.state.subnets();
        let updates = pending_updates(events, is_old, &subnets);
        let has_updates = !updates.is_empty();
        let unsent = self.deliver(updates);
        if self.target.is_backup() {
            return;
        }
        self.note_releases(events, &unsent, &subnets);
        if has_updates && unsent.is_empty() && !self.state.is_ending() {
            // A partner that takes updates has copied the leases before, or had them late.
            self.table.released().remove_known(|subnet_id| subnets.updates(subnet_id));
        }
    }
}
