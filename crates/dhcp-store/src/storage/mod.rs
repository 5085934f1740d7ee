//! Files and folders as a lease store sees them: little enough that a machine losing its power
//! can be simulated behind the same trait.
//!
//! The rules are those of POSIX, taken pessimistically: written octets are safe after
//! [`LogFile::sync_data`] has returned well, names are safe after [`Storage::sync_folder`] has, and
//! after a flush that failed nothing that it covered may be believed again, however well later
//! flushes go (Rebello and others, "Can Applications Recover from fsync Failures?", 2020).

mod disk;
mod power_cut;

use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use disk::DiskStorage;
pub use power_cut::{Faults, PowerCutStorage, Survival};

/// Folders with files in them.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Makes an empty file in place of one that is there, which an open descriptor keeps as it is.
    ///
    /// # Errors
    ///
    /// Whatever the operating system says; so for all functions here.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>>;

    /// Opens a file for reading and writing; `None` when there is none.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn open(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>>;

    /// Opens a file for reading alone, which takes no permission to write; `None` when there is none.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn open_to_read(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        self.open(path)
    }

    /// Gives a file another name, replacing what had that name. A folder is set aside.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name; `false` when there was none. A folder is set aside.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn remove(&self, path: &Path) -> io::Result<bool>;

    /// The names of the files in `folder`, sorted.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Makes creations, renames and removals in `folder` safe.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Takes the exclusive lock that the file `path` (made when missing) stands for; `None` when
    /// someone else has it.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;

    /// Returns the state of the file `path`, links followed; `None` when there is none.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn state(&self, path: &Path) -> io::Result<Option<FileState>>;

    /// Returns the path of the file `path` with every symbolic link followed; `None` when there is
    /// no such file.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>>;

    /// Returns whether the process `pid` is a clean-up of lease files: a `kea-lfc`, or another
    /// process of this program.
    fn is_cleanup_running(&self, pid: u32) -> bool;
}

/// State of a file, as `stat(2)` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Identity of the file: two names with the same one are the same file.
    pub id: FileId,
    /// Octets in the file.
    pub len: u64,
    /// False when the mode keeps the owner from reading or writing the file.
    pub is_usable: bool,
}

/// Device and inode number of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// An open file. Shared by the one that writes and whoever flushes or reads.
pub trait LogFile: Send + Sync + fmt::Debug {
    /// Writes at `offset` and says how many octets were taken, which may be fewer.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn write_at(&self, offset: u64, octets: &[u8]) -> io::Result<usize>;

    /// Reads at `offset` and says how many octets were read; 0 at the end.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Octets in the file.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn len(&self) -> io::Result<u64>;

    /// True when there are none.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file to `len` octets.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Makes the octets of the file and its length safe.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`]. Afterwards the file must not be written again.
    fn sync_data(&self) -> io::Result<()>;

    /// Returns the state of the open file, which may have no name any more.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn state(&self) -> io::Result<FileState>;

    /// Takes the exclusive lock of the file itself, whatever its name, until this value is dropped;
    /// false when another open file of the same inode has it.
    ///
    /// # Errors
    ///
    /// See [`Storage::create`].
    fn lock(&self) -> io::Result<bool>;
}

/// An exclusive lock, given back when dropped.
pub struct Lock {
    _held: Box<dyn Any + Send + Sync>,
}

impl Lock {
    fn new(held: impl Any + Send + Sync) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}

/// Writes all of `octets` at `offset`, in as many writes as it takes.
///
/// # Errors
///
/// The first error; a part may have been written.
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

/// Reads at `offset` until `buffer` is full or the file ends; says how many octets were read.
///
/// # Errors
///
/// The first error.
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
