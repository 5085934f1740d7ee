//! Set of lease files, opened for the server's lifetime: locked, cleared of leftovers, loaded, and
//! then appended to.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cleanup::{Cleanup, CleanupError, InspectedLeaseFile};
use super::columns::Columns;
use super::file_operations::{BlockWriter, FileOperationContext, prepare, rename};
use super::format::{LeaseFileFamily, RowFileFormat};
use super::inspect::{Opened, find_in, flush_again, inspect};
use super::intake::{Intake, NewestRowIntake};
use super::load::{LeaseLoadError, LoadReport, RowSource, load, load_into};
use super::salvage::salvage;
use super::watch::{Companion, Disturbance};
use super::{FileOperationError, LeaseFiles};
use crate::storage::{Lock, LogFile, Storage, read_full_at, write_all_at};
use dhcp_lease::Lease;

/// Options for opening a set of lease files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Maximum number of bad rows of one lease file; 0 = any number (Kea's `max-row-errors`).
    pub max_row_errors: u32,
    /// Number of threads that load the lease files; 0 = one for each processor.
    pub threads: usize,
    /// True if the rows of the live lease file need not be flushed when it is opened: for
    /// durability settings that only promise that a lease row was written.
    pub skips_flush: bool,
    /// Time of opening as a wall-clock second, for the name of a damaged file's copy.
    pub wall_s: u64,
}

/// Reason why lease files could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Failed file operation of the operating system.
    Storage(FileOperationError),
    /// Lease file that another server has locked.
    InUse(PathBuf),
    /// Lease file with a running Kea cleanup, and the number of the cleanup's process.
    CleanupRuns(PathBuf, u32),
    /// File whose first line is not a lease file's.
    NotALeaseFile(PathBuf),
    /// Lease file with more bad rows than allowed (Kea's `max-row-errors`).
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
                write!(
                    f,
                    "{}:1: not the header of a lease file of this DHCP version",
                    path.display()
                )
            }
            Self::TooManyBadRows(report) => {
                write!(f, "the lease file has more bad rows than `max-row-errors` allows")?;
                report.errors.iter().try_for_each(|error| write!(f, "\n{error}"))
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl From<FileOperationError> for OpenError {
    fn from(failed: FileOperationError) -> Self {
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

impl From<LeaseLoadError> for OpenError {
    fn from(error: LeaseLoadError) -> Self {
        CleanupError::from(error).into()
    }
}

/// Result of a rotation of the lease file.
#[derive(Debug)]
pub enum Rotation {
    /// Rotation done: rows go to a new live file.
    Done,
    /// Rotation not done: earlier rotated files wait for a cleanup.
    CleanupFirst,
    /// Rotation not done: a new file could not be made. The present live file is as good as before.
    NoNewFile(FileOperationError),
    /// Rotation not done: another program has changed the lease files, and only
    /// [`Memfile::replace`] repairs them.
    Disturbed(Disturbance),
}

/// Source of the rows of a whole lease table, as text with the newest columns; it passes them one
/// by one to its argument.
pub type Snapshot<'s> = dyn FnMut(&mut dyn FnMut(&[u8])) + 's;

/// Set of lease files, open for the server's lifetime. Its owner is the only writer.
#[derive(Debug)]
pub struct Memfile {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) files: LeaseFiles,
    pub(super) format: RowFileFormat,
    pub(super) file: Arc<dyn LogFile>,
    pub(super) end: u64,
    pub(super) columns: Columns,
    pub(super) max_row_errors: u32,
    pub(super) needs_cleanup: bool,
    /// State of the lease files next to the live one, as this program left them.
    pub(super) companions: Vec<Companion>,
    _locks: Vec<Lock>,
}

impl Memfile {
    /// Opens the lease file `live` and the files around it, and creates `live` if it is missing.
    /// All loaded rows, and the names of the files, are flushed on return, unless
    /// [`OpenOptions::skips_flush`] is set.
    ///
    /// # Errors
    ///
    /// See [`OpenError`]; the files load as before.
    pub fn open<F: LeaseFileFamily>(
        storage: Arc<dyn Storage>,
        live: &Path,
        options: OpenOptions,
    ) -> Result<(Self, Vec<Lease<F>>, LoadReport), OpenError> {
        let collected = NewestRowIntake::<F>::default();
        let (memfile, report) = Self::open_into::<F>(storage, live, options, &collected)?;
        Ok((memfile, collected.into_leases(), report))
    }

    /// Opens the lease file `live` as [`Memfile::open`] does, and passes the leases to `intake` as
    /// they are read: if opening fails, the leases passed so far are useless.
    ///
    /// # Errors
    ///
    /// See [`OpenError`]; the files load as before.
    pub fn open_into<F: LeaseFileFamily>(
        storage: Arc<dyn Storage>,
        live: &Path,
        options: OpenOptions,
        intake: &impl Intake<F>,
    ) -> Result<(Self, LoadReport), OpenError> {
        let format = RowFileFormat::for_family::<F>();
        let files = LeaseFiles::new(live);
        let locks = take_locks(&*storage, &files)?;
        let live = storage.open(&files.live).with_operation("open", &files.live)?;
        if let Some(file) = &live {
            lock_live(&**file, &files.live)?;
        }
        refuse_while_kea_cleans(&*storage, &files)?;
        set_folders_aside(&*storage, &files)?;
        let names = storage.list(&files.folder).with_operation("list", &files.folder)?;
        let is_there = |path: &Path| {
            path.file_name().is_some_and(|name| names.iter().any(|other| name == other.as_str()))
        };
        for leftover in [&files.scratch, &files.output] {
            if is_there(leftover) {
                storage.remove(leftover).with_operation("remove", leftover)?;
            }
        }
        // A process that has died since may have renamed files: no later name may become safe
        // before theirs.
        storage.sync_folder(&files.folder).with_operation("flush the folder", &files.folder)?;

        let has_completed = is_there(&files.completed);
        let mut damaged_copies = Vec::new();
        let mut opened = |path: &Path, file: Arc<dyn LogFile>| {
            find_or_salvage::<F>(&*storage, &files, path, file, options.wall_s, &mut damaged_copies)
        };
        let mut sources = Vec::new();
        for path in earlier_files(&files, has_completed) {
            if let Some(file) = storage.open(path).with_operation("open", path)? {
                sources.extend(opened(path, file)?.1.source);
            }
        }
        let live = live.map(|file| opened(&files.live, file)).transpose()?;
        if let Some((_, inspected)) = &live {
            sources.extend(inspected.source.clone());
        }
        let rows = live.as_ref().and_then(|(_, inspected)| inspected.source.as_ref());
        let rows = if options.skips_flush { None } else { rows };
        let mut report = load_and_flush(&sources, rows, options, intake)?;

        let needs_cleanup = has_completed || is_there(&files.rotated);
        let torn_octets = live.as_ref().map_or(0, |(_, inspected)| inspected.torn_octets);
        report.torn_octets = torn_octets;
        report.damaged_copies = damaged_copies;
        let header = live.as_ref().and_then(|(_, inspected)| inspected.header());
        let (file, end) = mend(&format, &*storage, &files, live, options)?;
        let mut memfile = Self {
            columns: header.map_or_else(|| Columns::newest(&format), |header| header.columns),
            max_row_errors: options.max_row_errors,
            needs_cleanup,
            companions: Vec::new(),
            _locks: locks,
            storage,
            files,
            format,
            file,
            end,
        };
        memfile.tidy(has_completed, header.is_some_and(|header| header.unknown > 0))?;
        memfile.note_companions()?;
        Ok((memfile, report))
    }

    /// Finishes an interrupted cleanup, and rotates a live file of a newer Kea: that Kea would lose
    /// rows with fewer columns than its header.
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

    /// Returns the columns that the rows appended next to the live file must have.
    #[must_use]
    pub const fn columns(&self) -> Columns {
        self.columns
    }

    /// Returns the columns of lease files that are made from now on.
    #[must_use]
    pub const fn newest_columns(&self) -> Columns {
        Columns::newest(&self.format)
    }

    /// Returns the path of the live lease file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.files.live
    }

    /// Returns the live lease file, for flushing.
    #[must_use]
    pub fn file(&self) -> Arc<dyn LogFile> {
        self.file.clone()
    }

    /// Returns the offset of the next row in the live lease file, in bytes.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Returns true if rotated lease files wait for a cleanup; no further rotation happens before
    /// it.
    #[must_use]
    pub const fn needs_cleanup(&self) -> bool {
        self.needs_cleanup
    }

    /// Writes `rows` after the existing ones of the live lease file.
    ///
    /// # Errors
    ///
    /// Returns the error of the write. A part of the rows may have been written; the caller must
    /// not write the file again.
    pub fn append(&mut self, rows: &[u8]) -> Result<(), FileOperationError> {
        write_all_at(&*self.file, self.end, rows).with_operation("write", &self.files.live)?;
        self.end += rows.len() as u64;
        Ok(())
    }

    /// Flushes the live lease file.
    ///
    /// # Errors
    ///
    /// Returns the error of the flush. Then no row since the last flush counts as durable, and the
    /// caller must not write the file again.
    pub fn sync(&self) -> Result<(), FileOperationError> {
        self.file.sync_data().with_operation("flush", &self.files.live)
    }

    /// Truncates the live lease file to `end` bytes after a failure, if that still works, so that a
    /// loader that reads the page cache does not take rows that were never flushed for durable
    /// ones.
    pub fn cut_back(&mut self, end: u64) {
        if self.file.truncate(end).is_ok() {
            self.end = end;
        }
    }

    /// Renames the live lease file for the next cleanup and begins a new one with the newest
    /// columns.
    ///
    /// # Errors
    ///
    /// Returns the error of the operation. The contents of the files are safe, but the caller must
    /// not write the live one again.
    pub fn rotate(&mut self) -> Result<Rotation, FileOperationError> {
        if self.needs_cleanup {
            return Ok(Rotation::CleanupFirst);
        }
        if let Some(disturbance) = self.disturbance()? {
            return Ok(Rotation::Disturbed(disturbance));
        }
        self.sync()?;
        let next = match prepare(&*self.storage, &self.files, |writer| {
            header_only(&self.format, writer)
        }) {
            Ok(next) => next,
            Err(failed) => return Ok(Rotation::NoNewFile(failed)),
        };
        next.lock(&self.files)?;
        // The two names must not change in the other order, or the rows would have none.
        let (live, rotated) = (&self.files.live, &self.files.rotated);
        if let Err(failed) = self.storage.rename(live, rotated).with_operation("rename", live) {
            return self.keep_unrotated(failed);
        }
        self.storage
            .sync_folder(&self.files.folder)
            .with_operation("flush the folder", &self.files.folder)?;
        self.needs_cleanup = true;
        let rotated = self.state_of(&self.files.rotated)?;
        if rotated.map(|state| state.id) != Some(self.own_state()?.id) {
            return Ok(Rotation::Disturbed(Disturbance::Replaced));
        }
        rename(&*self.storage, &self.files, &self.files.scratch, &self.files.live)?;
        (self.file, self.end) = (next.file, next.len);
        self.columns = self.newest_columns();
        self.note_companions()?;
        Ok(Rotation::Done)
    }

    /// Continues with the live lease file after its rename `failed`, as it does for a file that is
    /// a mount point. If the name still leads to the same file, nothing has changed.
    fn keep_unrotated(&self, failed: FileOperationError) -> Result<Rotation, FileOperationError> {
        let _ = self.storage.remove(&self.files.scratch);
        if failed.error.kind() == ErrorKind::NotFound {
            return Ok(Rotation::Disturbed(Disturbance::Missing));
        }
        let live_state = self.state_of(&self.files.live)?;
        if live_state.map(|state| state.id) == Some(self.own_state()?.id) {
            Ok(Rotation::NoNewFile(failed))
        } else {
            Err(failed)
        }
    }

    /// Returns the cleanup of the rotated lease files, to run next to the server.
    #[must_use]
    pub fn cleanup(&self) -> Cleanup {
        Cleanup {
            storage: self.storage.clone(),
            files: self.files.clone(),
            format: self.format,
            max_row_errors: self.max_row_errors,
            companions: self.companions.clone(),
        }
    }

    /// Records that the cleanup of the rotated lease files was done.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read.
    pub fn cleaned(&mut self) -> Result<(), FileOperationError> {
        self.needs_cleanup = false;
        self.note_companions()
    }

    /// Replaces all files by a snapshot of the whole lease table, after a failure. No cleanup may
    /// run.
    ///
    /// The snapshot becomes the completed file first. Loaded before the rows of the live file, it
    /// yields for every address the lease that was last acknowledged, or a later one; then the live
    /// file is replaced by an empty one.
    ///
    /// # Errors
    ///
    /// Returns the error of the operation. The files load the same leases as before or newer ones;
    /// the caller may try again.
    pub fn replace(&mut self, snapshot: &mut Snapshot<'_>) -> Result<(), FileOperationError> {
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
        next.lock(&self.files)?;
        rename(&*self.storage, &self.files, &self.files.scratch, &self.files.live)?;
        (self.file, self.end) = (next.file, next.len);
        self.columns = self.newest_columns();
        self.cleanup().finish()?;
        self.needs_cleanup = false;
        self.note_companions()
    }
}

fn header_only(format: &RowFileFormat, writer: &mut BlockWriter<'_>) -> std::io::Result<()> {
    writer.append(|block| Columns::newest(format).encode_header(format, block))
}

/// Takes the lock files of the lease file: the one next to its configured name and, if this name is
/// a symbolic link, the one next to the file that it leads to.
fn take_locks(storage: &dyn Storage, files: &LeaseFiles) -> Result<Vec<Lock>, OpenError> {
    let mut paths = vec![files.lock.clone()];
    let target = storage.canonical(&files.live).with_operation("follow", &files.live)?;
    let folder = storage.canonical(&files.folder).with_operation("follow", &files.folder)?;
    if let (Some(target), Some(folder), Some(name)) = (target, folder, files.live.file_name())
        && target != folder.join(name)
    {
        paths.push(LeaseFiles::new(&target).lock);
    }
    let lock = |path: PathBuf| {
        let lock = storage.lock(&path).with_operation("lock", &path)?;
        lock.ok_or_else(|| OpenError::InUse(files.live.clone()))
    };
    paths.into_iter().map(lock).collect()
}

/// Takes the lock of the live lease file `live` itself. A server that opened it by another name, or
/// after the lock file was removed, finds it locked.
fn lock_live(file: &dyn LogFile, live: &Path) -> Result<(), OpenError> {
    if file.lock().with_operation("lock", live)? {
        Ok(())
    } else {
        Err(OpenError::InUse(live.to_owned()))
    }
}

/// Refuses to open while Kea's cleanup runs: it may continue after its server has stopped, and it
/// deletes files that this server would load. A file that is not readable as its PID file is
/// ignored.
fn refuse_while_kea_cleans(storage: &dyn Storage, files: &LeaseFiles) -> Result<(), OpenError> {
    let Ok(Some(file)) = storage.open(&files.pid) else { return Ok(()) };
    let mut text = [0; 20];
    let len = read_full_at(&*file, 0, &mut text).unwrap_or_default();
    let pid = std::str::from_utf8(&text[..len]).ok().and_then(|text| text.trim().parse().ok());
    match pid {
        Some(pid) if storage.is_cleanup_running(pid) => {
            Err(OpenError::CleanupRuns(files.live.clone(), pid))
        }
        _ => Ok(()),
    }
}

/// Renames folders that have the names of lease files next to the live one, by [`Storage::remove`].
fn set_folders_aside(storage: &dyn Storage, files: &LeaseFiles) -> Result<(), FileOperationError> {
    for path in [&files.rotated, &files.previous, &files.completed] {
        if storage.open(path).is_err_and(|error| error.kind() == ErrorKind::IsADirectory) {
            storage.remove(path).with_operation("set aside", path)?;
        }
    }
    Ok(())
}

/// Loads the lease files `sources` into `intake`, and flushes `rows` meanwhile.
fn load_and_flush<F: LeaseFileFamily>(
    sources: &[RowSource],
    rows: Option<&RowSource>,
    options: OpenOptions,
    intake: &impl Intake<F>,
) -> Result<LoadReport, OpenError> {
    let (loaded, flushed) = std::thread::scope(|scope| {
        // The disk takes as long to flush as the processor to load.
        let flushing = rows.map(|rows| scope.spawn(|| flush_again(rows)));
        let threads = thread_count(options.threads);
        let loaded = load_into(sources, threads, options.max_row_errors, intake);
        let flushed = flushing.map(|thread| thread.join().expect("flushing does not panic"));
        (loaded, flushed.unwrap_or(Ok(())))
    });
    let report = loaded?;
    flushed?;
    Ok(report)
}

/// Returns the lease files next to the live one, in the order in which they override each other.
fn earlier_files(files: &LeaseFiles, has_completed: bool) -> Vec<&Path> {
    if has_completed { vec![&files.completed] } else { vec![&files.previous, &files.rotated] }
}

/// Returns the lease file `path` with its inspection; or, if it is damaged, a sound file under its
/// name with its rows. Appends the path of the damaged file's copy to `damaged_copies`.
fn find_or_salvage<F: LeaseFileFamily>(
    storage: &dyn Storage,
    files: &LeaseFiles,
    path: &Path,
    file: Arc<dyn LogFile>,
    wall_s: u64,
    damaged_copies: &mut Vec<PathBuf>,
) -> Result<Opened, OpenError> {
    let format = RowFileFormat::for_family::<F>();
    match find_in(&format, path, file.clone()) {
        Err(OpenError::NotALeaseFile(path)) => {
            let salvaged = salvage::<F>(storage, files, &path, &*file, wall_s)?;
            let Some((file, copy)) = salvaged else { return Err(OpenError::NotALeaseFile(path)) };
            damaged_copies.push(copy);
            find_in(&format, &path, file)
        }
        result => result,
    }
}

/// Makes the live lease file ready for appending in any state: cuts off a torn row, and makes a new
/// file with a header if there was no file. The file's rows are flushed already.
fn mend(
    format: &RowFileFormat,
    storage: &dyn Storage,
    files: &LeaseFiles,
    live: Option<Opened>,
    options: OpenOptions,
) -> Result<(Arc<dyn LogFile>, u64), FileOperationError> {
    if let Some((file, InspectedLeaseFile { source: Some(source), torn_octets })) = live {
        if torn_octets > 0 {
            file.truncate(source.end).with_operation("truncate", &files.live)?;
            if !options.skips_flush {
                file.sync_data().with_operation("flush", &files.live)?;
            }
        }
        return Ok((file, source.end));
    }
    let next = prepare(storage, files, |writer| header_only(format, writer))?;
    next.lock(files)?;
    let renamed =
        storage.rename(&files.scratch, &files.live).with_operation("rename", &files.scratch);
    match (renamed, live) {
        (Ok(()), _) => {
            storage.sync_folder(&files.folder).with_operation("flush the folder", &files.folder)?;
            Ok((next.file, next.len))
        }
        (Err(_), Some((file, _))) => {
            // A mount point keeps its name: its content without a header has no row.
            let _ = storage.remove(&files.scratch);
            let mut header = Vec::new();
            Columns::newest(format).encode_header(format, &mut header);
            file.truncate(0).with_operation("truncate", &files.live)?;
            write_all_at(&*file, 0, &header).with_operation("write", &files.live)?;
            file.sync_data().with_operation("flush", &files.live)?;
            Ok((file, header.len() as u64))
        }
        (Err(failed), None) => Err(failed),
    }
}

/// Returns the number of loading threads: `wished`, or for 0 the number of processors.
fn thread_count(wished: usize) -> usize {
    match wished {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        count => count,
    }
}

/// Loads the lease file `path` as it is, without a lock, without its neighbors, and without
/// changing it. The report has the bad rows.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or is no lease file of this family.
pub fn load_file<F: LeaseFileFamily>(
    storage: &dyn Storage,
    path: &Path,
) -> Result<(Vec<Lease<F>>, LoadReport), OpenError> {
    let missing = || std::io::Error::from(ErrorKind::NotFound);
    let file = storage
        .open_to_read(path)
        .and_then(|file| file.ok_or_else(missing))
        .with_operation("open", path)
        .map_err(OpenError::Storage)?;
    let inspected = inspect(&RowFileFormat::for_family::<F>(), path, file)
        .map_err(OpenError::Storage)?
        .ok_or_else(|| OpenError::NotALeaseFile(path.to_owned()))?;
    let sources: Vec<RowSource> = inspected.source.into_iter().collect();
    let (leases, mut report) = load::<F>(&sources, thread_count(0), 0).map_err(OpenError::from)?;
    report.torn_octets = inspected.torn_octets;
    Ok((leases, report))
}
