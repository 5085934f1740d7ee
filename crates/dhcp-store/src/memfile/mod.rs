//! Kea's lease files of both families: their names and what each is for.
//!
//! `X` is the file that rows are appended to. A rotation renames it to `X.1` and begins a new one.
//! The clean-up reads `X.2` (what the last clean-up left) and then `X.1`, writes what remains to
//! `X.completed`, deletes what it read, and renames the result to `X.2`. A server that starts loads
//! `X.completed` when there is one, else `X.2` and then `X.1`; and then `X`.
//!
//! Kea writes its result to `X.output` first and appends to one that a dead clean-up has left
//! behind. So what is unfinished here is called `X.tmp`, which Kea never looks at. A live file that is
//! damaged from its start on is copied to `X.broken-TIME` before its sound rows are put into a new one.

mod attempt;
mod cleanup;
mod columns;
mod format;
mod inspect;
mod intake;
mod line;
mod load;
mod open;
mod plain;
mod salvage;
mod v4;
mod v6;
mod value;
mod watch;

use std::path::{Path, PathBuf};

pub use attempt::Failed;
pub use cleanup::{Cleaned, Cleanup, CleanupError};
pub use columns::{Columns, Header};
pub use format::{Format, Rows, encode_row, newest, rows_of_table};
pub use intake::{FileRow, Intake, Progress, take_foreseen};
pub use line::Line;
pub(crate) use line::append as append_line;
pub use load::{LoadReport, RowError};
pub use open::{Memfile, OpenError, OpenOptions, Rotation, Snapshot, load_file};
pub use plain::Plain;
pub(crate) use v6::NOBODY;
pub use value::{RowFault, Values};
pub use watch::Disturbance;
pub(crate) use watch::Look;

/// The files that belong to one lease file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFiles {
    /// The file that rows are appended to.
    pub live: PathBuf,
    /// What the live file was before the last rotation.
    pub rotated: PathBuf,
    /// The result of the last clean-up.
    pub previous: PathBuf,
    /// A finished clean-up whose inputs may still be there.
    pub completed: PathBuf,
    /// Kea's unfinished clean-up; only ever removed here.
    pub output: PathBuf,
    /// A file that is being made.
    pub scratch: PathBuf,
    /// Stands for the exclusive lock.
    pub lock: PathBuf,
    /// Names the process of a Kea clean-up that runs.
    pub pid: PathBuf,
    /// Where they all lie.
    pub folder: PathBuf,
}

impl LeaseFiles {
    /// The files around the lease file `live`.
    #[must_use]
    pub fn new(live: &Path) -> Self {
        let with = |suffix: &str| {
            let mut name = live.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let folder = match live.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        Self {
            live: live.to_owned(),
            rotated: with(".1"),
            previous: with(".2"),
            completed: with(".completed"),
            output: with(".output"),
            scratch: with(".tmp"),
            lock: with(".lock"),
            pid: with(".pid"),
            folder,
        }
    }
}
