//! A set of lease files, opened for good: locked, leftovers tidied, loaded, and then appended to.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::attempt::{BlockWriter, Tried, prepare, rename};
use super::cleanup::{Cleanup, CleanupError, Found};
use super::columns::{Columns, Header};
use super::format::{Format, Rows};
use super::intake::{Collected, Intake};
use super::load::{LoadError, LoadReport, Source, load, load_into};
use super::{Failed, LeaseFiles};
use crate::storage::{Lock, LogFile, Storage, read_full_at, write_all_at};

/// How to open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Bad rows that one file may have; 0 = any number (Kea's `max-row-errors`).
    pub max_row_errors: u32,
    /// Threads that load; 0 = one for each processor.
    pub threads: usize,
    /// What is in the live file counts as it is, flushed or not: for those who promise no more than
    /// that a lease was written.
    pub skips_flush: bool,
}

/// Why lease files could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The operating system did not do something.
    Storage(Failed),
    /// Another server has the lease file.
    InUse(PathBuf),
    /// Kea's clean-up of this lease file runs, as the process of this number.
    CleanupRuns(PathBuf, u32),
    /// The first line is not a lease file's.
    NotALeaseFile(PathBuf),
    /// A file has more bad rows than allowed.
    TooManyBadRows(LoadReport),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(failed) => failed.fmt(f),
            Self::InUse(path) => {
                write!(f, "lease file {} is in use by another server", path.display())
            }
            Self::CleanupRuns(path, pid) => write!(
                f,
                "lease file {} is being cleaned up by kea-lfc (process {pid}): try again when it \
                 is done",
                path.display()
            ),
            Self::NotALeaseFile(path) => {
                write!(f, "{}:1: not the header of a lease file of this family", path.display())
            }
            Self::TooManyBadRows(report) => {
                write!(f, "more bad rows than max-row-errors allows")?;
                report.errors.iter().try_for_each(|error| write!(f, "\n{error}"))
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl From<Failed> for OpenError {
    fn from(failed: Failed) -> Self {
        Self::Storage(failed)
    }
}

impl From<CleanupError> for OpenError {
    fn from(error: CleanupError) -> Self {
        match error {
            CleanupError::Storage(failed) => Self::Storage(failed),
            CleanupError::TooManyBadRows(report) => Self::TooManyBadRows(report),
            CleanupError::NotALeaseFile(path) => Self::NotALeaseFile(path),
        }
    }
}

impl From<LoadError> for OpenError {
    fn from(error: LoadError) -> Self {
        CleanupError::from(error).into()
    }
}

/// How a rotation went.
#[derive(Debug)]
pub enum Rotation {
    /// Rows go to a new file.
    Done,
    /// Nothing was done: earlier rotated files wait for a clean-up.
    CleanupFirst,
    /// Nothing was done: a new file could not be made. The present one is as good as before.
    NoNewFile(Failed),
}

/// Gives the rows of a whole table, as text with the newest columns, one by one to what it is
/// given.
pub type Snapshot<'s> = dyn FnMut(&mut dyn FnMut(&[u8])) + 's;

/// An open set of lease files. Whoever has it is the only one that writes.
#[derive(Debug)]
pub struct Memfile {
    storage: Arc<dyn Storage>,
    files: LeaseFiles,
    format: Format,
    file: Arc<dyn LogFile>,
    end: u64,
    columns: Columns,
    max_row_errors: u32,
    needs_cleanup: bool,
    _lock: Lock,
}

impl Memfile {
    /// Opens the lease file `live` and those around it, making it when there is none. All that was
    /// loaded, and the names of the files, is flushed when this returns, unless
    /// [`OpenOptions::skips_flush`] says otherwise.
    ///
    /// # Errors
    ///
    /// See [`OpenError`]; the files load as before.
    pub fn open<F: Rows>(
        storage: Arc<dyn Storage>,
        live: &Path,
        options: OpenOptions,
    ) -> Result<(Self, Vec<F::Lease>, LoadReport), OpenError> {
        let collected = Collected::<F>::default();
        let (memfile, report) = Self::open_into::<F>(storage, live, options, &collected)?;
        Ok((memfile, collected.into_leases(), report))
    }

    /// The same, with the leases into `intake` as they are read: what it has been given when this
    /// fails is of no use.
    ///
    /// # Errors
    ///
    /// See [`OpenError`]; the files load as before.
    pub fn open_into<F: Rows>(
        storage: Arc<dyn Storage>,
        live: &Path,
        options: OpenOptions,
        intake: &impl Intake<F>,
    ) -> Result<(Self, LoadReport), OpenError> {
        let format = Format::of::<F>();
        let files = LeaseFiles::new(live);
        let lock = storage.lock(&files.lock).tried("lock", &files.lock)?;
        let lock = lock.ok_or_else(|| OpenError::InUse(files.live.clone()))?;
        refuse_while_kea_cleans(&*storage, &files)?;
        let names = storage.list(&files.folder).tried("list", &files.folder)?;
        let is_there = |path: &Path| {
            path.file_name().is_some_and(|name| names.iter().any(|known| name == known.as_str()))
        };
        for leftover in [&files.scratch, &files.output] {
            if is_there(leftover) {
                storage.remove(leftover).tried("remove", leftover)?;
            }
        }
        // What a process renamed that died since: no name given here may overtake it.
        storage.sync_folder(&files.folder).tried("flush the folder", &files.folder)?;

        let mut sources = Vec::new();
        let has_completed = is_there(&files.completed);
        let before = if has_completed {
            &[&files.completed][..]
        } else {
            &[&files.previous, &files.rotated][..]
        };
        for path in before {
            sources.extend(find(&format, &*storage, path)?.and_then(|(_, found)| found.source));
        }
        let live = find(&format, &*storage, &files.live)?;
        if let Some((_, found)) = &live {
            sources.extend(found.source.clone());
        }
        let rows = live.as_ref().and_then(|(_, found)| found.source.as_ref());
        let rows = rows.filter(|_| !options.skips_flush);
        let (loaded, flushed) = std::thread::scope(|scope| {
            // The disk is as long at it as the processor is at loading.
            let flushing = rows.map(|rows| scope.spawn(|| flush_again(rows)));
            let threads = thread_count(options.threads);
            let loaded = load_into(&sources, threads, options.max_row_errors, intake);
            let flushed = flushing.map(|thread| thread.join().expect("flushing does not panic"));
            (loaded, flushed.unwrap_or(Ok(())))
        });
        let mut report = loaded?;
        flushed?;

        let needs_cleanup = has_completed || is_there(&files.rotated);
        let torn_octets = live.as_ref().map_or(0, |(_, found)| found.torn_octets);
        report.torn_octets = torn_octets;
        let header = live.as_ref().and_then(|(_, found)| found.header());
        let (file, end) = mend(&format, &*storage, &files, live, options)?;
        let mut memfile = Self {
            columns: header.map_or_else(|| Columns::newest(&format), |header| header.columns),
            max_row_errors: options.max_row_errors,
            needs_cleanup,
            _lock: lock,
            storage,
            files,
            format,
            file,
            end,
        };
        memfile.tidy(has_completed, header.is_some_and(|header| header.unknown > 0))?;
        Ok((memfile, report))
    }

    /// Finishes a clean-up that was interrupted, and puts away a file of a newer Kea: rows with
    /// fewer columns than its header would be lost to that.
    fn tidy(&mut self, has_completed: bool, is_newer: bool) -> Result<(), OpenError> {
        if has_completed || (is_newer && self.needs_cleanup) {
            self.cleanup().run()?;
            self.needs_cleanup = false;
        }
        if is_newer && let Rotation::NoNewFile(failed) = self.rotate()? {
            return Err(failed.into());
        }
        Ok(())
    }

    /// The columns that rows appended next must have.
    #[must_use]
    pub const fn columns(&self) -> Columns {
        self.columns
    }

    /// The columns of the files that are made from now on.
    #[must_use]
    pub const fn newest_columns(&self) -> Columns {
        Columns::newest(&self.format)
    }

    /// The live file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.files.live
    }

    /// The live file, to be flushed.
    #[must_use]
    pub fn file(&self) -> Arc<dyn LogFile> {
        self.file.clone()
    }

    /// Where the next row will stand.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Whether rotated files wait for a clean-up; until then there is no further rotation.
    #[must_use]
    pub const fn needs_cleanup(&self) -> bool {
        self.needs_cleanup
    }

    /// Writes `rows` behind the others.
    ///
    /// # Errors
    ///
    /// A part may have been written; the file must not be written again.
    pub fn append(&mut self, rows: &[u8]) -> Result<(), Failed> {
        write_all_at(&*self.file, self.end, rows).tried("write", &self.files.live)?;
        self.end += rows.len() as u64;
        Ok(())
    }

    /// Flushes the live file.
    ///
    /// # Errors
    ///
    /// Nothing written since the last flush may be believed again, nor may the file be written.
    pub fn sync(&self) -> Result<(), Failed> {
        self.file.sync_data().tried("flush", &self.files.live)
    }

    /// After a failure: leaves off what was written beyond `end`, if that still works, so that who
    /// loads the file from the page cache does not take for safe what is not.
    pub fn cut_back(&mut self, end: u64) {
        if self.file.truncate(end).is_ok() {
            self.end = end;
        }
    }

    /// Puts the live file away for the next clean-up and begins a new one with the newest columns.
    ///
    /// # Errors
    ///
    /// What is in the files is safe, but the live one must not be written again.
    pub fn rotate(&mut self) -> Result<Rotation, Failed> {
        if self.needs_cleanup {
            return Ok(Rotation::CleanupFirst);
        }
        self.sync()?;
        let next = match prepare(&*self.storage, &self.files, |writer| {
            header_only(&self.format, writer)
        }) {
            Ok(next) => next,
            Err(failed) => return Ok(Rotation::NoNewFile(failed)),
        };
        // The two names must not change in the other order, or the rows would have none.
        rename(&*self.storage, &self.files, &self.files.live, &self.files.rotated)?;
        self.needs_cleanup = true;
        rename(&*self.storage, &self.files, &self.files.scratch, &self.files.live)?;
        (self.file, self.end) = (next.file, next.len);
        self.columns = self.newest_columns();
        Ok(Rotation::Done)
    }

    /// The clean-up of the rotated files, to be run beside.
    #[must_use]
    pub fn cleanup(&self) -> Cleanup {
        Cleanup {
            storage: self.storage.clone(),
            files: self.files.clone(),
            format: self.format,
            max_row_errors: self.max_row_errors,
        }
    }

    /// Tells that the clean-up was done.
    pub const fn cleaned(&mut self) {
        self.needs_cleanup = false;
    }

    /// Replaces all files by a snapshot of the whole table, after a failure. No clean-up may run.
    ///
    /// The snapshot becomes the completed file first. Loaded before what the live file had, it
    /// yields for every address what was promised last or something later; then the live file is
    /// replaced by an empty one.
    ///
    /// # Errors
    ///
    /// The files load no worse than before; it may be tried again.
    pub fn replace(&mut self, snapshot: &mut Snapshot<'_>) -> Result<(), Failed> {
        prepare(&*self.storage, &self.files, |writer| {
            header_only(&self.format, writer)?;
            let mut result = Ok(());
            snapshot(&mut |row| {
                if result.is_ok() {
                    result = writer.append(|block| block.extend_from_slice(row));
                }
            });
            result
        })?;
        rename(&*self.storage, &self.files, &self.files.scratch, &self.files.completed)?;
        self.needs_cleanup = true;
        let next =
            prepare(&*self.storage, &self.files, |writer| header_only(&self.format, writer))?;
        rename(&*self.storage, &self.files, &self.files.scratch, &self.files.live)?;
        (self.file, self.end) = (next.file, next.len);
        self.columns = self.newest_columns();
        self.cleanup().finish()?;
        self.needs_cleanup = false;
        Ok(())
    }
}

fn header_only(format: &Format, writer: &mut BlockWriter<'_>) -> std::io::Result<()> {
    writer.append(|block| Columns::newest(format).encode_header(format, block))
}

/// Kea's clean-up may go on when its server has stopped; it deletes what we would load.
fn refuse_while_kea_cleans(storage: &dyn Storage, files: &LeaseFiles) -> Result<(), OpenError> {
    let Some(file) = storage.open(&files.pid).tried("open", &files.pid)? else { return Ok(()) };
    let mut text = [0; 20];
    let len = read_full_at(&*file, 0, &mut text).tried("read", &files.pid)?;
    let pid = std::str::from_utf8(&text[..len]).ok().and_then(|text| text.trim().parse().ok());
    match pid {
        Some(pid) if storage.is_process_running(pid) => {
            Err(OpenError::CleanupRuns(files.live.clone(), pid))
        }
        _ => Ok(()),
    }
}

type Opened = (Arc<dyn LogFile>, Found);

fn find(format: &Format, storage: &dyn Storage, path: &Path) -> Result<Option<Opened>, OpenError> {
    let Some(file) = storage.open(path).tried("open", path)? else { return Ok(None) };
    let found = inspect(format, path, file.clone())?;
    let found = found.ok_or_else(|| OpenError::NotALeaseFile(path.to_owned()))?;
    Ok(Some((file, found)))
}

/// Makes the live file, whose rows are flushed, one that can be appended to, whatever was found: cuts
/// a torn row off, makes a new file when there was none.
fn mend(
    format: &Format,
    storage: &dyn Storage,
    files: &LeaseFiles,
    live: Option<Opened>,
    options: OpenOptions,
) -> Result<(Arc<dyn LogFile>, u64), Failed> {
    if let Some((file, Found { source: Some(source), torn_octets })) = live {
        if torn_octets > 0 {
            file.truncate(source.end).tried("truncate", &files.live)?;
            if !options.skips_flush {
                file.sync_data().tried("flush", &files.live)?;
            }
        }
        return Ok((file, source.end));
    }
    let next = prepare(storage, files, |writer| header_only(format, writer))?;
    rename(storage, files, &files.scratch, &files.live)?;
    Ok((next.file, next.len))
}

/// Octets at the end of the live file that are written once more when it is opened.
const REWRITTEN_MAX: u64 = 64 << 20;

/// Writes the last of `rows` over themselves, and flushes them all. What a process wrote that died since
/// is in the page cache, and if a flush of it has failed, nowhere else, though later flushes succeed.
/// Written again it is flushed again; longer than this no server goes on without a flush that succeeds.
fn flush_again(rows: &Source) -> Result<(), Failed> {
    rewrite_tail(&*rows.file, rows.start, rows.end).tried("write", &rows.path)?;
    rows.file.sync_data().tried("flush", &rows.path)
}

fn rewrite_tail(file: &dyn LogFile, start: u64, end: u64) -> std::io::Result<()> {
    let mut block = vec![0; 1 << 20];
    let mut offset = start.max(end.saturating_sub(REWRITTEN_MAX));
    while offset < end {
        let len = (block.len() as u64).min(end - offset) as usize;
        let read = read_full_at(file, offset, &mut block[..len])?;
        if read < len {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        write_all_at(file, offset, &block[..len])?;
        offset += len as u64;
    }
    Ok(())
}

/// Threads that load: as many as wished, or by the number of processors for 0.
fn thread_count(wished: usize) -> usize {
    match wished {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        count => count,
    }
}

/// Loads one lease file as it is, without a lock, its neighbors, or a change to it. Bad rows are in the
/// report.
///
/// # Errors
///
/// It cannot be read, or is no lease file of this family.
pub fn load_file<F: Rows>(
    storage: &dyn Storage,
    path: &Path,
) -> Result<(Vec<F::Lease>, LoadReport), OpenError> {
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let file = storage
        .open_to_read(path)
        .and_then(|file| file.ok_or_else(missing))
        .tried("open", path)
        .map_err(OpenError::Storage)?;
    let found = inspect(&Format::of::<F>(), path, file)
        .map_err(OpenError::Storage)?
        .ok_or_else(|| OpenError::NotALeaseFile(path.to_owned()))?;
    let sources: Vec<Source> = found.source.into_iter().collect();
    let (leases, mut report) = load::<F>(&sources, thread_count(0), 0).map_err(OpenError::from)?;
    report.torn_octets = found.torn_octets;
    Ok((leases, report))
}

/// Finds header and last complete row; `None` when it is not a lease file.
pub(super) fn inspect(
    format: &Format,
    path: &Path,
    file: Arc<dyn LogFile>,
) -> Result<Option<Found>, Failed> {
    const HEADER_MAX: usize = 4096;
    let len = file.len().tried("read", path)?;
    let mut head = [0; HEADER_MAX];
    let read = read_full_at(&*file, 0, &mut head).tried("read", path)?;
    let head = &head[..read];
    let Some(start) = head.iter().position(|&octet| octet == b'\n') else {
        let found = Found { source: None, torn_octets: len };
        return Ok((read < HEADER_MAX && Header::is_torn(format, head)).then_some(found));
    };
    let Some(header) = Header::parse(format, &head[..start]) else { return Ok(None) };
    let end = last_row_end(&*file, len).tried("read", path)?;
    let source = Source { path: path.to_owned(), file, header, start: start as u64 + 1, end };
    Ok(Some(Found { source: Some(source), torn_octets: len - end }))
}

/// Where the last line end of a file with one is.
fn last_row_end(file: &dyn LogFile, len: u64) -> std::io::Result<u64> {
    let mut block = [0; 4096];
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let block = &mut block[..(end - start) as usize];
        read_full_at(file, start, block)?;
        if let Some(at) = block.iter().rposition(|&octet| octet == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
