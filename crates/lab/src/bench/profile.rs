//! Trials in which a server is profiled: constant load, and `perf` on all processes of the server
//! while it lasts. If a requirement is missing, the lab warns once, and the run continues without
//! profiles.

use std::path::Path;
use std::time::Duration;

use measure::plan::ProfilePlan;
use measure::profile::Profile;
use measure::record::Purpose;
use testbed::proc::process_tree;

use super::ProcessBench;
use crate::profiler::{Perf, PerfRecording, UnreadSamples};
use crate::trial::TrialRequest;

/// Time from the start of the generator until perf takes samples of the server: the generator has
/// reached its rate by then.
pub(super) const LEAD: Duration = Duration::from_millis(500);
/// Name of the file with a trial's raw perf samples, until the lab reads them.
const DATA: &str = "perf.data";

/// State of profiling in a run.
#[derive(Debug)]
pub(super) enum Profiler {
    /// Profiling is off because the plan has no profiles, or because a requirement is missing, of
    /// which the lab has warned.
    Off,
    /// Profiling is possible with this program perf, as far as is known.
    On(Perf),
}

impl Profiler {
    /// Returns the state of profiling by checking the requirements of `plan`; adds a warning for
    /// the report if one is missing.
    pub(super) fn from_plan(plan: &ProfilePlan, warnings: &mut Vec<String>) -> Self {
        if plan.fractions.is_empty() {
            return Self::Off;
        }
        match Perf::find() {
            Ok(perf) if testbed::registry::user_id() == 0 => Self::On(perf.with_priority()),
            Ok(perf) => Self::On(perf),
            Err(why) => {
                warnings.push(without(&why));
                Self::Off
            }
        }
    }
}

fn without(why: &str) -> String {
    format!("Nothing was profiled: {why}.")
}

impl ProcessBench<'_> {
    /// Returns `perf` attached to the server of `request`, not taking samples yet; `None` when the
    /// trial has another purpose, or when profiling is impossible, of which the lab warns once for
    /// all servers.
    pub(super) fn attach(
        &mut self,
        request: &TrialRequest,
        folder: &Path,
    ) -> Option<PerfRecording> {
        if request.purpose != Purpose::Profile {
            return None;
        }
        let Profiler::On(perf) = &self.profiler else { return None };
        let pids: Vec<u32> = self
            .subject_servers(request.subject.position())
            .into_iter()
            .filter_map(|position| self.services[position].pid())
            .flat_map(process_tree)
            .collect();
        let sampling = (&self.plan.profile).into();
        let attached = perf.attach(sampling, &pids, folder.join(DATA));
        self.or_warn(attached)
    }

    /// Reads functions and counts from the raw samples into a profile.
    pub(super) fn read(&mut self, samples: Option<UnreadSamples>) -> Option<Profile> {
        let profile = samples?.read();
        self.or_warn(profile)
    }

    /// Returns the value of a successful step of profiling; the first failure is reported as a
    /// warning and turns profiling off.
    pub(super) fn or_warn<T>(&mut self, came: Result<T, String>) -> Option<T> {
        came.map_err(|why| {
            self.warnings.push(without(&why));
            self.profiler = Profiler::Off;
        })
        .ok()
    }
}
