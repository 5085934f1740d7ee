//! State of the daemon for the service manager that has started it: ready, reloading, ending, and
//! signs of life. The supervisor gives a sign of life only if every shard has given one to it since
//! the last, so that a shard that hangs ends the daemon too.

use std::sync::atomic::{AtomicU64, Ordering};

use netio::ServiceManager;

use crate::loggers::DAEMON;

/// Signs of life of the shards, which count their turns of housekeeping.
#[derive(Debug)]
pub(crate) struct Pulses {
    counts: Box<[AtomicU64]>,
}

impl Pulses {
    /// Creates the counts of `shards` shards.
    pub(crate) fn new(shards: usize) -> Self {
        Self { counts: (0..shards).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Counts a turn of the shard number `index`.
    pub(crate) fn beat(&self, index: usize) {
        if let Some(count) = self.counts.get(index) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Reports of the daemon to its service manager.
#[derive(Debug)]
pub(crate) struct ServiceReports {
    manager: ServiceManager,
    /// Time between two signs of life, in nanoseconds; `None` if the manager expects none.
    interval_ns: Option<u64>,
    due_ns: u64,
    /// Counts of the shards at the last sign of life.
    seen: Vec<u64>,
    is_late: bool,
}

impl ServiceReports {
    /// Creates the reports to the service manager that the environment names, if any.
    pub(crate) fn from_environment() -> Self {
        Self::to(ServiceManager::from_environment())
    }

    fn to(manager: ServiceManager) -> Self {
        // Three signs may be late before the manager ends the daemon.
        let interval_ns = manager.watchdog_ns().map(|limit_ns| limit_ns / 4);
        Self { manager, interval_ns, due_ns: 0, seen: Vec::new(), is_late: false }
    }

    /// Reports that the daemon serves; `status` is a line for people.
    pub(crate) fn ready(&self, status: &str) {
        warn_if_failed(self.manager.report_ready(status));
    }

    /// Reports that the daemon reads its configuration again.
    pub(crate) fn reloading(&self) {
        warn_if_failed(self.manager.report_reload());
    }

    /// Reports that the daemon ends.
    pub(crate) fn ending(&self) {
        warn_if_failed(self.manager.report_end());
    }

    /// Gives a sign of life if one is due at `now_ns` and all shards have given theirs.
    pub(crate) fn give_sign_if_due(&mut self, now_ns: u64, pulses: &Pulses) {
        let Some(interval_ns) = self.interval_ns.filter(|_| now_ns >= self.due_ns) else { return };
        let counts = pulses.read();
        if let Some(shard) = silent_shard(&self.seen, &counts) {
            if !std::mem::replace(&mut self.is_late, true) {
                tracing::error!(
                    target: DAEMON,
                    id = "DHCPX_SHARD_SILENT",
                    "shard {shard} gives no sign of life; the service manager will end the server"
                );
            }
            return;
        }
        self.is_late = false;
        self.seen = counts;
        self.due_ns = now_ns + interval_ns;
        warn_if_failed(self.manager.report_life());
    }
}

/// Returns the number of a shard whose count in `now` is still the one in `seen`.
fn silent_shard(seen: &[u64], now: &[u64]) -> Option<usize> {
    seen.iter().zip(now).position(|(seen, now)| seen == now)
}

fn warn_if_failed(sent: std::io::Result<()>) {
    if let Err(cause) = sent {
        tracing::warn!(
            target: DAEMON,
            id = "DHCPX_NO_SERVICE_MANAGER",
            "cannot report to the service manager (NOTIFY_SOCKET): {cause}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_that_does_not_turn_is_named() {
        let pulses = Pulses::new(3);
        let seen = pulses.read();
        pulses.beat(0);
        pulses.beat(2);
        assert_eq!(silent_shard(&seen, &pulses.read()), Some(1));
        pulses.beat(1);
        assert_eq!(silent_shard(&seen, &pulses.read()), None);
        assert_eq!(silent_shard(&[], &pulses.read()), None, "the first time");
    }

    #[test]
    fn signs_of_life_wait_for_every_shard() {
        let pulses = Pulses::new(2);
        let mut reports = ServiceReports::to(ServiceManager::default());
        reports.interval_ns = Some(10);
        reports.give_sign_if_due(0, &pulses);
        assert_eq!((reports.due_ns, reports.is_late), (10, false));
        pulses.beat(0);
        reports.give_sign_if_due(10, &pulses);
        assert_eq!((reports.due_ns, reports.is_late), (10, true));
        pulses.beat(1);
        reports.give_sign_if_due(25, &pulses);
        assert_eq!((reports.due_ns, reports.is_late), (35, false));
    }
}
