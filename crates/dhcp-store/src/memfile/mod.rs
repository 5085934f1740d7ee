//! Kea's lease files of both families: their names and purposes.
//!
//! `X` is the file that rows are appended to. A rotation renames it to `X.1` and begins a new one.
//! The cleanup reads `X.2` (the result of the last cleanup) and then `X.1`, writes the remaining
//! leases to `X.completed`, deletes the files that it read, and renames the result to `X.2`. A
//! server that starts loads `X.completed` if there is one, else `X.2` and then `X.1`; and then `X`.
//!
//! Kea writes its result to `X.output` first, and appends to an `X.output` that a dead cleanup has
//! left. So an unfinished file here is called `X.tmp`, which Kea never reads. A live file that is
//! damaged from its start on is copied to `X.broken-TIME` before its sound rows are put into a new
//! one.

mod cleanup;
mod columns;
mod file_operations;
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

pub use cleanup::{Cleanup, CleanupError, CleanupOutcome};
pub use columns::{Columns, LeaseFileHeader};
pub use file_operations::FileOperationError;
pub use format::{LeaseFileFamily, RowFileFormat, decode_row, encode_row, newest, rows_of_table};
pub use intake::{FileRow, Intake, LeaseLoadProgress, take_prefetched};
pub use line::RowLineWriter;
pub(crate) use line::append as append_line;
pub use load::{LoadReport, RowError};
pub use open::{Memfile, OpenError, OpenOptions, Rotation, Snapshot, load_file};
pub use plain::PlainRow;
pub(crate) use v6::NOBODY;
pub use value::{RowFault, Values};
pub use watch::Disturbance;
pub(crate) use watch::LeaseFileCheck;

/// Paths of the files that belong to one lease file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFiles {
    /// Path of the live file, to which rows are appended.
    pub live: PathBuf,
    /// Path of the rotated file: the live file of the time before the last rotation.
    pub rotated: PathBuf,
    /// Path of the previous file: the last cleanup's result.
    pub previous: PathBuf,
    /// Path of the completed file: a finished cleanup whose inputs may still exist.
    pub completed: PathBuf,
    /// Path of Kea's unfinished cleanup; Godwit only removes the file.
    pub output: PathBuf,
    /// Path of the scratch file: a lease file that is being made.
    pub scratch: PathBuf,
    /// Path of the lock file, which represents the exclusive lock on the lease file.
    pub lock: PathBuf,
    /// Path of the PID file of a running Kea cleanup.
    pub pid: PathBuf,
    /// Folder of all the lease files.
    pub folder: PathBuf,
}

impl LeaseFiles {
    /// Returns the paths of the files around the lease file `live`.
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
