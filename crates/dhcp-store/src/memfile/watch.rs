//! Detection of lease files that other programs change while the server has the files open.
//!
//! The server writes the live file at a remembered offset of an open descriptor, so a write does
//! not show that the file's name was removed or leads to another file. [`Memfile::disturbance`]
//! compares names and lengths with the state that this program left; two `stat` calls for the live
//! file and one for each file next to it. The lease table in memory is complete, so the remedy for
//! each disturbance but [`Disturbance::InUse`] is [`Memfile::replace`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::FileOperationError;
use super::file_operations::FileOperationContext;
use super::open::Memfile;
use crate::storage::{FileState, LogFile, Storage};

/// Change of lease files that this program did not make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Missing live lease file: it was removed or renamed.
    Missing,
    /// Replaced live lease file: another file now has its name.
    Replaced,
    /// Locked live lease file: another server has locked the file that now has its name.
    InUse,
    /// Length of the live lease file in bytes that differs from the expected one.
    Length {
        /// Length of the live lease file after its last row, in bytes.
        expected: u64,
        /// Length of the live lease file that was found, in bytes.
        actual: u64,
    },
    /// Mode (permission bits) of the live lease file that keeps its owner from reading or writing
    /// it.
    Closed,
    /// Lease file with earlier rows that was removed, replaced or truncated.
    Companion(PathBuf),
    /// Step of the wall clock, after which the times of the leases in memory were moved by its
    /// size, so that the files have old times.
    Moved,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("was removed or renamed by another program"),
            Self::Replaced => f.write_str("was replaced by another program"),
            Self::InUse => f.write_str("was replaced by a file that another server uses"),
            Self::Length { expected, actual } => write!(
                f,
                "was changed by another program: it has {actual} bytes instead of {expected}"
            ),
            Self::Closed => f.write_str("cannot be opened any more: its mode was changed"),
            Self::Companion(path) => {
                write!(f, "is incomplete: another program has changed {}", path.display())
            }
            Self::Moved => {
                f.write_str("has times of leases from before the machine's clock was set")
            }
        }
    }
}

/// Lease file next to the live one, with the state that it must have; `None`: it must not exist.
#[derive(Clone, Debug)]
pub(crate) struct Companion {
    pub(super) path: PathBuf,
    state: Option<FileState>,
}

impl Companion {
    /// Returns true if the file is as this program left it; false if its state cannot be read.
    pub(super) fn is_same(&self, storage: &dyn Storage) -> bool {
        match (self.state, storage.state(&self.path)) {
            (Some(state), Ok(Some(current))) => {
                (state.id, state.len) == (current.id, current.len) && current.is_usable
            }
            (None, Ok(None)) => true,
            _ => false,
        }
    }
}

/// Check of the lease files that needs no lock: shards may write to the live file meanwhile.
#[derive(Debug)]
pub(crate) struct LeaseFileCheck {
    storage: Arc<dyn Storage>,
    file: Arc<dyn LogFile>,
    live: PathBuf,
    end: u64,
    companions: Vec<Companion>,
}

impl LeaseFileCheck {
    /// Returns true if [`Memfile::disturbance`] may find a change by another program.
    pub(crate) fn is_suspicious(&self) -> bool {
        let (open_state, live_state) = (self.file.state(), self.storage.state(&self.live));
        let (Ok(open_state), Ok(Some(live_state))) = (open_state, live_state) else { return true };
        // Rows written since make the file longer, too: then the files are checked once more, under
        // the lock.
        open_state.id != live_state.id
            || open_state.len != self.end
            || !open_state.is_usable
            || self.companions.iter().any(|one| !one.is_same(&*self.storage))
    }
}

impl Memfile {
    /// Returns a check of the lease files against their present state; of the live one alone while
    /// a cleanup runs.
    pub(crate) fn file_check(&self, is_cleaning: bool) -> LeaseFileCheck {
        LeaseFileCheck {
            storage: self.storage.clone(),
            file: self.file.clone(),
            live: self.files.live.clone(),
            end: self.end,
            companions: if is_cleaning { Vec::new() } else { self.companions.clone() },
        }
    }

    /// Returns the change that another program has made to the lease files; `None` if the files are
    /// as this program left them. No cleanup may run.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read.
    pub fn disturbance(&self) -> Result<Option<Disturbance>, FileOperationError> {
        if let Some(disturbance) = self.live_disturbance()? {
            return Ok(Some(disturbance));
        }
        let changed = |one: &&Companion| !one.is_same(&*self.storage);
        if let Some(companion) = self.companions.iter().find(changed) {
            return Ok(Some(Disturbance::Companion(companion.path.clone())));
        }
        Ok(None)
    }

    /// Returns the disturbance of the live lease file alone; a cleanup may run.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read.
    pub fn live_disturbance(&self) -> Result<Option<Disturbance>, FileOperationError> {
        let open_state = self.own_state()?;
        let Some(live_state) = self.state_of(&self.files.live)? else {
            return Ok(Some(Disturbance::Missing));
        };
        if live_state.id != open_state.id {
            let is_in_use = live_state.is_usable && self.is_live_in_use()?;
            return Ok(Some(if is_in_use { Disturbance::InUse } else { Disturbance::Replaced }));
        }
        if open_state.len != self.end {
            return Ok(Some(Disturbance::Length { expected: self.end, actual: open_state.len }));
        }
        Ok((!open_state.is_usable).then_some(Disturbance::Closed))
    }

    /// Returns the change of length of the live lease file; `None` if it ends after the last row,
    /// or its length cannot be read.
    pub(crate) fn length_disturbance(&self) -> Option<Disturbance> {
        let len = self.file.len().ok()?;
        (len != self.end).then_some(Disturbance::Length { expected: self.end, actual: len })
    }

    /// Returns true if another server holds the lock of the file that has the live file's name.
    fn is_live_in_use(&self) -> Result<bool, FileOperationError> {
        let live = &self.files.live;
        match self.storage.open(live).with_operation("open", live)? {
            Some(file) => Ok(!file.lock().with_operation("lock", live)?),
            None => Ok(false),
        }
    }

    /// Records the state of the lease files next to the live one, after this program has changed
    /// them.
    pub(super) fn note_companions(&mut self) -> Result<(), FileOperationError> {
        self.companions.clear();
        let files = &self.files;
        for path in [files.rotated.clone(), files.previous.clone(), files.completed.clone()] {
            let state = self.state_of(&path)?;
            self.companions.push(Companion { path, state });
        }
        Ok(())
    }

    /// Returns the size of the previous lease file (`X.2`), the last cleanup's result, in bytes.
    pub(crate) fn previous_len(&self) -> u64 {
        let previous = self.companions.iter().find(|one| one.path == self.files.previous);
        previous.and_then(|one| one.state).map_or(0, |state| state.len)
    }

    pub(super) fn state_of(&self, path: &Path) -> Result<Option<FileState>, FileOperationError> {
        self.storage.state(path).with_operation("look at", path)
    }

    pub(super) fn own_state(&self) -> Result<FileState, FileOperationError> {
        self.file.state().with_operation("look at", &self.files.live)
    }
}
