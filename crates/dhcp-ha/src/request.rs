//! Commands of an administrator that need an answer of the partner: `ha-sync`,
//! `ha-maintenance-start` and `ha-maintenance-cancel`, with Kea's texts. Their own answer comes
//! later, by [`Relationship::take_answer`].

use base::Now;
use dhcp_config::HaPeer;
use serde_json::Value;

use crate::administration::HaAnswer;
use crate::command::{CommandResult, PartnerCommand};
use crate::relationship::Relationship;
use crate::state::HaState;
use crate::synchronization::Synchronization;

/// Result code of a success.
const SUCCESS: i64 = 0;
/// Result code of an error.
const ERROR: i64 = 1;

/// Command of an administrator that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HaRequest {
    /// `ha-sync`: the server copies the leases of another one.
    Synchronize {
        /// Position in `peers` of the server whose leases are copied; `None` for the partner.
        source: Option<usize>,
        /// Period in seconds for which that server is disabled, which each page renews; `None` for
        /// that of the configuration.
        period_s: Option<u64>,
    },
    /// `ha-maintenance-start`: the partner is to be shut down, and this server serves for it.
    StartMaintenance,
    /// `ha-maintenance-cancel`: the partner goes on.
    CancelMaintenance,
}

impl HaRequest {
    /// Returns the name of the command.
    const fn name(self) -> &'static str {
        match self {
            Self::Synchronize { .. } => "ha-sync",
            Self::StartMaintenance => "ha-maintenance-start",
            Self::CancelMaintenance => "ha-maintenance-cancel",
        }
    }
}

impl Relationship {
    /// Begins the command `request` of an administrator.
    ///
    /// # Errors
    ///
    /// The answer to a command that the state does not allow, or while another one is under way.
    pub(crate) fn begin_request(&mut self, request: HaRequest) -> Result<(), HaAnswer> {
        if let Some(other) = self.request {
            let text = format!("the command {} is under way", other.name());
            return Err(HaAnswer::error(text));
        }
        self.check_request(request)?;
        if !self.has_partner() && !matches!(request, HaRequest::Synchronize { .. }) {
            let text = format!(
                "no failover partner server found for this server {}",
                self.config.own.name
            );
            return Err(HaAnswer::error(text));
        }
        self.request = Some(request);
        Ok(())
    }

    /// Checks that the state allows `request`.
    fn check_request(&self, request: HaRequest) -> Result<(), HaAnswer> {
        let state = self.state;
        let is_allowed = match request {
            HaRequest::Synchronize { .. } => true,
            HaRequest::StartMaintenance => !matches!(
                state,
                HaState::Backup
                    | HaState::InMaintenance
                    | HaState::PartnerInMaintenance
                    | HaState::Terminated
            ),
            HaRequest::CancelMaintenance => state == HaState::PartnerInMaintenance,
        };
        if is_allowed {
            return Ok(());
        }
        Err(HaAnswer::error(if request == HaRequest::StartMaintenance {
            format!(
                "Unable to transition the server from the {state} to partner-in-maintenance state."
            )
        } else {
            "Unable to cancel maintenance request because the server is not in the \
             partner-in-maintenance state."
                .to_owned()
        }))
    }

    /// Checks the arguments of `ha-sync`, and returns the request.
    pub(crate) fn read_sync(&self, arguments: &Value) -> Result<HaRequest, HaAnswer> {
        let name = arguments.get("server-name").ok_or_else(|| {
            HaAnswer::error("'server-name' is mandatory for the 'ha-sync' command")
        })?;
        let period_s = match arguments.get("max-period") {
            None => None,
            Some(period) => {
                Some(period.as_u64().filter(|period| *period > 0).ok_or_else(|| {
                    let text = "'max-period' must be a positive integer in the 'ha-sync' command";
                    HaAnswer::error(text)
                })?)
            }
        };
        self.check_server_name("ha-sync", arguments)?;
        if name.as_str() == Some(self.config.own.name.as_str()) {
            let text = format!(
                "'{}' points to local server but should point to a partner",
                self.config.own.name
            );
            return Err(HaAnswer::error(text));
        }
        let is_it = |peer: &HaPeer| Some(peer.name.as_str()) == name.as_str();
        let source = self.config.peers.iter().position(is_it);
        let is_partner = self.config.partner().is_some_and(is_it);
        Ok(HaRequest::Synchronize { source: source.filter(|_| !is_partner), period_s })
    }

    /// Returns the next command to the partner that the administrator's command needs.
    pub(crate) fn command_of_request(&mut self) -> Option<PartnerCommand> {
        let notice = |is_cancel, state| PartnerCommand::NotifyMaintenance { is_cancel, state };
        match self.request? {
            HaRequest::Synchronize { source, period_s } => {
                let serves = self.partner.serves_during_copy();
                let mut synchronization = Synchronization::requested(period_s, source, serves);
                let command = synchronization.begin();
                self.synchronization = Some(synchronization);
                Some(command)
            }
            HaRequest::StartMaintenance => Some(notice(false, self.state)),
            HaRequest::CancelMaintenance => Some(notice(true, self.state_after_maintenance())),
        }
    }

    /// Returns the state to which the end of a maintenance leads.
    pub(crate) fn state_after_maintenance(&self) -> HaState {
        if self.previous == self.state { HaState::Waiting } else { self.previous }
    }

    /// Ends the administrator's command with `answer`.
    pub(crate) fn finish_request(&mut self, answer: HaAnswer) {
        self.request = None;
        self.answer = Some(answer);
    }

    /// Returns true if [`Relationship::take_answer`] has an answer.
    #[must_use]
    pub const fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// Returns the answer to the administrator's command whose execution [`Relationship::execute`]
    /// deferred; `None` while it is under way.
    pub const fn take_answer(&mut self) -> Option<HaAnswer> {
        self.answer.take()
    }

    /// Takes the partner's answer to the notice of a maintenance.
    pub(crate) fn receive_notice(&mut self, now: Now, answer: Result<CommandResult, String>) {
        let Some(request) = self.request else { return };
        if let Err(refusal) = self.check_request(request) {
            return self.finish_request(refusal);
        }
        let own = match request {
            HaRequest::StartMaintenance => self.start_maintenance(now, answer),
            HaRequest::CancelMaintenance => self.cancel_maintenance(now, answer),
            HaRequest::Synchronize { .. } => return,
        };
        self.finish_request(own);
    }

    fn start_maintenance(&mut self, now: Now, answer: Result<CommandResult, String>) -> HaAnswer {
        let failure = match answer {
            Err(reason) => reason,
            Ok(answer) if answer.code == SUCCESS => {
                self.partner.record_state(HaState::InMaintenance);
                let reason = "the administrator has begun the maintenance of the partner";
                self.enter(now, HaState::PartnerInMaintenance, reason.to_owned());
                return HaAnswer::success(
                    "Server is now in the partner-in-maintenance state and its partner is \
                     in-maintenance state. The partner can be now safely shut down.",
                );
            }
            Ok(answer) if answer.code == ERROR => answer.text,
            Ok(answer) => {
                return HaAnswer::error(format!(
                    "Unable to transition to the partner-in-maintenance state. The partner server \
                     responded with the following message to the ha-maintenance-notify command: \
                     {}.",
                    answer.message()
                ));
            }
        };
        let reason = format!("of the partner's maintenance, and it does not answer: {failure}");
        self.partner.record_failure(failure);
        self.enter(now, HaState::PartnerDown, reason);
        self.serves_for_maintenance = true;
        HaAnswer::success(
            "Server is now in the partner-down state as its partner appears to be offline for \
             maintenance.",
        )
    }

    fn cancel_maintenance(&mut self, now: Now, answer: Result<CommandResult, String>) -> HaAnswer {
        let message = match answer {
            Ok(answer) if answer.code == SUCCESS => {
                let reason = "the administrator has canceled the maintenance of the partner";
                self.enter(now, self.state_after_maintenance(), reason.to_owned());
                // The partner's state has changed, too.
                self.note_command_of_partner(now);
                return HaAnswer::success("Server maintenance successfully canceled.");
            }
            Ok(answer) => answer.message(),
            Err(reason) => {
                self.partner.record_failure(reason.clone());
                reason
            }
        };
        HaAnswer::error(format!(
            "Unable to cancel maintenance. The partner server responded with the following message \
             to the ha-maintenance-notify command: {message}."
        ))
    }
}
