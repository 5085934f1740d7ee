//! A set of lease files, opened for good: locked, leftovers tidied, loaded, and then appended to.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::attempt::{BlockWriter, Tried, prepare, rename};
use super::cleanup::{Cleanup, CleanupError, Found};
use super::columns::Columns;
use super::format::{Format, Rows};
use super::inspect::{Opened, find_in, flush_again, inspect};
use super::intake::{Collected, Intake};
use super::load::{LoadError, LoadReport, Source, load, load_into};
use super::salvage::salvage;
use super::watch::{Companion, Disturbance};
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
    /// Wall-clock second, for the name of a file that is set aside.
    pub wall_s: u64,
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
    /// Another program has changed the files: only [`Memfile::replace`] makes them whole.
    Disturbed(Disturbance),
}

/// Gives the rows of a whole table, as text with the newest columns, one by one to what it is
/// given.
pub type Snapshot<'s> = dyn FnMut(&mut dyn FnMut(&[u8])) + 's;

/// An open set of lease files. Whoever has it is the only one that writes.
#[derive(Debug)]
pub struct Memfile {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) files: LeaseFiles,
    pub(super) format: Format,
    pub(super) file: Arc<dyn LogFile>,
    pub(super) end: u64,
    pub(super) columns: Columns,
    pub(super) max_row_errors: u32,
    pub(super) needs_cleanup: bool,
    /// State of the files beside the live one, as this program left them.
    pub(super) companions: Vec<Companion>,
    _locks: Vec<Lock>,
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
        let locks = take_locks(&*storage, &files)?;
        let live = storage.open(&files.live).tried("open", &files.live)?;
        if let Some(file) = &live {
            lock_live(&**file, &files.live)?;
        }
        refuse_while_kea_cleans(&*storage, &files)?;
        set_folders_aside(&*storage, &files)?;
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

        let has_completed = is_there(&files.completed);
        let mut set_aside = Vec::new();
        let mut opened = |path: &Path, file: Arc<dyn LogFile>| {
            find_or_salvage::<F>(&*storage, &files, (path, file), options.wall_s, &mut set_aside)
        };
        let mut sources = Vec::new();
        for path in earlier_files(&files, has_completed) {
            if let Some(file) = storage.open(path).tried("open", path)? {
                sources.extend(opened(path, file)?.1.source);
            }
        }
        let live = live.map(|file| opened(&files.live, file)).transpose()?;
        if let Some((_, found)) = &live {
            sources.extend(found.source.clone());
        }
        let rows = live.as_ref().and_then(|(_, found)| found.source.as_ref());
        let rows = rows.filter(|_| !options.skips_flush);
        let mut report = load_and_flush(&sources, rows, options, intake)?;

        let needs_cleanup = has_completed || is_there(&files.rotated);
        let torn_octets = live.as_ref().map_or(0, |(_, found)| found.torn_octets);
        report.torn_octets = torn_octets;
        report.set_aside = set_aside;
        let header = live.as_ref().and_then(|(_, found)| found.header());
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
        if let Err(failed) = self.storage.rename(live, rotated).tried("rename", live) {
            return self.keep_unrotated(failed);
        }
        self.storage
            .sync_folder(&self.files.folder)
            .tried("flush the folder", &self.files.folder)?;
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

    /// Goes on with the live file after its rename `failed`, as that of a file that is a mount of its
    /// own does. That the name still leads to it shows that nothing has changed.
    fn keep_unrotated(&self, failed: Failed) -> Result<Rotation, Failed> {
        let _ = self.storage.remove(&self.files.scratch);
        if failed.error.kind() == ErrorKind::NotFound {
            return Ok(Rotation::Disturbed(Disturbance::Missing));
        }
        let named = self.state_of(&self.files.live)?;
        match named.map(|state| state.id) == Some(self.own_state()?.id) {
            true => Ok(Rotation::NoNewFile(failed)),
            false => Err(failed),
        }
    }

    /// The clean-up of the rotated files, to be run beside.
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

    /// Notes that the clean-up was done.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn cleaned(&mut self) -> Result<(), Failed> {
        self.needs_cleanup = false;
        self.note_companions()
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
        next.lock(&self.files)?;
        rename(&*self.storage, &self.files, &self.files.scratch, &self.files.live)?;
        (self.file, self.end) = (next.file, next.len);
        self.columns = self.newest_columns();
        self.cleanup().finish()?;
        self.needs_cleanup = false;
        self.note_companions()
    }
}

fn header_only(format: &Format, writer: &mut BlockWriter<'_>) -> std::io::Result<()> {
    writer.append(|block| Columns::newest(format).encode_header(format, block))
}

/// Takes the lock files of the lease file: that beside the name it was given by and, when this name
/// is a symbolic link, that beside the file it leads to.
fn take_locks(storage: &dyn Storage, files: &LeaseFiles) -> Result<Vec<Lock>, OpenError> {
    let mut paths = vec![files.lock.clone()];
    let target = storage.canonical(&files.live).tried("follow", &files.live)?;
    let folder = storage.canonical(&files.folder).tried("follow", &files.folder)?;
    if let (Some(target), Some(folder), Some(name)) = (target, folder, files.live.file_name())
        && target != folder.join(name)
    {
        paths.push(LeaseFiles::new(&target).lock);
    }
    let lock = |path: PathBuf| {
        let lock = storage.lock(&path).tried("lock", &path)?;
        lock.ok_or_else(|| OpenError::InUse(files.live.clone()))
    };
    paths.into_iter().map(lock).collect()
}

/// Takes the lock of the live file itself, which a server that came to it by another name or after
/// the lock file was removed meets.
fn lock_live(file: &dyn LogFile, live: &Path) -> Result<(), OpenError> {
    let is_ours = file.lock().tried("lock", live)?;
    is_ours.then_some(()).ok_or_else(|| OpenError::InUse(live.to_owned()))
}

/// Kea's clean-up may go on when its server has stopped; it deletes what we would load. What cannot
/// be read as its PID file is none.
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

/// Gives other names to folders in the place of the files next to the live one.
fn set_folders_aside(storage: &dyn Storage, files: &LeaseFiles) -> Result<(), Failed> {
    for path in [&files.rotated, &files.previous, &files.completed] {
        if storage.open(path).is_err_and(|error| error.kind() == ErrorKind::IsADirectory) {
            storage.remove(path).tried("set aside", path)?;
        }
    }
    Ok(())
}

/// Loads `sources` and flushes `rows` meanwhile.
fn load_and_flush<F: Rows>(
    sources: &[Source],
    rows: Option<&Source>,
    options: OpenOptions,
    intake: &impl Intake<F>,
) -> Result<LoadReport, OpenError> {
    let (loaded, flushed) = std::thread::scope(|scope| {
        // The disk is as long at it as the processor is at loading.
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

/// The files next to the live one, in the order in which they override each other.
fn earlier_files(files: &LeaseFiles, has_completed: bool) -> Vec<&Path> {
    match has_completed {
        true => vec![&files.completed],
        false => vec![&files.previous, &files.rotated],
    }
}

/// The lease file `path` and what is in it; or, when it is damaged, a sound file with the rows that
/// it has, under its name. The path that the damaged one was copied to goes to `set_aside`.
fn find_or_salvage<F: Rows>(
    storage: &dyn Storage,
    files: &LeaseFiles,
    (path, file): (&Path, Arc<dyn LogFile>),
    wall_s: u64,
    set_aside: &mut Vec<PathBuf>,
) -> Result<Opened, OpenError> {
    let format = Format::of::<F>();
    match find_in(&format, path, file.clone()) {
        Err(OpenError::NotALeaseFile(path)) => {
            let salvaged = salvage::<F>(storage, files, (&path, &*file), wall_s)?;
            let Some((file, copy)) = salvaged else { return Err(OpenError::NotALeaseFile(path)) };
            set_aside.push(copy);
            find_in(&format, &path, file)
        }
        found => found,
    }
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
    next.lock(files)?;
    let renamed = storage.rename(&files.scratch, &files.live).tried("rename", &files.scratch);
    match (renamed, live) {
        (Ok(()), _) => {
            storage.sync_folder(&files.folder).tried("flush the folder", &files.folder)?;
            Ok((next.file, next.len))
        }
        (Err(_), Some((file, _))) => {
            // A mount of its own keeps its name: what is in it without a header is no row.
            let _ = storage.remove(&files.scratch);
            let mut header = Vec::new();
            Columns::newest(format).encode_header(format, &mut header);
            file.truncate(0).tried("truncate", &files.live)?;
            write_all_at(&*file, 0, &header).tried("write", &files.live)?;
            file.sync_data().tried("flush", &files.live)?;
            Ok((file, header.len() as u64))
        }
        (Err(failed), None) => Err(failed),
    }
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
    let missing = || std::io::Error::from(ErrorKind::NotFound);
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
