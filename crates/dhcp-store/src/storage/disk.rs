//! The real thing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::{Lock, LogFile, Storage};

/// Files of the operating system. Nothing is allocated ahead: a file never has an octet that no
/// write put there, so that Kea can read it at any moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskStorage;

#[derive(Debug)]
struct DiskFile(File);

/// A lock that ends when it is dropped, though a child process that is just being started may
/// still have a copy of the descriptor.
struct HeldLock(File);

impl Drop for HeldLock {
    fn drop(&mut self) {
        // When this fails, closing the file ends the lock all the same.
        let _ = self.0.unlock();
    }
}

fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Storage for DiskStorage {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(DiskFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        let file = found(OpenOptions::new().read(true).write(true).open(path))?;
        Ok(file.map(|file| Arc::new(DiskFile(file)) as Arc<dyn LogFile>))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        let file = found(OpenOptions::new().read(true).open(path))?;
        Ok(file.map(|file| Arc::new(DiskFile(file)) as Arc<dyn LogFile>))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<bool> {
        Ok(found(std::fs::remove_file(path))?.is_some())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock::new(HeldLock(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn is_process_running(&self, pid: u32) -> bool {
        Path::new("/proc").join(pid.to_string()).exists()
    }
}

impl LogFile for DiskFile {
    fn write_at(&self, offset: u64, octets: &[u8]) -> io::Result<usize> {
        self.0.write_at(octets, offset)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
