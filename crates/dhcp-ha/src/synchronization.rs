//! Copy of the partner's leases, page by page, as a sequence of commands. The partner does not
//! answer clients for a part of the time, which depends on its make ([`copy_pages`]); each page
//! renews the period for which it is silent.
//!
//! [`copy_pages`]: crate::copy_pages

use crate::command::{CommandResult, PartnerCommand};
use crate::copy_pages::{CopyPages, PartnerPage};
use crate::relationship::Relationship;

/// Maximum number of leases that a partner that lacks them gets at the end of a copy. If it lacks
/// more, it copies all of them.
pub const RETURNED_MAX: u64 = 10_000;
/// Result code of a partner that does not know a command.
const UNKNOWN_COMMAND: i64 = 2;

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
    pages: CopyPages,
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
    /// Number of own leases that the partner is to get, since it lacks them.
    leases_to_return: u64,
}

impl Synchronization {
    /// Creates a copy from the partner, which serves clients during the first part if `serves`.
    pub(crate) fn new(serves: bool) -> Self {
        let step = if serves { SyncStep::Page } else { SyncStep::Disable };
        Self { step, pages: CopyPages::new(serves), ..Self::default() }
    }

    /// Creates a copy that an administrator demands, of the leases of `source` as in the field. If
    /// that is the partner, it serves clients during the first part if `serves`.
    pub(crate) fn requested(period_s: Option<u64>, source: Option<usize>, serves: bool) -> Self {
        // Only the partner counts what this server lacks, and says that it may serve meanwhile.
        let is_counted = source.is_some();
        let copy = Self::new(serves && source.is_none());
        Self { is_requested: true, period_s, source, is_counted, ..copy }
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
            SyncStep::Page => PartnerCommand::Page(self.pages.next()),
            SyncStep::Notify if self.leases_to_return > 0 => PartnerCommand::ReturnedLeases,
            SyncStep::Notify => PartnerCommand::SyncComplete,
            SyncStep::Enable => PartnerCommand::Enable,
        }
    }

    /// Returns the number of leases that have been received.
    pub(crate) const fn leases(&self) -> u64 {
        self.leases
    }

    /// Takes the answer to the present step's command. Returns a page to store, if it is one.
    pub(crate) fn receive(
        &mut self,
        answer: Result<CommandResult, String>,
        page_leases: usize,
    ) -> (Option<PartnerPage>, SyncOutcome) {
        match self.step {
            SyncStep::Disable => match answer.and_then(|answer| answer.with_code(&[0])) {
                Ok(_) if self.pages.has_all() => self.step = SyncStep::Notify,
                Ok(_) if self.is_counted => self.step = SyncStep::Page,
                Ok(_) => self.step = SyncStep::Count,
                Err(reason) => return (None, SyncOutcome::Failed(reason)),
            },
            // The relationship reads this answer.
            SyncStep::Count => {}
            SyncStep::Page => {
                return (self.receive_page(answer, page_leases), SyncOutcome::Continues);
            }
            SyncStep::Notify => match answer {
                Ok(answer) if answer.code == UNKNOWN_COMMAND => self.step = SyncStep::Enable,
                other => match other.and_then(|answer| answer.with_code(&[0])) {
                    Ok(_) => return (None, SyncOutcome::Complete(self.leases)),
                    Err(reason) => self.fail(reason),
                },
            },
            SyncStep::Enable => {
                let outcome = match (self.failure.take(), answer) {
                    (Some(reason), _) | (None, Err(reason)) => SyncOutcome::Failed(reason),
                    (None, Ok(_)) => SyncOutcome::Complete(self.leases),
                };
                return (None, outcome);
            }
        }
        (None, SyncOutcome::Continues)
    }

    /// Returns true if the next answer is that of the heartbeat with the number of updates.
    pub(crate) fn is_counting(&self) -> bool {
        self.step == SyncStep::Count
    }

    /// Records that the partner is to get `leases` more of this server's leases before the copy
    /// ends.
    pub(crate) fn record_leases_to_return(&mut self, leases: u64) {
        self.leases_to_return = leases;
        if self.pages.has_all() && leases > 0 && self.failure.is_none() {
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
    ) -> Option<PartnerPage> {
        let page = match answer.and_then(|answer| self.pages.receive(answer, page_leases)) {
            Ok(page) => page,
            Err(reason) => {
                self.fail(reason);
                return None;
            }
        };
        if page.is_none() {
            // The partner may be another process than the one that has counted.
            self.is_counted = self.source.is_some();
            self.leases = 0;
        }
        self.step = match &self.pages {
            pages if pages.has_all() => SyncStep::Notify,
            pages if pages.needs_silence() => SyncStep::Disable,
            _ => SyncStep::Page,
        };
        self.leases += page.as_ref().map_or(0, |page| page.count() as u64);
        page
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
