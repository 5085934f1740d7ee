//! Trials in which a server is profiled: constant load, and `perf` on all processes of the server while
//! it lasts. What is missing for that is said once, and the run goes on without.

use std::path::Path;
use std::time::Duration;

use measure::plan::ProfilePlan;
use measure::profile::Profile;
use measure::record::Purpose;
use testbed::proc::process_tree;

use super::ProcessBench;
use crate::profiler::{Perf, Recording, Samples};
use crate::runner::Request;

/// From the start of the generator until samples are taken, so that it is at its rate by then.
pub(super) const LEAD: Duration = Duration::from_millis(500);
/// Raw samples of a trial, until they are read.
const DATA: &str = "perf.data";

/// Whether servers can be profiled.
#[derive(Debug)]
pub(super) enum Profiler {
    /// The plan has no profiles, or what is missing was said.
    Off,
    /// As far as is known.
    On(Perf),
}

impl Profiler {
    /// What the plan needs; the sentence for the report where it is not there.
    pub(super) fn of(plan: &ProfilePlan, warnings: &mut Vec<String>) -> Self {
        if plan.fractions.is_empty() {
            return Self::Off;
        }
        match Perf::find() {
            Ok(perf) if testbed::registry::user_id() == 0 => Self::On(perf.ahead()),
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
    /// `perf` on the server of `request`, not taking samples yet; `None` when that is not what the trial
    /// is for, or when it cannot be, which is said once for all servers.
    pub(super) fn attach(&mut self, request: &Request, folder: &Path) -> Option<Recording> {
        if request.purpose != Purpose::Profile {
            return None;
        }
        let Profiler::On(perf) = &self.profiler else { return None };
        let pids: Vec<u32> = self
            .halves(request.subject)
            .into_iter()
            .filter_map(|position| self.services[position].pid())
            .flat_map(process_tree)
            .collect();
        let sampling = (&self.plan.profile).into();
        let attached = perf.attach(sampling, &pids, folder.join(DATA));
        self.noted(attached)
    }

    /// Functions and counts of what was sampled.
    pub(super) fn read(&mut self, samples: Option<Samples>) -> Option<Profile> {
        let profile = samples?.read();
        self.noted(profile)
    }

    /// What came of it. The first failure is told; nothing is tried after it.
    pub(super) fn noted<T>(&mut self, came: Result<T, String>) -> Option<T> {
        came.map_err(|why| {
            self.warnings.push(without(&why));
            self.profiler = Profiler::Off;
        })
        .ok()
    }
}
