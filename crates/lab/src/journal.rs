//! Progress of a run: the file `progress.jsonl` in its result folder, a JSON object per line. The
//! process that runs the plan holds a lock on the file, so a run that was killed is not taken for
//! one in progress.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use measure::record::RunRecord;
use measure::summary::{RunSummary, digest};
use serde::{Deserialize, Serialize};

use crate::error::LabResult;
use crate::folder;

/// Name of the file with the progress of a run, in the result folder.
const FILE: &str = "progress.jsonl";
/// Value of the field `schema` in the first line of the progress file.
const SCHEMA: &str = "godwit.progress.v1";

/// Header of the progress file, its first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct JournalHeader {
    schema: String,
    /// Record of the run as known before its first trial.
    run: RunRecord,
}

/// Kind of an entry in a run's progress file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum JournalEntryKind {
    /// Step of the run that is in progress.
    Step,
    /// Step of the run that is finished.
    Done,
    /// Message about the run that remains visible.
    Said,
}

/// Entry of the progress file: any line but the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    /// Time of the entry in the progress file, in seconds since the lab began.
    pub(crate) at_s: f64,
    pub(crate) kind: JournalEntryKind,
    pub(crate) words: String,
}

/// Writer of a run's progress file. Entries wait until the result folder exists; a failed write
/// does not end the measurement.
#[derive(Debug)]
pub(crate) struct RunJournal {
    path: PathBuf,
    waiting: Vec<String>,
    file: Option<File>,
}

impl RunJournal {
    /// Makes the journal of the run in `folder`, which need not exist yet.
    pub(crate) fn new(folder: &Path, run: &RunRecord) -> Self {
        let begun = JournalHeader { schema: SCHEMA.to_owned(), run: run.clone() };
        let mut journal = Self { path: folder.join(FILE), waiting: Vec::new(), file: None };
        journal.append(&begun);
        journal
    }

    pub(crate) fn record(&mut self, at_s: f64, kind: JournalEntryKind, words: &str) {
        self.append(&JournalEntry { at_s, kind, words: words.to_owned() });
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

/// Progress so far of the run in a result folder.
#[derive(Clone, Debug)]
pub(crate) struct RunProgress {
    /// Record of the run as known before its first trial.
    pub(crate) run: RunRecord,
    pub(crate) entries: Vec<JournalEntry>,
    /// True if a process is still doing the run.
    pub(crate) is_running: bool,
}

/// Reads the progress of the run in `folder`; `None` when there is none, or not yet.
pub(crate) fn read(folder: &Path) -> Option<RunProgress> {
    let path = folder.join(FILE);
    let text = fs::read_to_string(&path).ok()?;
    // The last line may be incomplete.
    let (whole, _) = text.rsplit_once('\n')?;
    let mut lines = whole.lines();
    let begun: JournalHeader = serde_json::from_str(lines.next()?).ok()?;
    if begun.schema != SCHEMA {
        return None;
    }
    let entries = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    Some(RunProgress { run: begun.run, entries, is_running: is_locked(&path) })
}

/// Returns true if a process holds the lock on the progress file at `path`.
fn is_locked(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Returns the number of finished trials of the run in `folder`.
pub(crate) fn finished_trials(folder: &Path) -> usize {
    let entries = fs::read_dir(folder.join(folder::TRIALS)).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().join(folder::TRIAL).is_file()).count()
}

/// Makes the summary of the run in progress in `folder`. The ends of searches are not known before
/// the run's end, so the runs of a plan with runs are judged like rounds: by the confirmed rate of
/// each.
///
/// # Errors
/// The records of its trials cannot be read.
pub(crate) fn summarize(folder: &Path, progress: &RunProgress) -> LabResult<RunSummary> {
    let mut run = progress.run.clone();
    run.plan.runs.count = 0;
    let at_s = |entry: Option<&JournalEntry>| entry.map_or(0.0, |entry| entry.at_s);
    run.duration_s = at_s(progress.entries.last()) - at_s(progress.entries.first());
    Ok(digest(&run, &crate::report::trials(folder)?))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_run_is_read_while_it_goes_on_and_not_taken_for_one_afterwards() {
        let temporary = TempFolder::new("journal");
        let folder = &temporary.path().join("run");
        let mut run =
            RunRecord { started: "2026-01-02T03:04:05Z".to_owned(), ..RunRecord::default() };
        run.plan.name = "mine".to_owned();
        let mut journal = RunJournal::new(folder, &run);
        journal.record(0.5, JournalEntryKind::Step, "before the folder");
        assert!(read(folder).is_none());
        fs::create_dir_all(folder).unwrap();
        journal.record(1.5, JournalEntryKind::Done, "then");
        let progress = read(folder).unwrap();
        assert_eq!((progress.run.plan.name.as_str(), progress.is_running), ("mine", true));
        let words: Vec<&str> = progress.entries.iter().map(|entry| entry.words.as_str()).collect();
        assert_eq!(words, ["before the folder", "then"]);
        assert_eq!(progress.entries[1].kind, JournalEntryKind::Done);
        // An incomplete line is left for the next call.
        fs::write(
            folder.join(FILE),
            fs::read_to_string(folder.join(FILE)).unwrap() + "{\"at_s\":2,",
        )
        .unwrap();
        assert_eq!(read(folder).unwrap().entries.len(), 2);
        drop(journal);
        // A process that another test starts at this moment has the journal's lock until it
        // executes another program.
        let until = Instant::now() + Duration::from_secs(300);
        while read(folder).unwrap().is_running && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!read(folder).unwrap().is_running);
    }
}
