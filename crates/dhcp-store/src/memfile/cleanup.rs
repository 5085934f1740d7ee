//! Cleanup of lease files (Kea's LFC): turns rotated files into one file with one row for each
//! lease.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::columns::{Columns, LeaseFileHeader};
use super::format::{LeaseFileFamily, RowFileFormat};
use super::inspect::inspect;
use super::load::{LeaseLoadError, LoadReport, RowSource};
use super::watch::Companion;
use crate::memfile::file_operations::{FileOperationContext, prepare, rename};
use crate::memfile::{FileOperationError, LeaseFiles};
use crate::storage::Storage;

/// Cleanup of lease files that may run next to the server: it touches rotated files only.
#[derive(Clone, Debug)]
pub struct Cleanup {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) files: LeaseFiles,
    pub(crate) format: RowFileFormat,
    pub(crate) max_row_errors: u32,
    /// State (identity and length) of the files that the cleanup reads, as this program left them.
    pub(super) companions: Vec<Companion>,
}

/// Result of a cleanup of lease files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupOutcome {
    /// Report of the lease files that the cleanup read.
    pub report: LoadReport,
    /// Number of leases that the cleanup wrote.
    pub leases: u64,
}

/// Reason why a cleanup of lease files gave up. The files load as before, and the cleanup may be
/// tried again.
#[derive(Debug)]
pub enum CleanupError {
    /// Failed file operation of the operating system.
    Storage(FileOperationError),
    /// Lease file with more bad rows than allowed.
    TooManyBadRows(LoadReport),
    /// File whose first line is not a lease file's.
    NotALeaseFile(std::path::PathBuf),
}

impl fmt::Display for CleanupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(failed) => failed.fmt(f),
            Self::TooManyBadRows(report) => write!(f, "{} bad rows", report.bad_rows),
            Self::NotALeaseFile(path) => {
                write!(f, "{}:1: not the header of a lease file", path.display())
            }
        }
    }
}

impl std::error::Error for CleanupError {}

impl From<FileOperationError> for CleanupError {
    fn from(failed: FileOperationError) -> Self {
        Self::Storage(failed)
    }
}

impl From<LeaseLoadError> for CleanupError {
    fn from(error: LeaseLoadError) -> Self {
        match error {
            LeaseLoadError::Read { path, error } => {
                Self::Storage(FileOperationError { operation: "read", path, error })
            }
            LeaseLoadError::TooManyBadRows(report) => Self::TooManyBadRows(report),
        }
    }
}

impl Cleanup {
    /// Returns the cleanup of `files` for a program that does nothing else, like Kea's `kea-lfc`.
    #[must_use]
    pub fn alone<F: LeaseFileFamily>(storage: Arc<dyn Storage>, files: LeaseFiles) -> Self {
        let format = RowFileFormat::for_family::<F>();
        Self { storage, files, format, max_row_errors: 0, companions: Vec::new() }
    }

    /// Runs the cleanup of the lease files. If the power fails at any point, the remaining files
    /// load the same leases.
    ///
    /// # Errors
    ///
    /// See [`CleanupError`].
    pub fn run(&self) -> Result<CleanupOutcome, CleanupError> {
        let changed = |one: &&Companion| !one.is_same(&*self.storage);
        if let Some(companion) = self.companions.iter().find(changed) {
            let error = io::Error::other("another program has changed it");
            return Err(FileOperationError {
                operation: "use",
                path: companion.path.clone(),
                error,
            }
            .into());
        }
        let mut cleaned = CleanupOutcome::default();
        let completed = &self.files.completed;
        match self.storage.open(completed).with_operation("open", completed)? {
            // The process that wrote it may have flushed neither the file nor its name.
            Some(file) => {
                file.sync_data().with_operation("flush", completed)?;
                let folder = &self.files.folder;
                self.storage.sync_folder(folder).with_operation("flush the folder", folder)?;
            }
            None => cleaned = self.complete()?,
        }
        self.finish()?;
        Ok(cleaned)
    }

    /// Writes the completed lease file from the rotated ones.
    fn complete(&self) -> Result<CleanupOutcome, CleanupError> {
        let mut sources: Vec<RowSource> = Vec::new();
        for path in [&self.files.previous, &self.files.rotated] {
            let Some(file) = self.storage.open(path).with_operation("open", path)? else {
                continue;
            };
            let inspected = inspect(&self.format, path, file)?;
            sources
                .extend(inspected.ok_or_else(|| CleanupError::NotALeaseFile(path.clone()))?.source);
        }
        let (leases, report) = (self.format.load_sorted)(&sources, self.max_row_errors)?;
        prepare(&*self.storage, &self.files, |writer| {
            let columns = Columns::newest(&self.format);
            writer.append(|block| columns.encode_header(&self.format, block))?;
            leases.write(writer)
        })?;
        rename(&*self.storage, &self.files, &self.files.scratch, &self.files.completed)?;
        Ok(CleanupOutcome { report, leases: leases.count() })
    }

    /// Removes the files that the completed file replaces, and gives the completed file its final
    /// name; the files change in this order even if the power fails, since older rows loaded after
    /// the completed file would undo its rows.
    pub(crate) fn finish(&self) -> Result<(), FileOperationError> {
        let Self { storage, files, .. } = self;
        if storage.remove(&files.rotated).with_operation("remove", &files.rotated)? {
            storage.sync_folder(&files.folder).with_operation("flush the folder", &files.folder)?;
        }
        rename(&**storage, files, &files.completed, &files.previous)
    }
}

/// Lease file after its inspection, with its sound rows.
pub(crate) struct InspectedLeaseFile {
    /// Rows of the lease file; `None` if even its header is incomplete.
    pub(crate) source: Option<RowSource>,
    /// Number of bytes after the last complete row of the lease file.
    pub(crate) torn_octets: u64,
}

impl InspectedLeaseFile {
    pub(crate) fn header(&self) -> Option<LeaseFileHeader> {
        self.source.as_ref().map(|source| source.header)
    }
}
