//! Trials in which a server is profiled: constant load, and `perf` on all processes of the server
//! while it lasts. If a requirement is missing, the lab warns once, and the run continues without
//! profiles.

use std::path::Path;
use std::time::Duration;

use measure::Plan;
use measure::plan::ProfilePlan;
use testbed::proc::process_tree;

use super::recorder::RunRecorder;
use super::service::{MeasuredServer, Service};
use crate::profiler::{Perf, PerfRecording};

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

    /// Returns `perf` attached to the servers of `service`, not taking samples yet; `None` when
    /// profiling is impossible, of which the lab warns once for all servers.
    pub(super) fn attach(
        &mut self,
        service: &Service,
        plan: &Plan,
        folder: &Path,
        recorder: &mut RunRecorder<'_>,
    ) -> Option<PerfRecording> {
        let Self::On(perf) = self else { return None };
        let pids: Vec<u32> =
            service.servers().filter_map(MeasuredServer::pid).flat_map(process_tree).collect();
        let attached = perf.attach((&plan.profile).into(), &pids, folder.join(DATA));
        self.or_warn(attached, recorder)
    }

    /// Returns the value of a successful step of profiling; the first failure is reported as a
    /// warning and turns profiling off.
    pub(super) fn or_warn<T>(
        &mut self,
        came: Result<T, String>,
        recorder: &mut RunRecorder<'_>,
    ) -> Option<T> {
        came.map_err(|why| {
            recorder.warn(without(&why));
            *self = Self::Off;
        })
        .ok()
    }
}

fn without(why: &str) -> String {
    format!("Nothing was profiled: {why}.")
}
