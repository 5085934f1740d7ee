//! Profiler: runs `perf` next to a server, attaches it to the server's processes, orders it to take
//! samples, and converts its data to a [`Profile`].
//!
//! A missing requirement is reported in one sentence, which names the package or the setting; the
//! caller decides whether to continue without. perf confirms orders on a pipe (`--control`, perf
//! 5.12 and later), so that the samples cover exactly the time between two orders, however long
//! perf takes to start.

mod recording;
pub mod top;

use std::path::{Path, PathBuf};

use measure::plan::{CallGraph, ProfileEvent, ProfilePlan};
use measure::profile::{Profile, fold};
use testbed::CommandLine;
use testbed::command::find_program;

pub use recording::{PerfRecording, UnreadSamples};

/// Name of the Debian package that contains perf.
const PACKAGE: &str = "linux-perf";
/// Niceness of generators, which perf also needs to run next to them.
const NICENESS: &str = "-15";
/// Path of the kernel's setting for access to performance events.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Settings by which perf samples a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingSettings {
    /// Event at which the kernel takes a sample of the profiled server.
    pub event: ProfileEvent,
    /// Method by which perf finds the callers of a function.
    pub call_graph: CallGraph,
    /// Samples per second that perf takes of each running thread.
    pub frequency_hz: u32,
}

impl From<&ProfilePlan> for SamplingSettings {
    fn from(plan: &ProfilePlan) -> Self {
        let &ProfilePlan { event, call_graph, frequency_hz, .. } = plan;
        Self { event, call_graph, frequency_hz }
    }
}

/// Program perf, found on this machine.
#[derive(Clone, Debug)]
pub struct Perf {
    program: String,
    /// True if perf runs at a higher priority than other programs of the machine.
    has_priority: bool,
}

impl Perf {
    /// Looks for the program perf.
    ///
    /// # Errors
    /// The program is not installed; one sentence, with the package.
    pub fn find() -> Result<Self, String> {
        match find_program("perf") {
            Some(path) => {
                Ok(Self { program: path.to_string_lossy().into_owned(), has_priority: false })
            }
            None => Err(format!("perf is not installed; it is in Debian's package {PACKAGE}")),
        }
    }

    /// Sets a higher priority for perf than for other programs of the machine, that of generators;
    /// this needs root.
    #[must_use]
    pub fn with_priority(self) -> Self {
        Self { has_priority: true, ..self }
    }

    /// Attaches perf to `pids` and everything that they start from now on, and takes no samples
    /// yet. Raw samples go to `data`.
    ///
    /// # Errors
    /// perf cannot be attached; one sentence with the reason.
    pub fn attach(
        &self,
        sampling: SamplingSettings,
        pids: &[u32],
        data: PathBuf,
    ) -> Result<PerfRecording, String> {
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let mut command = self
            .command()
            .args(["record", "--no-buildid", "--no-buildid-cache", "--no-bpf-event"])
            .args(["--delay", "-1", "--control", "fd:0,1"])
            .args(["--freq", &sampling.frequency_hz.to_string()])
            .args(["--call-graph", sampling.call_graph.word()])
            .args(["--pid", &pids.join(",")])
            .args(["--output", &data.to_string_lossy()]);
        if let Some(event) = sampling.event.word() {
            command = command.args(["--event", event]);
        }
        if self.has_priority {
            command = command.with_prefix(&["nice", "-n", NICENESS]);
        }
        PerfRecording::start(&command, self.clone(), sampling, data)
    }

    /// Reads the raw samples in `data`; returns the output of `perf script`.
    fn script(&self, data: &Path) -> Result<String, String> {
        self.command()
            .args(["script", "--input", &data.to_string_lossy()])
            // Inlined functions would have to be looked up one by one, which takes minutes.
            .args(["--no-inline", "--show-lost-events"])
            .args(["-F", "comm,tid,event,ip,sym,dso"])
            .run()
            .map_err(|error| format!("perf cannot read its own samples: {error}"))
    }

    /// Makes a command of perf without the user's settings and without lookups of names on a
    /// network.
    fn command(&self) -> CommandLine {
        CommandLine::new(&self.program)
            .env("PERF_CONFIG", "/dev/null")
            .env("DEBUGINFOD_URLS", "")
            .env("LC_ALL", "C")
    }
}

/// Summarizes perf's error output in one sentence for the user of the lab.
fn explain_failure(complaint: &str, paranoid: &str) -> String {
    let is_refused = ["perf_event_paranoid", "ermission", "not permitted", "Access to performance"];
    if is_refused.iter().any(|words| complaint.contains(words)) {
        let paranoid = paranoid.trim();
        return format!(
            "no permission to profile the server: run as root, or as the owner of the server's \
             process after lowering the setting kernel.perf_event_paranoid, which is {paranoid} (1 \
             or less also shows the kernel's part)"
        );
    }
    let lines = complaint.lines().map(str::trim);
    let reasons: Vec<&str> = lines
        .filter(|line| !line.is_empty() && *line != "Error:" && !line.starts_with("Events "))
        .take(2)
        .collect();
    if reasons.is_empty() {
        return "perf ended without a message".to_owned();
    }
    format!("perf failed: {}", reasons.join(" ").trim_end_matches('.'))
}

/// Makes a profile from `text`, the output of `perf script`.
fn make_profile(text: &str, sampling: SamplingSettings, seconds: f64) -> Profile {
    let folded = fold(text);
    Profile {
        event: folded.event,
        frequency_hz: sampling.frequency_hz,
        call_graph: sampling.call_graph,
        seconds,
        samples: folded.samples,
        lost: folded.lost,
        is_user_only: folded.is_user_only,
        stacks: folded.stacks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_setting_and_other_complaints_are_passed_on() {
        // Printed by perf 6.1 for a process of another user.
        let refused = "Error:\nAccess to performance monitoring and observability operations is \
                       limited.\nConsider adjusting /proc/sys/kernel/perf_event_paranoid setting";
        let explanation = explain_failure(refused, "2\n");
        assert!(
            explanation.contains("kernel.perf_event_paranoid, which is 2 (1 or less"),
            "{explanation}"
        );
        let exited = "Couldn't create thread/CPU maps: No such process\n";
        assert_eq!(
            explain_failure(exited, "2"),
            "perf failed: Couldn't create thread/CPU maps: No such process"
        );
        let unknown = "Error:\nThe cycles event is not supported.\n";
        assert_eq!(explain_failure(unknown, "2"), "perf failed: The cycles event is not supported");
        assert_eq!(explain_failure("Events disabled\n", "2"), "perf ended without a message");
    }

    #[test]
    fn a_profile_says_how_it_was_taken() {
        let sampling = SamplingSettings::from(&ProfilePlan::default());
        let text = "a 1 cycles:P: \n\t 12 f (/b)\n\n";
        let profile = make_profile(text, sampling, 0.5);
        assert_eq!(
            (profile.event.as_str(), profile.samples, profile.frequency_hz),
            ("cycles", 1, 997)
        );
        assert!((profile.cpus_busy() - 1.0 / 498.5).abs() < 1e-9);
    }
}
