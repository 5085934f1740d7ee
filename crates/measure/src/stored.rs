//! Stored runs as lines of a list: time, plan, commit, servers and their results. The lab finds the
//! runs in folders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::record::Environment;
use crate::statistics::MeanInterval;
use crate::summary::{LimitResult, ServerResult};

/// Value of the field `schema` in a [`StoredRuns`].
pub const STORED_SCHEMA: &str = "godwit.stored.v1";

/// Kind of a stored run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Run of a plan with servers.
    #[default]
    Plan,
    /// Run of a suite: several plans, with a front page over them.
    Suite,
    /// Run of a plan of DCCP throughput regressions.
    Regression,
}

/// State of a stored run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoredState {
    /// The stored run ended and has its report.
    #[default]
    Done,
    /// The stored run is in progress.
    Running,
    /// The stored run has no report and is not in progress: it was killed.
    Unfinished,
}

/// Line of the list of stored runs: one run with its servers and figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StoredRun {
    /// Path of the run's folder below the results folder, which identifies the run.
    pub id: String,
    /// Kind of the stored run.
    pub kind: RunKind,
    /// State of the stored run.
    pub state: StoredState,
    /// Name of the plan that was run.
    pub plan: String,
    /// Hash of everything in the run's plan that decides figures; empty for a run without a plan.
    pub plan_hash: String,
    /// Title of the plan that was run.
    pub title: String,
    /// Begin of the run, in the format of RFC 3339; empty when unknown.
    pub started: String,
    /// Length of the stored run, in seconds.
    pub duration_s: f64,
    /// Commit that the run's Godwit was built from; empty when unknown.
    pub commit: String,
    /// Cargo profile that the run's Godwit was built with; empty when unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Version of Godwit that did the run.
    pub godwit: String,
    /// Machine of the run in words: processors, kernel, topology.
    pub machine: String,
    /// Noun of the results that the run's rates count, e.g. `leases`.
    pub yields: String,
    /// Figures of the measured servers, one entry each.
    pub servers: Vec<StoredFigure>,
    /// Rate per second of the limit responder (a program that returns every datagram): the most
    /// that kernel and generator could do.
    pub limit_per_s: Option<f64>,
    /// True if the stored run is the baseline of its plan, which later runs are compared with.
    pub is_baseline: bool,
}

/// Figures of one server in a stored run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StoredFigure {
    /// Name of the server that was measured.
    pub server: String,
    /// Variant of the server that the figures belong to: the way in which it was run, such as
    /// `multi-threaded`.
    pub variant: String,
    /// Highest rate of the server, in leases per second; `None` when none was confirmed.
    pub leases_per_s: Option<f64>,
    /// True if the server's highest rate is a lower bound ("at least").
    pub is_at_least: bool,
    /// Lower end of the highest rate's 95 % interval if there is one, else the rate of the lowest
    /// round, in leases per second.
    pub low: Option<f64>,
    /// Upper end of the highest rate's 95 % interval if there is one, else the rate of the highest
    /// round, in leases per second.
    pub high: Option<f64>,
    /// True when `low` and `high` are the ends of a 95 % interval.
    pub is_interval: bool,
    /// Leases per processor second of the server at its highest rate.
    pub leases_per_cpu_s: Option<f64>,
    /// Lower end of the 95 % interval of `leases_per_cpu_s`, if there is one.
    pub cpu_low: Option<f64>,
    /// Upper end of the 95 % interval of `leases_per_cpu_s`, if there is one.
    pub cpu_high: Option<f64>,
}

/// List of all stored runs, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StoredRuns {
    /// Name of the list's JSON schema, [`STORED_SCHEMA`].
    pub schema: String,
    /// Stored runs that the lab could read, newest first.
    pub runs: Vec<StoredRun>,
    /// Errors of runs that the lab could not read, a sentence each.
    pub unreadable: Vec<String>,
}

/// Value of the field `schema` in a [`Trend`].
pub const TREND_SCHEMA: &str = "godwit.trend.v1";

/// Trend of the figures of one plan: its runs, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Trend {
    /// Name of the trend's JSON schema, [`TREND_SCHEMA`].
    pub schema: String,
    /// Name of the plan whose runs the trend shows.
    pub plan: String,
    /// Title of the plan in the last run of the trend.
    pub title: String,
    /// Noun of the results that the trend's rates count, e.g. `leases`.
    pub yields: String,
    /// Finished runs of the plan, oldest first.
    pub runs: Vec<StoredRun>,
}

impl Trend {
    /// Makes the trend of the finished runs of `plan` among `runs`; of `servers` only, if the list
    /// is not empty. `None` when there is no such run.
    pub fn from_runs(plan: &str, servers: &[String], runs: &[StoredRun]) -> Option<Self> {
        let matches = |run: &&StoredRun| run.plan == plan && !run.servers.is_empty();
        let mut runs: Vec<StoredRun> = runs.iter().filter(matches).cloned().collect();
        for run in &mut runs {
            run.servers.retain(|of| servers.is_empty() || servers.contains(&of.server));
        }
        runs.retain(|run| !run.servers.is_empty());
        runs.sort_by(|a, b| (&a.started, &a.id).cmp(&(&b.started, &b.id)));
        let last = runs.last()?;
        Some(Self {
            schema: TREND_SCHEMA.to_owned(),
            plan: plan.to_owned(),
            title: last.title.clone(),
            yields: last.yields.clone(),
            runs,
        })
    }

    /// Returns the names of every server in the trend, those of the last run first.
    pub fn servers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for figure in self.runs.iter().rev().flat_map(|run| &run.servers) {
            if !names.contains(&figure.server.as_str()) {
                names.push(&figure.server);
            }
        }
        names
    }

    /// Returns true when a run had the plan, the machine and the variant of `server` of the last
    /// run with that server, so that their figures may be compared.
    pub fn is_like_last(&self, run: &StoredRun, server: &str) -> bool {
        let last = self.runs.iter().rfind(|run| run.figure(server).is_some());
        last.is_some_and(|last| last.is_like(run, server))
    }
}

/// Parts of the file `summary.json` that the list of runs needs; the rest of the file is skipped.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SummaryHead {
    /// Name of the schema of the summary file.
    pub schema: String,
    title: String,
    started: String,
    duration_s: f64,
    results: Vec<ServerResult>,
    limit: Option<LimitResult>,
    plan: Plan,
    environment: Environment,
}

impl SummaryHead {
    /// Returns the line of the list for the run `id` from the parts of its summary.
    #[must_use]
    pub fn into_stored_run(self, id: &str) -> StoredRun {
        let Environment { cpus, cpu_model, kernel, topology, .. } = &self.environment;
        StoredRun {
            id: id.to_owned(),
            plan_hash: crate::compare::plan_hash(&self.plan),
            title: self.title,
            started: self.started,
            duration_s: self.duration_s,
            machine: format!("{cpus} × {cpu_model}, Linux {kernel}, {topology}"),
            yields: self.plan.protocol.result_noun().to_owned(),
            servers: self.results.iter().map(StoredFigure::from_result).collect(),
            limit_per_s: self.limit.map(|limit| limit.leases_per_s),
            plan: self.plan.name,
            commit: self.environment.commit,
            profile: self.environment.profile,
            godwit: self.environment.godwit,
            ..StoredRun::default()
        }
    }
}

impl StoredFigure {
    fn from_result(result: &ServerResult) -> Self {
        let (low, high, is_interval) = result.range();
        let per_cpu = result.mean_per_cpu.filter(MeanInterval::has_interval);
        Self {
            server: result.server.clone(),
            variant: result.variant.clone(),
            leases_per_s: result.leases_per_s,
            is_at_least: result.is_at_least,
            low,
            high,
            is_interval,
            leases_per_cpu_s: result.leases_per_cpu_s,
            cpu_low: per_cpu.map(|mean| mean.low),
            cpu_high: per_cpu.map(|mean| mean.high),
        }
    }
}

impl StoredRun {
    /// Returns the figures of `server` in the stored run; `None` when the run did not measure it.
    pub fn figure(&self, server: &str) -> Option<&StoredFigure> {
        self.servers.iter().find(|figure| figure.server == server)
    }

    /// Returns true when a line of a trend may join the figures of `server` in both runs, because
    /// plan, machine, build profile and the server's variant (such as `multi-threaded`) are equal.
    pub fn is_like(&self, other: &Self, server: &str) -> bool {
        let of = |run: &Self| {
            let variant = run.figure(server).map(|figure| figure.variant.clone());
            (run.plan_hash.clone(), run.machine.clone(), run.profile.clone(), variant)
        };
        of(self) == of(other)
    }

    /// Returns true if every one of `words` is part of the run's name, plan, title, commit or of a
    /// server's name, whatever their case; `pinned`, `running` and `unfinished` match runs in that
    /// state.
    pub fn matches(&self, words: &[String]) -> bool {
        let mut text = [&self.id, &self.plan, &self.title, &self.commit]
            .map(|part| part.to_lowercase())
            .join("\n");
        for figure in &self.servers {
            text.push('\n');
            text.push_str(&figure.server.to_lowercase());
        }
        if self.is_baseline {
            text.push_str("\npinned");
        }
        match self.state {
            StoredState::Done => {}
            StoredState::Running => text.push_str("\nrunning"),
            StoredState::Unfinished => text.push_str("\nunfinished"),
        }
        words.iter().all(|word| text.contains(&word.to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::trimmed_interval;
    use crate::summary::RunSummary;

    fn head(summary: &RunSummary) -> SummaryHead {
        serde_json::from_str(&serde_json::to_string(summary).unwrap()).unwrap()
    }

    #[test]
    fn the_line_is_that_of_the_summary() {
        let mut summary = RunSummary { title: "A plan".to_owned(), ..RunSummary::default() };
        summary.plan.name = "dhcp4-quick".to_owned();
        summary.environment.commit = "0123abc".to_owned();
        let mean = trimmed_interval(&[8.5, 9.0, 9.5, 9.0, 9.2], 1).unwrap();
        summary.results = vec![
            ServerResult {
                server: "godwit".to_owned(),
                leases_per_s: Some(9.0),
                leases_per_s_low: Some(1.0),
                leases_per_s_high: Some(99.0),
                mean: Some(mean),
                ..ServerResult::default()
            },
            ServerResult {
                server: "kea".to_owned(),
                leases_per_s_low: Some(1.0),
                leases_per_s_high: Some(2.0),
                ..ServerResult::default()
            },
        ];
        let line = head(&summary).into_stored_run("r");
        assert_eq!(
            (line.id.as_str(), line.plan.as_str(), line.commit.as_str()),
            ("r", "dhcp4-quick", "0123abc")
        );
        let [godwit, kea] = &line.servers[..] else { panic!("two servers") };
        assert_eq!(
            (godwit.low, godwit.high, godwit.is_interval),
            (Some(mean.low), Some(mean.high), true)
        );
        assert_eq!((kea.low, kea.high, kea.is_interval), (Some(1.0), Some(2.0), false));
        assert_eq!(kea.leases_per_s, None);
    }

    #[test]
    fn all_words_must_be_there() {
        let run = StoredRun {
            id: "20260314T150926Z-dhcp4-quick".to_owned(),
            commit: "0123abc".to_owned(),
            servers: vec![StoredFigure {
                server: "isc-dhcpd".to_owned(),
                ..StoredFigure::default()
            }],
            is_baseline: true,
            ..StoredRun::default()
        };
        let matches =
            |words: &str| run.matches(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(matches("QUICK 0123 dhcpd pinned") && matches(""));
        assert!(!matches("quick kea") && !matches("unfinished"));
    }
}
