//! Simulated disk in memory that forgets unflushed data when its power fails.
//!
//! Every change is one numbered step. The power goes off at a step chosen beforehand; from then on
//! every operation fails, and [`PowerCutStorage::after`] returns the disk that the machine finds
//! when it starts again. The seed decides which unflushed bytes survive: all, none, any prefix, or
//! any choice of sectors with zeros or rubbish in between. Unflushed names survive as any choice of
//! the changes in any order. A failed flush forgets a choice of the sectors that it covered for
//! good, although reading still shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use base::Random;

use super::{FileId, FileState, Lock, LogFile, Storage};

/// Number of bytes that the simulated disk writes together: the fewest that disks do, so that rows
/// are torn often. No column of a lease row except the user context is as long, so rubbish never
/// hides within a row.
const SECTOR: usize = 512;

/// Planned faults of a simulated disk. Steps and calls are counted from 0.
#[derive(Clone, Debug, Default)]
pub struct StorageFaults {
    /// Number of the step (change of a file or name) at which the simulated disk's power goes off.
    pub cut_at_step: Option<u64>,
    /// Numbers of the calls of [`LogFile::write_at`] that fail.
    pub failing_writes: Vec<u64>,
    /// Numbers of the calls of [`LogFile::sync_data`] that fail.
    pub failing_syncs: Vec<u64>,
    /// Numbers of the calls of [`Storage::sync_folder`] that fail.
    pub failing_folder_syncs: Vec<u64>,
    /// Capacity of the disk in bytes; `None` for no limit.
    pub capacity_bytes: Option<u64>,
    /// True if a write to the disk may write fewer bytes than it was given.
    pub short_writes: bool,
    /// True if flushes of the disk succeed and do nothing; a test sets this to check that it
    /// detects lost data.
    pub lying_syncs: bool,
}

/// State of the simulated disk that the next start finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskAfterCut {
    /// Disk after the death of the process, while the machine continued: all written data exists.
    ProcessDied,
    /// Disk after a power failure: all flushed data exists, and some of the rest.
    PowerFailed,
}

/// Simulated disk that forgets unflushed data. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct PowerCutStorage {
    disk: Arc<Mutex<SimulatedDisk>>,
}

#[derive(Clone, Debug)]
struct SimulatedDisk {
    random: Random,
    faults: StorageFaults,
    is_on: bool,
    steps: u64,
    writes: u64,
    syncs: u64,
    folder_syncs: u64,
    files: Vec<Contents>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    volatile_changes: Vec<NameChange>,
    locked: BTreeSet<PathBuf>,
    locked_files: BTreeSet<usize>,
    /// Numbers of the files whose mode denies their owner access.
    closed_files: BTreeSet<usize>,
    /// Paths of the files that are mount points.
    mounts: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug, Default)]
struct Contents {
    visible: Vec<u8>,
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
    failed_syncs: u64,
}

#[derive(Clone, Debug)]
enum NameChange {
    Create { name: PathBuf, file: usize },
    Rename { from: PathBuf, to: PathBuf, file: usize },
    Remove { name: PathBuf, file: usize },
}

#[derive(Debug)]
struct SimulatedFile {
    disk: Arc<Mutex<SimulatedDisk>>,
    file: usize,
    /// Number of failed flushes of the file that this descriptor has reported, or that happened
    /// before it was opened.
    reported_syncs: AtomicU64,
    has_lock: AtomicBool,
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        if self.has_lock.load(Ordering::Relaxed) {
            locked(&self.disk).locked_files.remove(&self.file);
        }
    }
}

#[derive(Debug)]
struct SimulatedLock {
    disk: Arc<Mutex<SimulatedDisk>>,
    path: PathBuf,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        locked(&self.disk).locked.remove(&self.path);
    }
}

fn locked(disk: &Mutex<SimulatedDisk>) -> MutexGuard<'_, SimulatedDisk> {
    disk.lock().expect("no thread panics while it holds the simulated disk")
}

impl PowerCutStorage {
    /// Creates an empty simulated disk whose random decisions follow `seed`.
    #[must_use]
    pub fn new(seed: u64, faults: StorageFaults) -> Self {
        Self::from_disk(SimulatedDisk {
            random: Random::from_seed(seed),
            faults,
            is_on: true,
            steps: 0,
            writes: 0,
            syncs: 0,
            folder_syncs: 0,
            files: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            volatile_changes: Vec::new(),
            locked: BTreeSet::new(),
            locked_files: BTreeSet::new(),
            closed_files: BTreeSet::new(),
            mounts: BTreeSet::new(),
        })
    }

    fn from_disk(disk: SimulatedDisk) -> Self {
        Self { disk: Arc::new(Mutex::new(disk)) }
    }

    /// Returns the number of steps (changes of files and names) of the simulated disk so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        locked(&self.disk).steps
    }

    /// Returns true if the disk's power is still on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        locked(&self.disk).is_on
    }

    /// Plans that the disk's power goes off after `steps` more steps.
    pub fn cut_after(&self, steps: u64) {
        let mut disk = locked(&self.disk);
        disk.faults.cut_at_step = Some(disk.steps + steps);
    }

    /// Limits the disk to `capacity_bytes` bytes from now on.
    pub fn set_capacity(&self, capacity_bytes: Option<u64>) {
        locked(&self.disk).faults.capacity_bytes = capacity_bytes;
    }

    /// Turns the disk's power off (a second call does nothing) and returns the disk that the next
    /// start finds, with new `faults`.
    #[must_use]
    pub fn after(&self, survival: DiskAfterCut, faults: StorageFaults) -> Self {
        let mut next = {
            let mut disk = locked(&self.disk);
            disk.is_on = false;
            disk.clone()
        };
        if survival == DiskAfterCut::PowerFailed {
            next.forget();
        }
        next.faults = faults;
        next.is_on = true;
        (next.steps, next.writes, next.syncs, next.folder_syncs) = (0, 0, 0, 0);
        next.locked.clear();
        next.locked_files.clear();
        Self::from_disk(next)
    }

    /// Removes the owner's permission to read and write the file `path`, as `chmod 0` does. Open
    /// files continue to work.
    pub fn close_to_owner(&self, path: &Path) {
        let mut disk = locked(&self.disk);
        if let Some(&file) = disk.names.get(path) {
            disk.closed_files.insert(file);
        }
    }

    /// Makes `path` a mount point on the simulated disk, which keeps its name from now on.
    pub fn mount(&self, path: &Path) {
        locked(&self.disk).mounts.insert(path.to_owned());
    }

    fn opened(&self, file: usize, failed_syncs: u64) -> Arc<dyn LogFile> {
        let (disk, reported_syncs) = (self.disk.clone(), AtomicU64::new(failed_syncs));
        Arc::new(SimulatedFile { disk, file, reported_syncs, has_lock: AtomicBool::new(false) })
    }

    /// Returns the bytes that reading `path` yields; `None` if the file does not exist. Works with
    /// the power off.
    #[must_use]
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let disk = locked(&self.disk);
        disk.names.get(path).map(|file| disk.files[*file].visible.clone())
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}

fn planned_failure() -> io::Error {
    io::Error::other("a failure by plan")
}

impl SimulatedDisk {
    /// Counts a step of the disk; returns `Ok(false)` if the power goes off after it, an error if
    /// it is off.
    fn step(&mut self) -> io::Result<bool> {
        if !self.is_on {
            return Err(power_is_off());
        }
        let goes_off = self.faults.cut_at_step == Some(self.steps);
        self.steps += 1;
        if goes_off {
            self.is_on = false;
            if self.random.chance(1, 2) {
                return Err(power_is_off());
            }
        }
        Ok(!goes_off)
    }

    /// Counts a step of the disk and does it; if the power goes off then, the step may have been
    /// done or not.
    fn step_with<T>(&mut self, act: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        let stays_on = self.step()?;
        let result = act(self)?;
        if stays_on { Ok(result) } else { Err(power_is_off()) }
    }

    fn state(&self, file: usize) -> FileState {
        FileState {
            id: FileId { device: 0, inode: file as u64 },
            len: self.files[file].visible.len() as u64,
            is_usable: !self.closed_files.contains(&file),
        }
    }

    fn write(&mut self, file: usize, offset: usize, octets: &[u8]) -> io::Result<usize> {
        let call = self.writes;
        self.writes += 1;
        if self.faults.failing_writes.contains(&call) {
            return Err(planned_failure());
        }
        let mut accepted = octets.len();
        if self.faults.short_writes && accepted > 1 && self.random.chance(1, 3) {
            accepted = 1 + self.random.below(accepted as u64 - 1) as usize;
        }
        if let Some(capacity) = self.faults.capacity_bytes {
            let used: usize = self.files.iter().map(|contents| contents.visible.len()).sum();
            let rest = used - self.files[file].visible.len();
            accepted = accepted.min((capacity as usize).saturating_sub(rest + offset));
            if accepted == 0 && !octets.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        let contents = &mut self.files[file];
        let end = offset + accepted;
        if contents.visible.len() < end {
            contents.visible.resize(end, 0);
        }
        contents.visible[offset..end].copy_from_slice(&octets[..accepted]);
        contents.dirty.extend(offset / SECTOR..end.div_ceil(SECTOR));
        Ok(accepted)
    }

    /// Flushes the file number `file`. Every open descriptor of the file reports a failed flush
    /// once (`fsync(2)` of Linux).
    fn sync(&mut self, file: usize, reported_syncs: &AtomicU64) -> io::Result<()> {
        let call = self.syncs;
        self.syncs += 1;
        if self.faults.lying_syncs {
            return Ok(());
        }
        let fails = self.faults.failing_syncs.contains(&call);
        let contents = &mut self.files[file];
        contents.durable.resize(contents.visible.len(), 0);
        for sector in std::mem::take(&mut contents.dirty) {
            if !fails || self.random.chance(1, 2) {
                contents.keep(sector);
            }
        }
        contents.failed_syncs += u64::from(fails);
        let reported_before = reported_syncs.swap(contents.failed_syncs, Ordering::SeqCst);
        if reported_before < contents.failed_syncs { Err(planned_failure()) } else { Ok(()) }
    }

    fn sync_names(&mut self) -> io::Result<()> {
        let call = self.folder_syncs;
        self.folder_syncs += 1;
        if self.faults.lying_syncs {
            return Ok(());
        }
        if self.faults.failing_folder_syncs.contains(&call) {
            return Err(planned_failure());
        }
        self.durable_names = self.names.clone();
        self.volatile_changes.clear();
        Ok(())
    }

    /// Forgets the disk's unsafe data after a power failure, except for a random part of it.
    fn forget(&mut self) {
        let mut changes = std::mem::take(&mut self.volatile_changes);
        match self.random.below(3) {
            0 => changes.truncate(self.random.below(changes.len() as u64 + 1) as usize),
            1 => self.random.shuffle(&mut changes),
            _ => {
                self.random.shuffle(&mut changes);
                changes.truncate(self.random.below(changes.len() as u64 + 1) as usize);
            }
        }
        for change in changes {
            change.apply(&mut self.durable_names);
        }
        self.names = self.durable_names.clone();
        for contents in &mut self.files {
            contents.forget(&mut self.random);
        }
    }
}

impl Contents {
    /// Makes one sector of the simulated file survive the next power failure.
    fn keep(&mut self, sector: usize) {
        let start = sector * SECTOR;
        let end = (start + SECTOR).min(self.visible.len()).min(self.durable.len());
        if start < end {
            self.durable[start..end].copy_from_slice(&self.visible[start..end]);
        }
    }

    fn forget(&mut self, random: &mut Random) {
        let dirty = std::mem::take(&mut self.dirty);
        let (had, has) = (self.durable.len(), self.visible.len());
        let was_cut = has < had;
        match random.below(5) {
            0 => {}
            1 => {
                self.durable.resize(has, 0);
                dirty.iter().for_each(|&sector| self.keep(sector));
            }
            2 if !was_cut => {
                // The file is cut anywhere, also within a sector: its length was flushed early.
                self.durable.resize(has, 0);
                dirty.iter().for_each(|&sector| self.keep(sector));
                self.durable.truncate(had + random.below((has - had) as u64 + 1) as usize);
            }
            _ => {
                if !was_cut || random.chance(1, 2) {
                    self.durable.resize(has, 0);
                }
                if has > had && random.chance(1, 2) {
                    random.fill(&mut self.durable[had..]);
                    // Rubbish has no more digits than chance would produce in years: without
                    // checksums, a row that begins in rubbish looks like a good one.
                    for last in (had | (SECTOR - 1)..has).step_by(SECTOR) {
                        self.durable[last] |= 0x80;
                    }
                }
                for sector in dirty {
                    if random.chance(1, 2) {
                        self.keep(sector);
                    }
                }
            }
        }
        self.visible = self.durable.clone();
    }
}

impl NameChange {
    fn apply(self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Self::Create { name, file } => {
                names.insert(name, file);
            }
            Self::Rename { from, to, file } => {
                if names.get(&from) == Some(&file) {
                    names.remove(&from);
                }
                names.insert(to, file);
            }
            Self::Remove { name, file } => {
                if names.get(&name) == Some(&file) {
                    names.remove(&name);
                }
            }
        }
    }
}

impl Storage for PowerCutStorage {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        let file = locked(&self.disk).step_with(|disk| {
            if let Some(&file) = disk.names.get(path) {
                let contents = &mut disk.files[file];
                contents.visible.clear();
                contents.dirty.clear();
                return Ok(file);
            }
            let file = disk.files.len();
            disk.files.push(Contents::default());
            disk.names.insert(path.to_owned(), file);
            disk.volatile_changes.push(NameChange::Create { name: path.to_owned(), file });
            Ok(file)
        })?;
        Ok(self.opened(file, 0))
    }

    fn open(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        let disk = locked(&self.disk);
        if !disk.is_on {
            return Err(power_is_off());
        }
        let Some(&file) = disk.names.get(path) else { return Ok(None) };
        if disk.closed_files.contains(&file) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(Some(self.opened(file, disk.files[file].failed_syncs)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        locked(&self.disk).step_with(|disk| {
            if disk.mounts.contains(from) || disk.mounts.contains(to) {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            let Some(file) = disk.names.remove(from) else {
                return Err(io::ErrorKind::NotFound.into());
            };
            disk.names.insert(to.to_owned(), file);
            let (from, to) = (from.to_owned(), to.to_owned());
            disk.volatile_changes.push(NameChange::Rename { from, to, file });
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<bool> {
        locked(&self.disk).step_with(|disk| {
            let Some(file) = disk.names.remove(path) else {
                return Ok(false);
            };
            disk.volatile_changes.push(NameChange::Remove { name: path.to_owned(), file });
            Ok(true)
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let disk = locked(&self.disk);
        if !disk.is_on {
            return Err(power_is_off());
        }
        let inside = disk.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        locked(&self.disk).step_with(SimulatedDisk::sync_names)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let mut disk = locked(&self.disk);
        if !disk.is_on {
            return Err(power_is_off());
        }
        if !disk.locked.insert(path.to_owned()) {
            return Ok(None);
        }
        Ok(Some(Lock::new(SimulatedLock { disk: self.disk.clone(), path: path.to_owned() })))
    }

    fn state(&self, path: &Path) -> io::Result<Option<FileState>> {
        let disk = locked(&self.disk);
        if !disk.is_on {
            return Err(power_is_off());
        }
        Ok(disk.names.get(path).map(|&file| disk.state(file)))
    }

    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        Ok(self.state(path)?.map(|_| path.to_owned()))
    }

    fn is_cleanup_running(&self, _pid: u32) -> bool {
        false
    }
}

impl LogFile for SimulatedFile {
    fn write_at(&self, offset: u64, octets: &[u8]) -> io::Result<usize> {
        locked(&self.disk).step_with(|disk| disk.write(self.file, offset as usize, octets))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let disk = locked(&self.disk);
        if !disk.is_on {
            return Err(power_is_off());
        }
        let rest = disk.files[self.file].visible.get(offset as usize..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn len(&self) -> io::Result<u64> {
        let disk = locked(&self.disk);
        if disk.is_on {
            Ok(disk.files[self.file].visible.len() as u64)
        } else {
            Err(power_is_off())
        }
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        locked(&self.disk).step_with(|disk| {
            let contents = &mut disk.files[self.file];
            contents.visible.resize(len as usize, 0);
            contents.dirty.retain(|&sector| sector * SECTOR < len as usize);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        locked(&self.disk).step_with(|disk| disk.sync(self.file, &self.reported_syncs))
    }

    fn state(&self) -> io::Result<FileState> {
        let disk = locked(&self.disk);
        if disk.is_on { Ok(disk.state(self.file)) } else { Err(power_is_off()) }
    }

    fn lock(&self) -> io::Result<bool> {
        let mut disk = locked(&self.disk);
        if !disk.is_on {
            return Err(power_is_off());
        }
        let is_free = self.has_lock.load(Ordering::Relaxed) || disk.locked_files.insert(self.file);
        self.has_lock.store(is_free, Ordering::Relaxed);
        Ok(is_free)
    }
}

#[cfg(test)]
mod tests;
