//! Result folder for measurements of another product: named, described and written as those of the
//! lab's own runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use measure::record::Environment;
use serde::Serialize;

use crate::environment;
use crate::error::LabResult;
use crate::folder::{self, Calendar};

/// Result folder that is created as soon as something is written to it.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    path: PathBuf,
    began: Calendar,
    origin: Instant,
}

impl ResultFolder {
    /// Chooses a name for the results of `plan` below `results`; the measurement begins now.
    ///
    /// # Errors
    /// The folder `results` does not exist and cannot be made.
    pub fn choose(results: &Path, plan: &str) -> LabResult<Self> {
        let began = Calendar::now();
        let path = folder::choose(results, began, plan)?;
        Ok(Self { path, began, origin: Instant::now() })
    }

    /// Returns the begin of the measurement, in the format of RFC 3339.
    pub fn started(&self) -> String {
        self.began.rfc3339()
    }

    /// Returns the seconds since the begin of the measurement.
    pub fn elapsed_s(&self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }

    /// Returns the environment of the measurement, with `topology` filled in.
    pub fn environment(&self, topology: &str) -> Environment {
        environment::gather(topology, BTreeMap::new())
    }

    /// Writes `run.json` and `report.html`; returns the path of the report.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, run: &impl Serialize, report: &str) -> LabResult<PathBuf> {
        folder::create(&self.path)?;
        folder::write_json(&self.path.join(folder::RUN), run)?;
        let path = self.path.join(folder::REPORT);
        folder::write_text(&path, report)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn nothing_is_there_before_something_is_written() {
        let temporary = TempFolder::new("results");
        let results = &temporary.path().join("results");
        let folder = ResultFolder::choose(results, "x").unwrap();
        assert_eq!(std::fs::read_dir(results).unwrap().count(), 0);
        let report = folder.write(&[1, 2], "<p>").unwrap();
        assert_eq!(std::fs::read_to_string(&report).unwrap(), "<p>");
        let run: Vec<u8> = folder::read_json(&report.with_file_name("run.json")).unwrap();
        assert_eq!(run, [1, 2]);
        let began = folder.started().replace(['-', ':'], "");
        assert!(report.parent().unwrap().ends_with(format!("{began}-x")), "{report:?}");
    }
}
