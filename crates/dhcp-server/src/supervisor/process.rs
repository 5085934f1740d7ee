//! Facts of the server's process for Prometheus: its age, its last reload, and its use of the
//! machine.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::Now;
use dhcp_control::ProcessFacts;
use netio::Clock;

use crate::panics;
use crate::version;

/// Record of the configurations that the server was to use: accepted or refused.
#[derive(Debug)]
pub(super) struct ReloadRecord {
    /// Time at which a configuration last came into force, in microseconds since 1970.
    applied_us: AtomicU64,
    is_last_applied: AtomicBool,
}

impl ReloadRecord {
    /// Creates the record of reloads for a server that has just activated its first configuration.
    pub(super) fn new(now: Now) -> Self {
        Self { applied_us: AtomicU64::new(now.wall_us), is_last_applied: AtomicBool::new(true) }
    }

    /// Records that a configuration came into force at the time `now`.
    pub(super) fn record_applied(&self, now: Now) {
        self.applied_us.store(now.wall_us, Ordering::Relaxed);
        self.is_last_applied.store(true, Ordering::Relaxed);
    }

    /// Records that a reload of the configuration was refused.
    pub(super) fn record_refused(&self) {
        self.is_last_applied.store(false, Ordering::Relaxed);
    }
}

/// Returns the facts of the server's process, which `started` with `threads` that serve clients.
/// Facts that `/proc` lacks are 0.
pub(super) fn facts(started: Now, reloads: &ReloadRecord, threads: usize) -> ProcessFacts {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let seconds = |wall_us: u64| wall_us as f64 / 1e6;
    ProcessFacts {
        version: version::OWN,
        kea: version::KEA_LEVEL,
        started_s: seconds(started.wall_us),
        configured_s: seconds(reloads.applied_us.load(Ordering::Relaxed)),
        is_configured: reloads.is_last_applied.load(Ordering::Relaxed),
        threads,
        cpu_s: Clock::process_cpu_ns() as f64 / 1e9,
        resident_bytes: kilobytes(&status, "VmRSS:") << 10,
        virtual_bytes: kilobytes(&status, "VmSize:") << 10,
        // The folder is read through a file of its own.
        open_files: fs::read_dir("/proc/self/fd")
            .map_or(0, |files| (files.count() as u64).saturating_sub(1)),
        open_files_max: soft_limit(&limits, "Max open files"),
        internal_errors: panics::contained_count(),
    }
}

/// Returns the number after `name` in a status file of `/proc`, in kilobytes.
fn kilobytes(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the soft limit `name` from the text of `/proc/self/limits`; `None` if there is none.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let value = limits.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_described_by_proc() {
        let reloads = ReloadRecord::new(Now { mono_ns: 0, wall_us: 3_000_000 });
        let started = Now { mono_ns: 0, wall_us: 2_500_000 };
        let process_facts = facts(started, &reloads, 3);
        assert_eq!(
            (process_facts.started_s, process_facts.configured_s, process_facts.threads),
            (2.5, 3.0, 3)
        );
        assert!(
            process_facts.resident_bytes > 1 << 20
                && process_facts.virtual_bytes >= process_facts.resident_bytes
        );
        assert!(
            process_facts.open_files >= 3
                && process_facts.cpu_s > 0.0
                && process_facts.is_configured
        );
        reloads.record_refused();
        assert!(!facts(started, &reloads, 3).is_configured);
        reloads.record_applied(Now { mono_ns: 0, wall_us: 9_000_000 });
        let process_facts = facts(started, &reloads, 3);
        assert_eq!((process_facts.configured_s, process_facts.is_configured), (9.0, true));
    }

    #[test]
    fn limits_may_be_missing() {
        let limits = "Max open files            1024                 524288               files\n\
                      Max processes             unlimited            unlimited            processes\n";
        assert_eq!(soft_limit(limits, "Max open files"), Some(1024));
        assert_eq!(soft_limit(limits, "Max processes"), None);
        assert_eq!(soft_limit("", "Max open files"), None);
        assert_eq!(kilobytes("VmRSS:\t  12 kB\n", "VmRSS:"), 12);
    }
}
