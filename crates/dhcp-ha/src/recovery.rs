//! Updates that wait while the partner does not answer (`delayed-updates-limit`), and the way back
//! from the state communication-recovery: the updates are sent late, or both servers copy each
//! other's leases.

use base::Now;

use crate::command::{CommandResult, PartnerCommand};
use crate::relationship::Relationship;
use crate::state::HaState;

/// Updates that wait for the partner.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DelayedUpdateCount {
    /// Number of updates that wait.
    waiting: u64,
    /// True if more updates came than may wait.
    has_overflowed: bool,
    /// True if the partner has refused one of them.
    is_refused: bool,
}

impl Relationship {
    /// Returns true if updates for the partner wait until it answers again, and replies do not wait
    /// for it.
    #[must_use]
    pub fn delays_updates(&self) -> bool {
        self.config.sends_lease_updates && self.state == HaState::CommunicationRecovery
    }

    /// Records that `waiting` updates wait for the partner, and that `dropped` further ones were
    /// more than may wait. The partner lacks those.
    pub const fn record_delayed_updates(&mut self, waiting: u64, dropped: u64) {
        self.delayed.waiting = waiting;
        self.delayed.has_overflowed |= dropped > 0;
        self.unsent_updates += dropped;
    }

    /// Returns the number of updates that wait for the partner.
    #[must_use]
    pub const fn delayed_updates(&self) -> u64 {
        self.delayed.waiting
    }

    /// Returns true if more updates came than may wait for the partner.
    pub(crate) const fn has_too_many_delayed_updates(&self) -> bool {
        self.delayed.has_overflowed
    }

    /// Returns true if no update waits for the partner, and it has had all.
    pub(crate) const fn has_sent_delayed_updates(&self) -> bool {
        let DelayedUpdateCount { waiting, has_overflowed, is_refused } = self.delayed;
        waiting == 0 && !has_overflowed && !is_refused
    }

    /// Returns true if the partner answers and takes updates that have waited.
    pub(crate) fn takes_delayed_updates(&self, now: Now) -> bool {
        let is_back = matches!(
            self.partner.state,
            Some(HaState::LoadBalancing | HaState::CommunicationRecovery)
        );
        self.state == HaState::CommunicationRecovery && is_back && !self.is_interrupted(now)
    }

    /// Returns the next command on the way back from communication-recovery.
    pub(crate) fn command_of_recovery(&self, now: Now) -> Option<PartnerCommand> {
        if self.must_ask_partner || self.is_paused() || !self.takes_delayed_updates(now) {
            return None;
        }
        let DelayedUpdateCount { waiting, has_overflowed, is_refused } = self.delayed;
        if has_overflowed || is_refused {
            return Some(PartnerCommand::Reset);
        }
        (waiting > 0).then_some(PartnerCommand::DelayedUpdates)
    }

    /// Takes the outcome of [`PartnerCommand::DelayedUpdates`]. The driver has recorded before how
    /// many still wait.
    pub(crate) fn receive_delayed(&mut self, now: Now, answer: Result<CommandResult, String>) {
        match answer {
            Ok(answer) if answer.code == 0 => {}
            Ok(_) => self.delayed.is_refused = self.state == HaState::CommunicationRecovery,
            Err(reason) => self.record_update_failure(now, reason),
        }
        self.decide(now);
    }

    /// Takes the answer to `ha-reset`: the partner copies this server's leases, and this server
    /// those of the partner.
    pub(crate) fn receive_reset(&mut self, now: Now, answer: Result<CommandResult, String>) {
        match answer.and_then(|answer| answer.with_code(&[0])) {
            Err(reason) => self.record_update_failure(now, reason),
            Ok(_) if self.state == HaState::CommunicationRecovery => {
                let reason = "the partner lacks more leases than could wait for it";
                self.enter(now, HaState::Waiting, reason.to_owned());
                self.note_command_of_partner(now);
            }
            Ok(_) => {}
        }
    }

    /// Forgets the updates that wait when the state ends. The partner lacks their leases.
    pub(crate) fn drop_delayed_updates(&mut self) {
        let delayed = core::mem::take(&mut self.delayed);
        self.unsent_updates += delayed.waiting;
    }
}
