//! Readings of the counters of tasks: processes and threads.

use std::collections::BTreeMap;

use counters::{
    ProcessStat, TICKS_PER_S, TaskIo, TaskStatus, parse_process_stat, parse_process_wait_ns,
    parse_task_io, parse_task_status,
};
use netio::Clock;
use testbed::proc;

use super::super::UptimeClock;
use super::pattern::CommandPattern;
use crate::clock;

/// Selection of the processes that pidstat reads, and the form of their names.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskSelection {
    /// Numbers of the processes to read; all processes if it is empty.
    pub(super) pids: Vec<u32>,
    pub(super) pattern: Option<CommandPattern>,
    pub(super) has_threads: bool,
    pub(super) has_command_lines: bool,
    pub(super) has_epoch_times: bool,
}

/// Identity of a process or thread, with its start, since the kernel reuses numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskKey {
    pub(super) pid: u32,
    /// Number of the thread; `None` for the whole process.
    pub(super) thread: Option<u32>,
    /// Time at which the process or thread started, in clock ticks since boot.
    pub(super) started_ticks: u64,
}

/// Reading of the counters of a process or thread.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskReading {
    pub(super) stat: ProcessStat,
    pub(super) status: TaskStatus,
    /// Time that the thread, or the first thread of the process, waited for a processor, in
    /// nanoseconds.
    pub(super) wait_ns: u64,
    /// Bytes that the process read and wrote; `None` if `/proc/PID/io` may not be read.
    pub(super) io: Option<TaskIo>,
    /// Name or command line of the process.
    pub(super) command: String,
}

/// Readings of all selected processes and threads at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskReadings {
    /// Time of the readings in seconds since boot.
    pub(super) seconds: f64,
    /// Time of the readings as reports show it.
    pub(super) time: String,
    pub(super) tasks: BTreeMap<TaskKey, TaskReading>,
}

impl TaskSelection {
    /// Reads the counters of all selected processes and threads now.
    pub(super) fn take(&self, uptime: &UptimeClock) -> TaskReadings {
        let wall_s = Clock::now().wall_us / 1_000_000;
        let time = if self.has_epoch_times { wall_s.to_string() } else { clock::local(wall_s).0 };
        let mut readings = TaskReadings { seconds: uptime.seconds(), time, tasks: BTreeMap::new() };
        let all = if self.pids.is_empty() { proc::processes() } else { self.pids.clone() };
        for pid in all {
            self.add(&mut readings, pid, None);
            if self.has_threads {
                for thread in proc::threads(pid) {
                    self.add(&mut readings, pid, Some(thread));
                }
            }
        }
        readings
    }

    /// Adds the reading of a process or thread to `readings`, unless it has ended or its name does
    /// not match.
    fn add(&self, readings: &mut TaskReadings, pid: u32, thread: Option<u32>) {
        let folder = thread
            .map_or_else(|| format!("/proc/{pid}"), |thread| format!("/proc/{pid}/task/{thread}"));
        let file = |name: &str| proc::read(format!("{folder}/{name}"));
        let Some(stat) = parse_process_stat(&file("stat")) else { return };
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.matches(&stat.name)) {
            return;
        }
        let command_line = if self.has_command_lines && thread.is_none() {
            file("cmdline").trim_end_matches('\0').replace('\0', " ")
        } else {
            String::new()
        };
        let key = TaskKey { pid, thread, started_ticks: stat.started_ticks };
        let reading = TaskReading {
            status: parse_task_status(&file("status")),
            wait_ns: parse_process_wait_ns(&file("schedstat")).unwrap_or(0),
            io: parse_task_io(&file("io")),
            command: if command_line.is_empty() { stat.name.clone() } else { command_line },
            stat,
        };
        readings.tasks.insert(key, reading);
    }
}

impl TaskReadings {
    /// Returns the readings as they would have been at boot: none.
    pub(super) fn at_boot(&self) -> Self {
        Self { seconds: 0.0, time: self.time.clone(), tasks: BTreeMap::new() }
    }

    /// Returns the reading of the task `key`, without any use if the task started later. A task
    /// that had another name at the time has none.
    pub(super) fn task(&self, key: &TaskKey) -> Option<TaskReading> {
        let started_later = key.started_ticks as f64 + 1.0 >= self.seconds * TICKS_PER_S as f64;
        let unused = || TaskReading { io: Some(TaskIo::default()), ..TaskReading::default() };
        let reading = self.tasks.get(key).cloned();
        reading.or_else(|| (started_later || self.seconds == 0.0).then(unused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_read_with_its_threads() {
        let pid = std::process::id();
        let selection =
            TaskSelection { pids: vec![pid], has_threads: true, ..TaskSelection::default() };
        let readings = selection.take(&UptimeClock::start());
        let whole: Vec<_> = readings.tasks.keys().filter(|key| key.thread.is_none()).collect();
        assert_eq!((whole.len(), whole[0].pid), (1, pid));
        assert!(readings.tasks.len() > 1);
        let reading = readings.task(whole[0]).unwrap();
        assert!(reading.stat.resident_pages > 0 && reading.io.is_some());
        assert_eq!(reading.command, reading.stat.name);
    }

    #[test]
    fn a_task_that_started_later_has_used_nothing_before() {
        let readings = TaskReadings { seconds: 100.0, ..TaskReadings::default() };
        let key = |started_ticks| TaskKey { pid: 1, thread: None, started_ticks };
        assert_eq!(readings.task(&key(10_001)).unwrap().stat, ProcessStat::default());
        assert!(readings.task(&key(9_000)).is_none());
        assert!(readings.at_boot().task(&key(9_000)).is_some());
    }

    #[test]
    fn names_and_command_lines_are_selected() {
        let pid = std::process::id();
        let pattern = CommandPattern::new("no such name").ok();
        let selection = TaskSelection { pids: vec![pid], pattern, ..TaskSelection::default() };
        assert!(selection.take(&UptimeClock::start()).tasks.is_empty());
        let selection = TaskSelection { pattern: None, has_command_lines: true, ..selection };
        let readings = selection.take(&UptimeClock::start());
        let command = readings.tasks.values().map(|task| task.command.clone()).next().unwrap();
        assert!(command.starts_with(&std::env::args().next().unwrap()), "{command}");
    }
}
