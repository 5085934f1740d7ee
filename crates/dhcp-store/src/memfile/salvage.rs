//! Repair of lease files that are damaged from their start on. Either a server continued to write
//! at its offset after another program had truncated the file, so that a hole of zeros replaces the
//! header and earlier rows; or the header is missing; or the file was overwritten.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::columns::{Columns, LeaseFileHeader};
use super::file_operations::{FileOperationContext, prepare, rename};
use super::format::{LeaseFileFamily, RowFileFormat};
use super::value::parse_row;
use super::{FileOperationError, LeaseFiles};
use crate::storage::{LogFile, Storage, read_full_at, write_all_at};

/// Number of bytes of a lease file read and written at a time.
const BLOCK: usize = 1 << 16;
/// Number of bytes that a disk writes together: zeros that end at a multiple of this number may be
/// the result of a power failure, and the bytes after them the rest of a row.
const SECTOR: u64 = 512;

/// Sound lease file, and the path that the damaged one was copied to.
pub(super) type Salvaged = (Arc<dyn LogFile>, PathBuf);

/// Replaces the lease file `path` by one with a header and the bytes from its first row on, after
/// copying it to `X.broken-TIME`. Returns the new file and the path of the copy. A live file
/// without a row of this family is taken for another program's, because its name was configured;
/// then nothing is done and the result is `None`. The server itself names the files next to it, so
/// those are replaced regardless of their contents.
///
/// # Errors
///
/// Returns the error of the operating system; the file is as it was.
pub(super) fn salvage<F: LeaseFileFamily>(
    storage: &dyn Storage,
    files: &LeaseFiles,
    path: &Path,
    damaged: &dyn LogFile,
    wall_s: u64,
) -> Result<Option<Salvaged>, FileOperationError> {
    let is_live = path == files.live;
    let len = damaged.len().with_operation("read", path)?;
    let start = match first_row::<F>(damaged, len).with_operation("read", path)? {
        Some(start) => start,
        None if is_live => return Ok(None),
        None => len,
    };
    let mut copy = path.as_os_str().to_owned();
    copy.push(format!(".broken-{wall_s}"));
    let copy = PathBuf::from(copy);
    set_aside(storage, damaged, len, &copy)?;
    let next = prepare(storage, files, |writer| {
        let format = RowFileFormat::for_family::<F>();
        writer.append(|block| Columns::newest(&format).encode_header(&format, block))?;
        blocks(damaged, start, len, |_, octets| {
            writer.append(|block| block.extend_from_slice(octets))
        })
    })?;
    if is_live {
        next.lock(files)?;
    }
    rename(storage, files, &files.scratch, path)?;
    Ok(Some((next.file, copy)))
}

/// Copies the damaged lease file to `path` and flushes the copy, which has holes (unallocated
/// blocks) instead of zeros.
fn set_aside(
    storage: &dyn Storage,
    damaged: &dyn LogFile,
    len: u64,
    path: &Path,
) -> Result<(), FileOperationError> {
    let copy = storage.create(path).with_operation("create", path)?;
    blocks(damaged, 0, len, |offset, octets| {
        if octets.iter().all(|&octet| octet == 0) {
            Ok(())
        } else {
            write_all_at(&*copy, offset, octets)
        }
    })
    .and_then(|()| copy.truncate(len))
    .and_then(|()| copy.sync_data())
    .with_operation("write", path)
}

/// Returns the offset of the first row of a lease file; `None` if there is no row of this family
/// near the beginning, unless the file has only zeros.
fn first_row<F: LeaseFileFamily>(file: &dyn LogFile, len: u64) -> io::Result<Option<u64>> {
    let mut start = len;
    blocks(file, 0, len, |offset, octets| {
        if let Some(at) = octets.iter().position(|&octet| octet != 0) {
            start = start.min(offset + at as u64);
        }
        Ok(())
    })?;
    if start == len {
        return Ok(Some(len));
    }
    let mut head = vec![0; BLOCK];
    let read = read_full_at(file, start, &mut head)?;
    let head = &head[..read];
    let whole_lines = head.iter().rposition(|&octet| octet == b'\n').map_or(0, |end| end + 1);
    let format = RowFileFormat::for_family::<F>();
    let header = LeaseFileHeader { columns: Columns::newest(&format), unknown: 0 };
    let has_row = head[..whole_lines]
        .split(|&octet| octet == b'\n')
        .any(|line| parse_row::<F>(line, &format, header).is_ok());
    let first_line = head.iter().position(|&octet| octet == b'\n').map_or(0, |end| end + 1);
    // A row that a server has written after a hole begins anywhere.
    let is_cut = start > 0 && start.is_multiple_of(SECTOR);
    Ok(has_row.then_some(if is_cut { start + first_line as u64 } else { start }))
}

/// Passes the bytes of `file` from `start` to `end` to `visit` in order, with the offset of each
/// block.
fn blocks(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    mut visit: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    let mut offset = start;
    while offset < end {
        let block_len = BLOCK.min(usize::try_from(end - offset).unwrap_or(BLOCK));
        let read = read_full_at(file, offset, &mut block[..block_len])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        visit(offset, &block[..read])?;
        offset += read as u64;
    }
    Ok(())
}
