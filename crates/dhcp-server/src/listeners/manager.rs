//! Schedule of the checks of the machine's interfaces for listeners: after the kernel reports a
//! change of interfaces or addresses, after a reload of the configuration, and while failed sockets
//! have tries left (`service-sockets-max-retries`).

use std::sync::Arc;

use base::time::NS_PER_MS;
use netio::interface::Interface;
use netio::{InterfaceWatch, PollFd};

use super::plan::{ListenerPlan, plan};
use super::registry::{ListenerOpeningResult, ListenerRegistry, ListenerSocketOptions};
use super::settings::ListenerSettings;
use super::{ListenerEndpoint, ListenerSet, list};
use crate::ServerError;
use crate::loggers::{DAEMON, DHCPSRV};
use crate::published::PublishedValue;

/// Minimum time between two checks of the interfaces after a change, in nanoseconds.
const LOOK_EVERY_NS: u64 = 100 * NS_PER_MS;

/// Manager of the listeners that the configuration requires while the machine changes.
#[derive(Debug)]
pub(crate) struct ListenerManager {
    settings: ListenerSettings,
    registry: ListenerRegistry,
    machine: Vec<Interface>,
    /// Watch of the machine's interfaces; `None` if the server checks them only once, or cannot
    /// watch them.
    watch: Option<InterfaceWatch>,
    published: Arc<PublishedValue<ListenerSet>>,
    /// Problems of listeners that the log has reported.
    reported_problems: Vec<String>,
    retries_left: u32,
    /// Time of the next check of the interfaces in monotonic nanoseconds, if one is scheduled.
    due_ns: Option<u64>,
    looked_ns: u64,
}

/// Result of a check of the machine's interfaces.
struct ListenerCheckResult {
    /// Problems of listeners that only the operator can solve.
    wrong: Vec<String>,
    /// Missing addresses of listeners that become available by themselves.
    awaited: Vec<String>,
}

impl ListenerCheckResult {
    fn new(opening: &ListenerOpeningResult, missing: Vec<String>) -> Self {
        let failed = opening.problems.iter().map(ToString::to_string);
        let awaited = opening.tentative.iter().map(|endpoint| {
            format!(
                "waiting for {endpoint}: the kernel has not finished duplicate address detection"
            )
        });
        Self { wrong: failed.chain(missing).collect(), awaited: awaited.collect() }
    }
}

impl ListenerManager {
    /// Opens the configured listeners, before the shards run.
    ///
    /// # Errors
    ///
    /// No socket could be opened, or not all although all are required, and no further try is
    /// configured.
    pub(crate) fn start(
        settings: ListenerSettings,
        sockets: ListenerSocketOptions,
        now_ns: u64,
    ) -> Result<Self, ServerError> {
        let nothing = PublishedValue::new(Arc::default(), sockets.shards.into());
        let mut listener_manager = Self {
            retries_left: settings.max_retries,
            settings,
            registry: ListenerRegistry::new(sockets),
            machine: Vec::new(),
            watch: None,
            published: Arc::new(nothing),
            reported_problems: Vec::new(),
            due_ns: None,
            looked_ns: 0,
        };
        // The watch starts before the first check, so that no change falls between the two.
        listener_manager.configure_watch();
        listener_manager.machine = list()?;
        let plan = plan(&listener_manager.settings, &listener_manager.machine);
        let opening = listener_manager.registry.open(&plan);
        let listeners =
            Arc::new(listener_manager.registry.listener_set(&plan, &listener_manager.machine));
        listener_manager.published =
            Arc::new(PublishedValue::new(listeners, sockets.shards.into()));
        let findings = ListenerCheckResult::new(&opening, plan.missing);
        let is_hopeless = listener_manager.retries_left == 0
            && findings.awaited.is_empty()
            && findings.wrong.len() == opening.problems.len();
        if listener_manager.registry.is_mute()
            && is_hopeless
            && let Some(first) = opening.problems.into_iter().next()
        {
            return Err(ServerError::Socket(first));
        }
        log_endpoints(&opening.opened, "DHCPX_LISTENING", "listening on");
        listener_manager.settle(findings, now_ns)?;
        Ok(listener_manager)
    }

    /// Returns the published set of listeners, which the shards follow.
    pub(crate) fn published(&self) -> Arc<PublishedValue<ListenerSet>> {
        Arc::clone(&self.published)
    }

    /// Returns one sentence for each problem of a listener, and for each address that the server
    /// waits for.
    pub(crate) fn problems(&self) -> &[String] {
        &self.reported_problems
    }

    /// Returns true if the server will try again to open listeners that are not open.
    pub(crate) const fn is_retrying(&self) -> bool {
        self.due_ns.is_some()
    }

    /// Returns the machine's interfaces as of the last check of them.
    pub(crate) fn machine(&self) -> &[Interface] {
        &self.machine
    }

    /// Returns true if an open listener reaches interface `index`.
    pub(crate) fn serves(&self, index: u32) -> bool {
        self.registry.reaches(index)
    }

    /// Checks the machine's interfaces again, regardless of the configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`ListenerManager::check_if_due`].
    pub(crate) fn detect(&mut self, now_ns: u64, wake: &impl Fn()) -> Result<(), ServerError> {
        self.check(now_ns, true, wake)
    }

    /// Returns the watch of the interfaces, to poll in addition to signals; `None` until
    /// [`LOOK_EVERY_NS`] have passed since the last check.
    pub(crate) fn poll_fd(&self, now_ns: u64) -> Option<PollFd<'_>> {
        // A busy machine must not make the server check all the time.
        if now_ns < self.looked_ns + LOOK_EVERY_NS {
            return None;
        }
        self.watch.as_ref().map(PollFd::readable)
    }

    /// Checks the machine's interfaces again if something has changed or another try is due. `wake`
    /// makes the shards read the published listeners.
    ///
    /// # Errors
    ///
    /// All sockets are required, and the last try to open one has failed.
    pub(crate) fn check_if_due(
        &mut self,
        now_ns: u64,
        wake: &impl Fn(),
    ) -> Result<(), ServerError> {
        let is_due = self.due_ns.is_some_and(|due_ns| now_ns >= due_ns);
        let may_look = now_ns >= self.looked_ns + LOOK_EVERY_NS;
        let has_changed = may_look && self.watch.as_ref().is_some_and(InterfaceWatch::drain);
        if is_due {
            self.retries_left = self.retries_left.saturating_sub(1);
        } else if !has_changed {
            return Ok(());
        } else if self.reported_problems.is_empty() && list()? == self.machine {
            // The change concerns carriers, statistics or wireless events. If a listener is
            // missing, an address may just have become usable.
            self.looked_ns = now_ns;
            return Ok(());
        }
        self.check(now_ns, self.settings.re_detect, wake)
    }

    /// Adapts the listeners to another configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`ListenerManager::check_if_due`].
    pub(crate) fn reconfigure(
        &mut self,
        settings: ListenerSettings,
        now_ns: u64,
        wake: &impl Fn(),
    ) -> Result<(), ServerError> {
        self.retries_left = settings.max_retries;
        self.settings = settings;
        self.configure_watch();
        self.check(now_ns, self.settings.re_detect, wake)
    }

    fn configure_watch(&mut self) {
        if !self.settings.re_detect {
            self.watch = None;
        } else if self.watch.is_none() {
            let watch = InterfaceWatch::open().map_err(|problem| {
                tracing::warn!(
                    target: DAEMON,
                    id = "DHCPX_INTERFACE_WATCH_FAILED",
                    "{problem}; the server notices new interfaces only when it reloads its \
                     configuration"
                );
            });
            self.watch = watch.ok();
        }
    }

    fn check(&mut self, now_ns: u64, may_list: bool, wake: &impl Fn()) -> Result<(), ServerError> {
        self.looked_ns = now_ns;
        if may_list {
            self.machine = list()?;
        }
        let plan = plan(&self.settings, &self.machine);
        let closed = self.registry.give_up(&plan);
        if !closed.is_empty() {
            // A listener that is opened next may need the address of one that is closed now.
            self.publish(&plan, wake);
        }
        let opening = self.registry.open(&plan);
        self.publish(&plan, wake);
        log_endpoints(&closed, "DHCPX_NO_LONGER_LISTENING", "no longer listening on");
        log_endpoints(&opening.opened, "DHCPX_LISTENING", "listening on");
        self.settle(ListenerCheckResult::new(&opening, plan.missing), now_ns)
    }

    fn publish(&self, plan: &ListenerPlan, wake: &impl Fn()) {
        self.published.store(Arc::new(self.registry.listener_set(plan, &self.machine)));
        wake();
        while !self.published.is_used() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Logs new problems of listeners, and decides whether to try again.
    fn settle(&mut self, findings: ListenerCheckResult, now_ns: u64) -> Result<(), ServerError> {
        let all: Vec<String> = findings.wrong.iter().chain(&findings.awaited).cloned().collect();
        let may_retry = !all.is_empty() && self.retries_left > 0;
        let wait_ns = u64::from(self.settings.retry_wait_ms) * NS_PER_MS;
        self.due_ns = may_retry.then_some(now_ns + wait_ns);
        if !all.is_empty() && !may_retry && self.settings.require_all {
            return Err(ServerError::NotListening(all.join("; ")));
        }
        if self.registry.is_mute() && all.is_empty() {
            tracing::warn!(
                target: DHCPSRV,
                id = "DHCPSRV_NO_SOCKETS_OPEN",
                "no interface configured to listen to DHCP traffic"
            );
        }
        let is_new = |text: &&String| !self.reported_problems.contains(text);
        for problem in findings.wrong.iter().filter(is_new) {
            if self.registry.is_mute() {
                tracing::error!(
                    target: DAEMON,
                    id = "DHCPX_OPEN_SOCKETS_FAILED",
                    "not listening anywhere: {problem}"
                );
            } else {
                tracing::warn!(
                    target: DAEMON,
                    id = "DHCPSRV_OPEN_SOCKET_FAIL",
                    "not listening everywhere: {problem}"
                );
            }
        }
        for text in findings.awaited.iter().filter(is_new) {
            tracing::info!(target: DAEMON, id = "DHCPX_INTERFACE_AWAITED", "{text}");
        }
        self.reported_problems = all;
        Ok(())
    }
}

fn log_endpoints(endpoints: &[ListenerEndpoint], id: &str, what: &str) {
    endpoints.iter().for_each(|endpoint| tracing::info!(target: DAEMON, id, "{what} {endpoint}"));
}
