//! Operations on lease files with errors that say what was tried on what.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::LeaseFiles;
use crate::storage::{LogFile, Storage, write_all_at};

/// An operation on a file that the operating system did not do.
#[derive(Debug)]
pub struct Failed {
    /// What was tried: "write", "rename".
    pub tried: &'static str,
    /// On what.
    pub path: PathBuf,
    /// What the operating system said.
    pub error: io::Error,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.tried, self.path.display(), self.error)
    }
}

impl std::error::Error for Failed {}

/// Turns an error of the operating system into a [`Failed`].
pub(crate) trait Tried<T> {
    fn tried(self, tried: &'static str, path: &Path) -> Result<T, Failed>;
}

impl<T> Tried<T> for io::Result<T> {
    fn tried(self, tried: &'static str, path: &Path) -> Result<T, Failed> {
        self.map_err(|error| Failed { tried, path: path.to_owned(), error })
    }
}

/// Octets collected before they are written.
const BLOCK: usize = 1 << 20;

/// A file under its scratch name, flushed, that is to become another one.
pub(crate) struct Prepared {
    pub(crate) file: Arc<dyn LogFile>,
    pub(crate) len: u64,
}

impl Prepared {
    /// Takes the lock of the file before it gets the live file's name.
    pub(crate) fn lock(&self, files: &LeaseFiles) -> Result<(), Failed> {
        let is_ours = self.file.lock().tried("lock", &files.scratch)?;
        let refused = || io::Error::from(io::ErrorKind::ResourceBusy);
        is_ours.then_some(()).ok_or_else(refused).tried("lock", &files.scratch)
    }
}

/// Appends rows to a file block by block.
pub(crate) struct BlockWriter<'f> {
    file: &'f dyn LogFile,
    block: Vec<u8>,
    len: u64,
}

impl BlockWriter<'_> {
    /// Lets `encode` append to the file.
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

/// Makes the scratch file with what `fill` appends, and flushes it. Nothing is left when that fails:
/// what is missing may be room.
pub(crate) fn prepare(
    storage: &dyn Storage,
    files: &LeaseFiles,
    fill: impl FnOnce(&mut BlockWriter<'_>) -> io::Result<()>,
) -> Result<Prepared, Failed> {
    prepare_at(storage, &files.scratch, fill).inspect_err(|_| {
        // If this fails too, the next start or attempt does it.
        let _ = storage.remove(&files.scratch);
    })
}

fn prepare_at(
    storage: &dyn Storage,
    path: &Path,
    fill: impl FnOnce(&mut BlockWriter<'_>) -> io::Result<()>,
) -> Result<Prepared, Failed> {
    let file = storage.create(path).tried("create", path)?;
    let mut writer = BlockWriter { file: &*file, block: Vec::new(), len: 0 };
    fill(&mut writer).and_then(|()| writer.write_block()).tried("write", path)?;
    let len = writer.len;
    file.sync_data().tried("flush", path)?;
    Ok(Prepared { file, len })
}

/// Renames and flushes the folder: afterwards the new name is safe.
pub(crate) fn rename(
    storage: &dyn Storage,
    files: &LeaseFiles,
    from: &Path,
    to: &Path,
) -> Result<(), Failed> {
    storage.rename(from, to).tried("rename", from)?;
    storage.sync_folder(&files.folder).tried("flush the folder", &files.folder)
}
