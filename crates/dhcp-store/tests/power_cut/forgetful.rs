//! File system for SQLite: files on simulated disks that lose their power.
//!
//! It flushes names as SQLite's own file system does on Unix: with the first flush of a journal or
//! a log that was opened to be created if necessary, also if the file existed (a process that died
//! may have created it and flushed nothing), and never when one is removed (`os_unix.c` of SQLite:
//! `UNIXFILE_DIRSYNC`, `unixDelete` without `dirSync`, which only `synchronous=EXTRA` requests).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dhcp_store::storage::{LogFile, PowerCutStorage, Storage, read_full_at, write_all_at};
use sqlite_vfs::wip::{WalIndex, WalIndexLock};
use sqlite_vfs::{DatabaseHandle, LockKind, OpenAccess, OpenKind, OpenOptions, Vfs};

/// Simulated disks by the folders that they are mounted at, and counts of operations on them.
/// Clones are the same disks.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    mounted: Arc<Mutex<MountedDisks>>,
}

#[derive(Debug, Default)]
struct MountedDisks {
    disks: BTreeMap<PathBuf, PowerCutStorage>,
    /// Number of writes to databases themselves: they occur only when a log is copied into one.
    database_writes: u64,
    /// Number of requests for random bytes.
    draws: u64,
}

impl Disks {
    /// Registers the disks by the name `vfs`, for the lifetime of the process.
    pub fn register(&self, vfs: &str) {
        sqlite_vfs::register(vfs, self.clone(), false).expect("SQLite takes one more file system");
    }

    /// Mounts `disk`, instead of the previous one.
    pub fn mount(&self, folder: &Path, disk: PowerCutStorage) {
        self.locked().disks.insert(folder.to_owned(), disk);
    }

    /// Returns the number of writes to databases, not to logs, so far.
    pub fn database_writes(&self) -> u64 {
        self.locked().database_writes
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, MountedDisks> {
        self.mounted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn disk_of(&self, path: &Path) -> io::Result<(PathBuf, PowerCutStorage)> {
        let folder = path.parent().unwrap_or(path);
        let disk = self.locked().disks.get(folder).cloned();
        disk.map(|disk| (folder.to_owned(), disk)).ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl Vfs for Disks {
    type Handle = OpenFile;

    fn open(&self, path: &str, options: OpenOptions) -> io::Result<OpenFile> {
        let path = Path::new(path);
        let (folder, disk) = self.disk_of(path)?;
        let may_create = matches!(options.access, OpenAccess::Create | OpenAccess::CreateNew);
        let file = match disk.open(path)? {
            Some(file) => file,
            None if may_create => disk.create(path)?,
            None => return Err(ErrorKind::NotFound.into()),
        };
        let is_database = options.kind == OpenKind::MainDb;
        Ok(OpenFile {
            disks: self.clone(),
            disk,
            folder,
            file,
            is_database,
            has_unsafe_name: may_create && !is_database,
            lock: LockKind::None,
        })
    }

    fn delete(&self, path: &str) -> io::Result<()> {
        let path = Path::new(path);
        if self.disk_of(path)?.1.remove(path)? { Ok(()) } else { Err(ErrorKind::NotFound.into()) }
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        let path = Path::new(path);
        Ok(self.disk_of(path)?.1.open(path)?.is_some())
    }

    fn temporary_name(&self) -> String {
        // This name is on no disk: temporary data that fits into memory stays there.
        "/none/temporary".to_owned()
    }

    fn random(&self, buffer: &mut [i8]) {
        let mut mounted = self.locked();
        mounted.draws += 1;
        let mut random = base::Random::from_seed(mounted.draws);
        buffer.iter_mut().for_each(|octet| *octet = random.next_u32() as i8);
    }

    fn sleep(&self, duration: Duration) -> Duration {
        duration
    }
}

/// Open file of SQLite.
#[derive(Debug)]
pub struct OpenFile {
    disks: Disks,
    disk: PowerCutStorage,
    folder: PathBuf,
    file: Arc<dyn LogFile>,
    is_database: bool,
    has_unsafe_name: bool,
    lock: LockKind,
}

impl DatabaseHandle for OpenFile {
    type WalIndex = OwnIndex;

    fn size(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_exact_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let len = read_full_at(&*self.file, offset, buffer)?;
        if len == buffer.len() {
            return Ok(());
        }
        // SQLite requires the zeros.
        buffer[len..].fill(0);
        Err(ErrorKind::UnexpectedEof.into())
    }

    fn write_all_at(&mut self, octets: &[u8], offset: u64) -> io::Result<()> {
        if self.is_database {
            self.disks.locked().database_writes += 1;
        }
        write_all_at(&*self.file, offset, octets)
    }

    fn sync(&mut self, _data_only: bool) -> io::Result<()> {
        self.file.sync_data()?;
        if self.has_unsafe_name {
            self.disk.sync_folder(&self.folder)?;
            self.has_unsafe_name = false;
        }
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    // Only one connection opens a disk, so no other one has a lock.
    fn lock(&mut self, lock: LockKind) -> io::Result<bool> {
        self.lock = lock;
        Ok(true)
    }

    fn reserved(&mut self) -> io::Result<bool> {
        Ok(self.lock > LockKind::Shared)
    }

    fn current_lock(&self) -> io::Result<LockKind> {
        Ok(self.lock)
    }

    fn wal_index(&self, _is_read_only: bool) -> io::Result<OwnIndex> {
        Ok(OwnIndex)
    }
}

/// Index of a log that only one connection uses: in its memory.
#[derive(Debug)]
pub struct OwnIndex;

impl WalIndex for OwnIndex {
    fn map(&mut self, _region: u32) -> io::Result<[u8; 32768]> {
        Ok([0; 32768])
    }

    fn lock(&mut self, _locks: Range<u8>, _lock: WalIndexLock) -> io::Result<bool> {
        Ok(true)
    }

    fn delete(self) -> io::Result<()> {
        Ok(())
    }
}
