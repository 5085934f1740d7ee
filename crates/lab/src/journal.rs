//! What a run tells of itself while it goes on: `progress.jsonl` in its folder, an object per line. Who
//! runs the plan holds a lock on the file, so a run that was killed is not taken for one that goes on.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use measure::record::Run;
use measure::summary::{Summary, digest};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::folder;

/// The file's name.
const FILE: &str = "progress.jsonl";
/// Value of `schema` in its first line.
const SCHEMA: &str = "godwit.progress.v1";

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Begun {
    schema: String,
    /// What is known of the run before its first trial.
    run: Run,
}

/// How much an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// What is being done.
    Step,
    /// What was done.
    Done,
    /// What the reader must know.
    Said,
}

/// Every other line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Seconds since the lab began.
    pub(crate) at_s: f64,
    pub(crate) kind: Kind,
    pub(crate) words: String,
}

/// The writing end. What is told before the folder is there waits for it; what cannot be written is no
/// reason to end a measurement.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    waiting: Vec<String>,
    file: Option<File>,
}

impl Journal {
    /// For the run in `folder`, which need not be there yet.
    pub(crate) fn new(folder: &Path, run: &Run) -> Self {
        let begun = Begun { schema: SCHEMA.to_owned(), run: run.clone() };
        let mut journal = Self { path: folder.join(FILE), waiting: Vec::new(), file: None };
        journal.append(&begun);
        journal
    }

    pub(crate) fn note(&mut self, at_s: f64, kind: Kind, words: &str) {
        self.append(&Entry { at_s, kind, words: words.to_owned() });
    }

    fn append(&mut self, line: &impl Serialize) {
        self.waiting.push(serde_json::to_string(line).expect("plain data") + "\n");
        if self.file.is_none() {
            let file = OpenOptions::new().create(true).append(true).open(&self.path).ok();
            self.file = file.filter(|file| file.try_lock().is_ok());
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(self.waiting.concat().as_bytes());
            self.waiting.clear();
        }
    }
}

/// What the run in a folder has told so far.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// What was known before its first trial.
    pub(crate) run: Run,
    pub(crate) entries: Vec<Entry>,
    /// Whether it goes on.
    pub(crate) is_running: bool,
}

/// Reads what the run in `folder` has told; `None` when it tells nothing, or not yet.
pub(crate) fn read(folder: &Path) -> Option<Told> {
    let path = folder.join(FILE);
    let text = fs::read_to_string(&path).ok()?;
    // The last line may not be whole yet.
    let (whole, _) = text.rsplit_once('\n')?;
    let mut lines = whole.lines();
    let begun: Begun = serde_json::from_str(lines.next()?).ok()?;
    if begun.schema != SCHEMA {
        return None;
    }
    let entries = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    Some(Told { run: begun.run, entries, is_running: is_held(&path) })
}

/// Whether somebody holds the lock.
fn is_held(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Trials of a run that are over.
pub(crate) fn trials_done(folder: &Path) -> usize {
    let entries = fs::read_dir(folder.join(folder::TRIALS)).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().join(folder::TRIAL).is_file()).count()
}

/// What a run that goes on amounts to so far. How searches ended is not known before its end, so the runs
/// of a plan that has some are judged like rounds: by what was confirmed in each.
///
/// # Errors
/// The records of its trials cannot be read.
pub(crate) fn so_far(folder: &Path, told: &Told) -> Result<Summary, LabError> {
    let mut run = told.run.clone();
    run.plan.runs.count = 0;
    let at_s = |entry: Option<&Entry>| entry.map_or(0.0, |entry| entry.at_s);
    run.duration_s = at_s(told.entries.last()) - at_s(told.entries.first());
    Ok(digest(&run, &crate::report::trials(folder)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_while_it_goes_on_and_not_taken_for_one_afterwards() {
        let folder = std::env::temp_dir().join(format!("godwit-journal-{}", std::process::id()));
        let mut run = Run { started: "2026-01-02T03:04:05Z".to_owned(), ..Run::default() };
        run.plan.name = "mine".to_owned();
        let mut journal = Journal::new(&folder, &run);
        journal.note(0.5, Kind::Step, "before the folder");
        assert!(read(&folder).is_none());
        fs::create_dir_all(&folder).unwrap();
        journal.note(1.5, Kind::Done, "then");
        let told = read(&folder).unwrap();
        assert_eq!((told.run.plan.name.as_str(), told.is_running), ("mine", true));
        let words: Vec<&str> = told.entries.iter().map(|entry| entry.words.as_str()).collect();
        assert_eq!(words, ["before the folder", "then"]);
        assert_eq!(told.entries[1].kind, Kind::Done);
        // A line that is not whole yet is left for the next time.
        fs::write(
            folder.join(FILE),
            fs::read_to_string(folder.join(FILE)).unwrap() + "{\"at_s\":2,",
        )
        .unwrap();
        assert_eq!(read(&folder).unwrap().entries.len(), 2);
        drop(journal);
        assert!(!read(&folder).unwrap().is_running);
        fs::remove_dir_all(folder).unwrap();
    }
}
