//! Processor load of single processes.

use std::time::Instant;

use counters::{ProcessStat, TICKS_PER_S, parse_task_status, parse_uptime_ticks};
use testbed::proc;

/// Reading of the counters of a process.
#[derive(Clone, Debug)]
pub(crate) struct ProcessLook {
    pub(crate) at: Instant,
    pub(crate) stat: ProcessStat,
    /// Time that each thread of the process has waited for processors: the number of the thread,
    /// and nanoseconds.
    pub(crate) waits_ns: Vec<(u32, u64)>,
}

impl ProcessLook {
    /// Reads the counters of process `pid` now; returns `None` if no such process exists.
    pub(crate) fn take(pid: u32) -> Option<Self> {
        let stat = proc::process_stat(pid)?;
        Some(Self { at: Instant::now(), stat, waits_ns: proc::thread_waits_ns(pid) })
    }

    /// Returns the reading as it would have been at the start of the process: zero.
    fn at_start(&self) -> Self {
        let uptime = parse_uptime_ticks(&proc::read("/proc/uptime")).unwrap_or(0);
        let age_ticks = uptime.saturating_sub(self.stat.started_ticks);
        let age = std::time::Duration::from_millis(age_ticks * 1_000 / TICKS_PER_S);
        let stat = ProcessStat { started_ticks: self.stat.started_ticks, ..ProcessStat::default() };
        Self { at: self.at.checked_sub(age).unwrap_or(self.at), stat, waits_ns: Vec::new() }
    }

    /// Returns the nanoseconds that the threads of the process have waited for processors since the
    /// reading `before`; those of threads that have ended meanwhile are not known.
    fn waited_ns(&self, before: &Self) -> u64 {
        let waited = |(thread, now_ns): &(u32, u64)| {
            let was = before.waits_ns.iter().find(|(other, _)| other == thread);
            now_ns.saturating_sub(was.map_or(0, |(_, was_ns)| *was_ns))
        };
        self.waits_ns.iter().map(waited).sum()
    }
}

/// Load of a process in an interval, in per cent of one processor's time.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct ProcessLoad {
    /// Number of the user that the process runs as.
    pub(crate) uid: u32,
    pub(crate) pid: u32,
    /// Share of the process in user mode, without guests, in per cent of one processor.
    pub(crate) usr: f64,
    /// Share of the kernel on behalf of the process, in per cent of one processor.
    pub(crate) system: f64,
    pub(crate) guest: f64,
    /// Share of waiting for a processor while ready, in per cent; for several threads together it
    /// can be more than 100.
    pub(crate) wait: f64,
    /// Share of all time that the process used, in per cent of one processor.
    #[serde(rename = "cpu_percent")]
    pub(crate) cpu_share: f64,
    /// Number of the processor that the process ran on last; `None` in an average.
    pub(crate) cpu: Option<u32>,
    pub(crate) command: String,
}

/// Process whose load is measured, with its first and its last reading.
#[derive(Debug)]
pub(crate) struct WatchedProcess {
    pub(crate) pid: u32,
    uid: u32,
    first: ProcessLook,
    last: ProcessLook,
    pub(crate) has_ended: bool,
}

impl WatchedProcess {
    /// Begins to measure process `pid`; returns `None` if no such process exists.
    pub(crate) fn begin(pid: u32) -> Option<Self> {
        let look = ProcessLook::take(pid)?;
        let uid = parse_task_status(&proc::read(format!("/proc/{pid}/status"))).uid;
        Some(Self { pid, uid, first: look.clone(), last: look, has_ended: false })
    }

    /// Returns the load of the process since it began.
    pub(crate) fn since_start(&self) -> ProcessLoad {
        self.load(&self.last.at_start(), &self.last)
    }

    /// Returns the load of the process since the last call; `None` once the process has ended, also
    /// if another process has its number since then.
    pub(crate) fn next(&mut self) -> Option<ProcessLoad> {
        let now = if self.has_ended { None } else { ProcessLook::take(self.pid) };
        let now = now.filter(|now| now.stat.started_ticks == self.first.stat.started_ticks);
        let Some(now) = now else {
            self.has_ended = true;
            return None;
        };
        let load = self.load(&self.last, &now);
        self.last = now;
        Some(load)
    }

    /// Returns the mean load of the process from the first reading to the last.
    pub(crate) fn average(&self) -> Option<ProcessLoad> {
        let load = self.load(&self.first, &self.last);
        (self.last.at > self.first.at).then_some(ProcessLoad { cpu: None, ..load })
    }

    fn load(&self, before: &ProcessLook, now: &ProcessLook) -> ProcessLoad {
        let elapsed_s = now.at.saturating_duration_since(before.at).as_secs_f64().max(1e-6);
        let share = |seconds: f64| seconds / elapsed_s * 100.0;
        let ticks = |of: fn(&ProcessStat) -> u64| {
            share(of(&now.stat).saturating_sub(of(&before.stat)) as f64 / TICKS_PER_S as f64)
        };
        let guest = ticks(|stat| stat.guest_ticks);
        ProcessLoad {
            uid: self.uid,
            pid: self.pid,
            usr: (ticks(|stat| stat.user_ticks) - guest).max(0.0),
            system: ticks(|stat| stat.system_ticks),
            guest,
            wait: share(now.waited_ns(before) as f64 / 1e9),
            cpu_share: ticks(ProcessStat::used_ticks),
            cpu: Some(now.stat.cpu),
            command: now.stat.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn loads_are_shares_of_the_time_between_two_looks() {
        let at = Instant::now();
        let stat = |user_ticks, system_ticks, guest_ticks, cpu| ProcessStat {
            name: "qemu".into(),
            user_ticks,
            system_ticks,
            guest_ticks,
            cpu,
            started_ticks: 7,
            group: 1,
            ..ProcessStat::default()
        };
        let first =
            ProcessLook { at, stat: stat(100, 50, 60, 0), waits_ns: vec![(9, 100), (10, 5)] };
        let last = ProcessLook {
            at: at + Duration::from_secs(2),
            stat: stat(150, 60, 100, 3),
            // Thread 10 has ended, thread 11 is new.
            waits_ns: vec![(9, 500_000_100), (11, 20_000_000)],
        };
        let watched = WatchedProcess { pid: 9, uid: 0, first, last, has_ended: false };
        let load = watched.load(&watched.first, &watched.last);
        assert_eq!((load.usr, load.system, load.guest, load.cpu_share), (5.0, 5.0, 20.0, 30.0));
        assert!((load.wait - 26.0).abs() < 1e-9, "{load:?}");
        assert_eq!((load.cpu, watched.average().unwrap().cpu), (Some(3), None));
        // Backwards, the result is 0.
        let load = watched.load(&watched.last, &watched.first);
        assert_eq!((load.usr, load.cpu_share), (0.0, 0.0));
    }

    #[test]
    fn this_process_is_watched_and_one_that_has_ended_is_not() {
        let mut own = WatchedProcess::begin(std::process::id()).unwrap();
        assert!(own.since_start().cpu_share >= 0.0);
        assert!(own.next().is_some() && own.average().is_some() && !own.has_ended);
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let mut watched = WatchedProcess::begin(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(watched.next().is_none() && watched.has_ended && watched.average().is_none());
        assert!(WatchedProcess::begin(u32::MAX).is_none());
    }
}
