//! Storage of lease files in the operating system's files.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{FileId, FileState, Lock, LogFile, Storage};

/// Storage of lease files in files of the operating system. This storage allocates no disk blocks
/// ahead: a file only has bytes that a write put there, so that Kea can read it at any moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskStorage;

/// Command name of Kea's cleanup of lease files.
const KEA_LFC: &str = "kea-lfc";
/// Mode bits that a file's owner needs to read and write it.
const OWNER_ACCESS: u32 = 0o600;

#[derive(Debug)]
struct DiskFile {
    file: File,
    is_locked: AtomicBool,
}

impl DiskFile {
    fn open(file: File) -> Arc<dyn LogFile> {
        Arc::new(Self { file, is_locked: AtomicBool::new(false) })
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        if self.is_locked.load(Ordering::Relaxed) {
            // A child process that is just being started may still have a copy of the descriptor.
            // If unlocking fails, closing the last copy releases the lock too.
            let _ = self.file.unlock();
        }
    }
}

/// Lock on a file that ends when it is dropped, although a child process that is just being started
/// may still have a copy of the descriptor.
struct FileLock(File);

impl Drop for FileLock {
    fn drop(&mut self) {
        // If unlocking fails, closing the file releases the lock too.
        let _ = self.0.unlock();
    }
}

fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Storage for DiskStorage {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        // A link of this name would lead to another file, which would be emptied and written.
        self.remove(path)?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(DiskFile::open(file))
    }

    fn open(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        let file = if_exists(OpenOptions::new().read(true).write(true).open(path))?;
        Ok(file.map(DiskFile::open))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        let file = if_exists(OpenOptions::new().read(true).open(path))?;
        Ok(file.map(DiskFile::open))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match std::fs::rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                set_folder_aside(to)?;
                std::fs::rename(from, to)
            }
            renamed => renamed,
        }
    }

    fn remove(&self, path: &Path) -> io::Result<bool> {
        match if_exists(std::fs::remove_file(path)) {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                set_folder_aside(path).map(|()| true)
            }
            removed => Ok(removed?.is_some()),
        }
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
            Ok(()) => Ok(Some(Lock::new(FileLock(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn state(&self, path: &Path) -> io::Result<Option<FileState>> {
        Ok(if_exists(std::fs::metadata(path))?.as_ref().map(state))
    }

    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        if_exists(std::fs::canonicalize(path))
    }

    fn is_cleanup_running(&self, pid: u32) -> bool {
        let command =
            |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let own_pid = std::process::id();
        let name = command(pid);
        // Another program may have the process number by now; in a container, this process itself
        // may have it.
        pid != own_pid && !name.is_empty() && (name.trim() == KEA_LFC || name == command(own_pid))
    }
}

/// Renames the folder `path`, which has the name of a file: the server must not delete its
/// contents.
fn set_folder_aside(path: &Path) -> io::Result<()> {
    let name_of = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".broken-{number}"));
        PathBuf::from(name)
    };
    let is_free = |path: &PathBuf| std::fs::symlink_metadata(path).is_err();
    let free = (1..=u32::MAX).map(name_of).find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
    std::fs::rename(path, free)
}

fn state(metadata: &Metadata) -> FileState {
    FileState {
        id: FileId { device: metadata.dev(), inode: metadata.ino() },
        len: metadata.len(),
        is_usable: metadata.mode() & OWNER_ACCESS == OWNER_ACCESS,
    }
}

impl LogFile for DiskFile {
    fn write_at(&self, offset: u64, octets: &[u8]) -> io::Result<usize> {
        self.file.write_at(octets, offset)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn state(&self) -> io::Result<FileState> {
        Ok(state(&self.file.metadata()?))
    }

    fn lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => {
                self.is_locked.store(true, Ordering::Relaxed);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_file_is_made_in_place_of_a_link_and_not_through_it() {
        let temporary = TempFolder::new("create");
        let folder = temporary.path();
        let (precious, link) = (folder.join("precious"), folder.join("leases.csv.tmp"));
        std::fs::write(&precious, "precious").unwrap();
        for is_link in [true, false] {
            if is_link {
                std::os::unix::fs::symlink(&precious, &link).unwrap();
            }
            let file = DiskStorage.create(&link).unwrap();
            assert_eq!(file.len().unwrap(), 0);
            file.write_at(0, b"rows").unwrap();
            assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
            assert!(std::fs::symlink_metadata(&link).unwrap().is_file());
        }
    }

    #[test]
    fn a_folder_in_the_place_of_a_file_is_set_aside() {
        let temporary = TempFolder::new("aside");
        let folder = temporary.path();
        let path = |name: &str| folder.join(name);
        let put_folder = |name: &str| {
            std::fs::create_dir(path(name)).unwrap();
            std::fs::write(path(name).join("precious"), "precious").unwrap();
        };
        put_folder("file");
        std::fs::write(path("new"), "rows").unwrap();
        DiskStorage.rename(&path("new"), &path("file")).unwrap();
        assert_eq!(std::fs::read_to_string(path("file")).unwrap(), "rows");
        put_folder("removed");
        assert!(DiskStorage.remove(&path("removed")).unwrap() && !path("removed").exists());
        put_folder("removed");
        assert_eq!(DiskStorage.create(&path("removed")).unwrap().len().unwrap(), 0);
        for aside in ["file.broken-1", "removed.broken-1", "removed.broken-2"] {
            let content = std::fs::read_to_string(path(aside).join("precious")).unwrap();
            assert_eq!(content, "precious", "{aside}");
        }
    }
}
