//! Baseline of each plan, the run that later ones are compared with: a small file in the results
//! folder.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::compare;
use crate::error::{LabError, LabResult};
use crate::folder;

/// Name of the file with the baselines, in the results folder.
const FILE: &str = "baselines.json";
/// Value of the field `schema` in the file with the baselines.
const SCHEMA: &str = "godwit.baselines.v1";

/// Baselines of all plans, which later runs are compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Baselines {
    schema: String,
    /// Map from the name of the plan to the path of the run below the results folder.
    pub(super) baselines: BTreeMap<String, String>,
}

impl Baselines {
    /// Reads the file with the baselines in a results folder; empty when there is none.
    pub(super) fn read(results: &Path) -> LabResult<Self> {
        let path = results.join(FILE);
        if !path.exists() {
            return Ok(Self { schema: SCHEMA.to_owned(), baselines: BTreeMap::new() });
        }
        let read: Self = folder::read_json(&path)?;
        if read.schema != SCHEMA {
            let (path, schema) = (path.display(), read.schema);
            let message = format!("{path} cannot be read: its schema is {schema}");
            return Err(LabError::Usage(message));
        }
        Ok(read)
    }

    fn write(&self, results: &Path) -> LabResult<()> {
        folder::write_json(&results.join(FILE), self)
    }
}

/// Makes `run`, a result folder below `results`, the baseline of its plan; returns the plan's name,
/// and the previous baseline.
///
/// # Errors
/// The folder has no result or is elsewhere, or the file cannot be read or written.
pub fn pin(results: &Path, run: &Path) -> LabResult<(String, Option<String>)> {
    let summary = compare::read(run)?;
    let id = id(results, run)?;
    let mut all = Baselines::read(results)?;
    let before = all.baselines.insert(summary.plan.name.clone(), id.clone());
    all.write(results)?;
    Ok((summary.plan.name, before.filter(|before| *before != id)))
}

/// Removes the baseline of `plan` (the run that later ones are compared with); returns that run.
///
/// # Errors
/// The plan has none, or the file cannot be read or written.
pub fn unpin(results: &Path, plan: &str) -> LabResult<String> {
    let mut all = Baselines::read(results)?;
    let was = all.baselines.remove(plan).ok_or_else(|| no_baseline(results, plan))?;
    all.write(results)?;
    Ok(was)
}

/// Returns the folder of the baseline run for the plan that `run` belongs to.
///
/// # Errors
/// `run` has no result, or its plan has no baseline.
pub fn find_baseline(results: &Path, run: &Path) -> LabResult<PathBuf> {
    let plan = compare::read(run)?.plan.name;
    let all = Baselines::read(results)?;
    let id = all.baselines.get(&plan).ok_or_else(|| no_baseline(results, &plan))?;
    Ok(results.join(id))
}

fn no_baseline(results: &Path, plan: &str) -> LabError {
    LabError::Usage(format!(
        "no run of {plan} is pinned in {}; `godwit lab pin RUN` makes one the baseline, \
         `godwit lab list {plan}` lists the runs",
        results.display()
    ))
}

/// Returns the identifier of a stored run: its path below the results folder.
fn id(results: &Path, run: &Path) -> LabResult<String> {
    let real = |path: &Path| {
        path.canonicalize()
            .map_err(|e| LabError::Usage(format!("cannot use the folder {}: {e}", path.display())))
    };
    let (results, run) = (real(results)?, real(run)?);
    let is_plain = |path: &&Path| path.components().all(|c| matches!(c, Component::Normal(_)));
    let below = run.strip_prefix(&results).ok().filter(is_plain).and_then(Path::to_str);
    below.filter(|id| !id.is_empty()).map(str::to_owned).ok_or_else(|| {
        let (run, results) = (run.display(), results.display());
        LabError::Usage(format!("{run} is not in the results folder {results}"))
    })
}
