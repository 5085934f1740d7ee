//! Result folder of a run: names, and JSON files that are complete or absent.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base::CivilTime;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{LabError, LabResult};

/// Names of files in a result folder.
pub(crate) const RUN: &str = "run.json";
pub(crate) const SUMMARY: &str = "summary.json";
pub(crate) const REPORT: &str = "report.html";
pub(crate) const LEASES: &str = "leases.json";
pub(crate) const TRIALS: &str = "trials";
pub(crate) const SERVERS: &str = "servers";
pub(crate) const TRIAL: &str = "trial.json";

/// Date and time of day in universal time (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calendar(CivilTime);

impl Calendar {
    /// Returns the current time by the system's clock.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::from_unix(since.as_secs())
    }

    /// Returns the time `seconds` after 1970 began.
    pub(crate) const fn from_unix(seconds: u64) -> Self {
        Self(CivilTime::from_unix_s(seconds.cast_signed()))
    }

    /// Formats the time by RFC 3339.
    pub(crate) fn rfc3339(self) -> String {
        self.0.to_string().replace(' ', "T") + "Z"
    }

    /// Formats the time by RFC 3339 without punctuation, for names of files.
    pub(crate) fn compact(self) -> String {
        self.rfc3339().replace([':', '-'], "")
    }
}

/// Converts the time in the name of a result folder to RFC 3339; `None` for any other text.
pub(crate) fn expanded(compact: &str) -> Option<String> {
    let is_sound = compact.len() == 16
        && compact.char_indices().all(|(at, c)| match at {
            8 => c == 'T',
            15 => c == 'Z',
            _ => c.is_ascii_digit(),
        });
    is_sound.then(|| {
        let [year, month, day, hour, minute, second] =
            [0..4, 4..6, 6..8, 9..11, 11..13, 13..15].map(|range| &compact[range]);
        format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")
    })
}

/// Chooses a name for a result folder below `results` that is not taken, from the time and the
/// plan's name; returns the absolute path.
pub(crate) fn choose(results: &Path, at: Calendar, plan: &str) -> LabResult<PathBuf> {
    fs::create_dir_all(results)
        .map_err(|e| LabError::cannot(format!("create the folder {}", results.display()), e))?;
    let results = results
        .canonicalize()
        .map_err(|e| LabError::cannot(format!("use the folder {}", results.display()), e))?;
    let name = format!("{}-{plan}", at.compact());
    let names = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}-{n}") });
    let free = names.map(|name| results.join(name)).find(|path| !path.exists());
    Ok(free.expect("names do not run out"))
}

/// Creates a folder and its missing parents.
pub(crate) fn create(path: &Path) -> LabResult<()> {
    fs::create_dir_all(path)
        .map_err(|e| LabError::cannot(format!("create the folder {}", path.display()), e))
}

/// Writes `value` as JSON to `path` so that the file is complete or absent.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> LabResult<()> {
    let text = serde_json::to_string_pretty(value).expect("records are plain data");
    write_text(path, &(text + "\n"))
}

/// Writes `text` to `path` so that the file is complete or absent, like [`write_json`].
pub(crate) fn write_text(path: &Path, text: &str) -> LabResult<()> {
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, text)
        .and_then(|()| fs::rename(&unfinished, path))
        .map_err(|e| LabError::cannot(format!("write {}", path.display()), e))
}

/// Reads a JSON file of a result folder; an invalid file is an error of usage.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> LabResult<T> {
    let text = fs::read_to_string(path)
        .map_err(|e| LabError::Usage(format!("cannot read {}: {e}", path.display())))?;
    serde_json::from_str(&text)
        .map_err(|e| LabError::Usage(format!("{} cannot be read: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Printed by date(1): date -u -d @N.
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Calendar::from_unix(seconds).rfc3339(), date);
        }
        assert_eq!(Calendar::from_unix(951_782_400).compact(), "20000229T000000Z");
        assert_eq!(expanded("20000229T000000Z").unwrap(), "2000-02-29T00:00:00Z");
        for odd in ["", "20000229", "2000-02-29T00:00", "20000229T00000é", "20000229T00000ZZ"] {
            assert_eq!(expanded(odd), None, "{odd}");
        }
    }

    #[test]
    fn names_that_are_taken_get_a_number() {
        let temporary = TempFolder::new("folder");
        let folder = &temporary.path().join("results");
        let at = Calendar::from_unix(0);
        let first = choose(folder, at, "p").unwrap();
        create(&first).unwrap();
        let second = choose(folder, at, "p").unwrap();
        assert!(first.ends_with("19700101T000000Z-p") && second.ends_with("19700101T000000Z-p-2"));
    }
}
