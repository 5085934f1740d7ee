//! The relationship of a server with its partner: what is known, what is under way, and the inputs
//! that change it. The rules for changes of state are in [`decide`](crate::decide).

use std::collections::{BTreeMap, VecDeque};

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};
use dhcp_config::{HaPeer, HaRelationship};

use crate::administration::HaAnswer;
use crate::command::{CommandResult, PartnerCommand};
use crate::copy_pages::PartnerPage;
use crate::partner::PartnerView;
use crate::pause::Pauses;
use crate::recovery::DelayedUpdateCount;
use crate::request::HaRequest;
use crate::state::HaState;
use crate::synchronization::{SyncOutcome, Synchronization};
use crate::unacked::{PartnerQuery, UnackedClients};

/// Interval at which conditions that depend on time are looked at, in nanoseconds.
const LOOK_NS: u64 = 200 * NS_PER_MS;
/// Maximum time for which a server waits after the partner's notice that it has all leases until
/// the partner's state is another one, in nanoseconds.
const HELD_MAX_NS: u64 = NS_PER_S;
/// Interval at which it asks for that state meanwhile, in nanoseconds.
const HELD_LOOK_NS: u64 = 20 * NS_PER_MS;
/// Time for which a client with a refused update counts as refused, in nanoseconds: 24 hours.
const REJECTED_NS: u64 = 86_400 * NS_PER_S;
/// Maximum number of changes of state that wait to be taken.
const CHANGES_MAX: usize = 64;

/// Change of a server's state in a relationship.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// State before the change.
    pub from: HaState,
    /// State after the change.
    pub to: HaState,
    /// State of the partner that the server knew; `None` if the partner was not available.
    pub partner: Option<HaState>,
    /// Reason of the change.
    pub reason: String,
    /// Condition that will end the new state.
    pub end: &'static str,
}

/// Relationship of a server with its partner.
#[derive(Clone, Debug)]
pub struct Relationship {
    pub(crate) config: HaRelationship,
    pub(crate) state: HaState,
    /// State before the present one, which the end of a maintenance restores.
    pub(crate) previous: HaState,
    /// Reason of the present state.
    pub(crate) reason: String,
    pub(crate) entered: Now,
    pub(crate) started: Now,
    pub(crate) partner: PartnerView,
    pub(crate) heartbeat_due_ns: u64,
    /// Command whose answer is still to come.
    awaited: Option<PartnerCommand>,
    pub(crate) synchronization: Option<Synchronization>,
    /// Copy that a change of state has ended: its source is still disabled.
    abandoned: Option<Synchronization>,
    /// True until the next heartbeat has an answer: the server has a sign of life of the partner,
    /// but does not know its state.
    pub(crate) must_ask_partner: bool,
    /// True from the partner's notice that it has all leases until a heartbeat shows that it is
    /// ready: no lease may be granted meanwhile that the partner would miss.
    pub(crate) is_held_for_partner: bool,
    /// Monotonic time of that notice, in nanoseconds.
    pub(crate) held_since_ns: u64,
    /// Number of updates that were not sent because of the state.
    pub(crate) unsent_updates: u64,
    /// True once the server has copied the partner's leases, and so has learned which of its own
    /// leases from before its start the partner lacks.
    pub(crate) has_compared_leases: bool,
    /// Updates that wait in the state communication-recovery.
    pub(crate) delayed: DelayedUpdateCount,
    pub(crate) unacked: UnackedClients,
    /// Clients whose updates the partner has refused, with the time at which they are forgotten.
    rejected: BTreeMap<String, u64>,
    /// Monotonic time since which the partner is terminated while this server waits.
    pub(crate) terminated_since_ns: Option<u64>,
    /// Scopes that an administrator has set (`ha-scopes`); `None` for those of the state.
    pub(crate) chosen_scopes: Option<Vec<String>>,
    /// Command of an administrator that is under way.
    pub(crate) request: Option<HaRequest>,
    /// Answer to the last such command.
    pub(crate) answer: Option<HaAnswer>,
    /// True if the server serves the partner's clients because of its maintenance, whatever
    /// `auto-failover` says.
    pub(crate) serves_for_maintenance: bool,
    /// True if the partner's refusals are the reason why the server is terminated.
    pub(crate) is_terminated_for_refusals: bool,
    pauses: Pauses,
    /// Number of times that the server has entered each state ([`HaState::ALL`]).
    pub(crate) entered_states: [u64; HaState::ALL.len()],
    /// Number of updates that the partner has refused.
    pub(crate) refused_updates: u64,
    changes: VecDeque<StateChange>,
}

impl Relationship {
    /// Creates the relationship of a server that starts at `now`.
    #[must_use]
    pub fn new(config: HaRelationship, now: Now) -> Self {
        let mut pauses = Pauses::new(&config.pauses);
        pauses.enter(HaState::Waiting);
        let has_partner = config.partner().is_some();
        Self {
            config,
            state: HaState::Waiting,
            previous: HaState::Waiting,
            reason: "the server has started".to_owned(),
            entered: now,
            started: now,
            partner: PartnerView::default(),
            heartbeat_due_ns: now.mono_ns,
            awaited: None,
            synchronization: None,
            abandoned: None,
            must_ask_partner: has_partner,
            is_held_for_partner: false,
            held_since_ns: 0,
            unsent_updates: 0,
            has_compared_leases: false,
            delayed: DelayedUpdateCount::default(),
            unacked: UnackedClients::default(),
            rejected: BTreeMap::new(),
            terminated_since_ns: None,
            chosen_scopes: None,
            request: None,
            answer: None,
            serves_for_maintenance: false,
            is_terminated_for_refusals: false,
            pauses,
            entered_states: [0; HaState::ALL.len()],
            refused_updates: 0,
            changes: VecDeque::new(),
        }
    }

    /// Returns the configuration of the relationship.
    #[must_use]
    pub const fn config(&self) -> &HaRelationship {
        &self.config
    }

    /// Returns the state of this server.
    #[must_use]
    pub const fn state(&self) -> HaState {
        self.state
    }

    /// Returns the partner as this server knows it.
    #[must_use]
    pub const fn partner(&self) -> &PartnerView {
        &self.partner
    }

    /// Returns true if the server has a partner: another server that serves clients. A backup
    /// server has none, nor has a primary server with backup servers only.
    pub(crate) fn has_partner(&self) -> bool {
        self.config.partner().is_some()
    }

    /// Returns the next command to send to [`Self::target`]; `None` if there is none yet, or if the
    /// answer to the last one is still to come.
    pub fn poll(&mut self, now: Now) -> Option<PartnerCommand> {
        if self.awaited.is_some() {
            return None;
        }
        self.decide(now);
        let command = match &mut self.synchronization {
            _ if self.abandoned.is_some() => PartnerCommand::Enable,
            Some(synchronization) => synchronization.begin(),
            None => match self.command_of_request().or_else(|| self.command_of_recovery(now)) {
                Some(command) => command,
                None if self.has_partner() && now.mono_ns >= self.heartbeat_due_ns => {
                    PartnerCommand::Heartbeat
                }
                None => return None,
            },
        };
        self.awaited = Some(command.clone());
        Some(command)
    }

    /// Returns the server to which the command goes that [`Self::poll`] has just returned: the
    /// partner, or the server whose leases an administrator wants to have copied.
    #[must_use]
    pub fn target(&self) -> Option<&HaPeer> {
        let copy = self.abandoned.as_ref().or(self.synchronization.as_ref());
        match copy.and_then(|copy| copy.source) {
            Some(at) => self.config.peers.get(at),
            None => self.config.partner(),
        }
    }

    /// Returns the monotonic time in nanoseconds at which [`Self::poll`] is to be called next.
    #[must_use]
    pub fn due_ns(&self, now: Now) -> u64 {
        let look_ns = now.mono_ns + LOOK_NS;
        if self.has_partner() { self.heartbeat_due_ns.min(look_ns) } else { look_ns }
    }

    /// Takes the answer to the command that [`Self::poll`] returned last, or the reason why there
    /// is none. Returns a page of the partner's leases, which is to be stored before the next call
    /// of `poll`.
    pub fn receive(
        &mut self,
        now: Now,
        answer: Result<CommandResult, String>,
    ) -> Option<PartnerPage> {
        match self.awaited.take()? {
            PartnerCommand::Heartbeat => {
                // A copy may have begun while an earlier heartbeat was under way.
                match self.synchronization.as_mut().filter(|copy| copy.is_counting()) {
                    Some(copy) => copy.receive_count(self.partner.record_heartbeat(now, answer)),
                    None => self.receive_heartbeat(now, answer),
                }
            }
            PartnerCommand::ReturnedLeases => {
                if let Some(copy) = &mut self.synchronization {
                    copy.receive_return(answer);
                }
            }
            PartnerCommand::Enable if self.abandoned.take().is_some() => {}
            PartnerCommand::Disable(_) | PartnerCommand::Page(_) | PartnerCommand::SyncComplete
                // The answer is to a command of the copy that a change of state has ended.
                if self.abandoned.is_some() => {}
            PartnerCommand::NotifyMaintenance { .. } => self.receive_notice(now, answer),
            PartnerCommand::DelayedUpdates => self.receive_delayed(now, answer),
            PartnerCommand::Reset => self.receive_reset(now, answer),
            _ => return self.receive_step(now, answer),
        }
        None
    }

    fn receive_heartbeat(&mut self, now: Now, answer: Result<CommandResult, String>) {
        let heartbeat_ns = u64::from(self.config.limits.heartbeat_ms) * NS_PER_MS;
        self.heartbeat_due_ns = now.mono_ns + heartbeat_ns;
        self.must_ask_partner = false;
        let was_held = core::mem::take(&mut self.is_held_for_partner);
        match self.partner.record_heartbeat(now, answer) {
            Ok(()) => {
                let is_early = now.mono_ns < self.held_since_ns + HELD_MAX_NS
                    && self.partner.state == Some(HaState::Syncing);
                if was_held && is_early {
                    // It has not had the answer to its notice yet.
                    self.is_held_for_partner = true;
                    self.heartbeat_due_ns = now.mono_ns + HELD_LOOK_NS;
                }
                self.unacked.clear();
                let is_terminated = self.partner.state == Some(HaState::Terminated);
                let since_ns = self.terminated_since_ns.unwrap_or(now.mono_ns);
                self.terminated_since_ns = is_terminated.then_some(since_ns);
                self.begin_synchronization_if_due();
            }
            Err(reason) => self.partner.record_failure(reason),
        }
        self.decide(now);
    }

    /// Begins another synchronization after one that failed.
    fn begin_synchronization_if_due(&mut self) {
        let is_terminated = self.partner.state == Some(HaState::Terminated);
        let is_due = self.state == HaState::Syncing && !self.is_paused();
        if is_due && self.synchronization.is_none() && !is_terminated {
            self.synchronization = Some(Synchronization::new(self.partner.serves_during_copy()));
        }
    }

    /// Takes the answer to a step of the synchronization.
    fn receive_step(
        &mut self,
        now: Now,
        answer: Result<CommandResult, String>,
    ) -> Option<PartnerPage> {
        let is_compared = self.compares_leases();
        let synchronization = self.synchronization.as_mut()?;
        let page_leases = self.config.limits.page_leases as usize;
        let is_requested = synchronization.is_requested;
        let is_of_partner = synchronization.source.is_none();
        let (page, outcome) = synchronization.receive(answer, page_leases);
        match outcome {
            SyncOutcome::Continues => {}
            SyncOutcome::Complete(count) => {
                self.synchronization = None;
                if is_requested {
                    let text = "Lease database synchronization complete.";
                    self.finish_request(HaAnswer::success(text));
                }
                self.heartbeat_due_ns = now.mono_ns;
                if is_of_partner {
                    // The partner did not serve meanwhile, so its number has not changed.
                    self.partner.copied = Some(self.partner.unsent);
                    self.has_compared_leases |= is_compared;
                }
                if self.state == HaState::Syncing && !self.is_paused() {
                    let reason = format!("the server has received {count} leases of its partner");
                    self.enter(now, HaState::Ready, reason);
                }
            }
            SyncOutcome::Failed(reason) => {
                self.synchronization = None;
                if is_requested {
                    self.finish_request(HaAnswer::error(reason.clone()));
                }
                let heartbeat_ns = u64::from(self.config.limits.heartbeat_ms) * NS_PER_MS;
                self.heartbeat_due_ns = now.mono_ns + heartbeat_ns;
                if is_of_partner {
                    self.partner.failure = format!("synchronization failed: {reason}");
                }
            }
        }
        page
    }

    /// Changes the state, for a reason.
    pub(crate) fn enter(&mut self, now: Now, state: HaState, reason: String) {
        let change = StateChange {
            from: self.state,
            to: state,
            partner: self.partner.state,
            reason: reason.clone(),
            end: state.end(),
        };
        if self.changes.len() >= CHANGES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back(change);
        if self.synchronization.as_ref().is_some_and(|copy| copy.is_requested) {
            let text = format!("the server has entered the state {state} meanwhile");
            self.finish_request(HaAnswer::error(text));
        }
        self.drop_delayed_updates();
        self.previous = self.state;
        if self.state != state {
            self.pauses.enter(state);
        }
        self.state = state;
        self.entered_states[state.index()] += 1;
        self.reason = reason;
        self.entered = now;
        self.chosen_scopes = None;
        self.serves_for_maintenance = false;
        self.is_terminated_for_refusals = state == HaState::Terminated && self.has_refusals(now);
        if let Some(copy) = self.synchronization.take().filter(Synchronization::has_begun) {
            self.abandoned = Some(copy);
        }
        let copies = state == HaState::Syncing && !self.is_paused();
        let serves = self.partner.serves_during_copy();
        self.synchronization = copies.then(|| Synchronization::new(serves));
        if state == HaState::Syncing || state == HaState::Waiting {
            self.rejected.clear();
        }
    }

    /// Returns true if the state does not change until an administrator sends `ha-continue`.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.pauses.is_paused
    }

    /// Lets the state change again. Returns false if it was not paused.
    pub(crate) fn end_pause(&mut self) -> bool {
        let was_paused = core::mem::take(&mut self.pauses.is_paused);
        if self.partner.state.is_some() {
            self.begin_synchronization_if_due();
        }
        was_paused
    }

    /// Returns the changes of state since the last call.
    pub fn take_changes(&mut self) -> Vec<StateChange> {
        self.changes.drain(..).collect()
    }

    /// Records a sign of life of the partner: a command of its own. This server asks for the
    /// partner's state before it decides anything.
    pub(crate) fn note_command_of_partner(&mut self, now: Now) {
        self.must_ask_partner = self.has_partner();
        self.heartbeat_due_ns = self.heartbeat_due_ns.min(now.mono_ns);
    }

    /// Records that the partner did not answer an update, for a reason.
    pub fn record_update_failure(&mut self, now: Now, reason: String) {
        self.partner.record_failure(reason);
        // The heartbeat finds out soon whether the partner is back.
        let soon_ns = now.mono_ns + NS_PER_S;
        self.heartbeat_due_ns = self.heartbeat_due_ns.min(soon_ns);
        self.decide(now);
    }

    /// Records that the partner refuses the update of the client `client`.
    pub fn record_refusal(&mut self, now: Now, client: &str) {
        self.refused_updates += 1;
        self.rejected.insert(client.to_owned(), now.mono_ns.saturating_add(REJECTED_NS));
        self.decide(now);
    }

    /// Records that the partner has taken an update of the client that `client` returns.
    pub fn record_accepted_update(&mut self, client: impl FnOnce() -> String) {
        if !self.rejected.is_empty() {
            self.rejected.remove(&client());
        }
    }

    /// Returns the number of clients whose updates the partner refuses.
    pub(crate) fn rejected_clients(&self, now: Now) -> usize {
        self.rejected.values().filter(|end_ns| **end_ns > now.mono_ns).count()
    }

    /// Returns true if the partner refuses updates of as many clients as end the cooperation.
    pub(crate) fn has_refusals(&self, now: Now) -> bool {
        let limit = self.config.limits.rejected_updates as usize;
        limit > 0 && self.rejected_clients(now) >= limit
    }

    /// Counts `exchanges` that the partner does not know: their updates were not sent because of
    /// the state, or a synchronization has found that the partner lacks them.
    pub const fn count_unsent(&mut self, exchanges: u64) {
        self.unsent_updates += exchanges;
    }

    /// Records a client's query that the partner should answer. It has an effect only while the
    /// communication with the partner is interrupted.
    pub fn record_query(&mut self, now: Now, query: PartnerQuery) {
        if self.is_interrupted(now) {
            self.unacked.record(query, self.config.limits.ack_ms.into());
        }
    }

    /// Returns true if no heartbeat has succeeded for longer than `max-response-delay`.
    #[must_use]
    pub fn is_interrupted(&self, now: Now) -> bool {
        if !self.has_partner() {
            return false;
        }
        let heard = self.partner.heard.unwrap_or(self.started);
        let silent_ns = now.mono_ns.saturating_sub(heard.mono_ns);
        silent_ns > u64::from(self.config.limits.response_ms) * NS_PER_MS
    }
}
