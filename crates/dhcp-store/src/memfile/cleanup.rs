//! The clean-up: rotated files become one with a row for each lease.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::codec::RowCodec;
use super::columns::{Columns, Header};
use super::load::{LoadError, LoadReport, Source, load};
use super::open::inspect;
use crate::memfile::attempt::{Tried, prepare, rename};
use crate::memfile::{Failed, LeaseFiles};
use crate::storage::Storage;

/// A clean-up that may run beside the server: it touches rotated files only.
#[derive(Clone, Debug)]
pub struct Cleanup<F> {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) files: LeaseFiles,
    pub(crate) max_row_errors: u32,
    pub(crate) family: PhantomData<F>,
}

/// What a clean-up did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// What it read.
    pub report: LoadReport,
    /// Leases that it wrote.
    pub leases: u64,
}

/// Why a clean-up gave up. The files load as before, and it may be tried again.
#[derive(Debug)]
pub enum CleanupError {
    /// The operating system did not do something.
    Storage(Failed),
    /// A file has more bad rows than allowed.
    TooManyBadRows(LoadReport),
    /// A file does not begin like a lease file of this family.
    NotALeaseFile(std::path::PathBuf, &'static str),
}

impl fmt::Display for CleanupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(failed) => failed.fmt(f),
            Self::TooManyBadRows(report) => write!(f, "{} bad rows", report.bad_rows),
            Self::NotALeaseFile(path, family) => {
                write!(f, "{}:1: not the header of a {family} lease file", path.display())
            }
        }
    }
}

impl std::error::Error for CleanupError {}

impl From<Failed> for CleanupError {
    fn from(failed: Failed) -> Self {
        Self::Storage(failed)
    }
}

impl From<LoadError> for CleanupError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Read { path, error } => Self::Storage(Failed { tried: "read", path, error }),
            LoadError::TooManyBadRows(report) => Self::TooManyBadRows(report),
        }
    }
}

impl<F: RowCodec> Cleanup<F> {
    /// Does it. Whenever the power fails in between, the files that remain load the same.
    ///
    /// # Errors
    ///
    /// See [`CleanupError`].
    pub fn run(&self) -> Result<Cleaned, CleanupError> {
        let mut cleaned = Cleaned::default();
        let completed = &self.files.completed;
        match self.storage.open(completed).tried("open", completed)? {
            // Whoever wrote it may have flushed neither it nor its name.
            Some(file) => {
                file.sync_data().tried("flush", completed)?;
                let folder = &self.files.folder;
                self.storage.sync_folder(folder).tried("flush the folder", folder)?;
            }
            None => cleaned = self.complete()?,
        }
        self.finish()?;
        Ok(cleaned)
    }

    /// Writes the completed file from the rotated ones.
    fn complete(&self) -> Result<Cleaned, CleanupError> {
        let mut sources: Vec<Source> = Vec::new();
        for path in [&self.files.previous, &self.files.rotated] {
            let Some(file) = self.storage.open(path).tried("open", path)? else { continue };
            let found = inspect::<F>(path, file)?;
            sources.extend(
                found.ok_or_else(|| CleanupError::NotALeaseFile(path.clone(), F::NAME))?.source,
            );
        }
        let (mut leases, report) = load::<F>(&sources, 1, self.max_row_errors)?;
        leases.sort_unstable_by_key(|lease| F::subject(lease).0);
        prepare(&*self.storage, &self.files, |writer| {
            writer.append(|block| Columns::NEWEST.encode_header::<F>(block))?;
            leases.iter().try_for_each(|lease| {
                writer.append(|block| F::encode(&F::row_of(lease), Columns::NEWEST, block))
            })
        })?;
        rename(&*self.storage, &self.files, &self.files.scratch, &self.files.completed)?;
        Ok(Cleaned { report, leases: leases.len() as u64 })
    }

    /// Removes what the completed file stands for, and gives it its lasting name; in this order
    /// even after a power failure, since older rows loaded after it would undo it.
    pub(crate) fn finish(&self) -> Result<(), Failed> {
        let Self { storage, files, .. } = self;
        if storage.remove(&files.rotated).tried("remove", &files.rotated)? {
            storage.sync_folder(&files.folder).tried("flush the folder", &files.folder)?;
        }
        rename(&**storage, files, &files.completed, &files.previous)
    }
}

/// A lease file that was looked at.
pub(crate) struct Found {
    /// Its rows; `None` when it has not even a whole header.
    pub(crate) source: Option<Source>,
    /// Octets after the last complete row.
    pub(crate) torn_octets: u64,
}

impl Found {
    pub(crate) fn header(&self) -> Option<Header> {
        self.source.as_ref().map(|source| source.header)
    }
}
