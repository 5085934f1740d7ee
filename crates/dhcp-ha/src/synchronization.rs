//! Copy of the partner's leases, page by page, as a sequence of commands. The partner does not
//! answer clients meanwhile; each page renews the period for which it is silent.

use serde_json::Value;

use crate::command::{CommandResult, PartnerCommand};
use crate::relationship::Relationship;

/// Maximum number of leases that a partner that lacks them gets at the end of a copy. If it lacks
/// more, it copies all of them.
pub const RETURNED_MAX: u64 = 10_000;
/// Result code of a partner that does not know a command.
const UNKNOWN_COMMAND: i64 = 2;
/// Result code of a page without leases.
const EMPTY: i64 = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SyncStep {
    #[default]
    Disable,
    /// Asks for the number of updates that the partner has not sent, which the copy covers.
    Count,
    Page,
    /// Ends the copy, after the partner has got the leases that it lacks.
    Notify,
    /// Enables the partner's service: after a failure, or for a partner that does not know the
    /// notice.
    Enable,
}

/// Progress of a synchronization.
pub(crate) enum SyncOutcome {
    /// A further command follows.
    Continues,
    /// All leases have been received, this many.
    Complete(u64),
    /// The synchronization has failed for this reason.
    Failed(String),
}

/// Synchronization that is under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Synchronization {
    step: SyncStep,
    /// Address of the last lease that was received.
    last_address: Option<String>,
    leases: u64,
    failure: Option<String>,
    /// True once the partner has reported its number of updates, and for another source.
    is_counted: bool,
    /// Position in `peers` of the server whose leases are copied; `None` for the partner.
    pub(crate) source: Option<usize>,
    /// True if an administrator demands the copy (`ha-sync`).
    pub(crate) is_requested: bool,
    /// True once the first command may be on its way.
    has_begun: bool,
    /// Period of the silence of the partner, in seconds; `None` for that of the configuration.
    period_s: Option<u64>,
    /// True once the last page has been received.
    has_all_pages: bool,
    /// Number of own leases that the partner is to get, since it lacks them.
    leases_to_return: u64,
}

impl Synchronization {
    /// Creates a copy that an administrator demands, of the leases of `source` as in the field.
    pub(crate) fn requested(period_s: Option<u64>, source: Option<usize>) -> Self {
        // Only the partner counts what this server lacks.
        let is_counted = source.is_some();
        Self { is_requested: true, period_s, source, is_counted, ..Self::default() }
    }

    /// Returns the command of the present step, which is sent now.
    pub(crate) fn begin(&mut self) -> PartnerCommand {
        self.has_begun = true;
        self.command()
    }

    /// Returns true if the source may be disabled.
    pub(crate) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Returns the command of the present step.
    fn command(&self) -> PartnerCommand {
        match self.step {
            SyncStep::Disable => PartnerCommand::Disable(self.period_s),
            SyncStep::Count => PartnerCommand::Heartbeat,
            SyncStep::Page => PartnerCommand::Page(self.last_address.clone()),
            SyncStep::Notify if self.leases_to_return > 0 => PartnerCommand::ReturnedLeases,
            SyncStep::Notify => PartnerCommand::SyncComplete,
            SyncStep::Enable => PartnerCommand::Enable,
        }
    }

    /// Returns the number of leases that have been received.
    pub(crate) const fn leases(&self) -> u64 {
        self.leases
    }

    /// Takes the answer to the present step's command. Returns leases to store.
    pub(crate) fn receive(
        &mut self,
        answer: Result<CommandResult, String>,
        page_leases: usize,
    ) -> (Vec<Value>, SyncOutcome) {
        match self.step {
            SyncStep::Disable => match answer.and_then(|answer| answer.with_code(&[0])) {
                Ok(_) if self.has_all_pages => self.step = SyncStep::Notify,
                Ok(_) if self.is_counted => self.step = SyncStep::Page,
                Ok(_) => self.step = SyncStep::Count,
                Err(reason) => return (Vec::new(), SyncOutcome::Failed(reason)),
            },
            // The relationship reads this answer.
            SyncStep::Count => {}
            SyncStep::Page => {
                return (self.receive_page(answer, page_leases), SyncOutcome::Continues);
            }
            SyncStep::Notify => match answer {
                Ok(answer) if answer.code == UNKNOWN_COMMAND => self.step = SyncStep::Enable,
                other => match other.and_then(|answer| answer.with_code(&[0])) {
                    Ok(_) => return (Vec::new(), SyncOutcome::Complete(self.leases)),
                    Err(reason) => self.fail(reason),
                },
            },
            SyncStep::Enable => {
                let outcome = match (self.failure.take(), answer) {
                    (Some(reason), _) | (None, Err(reason)) => SyncOutcome::Failed(reason),
                    (None, Ok(_)) => SyncOutcome::Complete(self.leases),
                };
                return (Vec::new(), outcome);
            }
        }
        (Vec::new(), SyncOutcome::Continues)
    }

    /// Returns true if the next answer is that of the heartbeat with the number of updates.
    pub(crate) fn is_counting(&self) -> bool {
        self.step == SyncStep::Count
    }

    /// Records that the partner is to get `leases` more of this server's leases before the copy
    /// ends.
    pub(crate) fn record_leases_to_return(&mut self, leases: u64) {
        self.leases_to_return = leases;
        if self.has_all_pages && leases > 0 && self.failure.is_none() {
            // The partner's silence is renewed before they are sent.
            self.step = SyncStep::Disable;
        }
    }

    /// Takes the outcome of [`PartnerCommand::ReturnedLeases`]. The driver has recorded before how
    /// many still wait.
    pub(crate) fn receive_return(&mut self, answer: Result<CommandResult, String>) {
        if let Err(reason) = answer.and_then(|answer| answer.with_code(&[0])) {
            self.fail(reason);
        }
    }

    /// Takes the outcome of the heartbeat with the number of updates.
    pub(crate) fn receive_count(&mut self, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                self.is_counted = true;
                self.step = SyncStep::Page;
            }
            Err(reason) => self.fail(reason),
        }
    }

    fn fail(&mut self, reason: String) {
        self.failure = Some(reason);
        self.step = SyncStep::Enable;
    }

    fn receive_page(
        &mut self,
        answer: Result<CommandResult, String>,
        page_leases: usize,
    ) -> Vec<Value> {
        let page =
            answer.and_then(|answer| answer.with_code(&[0, EMPTY])).and_then(|mut answer| {
                match answer.arguments.remove("leases") {
                    Some(Value::Array(leases)) => Ok(leases),
                    None if answer.code == EMPTY => Ok(Vec::new()),
                    _ => Err("the page has no list `leases`".to_owned()),
                }
            });
        let leases = match page {
            Ok(leases) => leases,
            Err(reason) => {
                self.fail(reason);
                return Vec::new();
            }
        };
        let address = leases.last().and_then(|lease| lease.get("ip-address"));
        let address = address.and_then(Value::as_str).map(str::to_owned);
        if leases.len() < page_leases {
            self.has_all_pages = true;
            self.step = SyncStep::Notify;
        } else if address.is_none() || address == self.last_address {
            self.fail("the page does not end with a further address".to_owned());
        } else {
            self.last_address = address;
            self.step = SyncStep::Disable;
        }
        self.leases += leases.len() as u64;
        leases
    }
}

impl Relationship {
    /// Records at the end of the pages of a copy that the partner lacks `leases` of this server's.
    /// Returns true if the driver is to send them with [`PartnerCommand::ReturnedLeases`].
    pub fn record_missing_leases(&mut self, leases: u64) -> bool {
        let is_compared = self.compares_leases();
        let Some(copy) = self.synchronization.as_mut().filter(|_| is_compared) else {
            return false;
        };
        if leases > RETURNED_MAX || !self.config.sends_lease_updates {
            self.unsent_updates += leases;
            return false;
        }
        copy.record_leases_to_return(leases);
        true
    }

    /// Records that `leases` are still to be sent with [`PartnerCommand::ReturnedLeases`].
    pub fn record_leases_to_return(&mut self, leases: u64) {
        if let Some(copy) = &mut self.synchronization {
            copy.record_leases_to_return(leases);
        }
    }

    /// Returns true if the copy that is under way shows which leases the partner lacks. While the
    /// server serves clients, updates of them may be on their way.
    pub(crate) fn compares_leases(&self) -> bool {
        let is_requested = self.synchronization.as_ref().is_some_and(|copy| copy.is_requested);
        !is_requested || !self.state.serves()
    }
}
