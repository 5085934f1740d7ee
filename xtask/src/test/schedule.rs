//! Schedule of a test run: as many jobs in parallel as leave the processors a little idle, the
//! slowest first.
//!
//! A job that waits (for a server, a database, a clock) leaves the processors idle, and the
//! schedule starts another; while the processors are busy, it starts few. The build folder has the
//! duration of each job in the last run.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::TestSession;
use super::job::{Job, JobResult, RunningJob};
use super::tally::CheckTally;
use crate::output;

/// Time between two checks of the running jobs of a test run.
const PAUSE: Duration = Duration::from_millis(10);
/// Time over which the processor load is averaged.
const LOAD_WINDOW: Duration = Duration::from_millis(250);
/// Share of the processors' time that must be idle before the schedule starts one more job than the
/// minimum.
const IDLE_SHARE: f64 = 0.08;
/// Minimum of jobs that run at a time for each processor, also on a busy machine.
const LEAST_PER_PROCESSOR: usize = 2;
/// Maximum of jobs that run at a time for each processor.
const MOST_PER_PROCESSOR: usize = 8;
/// Assumed duration in seconds of a job that has not run on this machine before.
const UNKNOWN_S: f64 = 5.0;
/// Assumed duration in seconds of a job that is known to take long and has not run on this machine
/// before.
const LONG_S: f64 = 60.0;
/// Names of the jobs that took more than 45 seconds when all jobs were measured. In a clean
/// checkout, without stored durations, they start first; otherwise the last of them would run alone
/// at the end.
const LONG_JOBS: [&str; 21] = [
    "dhcp-config (integration)",
    "dhcp-engine (integration)",
    "dhcp-lease (unit, dhcp_lease)",
    "dhcp-store galera::*",
    "dhcp-store lease_files::*",
    "dhcp-store power_cut::*",
    "dhcp-store sql::*",
    "dns-load loopback::*",
    "godwit direct::an_unhealthy_servers_ledger_is_ours_by_unicast_and_by_broadcast",
    "godwit disk_full::a_server_that_is_to_stop_ends_and_keeps_what_it_acknowledged",
    "godwit generator::files::a_capture_has_all_messages_or_those_of_failed_exchanges",
    "godwit generator::lab_hosts::servers_and_generators_on_other_machines_are_measured_as_here",
    "godwit lab::godwit_is_measured_on_every_store_and_its_databases_are_ended_under_load",
    "godwit lab::kea_on_databases_is_measured_and_all_leases_are_found_there",
    "godwit lab::queues::buffers_and_disciplines_are_in_place_while_a_trial_runs_and_told_as_they_were",
    "godwit lab::servers_of_dhcpv6_are_measured_and_all_leases_are_in_their_files",
    "godwit scenarios::every_difference_of_kea_2_2_has_a_verdict",
    "godwit scenarios::every_difference_of_kea_3_has_a_verdict",
    "godwit scenarios::the_daemon_plays_every_scenario",
    "report (integration)",
    "sim lives::*",
];

/// Runs all jobs in parallel, and prints the line of each suite when its last job has ended.
pub(crate) fn run(session: &TestSession, mut jobs: Vec<Job>) -> Result<Vec<JobResult>, String> {
    let durations = Durations::load(session);
    jobs.sort_by(|a, b| {
        let [of_a, of_b] = [a, b].map(|job| durations.expected_s(&job.name()));
        of_b.total_cmp(&of_a).then_with(|| a.name().cmp(&b.name()))
    });
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for job in &jobs {
        *open.entry(job.suite.clone()).or_default() += 1;
    }
    let processors = thread::available_parallelism().map_or(2, usize::from);
    let (least, most) = (LEAST_PER_PROCESSOR * processors, MOST_PER_PROCESSOR * processors);
    let mut load = ProcessorLoad::new();
    let mut waiting = jobs.into_iter().enumerate();
    let mut running: Vec<RunningJob> = Vec::new();
    let mut results: Vec<JobResult> = Vec::new();
    loop {
        let may_add = load.poll() && running.len() < most;
        if running.len() < least || may_add {
            if let Some((number, job)) = waiting.next() {
                running.push(job.start(session, number)?);
                continue;
            }
            if running.is_empty() {
                break;
            }
        }
        let mut index = 0;
        while index < running.len() {
            let Some(result) = running[index].poll()? else {
                index += 1;
                continue;
            };
            running.swap_remove(index);
            report(&result, &mut open, &results);
            results.push(result);
        }
        thread::sleep(PAUSE);
    }
    durations.save(session, &results);
    Ok(results)
}

/// Prints why a job failed, and the line of its suite after the suite's last job.
fn report(result: &JobResult, open: &mut BTreeMap<String, usize>, earlier: &[JobResult]) {
    for line in &result.failure {
        output::print_line(format_args!("    {line}"));
    }
    for thing in &result.leftovers {
        output::print_line(format_args!("    {} left: {thing}", result.name));
    }
    let Some(count) = open.get_mut(&result.suite) else { return };
    *count -= 1;
    if *count > 0 {
        return;
    }
    let of_suite = earlier.iter().filter(|each| each.suite == result.suite).chain([result]);
    let mut tally = CheckTally::default();
    let mut duration = Duration::ZERO;
    let mut reasons: Vec<&String> = Vec::new();
    for each in of_suite {
        tally += each.tally;
        duration += each.duration;
        reasons.extend(&each.skip_reasons);
    }
    reasons.sort();
    reasons.dedup();
    for reason in reasons {
        output::print_line(format_args!("    skipped in {}: {reason}", result.suite));
    }
    output::print_line(format_args!(
        "{:<16} {:>7.1} s   {tally}",
        result.suite,
        duration.as_secs_f64()
    ));
}

/// Prints the ten jobs that took longest, with the processor time of each.
pub(crate) fn print_slowest(results: &[JobResult]) {
    let mut sorted: Vec<&JobResult> = results.iter().collect();
    sorted.sort_by_key(|result| std::cmp::Reverse(result.duration));
    output::print_line("slowest:");
    for result in sorted.iter().take(10) {
        let [wall, processor] =
            [result.duration, result.processor_time].map(|time| time.as_secs_f64());
        output::print_line(format_args!(
            "    {wall:>7.1} s   {processor:>7.1} CPU-s   {}",
            result.name
        ));
    }
}

/// Durations of jobs in the last run, by the name of the job.
struct Durations {
    jobs: HashMap<String, JobDuration>,
}

/// Durations of a job: elapsed time and processor time, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct JobDuration {
    /// Time from the job's start to its end, in seconds.
    elapsed_s: f64,
    /// Processor time of the job, in seconds.
    processor_s: f64,
}

impl Durations {
    fn path(session: &TestSession) -> PathBuf {
        session.logs.join("durations.json")
    }

    fn load(session: &TestSession) -> Self {
        let text = fs::read_to_string(Self::path(session)).unwrap_or_default();
        let durations: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
        let duration = |value: &Value| JobDuration {
            elapsed_s: value["elapsed_s"].as_f64().unwrap_or(UNKNOWN_S),
            processor_s: value["processor_s"].as_f64().unwrap_or_default(),
        };
        Self {
            jobs: durations.iter().map(|(name, value)| (name.clone(), duration(value))).collect(),
        }
    }

    /// Returns the job's last or assumed duration, in seconds.
    fn expected_s(&self, name: &str) -> f64 {
        let unknown_s = if LONG_JOBS.contains(&name) { LONG_S } else { UNKNOWN_S };
        self.jobs.get(name).map_or(unknown_s, |of| of.elapsed_s)
    }

    /// Stores the durations of this run's jobs, and the earlier durations of other jobs.
    fn save(mut self, session: &TestSession, results: &[JobResult]) {
        for result in results {
            let duration = JobDuration {
                elapsed_s: result.duration.as_secs_f64(),
                processor_s: result.processor_time.as_secs_f64(),
            };
            self.jobs.insert(result.name.clone(), duration);
        }
        let value = |duration: JobDuration| json!({ "elapsed_s": duration.elapsed_s, "processor_s": duration.processor_s });
        let durations: Map<String, Value> =
            self.jobs.into_iter().map(|(name, duration)| (name, value(duration))).collect();
        drop(fs::write(Self::path(session), Value::Object(durations).to_string()));
    }
}

/// Load of all processors together, from `/proc/stat` (proc(5)).
struct ProcessorLoad {
    read_at: Instant,
    ticks: Ticks,
}

/// Processor time since the machine started, in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    all: u64,
}

impl ProcessorLoad {
    fn new() -> Self {
        Self { read_at: Instant::now(), ticks: read_ticks() }
    }

    /// Returns true once in a time window if the processors had idle time in it.
    fn poll(&mut self) -> bool {
        if self.read_at.elapsed() < LOAD_WINDOW {
            return false;
        }
        let now = read_ticks();
        let before = std::mem::replace(&mut self.ticks, now);
        self.read_at = Instant::now();
        idle_share(before, now) > IDLE_SHARE
    }
}

/// Returns the idle share of the time between two readings, 0 to 1.
fn idle_share(before: Ticks, after: Ticks) -> f64 {
    let all = after.all.saturating_sub(before.all);
    let idle = after.idle.saturating_sub(before.idle);
    if all == 0 { 0.0 } else { idle as f64 / all as f64 }
}

fn read_ticks() -> Ticks {
    parse_ticks(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// Parses the line `cpu  user nice system idle iowait …` of `/proc/stat`. Time that waits for a
/// disk is not idle, because a further job would wait for the same disk; nor is clippy's time at
/// low priority, because more jobs than processors then wait for each other.
fn parse_ticks(text: &str) -> Ticks {
    let line = text.lines().next().unwrap_or_default();
    let values: Vec<u64> =
        line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    Ticks { idle: values.get(3).copied().unwrap_or(0), all: values.iter().sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idleness_is_the_share_between_two_readings() {
        let before = parse_ticks("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 1 1 1\n");
        assert_eq!(before, Ticks { idle: 800, all: 1000 });
        let after = parse_ticks("cpu  150 10 100 830 10 0 0 0 0 0\n");
        assert!((idle_share(before, after) - 0.3).abs() < 1e-9);
        assert!(idle_share(after, after) < f64::EPSILON);
        assert_eq!(parse_ticks(""), Ticks::default());
    }
}
