//! Files and folders as a store of leases sees them: an interface so small that a power cut of the
//! machine can be simulated behind the same trait.
//!
//! The rules are those of POSIX, read pessimistically: written bytes are safe after
//! [`LogFile::sync_data`] has succeeded, and names are safe after [`Storage::sync_folder`] has.
//! After a failed flush nothing that it covered counts as safe, even if later flushes succeed
//! (Rebello and others, "Can Applications Recover from fsync Failures?", 2020).

mod disk;
mod power_cut;

use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use disk::DiskStorage;
pub use power_cut::{DiskAfterCut, PowerCutStorage, StorageFaults};

/// Storage of lease files: folders with files in them.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Creates the empty file `path` and replaces an existing one, which an open descriptor keeps
    /// as it is.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system; so do all functions here.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>>;

    /// Opens the file `path` for reading and writing; returns `None` if the file is missing.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn open(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>>;

    /// Opens the file `path` for reading only, which needs no permission to write; returns `None`
    /// if the file is missing.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn open_to_read(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        self.open(path)
    }

    /// Renames a file and replaces the one that had the new name. A folder of that name gets
    /// another name.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes the name of a file; returns `false` if the file was missing. A folder gets another
    /// name instead.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn remove(&self, path: &Path) -> io::Result<bool>;

    /// Returns the names of the files in `folder`, sorted.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Makes creations, renames and removals of files in `folder` survive a power cut (`fsync(2)`
    /// of the folder).
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Takes the exclusive lock that the file `path` represents, and creates the file if it is
    /// missing; returns `None` if another process has the lock.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;

    /// Returns the state of the file `path`, links followed; `None` if the file is missing.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn state(&self, path: &Path) -> io::Result<Option<FileState>>;

    /// Returns the path of the file `path` with every symbolic link followed; `None` if the file is
    /// missing.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>>;

    /// Returns true if the process `pid` is a cleanup of lease files: a `kea-lfc`, or another
    /// process of this program.
    fn is_cleanup_running(&self, pid: u32) -> bool;
}

/// State of a file, as `stat(2)` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Identity of the file: two names with the same identity are the same file.
    pub id: FileId,
    /// Size of the file, in bytes.
    pub len: u64,
    /// False if the mode keeps the owner from reading or writing the file.
    pub is_usable: bool,
}

/// Identity of a file: its device and inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Number of the file's device.
    pub device: u64,
    /// Number of the file's inode.
    pub inode: u64,
}

/// Open file, shared by its writer and the threads that flush or read it.
pub trait LogFile: Send + Sync + fmt::Debug {
    /// Writes `octets` to the file at `offset` and returns the number of written bytes, which may
    /// be fewer.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn write_at(&self, offset: u64, octets: &[u8]) -> io::Result<usize>;

    /// Reads from the file at `offset` into `buffer` and returns the number of bytes that were
    /// read; 0 at the end.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Returns the number of bytes in the file.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn len(&self) -> io::Result<u64>;

    /// Returns true if the file is empty.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Truncates the file to a length of `len` bytes.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Makes the bytes of the file and its length survive a power cut (`fdatasync(2)`).
    ///
    /// # Errors
    ///
    /// See [`Storage::create`]. After an error the caller must not write the file again.
    fn sync_data(&self) -> io::Result<()>;

    /// Returns the state of the open file, which may have no name any more.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn state(&self) -> io::Result<FileState>;

    /// Takes the exclusive lock of the open file itself, whatever its name, until this value is
    /// dropped; returns false if another open file of the same inode has it.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn lock(&self) -> io::Result<bool>;
}

/// Exclusive lock on a lease file, released when it is dropped.
pub struct Lock {
    _lock: Box<dyn Any + Send + Sync>,
}

impl Lock {
    fn new(lock: impl Any + Send + Sync) -> Self {
        Self { _lock: Box::new(lock) }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}

/// Writes all of `octets` to `file` at `offset`, in as many writes as necessary.
///
/// # Errors
///
/// Returns the first error; a part may have been written.
pub fn write_all_at(file: &dyn LogFile, mut offset: u64, mut octets: &[u8]) -> io::Result<()> {
    while !octets.is_empty() {
        match file.write_at(offset, octets) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                offset += written as u64;
                octets = &octets[written..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads from `file` at `offset` until `buffer` is full or the file ends; returns the number of
/// bytes that were read.
///
/// # Errors
///
/// Returns the first error.
pub fn read_full_at(file: &dyn LogFile, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(offset + filled as u64, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
