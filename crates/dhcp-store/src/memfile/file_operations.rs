//! Operations on lease files whose errors name the operation and the file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::LeaseFiles;
use crate::storage::{LogFile, Storage, write_all_at};

/// Failed file operation of the operating system on a lease file.
#[derive(Debug)]
pub struct FileOperationError {
    /// File operation that failed, such as "write" or "rename".
    pub operation: &'static str,
    /// Path of the file that the operation concerned.
    pub path: PathBuf,
    /// Error of the operating system that the operation returned.
    pub error: io::Error,
}

impl fmt::Display for FileOperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.operation, self.path.display(), self.error)
    }
}

impl std::error::Error for FileOperationError {}

/// Conversion of an error of the operating system to a [`FileOperationError`].
pub(crate) trait FileOperationContext<T> {
    fn with_operation(self, operation: &'static str, path: &Path) -> Result<T, FileOperationError>;
}

impl<T> FileOperationContext<T> for io::Result<T> {
    fn with_operation(self, operation: &'static str, path: &Path) -> Result<T, FileOperationError> {
        self.map_err(|error| FileOperationError { operation, path: path.to_owned(), error })
    }
}

/// Number of bytes of rows collected before they are written to a lease file.
const BLOCK: usize = 1 << 20;

/// Lease file under its scratch name, flushed, that will be renamed to its final name.
pub(crate) struct ScratchFile {
    pub(crate) file: Arc<dyn LogFile>,
    pub(crate) len: u64,
}

impl ScratchFile {
    /// Takes the lock of the scratch file before it is renamed to the live lease file's name.
    pub(crate) fn lock(&self, files: &LeaseFiles) -> Result<(), FileOperationError> {
        if self.file.lock().with_operation("lock", &files.scratch)? {
            return Ok(());
        }
        let refused = io::Error::from(io::ErrorKind::ResourceBusy);
        Err(refused).with_operation("lock", &files.scratch)
    }
}

/// Writer that appends rows to a lease file block by block.
pub(crate) struct BlockWriter<'f> {
    file: &'f dyn LogFile,
    block: Vec<u8>,
    len: u64,
}

impl BlockWriter<'_> {
    /// Appends the bytes that `encode` writes to the lease file.
    pub(crate) fn append(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        encode(&mut self.block);
        if self.block.len() >= BLOCK { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> io::Result<()> {
        write_all_at(self.file, self.len, &self.block)?;
        self.len += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }
}

/// Creates the scratch file with the rows that `fill` appends, and flushes it. If that fails, no
/// scratch file remains: the disk may be full.
pub(crate) fn prepare(
    storage: &dyn Storage,
    files: &LeaseFiles,
    fill: impl FnOnce(&mut BlockWriter<'_>) -> io::Result<()>,
) -> Result<ScratchFile, FileOperationError> {
    prepare_at(storage, &files.scratch, fill).inspect_err(|_| {
        // If this fails too, the next start or attempt removes the file.
        let _ = storage.remove(&files.scratch);
    })
}

fn prepare_at(
    storage: &dyn Storage,
    path: &Path,
    fill: impl FnOnce(&mut BlockWriter<'_>) -> io::Result<()>,
) -> Result<ScratchFile, FileOperationError> {
    let file = storage.create(path).with_operation("create", path)?;
    let mut writer = BlockWriter { file: &*file, block: Vec::new(), len: 0 };
    fill(&mut writer).and_then(|()| writer.write_block()).with_operation("write", path)?;
    let len = writer.len;
    file.sync_data().with_operation("flush", path)?;
    Ok(ScratchFile { file, len })
}

/// Renames a lease file and flushes the folder: afterwards the new name survives a power failure.
pub(crate) fn rename(
    storage: &dyn Storage,
    files: &LeaseFiles,
    from: &Path,
    to: &Path,
) -> Result<(), FileOperationError> {
    storage.rename(from, to).with_operation("rename", from)?;
    storage.sync_folder(&files.folder).with_operation("flush the folder", &files.folder)
}
