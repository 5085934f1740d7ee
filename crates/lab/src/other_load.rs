//! Load that other programs put on the machine before a run: the lab samples it once, and warns the
//! user that figures will be noisy.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use counters::{CpuTimes, parse_stat};
use testbed::proc;

/// Time for which the lab watches the processors before a run.
const WATCH: Duration = Duration::from_secs(1);
/// Longest time until the lab notices a signal while it watches.
const LOOK: Duration = Duration::from_millis(50);
/// Number of processors that other programs, or the hypervisor, may use without a warning.
const BUSY_MAX: f64 = 0.2;
/// Largest number of programs that a warning names; `LISTED_MIN` is the least use of a named one,
/// in processors.
const LISTED_MAX: usize = 3;
const LISTED_MIN: f64 = 0.05;

/// Time that processors and programs have used since the start of the machine.
#[derive(Clone, Debug, Default)]
struct UsageReading {
    /// Sum of the times of all processors.
    times: CpuTimes,
    processors: usize,
    /// Name and used clock ticks of each process, by its identifier.
    processes: HashMap<u32, ProcessTicks>,
}

#[derive(Clone, Debug)]
struct ProcessTicks {
    name: String,
    ticks: u64,
}

/// Load of a machine over some time, in processors that were busy.
#[derive(Clone, Debug, PartialEq)]
struct MachineLoad {
    processors: usize,
    busy: f64,
    /// Number of processors whose time the hypervisor gave to other machines.
    stolen: f64,
    /// Programs with the largest use of processors, those of one name together.
    programs: Vec<ProgramLoad>,
}

#[derive(Clone, Debug, PartialEq)]
struct ProgramLoad {
    name: String,
    busy: f64,
}

/// Result of watching for a second, before a run, how much other programs use the processors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OtherLoadResult {
    /// Warning for the user if other programs are busy or the hypervisor withholds processor time.
    pub(crate) warning: Option<String>,
    /// Share of all processors that a run does not get, 0 to 1; 0 without a warning.
    pub(crate) share: f64,
}

/// Watches the load of the machine for a second. `stop` ends the watch early.
pub(crate) fn watch(stop: &AtomicBool) -> OtherLoadResult {
    let before = read();
    let mut watched = Duration::ZERO;
    while watched < WATCH && !stop.load(Ordering::Acquire) {
        thread::sleep(LOOK);
        watched += LOOK;
    }
    let load = MachineLoad::between(&before, &read());
    let warning = load.warning();
    let share = if warning.is_some() { load.share() } else { 0.0 };
    OtherLoadResult { warning, share }
}

fn read() -> UsageReading {
    let cpus = parse_stat(&proc::read("/proc/stat")).cpus;
    let processors = cpus.len();
    let times = cpus.into_iter().reduce(|sum, times| sum.plus(&times)).unwrap_or_default();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let process = |pid| {
        let stat = proc::process_stat(pid)?;
        Some((pid, ProcessTicks { ticks: stat.used_ticks(), name: stat.name }))
    };
    UsageReading { times, processors, processes: pids.filter_map(process).collect() }
}

impl MachineLoad {
    fn between(before: &UsageReading, after: &UsageReading) -> Self {
        let times = after.times.since(&before.times);
        let ticks_of_one = (times.total() as f64 / after.processors.max(1) as f64).max(1.0);
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (pid, process) in &after.processes {
            let earlier = before.processes.get(pid).filter(|before| before.name == process.name);
            let used = process.ticks.saturating_sub(earlier.map_or(0, |before| before.ticks));
            // A process that seems to have started meanwhile, and to have used more time than there
            // was, had the number of another process.
            *by_name.entry(&process.name).or_default() += used.min(times.total());
        }
        let program = |(name, ticks): (&str, u64)| ProgramLoad {
            name: name.to_owned(),
            busy: ticks as f64 / ticks_of_one,
        };
        let mut programs: Vec<ProgramLoad> = by_name.into_iter().map(program).collect();
        programs.retain(|program| program.busy >= LISTED_MIN);
        programs.sort_by(|one, other| other.busy.total_cmp(&one.busy));
        programs.truncate(LISTED_MAX);
        Self {
            processors: after.processors,
            busy: times.busy() as f64 / ticks_of_one,
            stolen: times.steal as f64 / ticks_of_one,
            programs,
        }
    }

    fn share(&self) -> f64 {
        ((self.busy + self.stolen) / self.processors.max(1) as f64).clamp(0.0, 1.0)
    }

    fn warning(&self) -> Option<String> {
        let Self { processors, busy, stolen, programs } = self;
        let list: Vec<String> =
            programs.iter().map(|one| format!("{} {:.1}", one.name, one.busy)).collect();
        let list = if list.is_empty() { String::new() } else { format!(" ({})", list.join(", ")) };
        let cause = if *busy > BUSY_MAX {
            format!("other programs used {busy:.1} of {processors} processors{list}")
        } else if *stolen > BUSY_MAX {
            format!("the hypervisor withheld {stolen:.1} of {processors} processors")
        } else {
            return None;
        };
        Some(format!("Before the run {cause}: figures are noisy."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(busy: u64, idle: u64, steal: u64, processes: &[(u32, &str, u64)]) -> UsageReading {
        let ticks = |&(pid, name, ticks): &(u32, &str, u64)| {
            (pid, ProcessTicks { name: name.to_owned(), ticks })
        };
        UsageReading {
            times: CpuTimes { user: busy, idle, steal, ..CpuTimes::default() },
            processors: 2,
            processes: processes.iter().map(ticks).collect(),
        }
    }

    #[test]
    fn busy_programs_are_named_those_of_one_name_together() {
        let before = reading(1000, 1000, 0, &[(1, "init", 500), (7, "rustc", 100)]);
        let after = reading(
            1160,
            1040,
            0,
            &[(1, "init", 502), (7, "rustc", 150), (8, "rustc", 30), (9, "chromium", 60)],
        );
        let load = MachineLoad::between(&before, &after);
        assert_eq!((load.busy, load.stolen, load.share()), (1.6, 0.0, 0.8));
        assert_eq!(
            load.warning().as_deref(),
            Some(
                "Before the run other programs used 1.6 of 2 processors (rustc 0.8, chromium 0.6): \
                 figures are noisy."
            )
        );
    }

    #[test]
    fn a_quiet_machine_gives_no_warning() {
        let before = reading(1000, 1000, 0, &[(1, "init", 500)]);
        let after = reading(1010, 1190, 0, &[(1, "init", 505)]);
        assert_eq!(MachineLoad::between(&before, &after).warning(), None);
    }

    #[test]
    fn time_that_the_hypervisor_withholds_is_told() {
        let before = reading(1000, 1000, 0, &[]);
        let after = reading(1010, 1140, 50, &[]);
        let warning = MachineLoad::between(&before, &after).warning().expect("half a processor");
        assert!(warning.contains("the hypervisor withheld 0.5 of 2 processors"), "{warning}");
    }

    #[test]
    fn a_number_that_was_given_again_counts_no_more_than_there_was() {
        let before = reading(0, 0, 0, &[(5, "old", 90_000)]);
        let after = reading(150, 50, 0, &[(5, "new", 1_000_000)]);
        let load = MachineLoad::between(&before, &after);
        assert_eq!(load.programs, [ProgramLoad { name: "new".to_owned(), busy: 2.0 }]);
    }

    #[test]
    fn this_machine_can_be_read() {
        let reading = read();
        assert!(reading.processors > 0 && reading.times.total() > 0);
        assert!(reading.processes.contains_key(&std::process::id()), "{reading:?}");
    }
}
