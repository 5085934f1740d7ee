//! Inspection of lease files before they are loaded: header, last complete row, rows that may not
//! be flushed.

use std::path::Path;
use std::sync::Arc;

use super::FileOperationError;
use super::cleanup::InspectedLeaseFile;
use super::columns::LeaseFileHeader;
use super::file_operations::FileOperationContext;
use super::format::RowFileFormat;
use super::load::RowSource;
use super::open::OpenError;
use crate::storage::{LogFile, read_full_at, write_all_at};

pub(super) type Opened = (Arc<dyn LogFile>, InspectedLeaseFile);

pub(super) fn find_in(
    format: &RowFileFormat,
    path: &Path,
    file: Arc<dyn LogFile>,
) -> Result<Opened, OpenError> {
    let inspected = inspect(format, path, file.clone())?;
    let inspected = inspected.ok_or_else(|| OpenError::NotALeaseFile(path.to_owned()))?;
    Ok((file, inspected))
}

/// Finds the header and the last complete row of the lease file `path`; returns `None` if it is not
/// a lease file.
pub(super) fn inspect(
    format: &RowFileFormat,
    path: &Path,
    file: Arc<dyn LogFile>,
) -> Result<Option<InspectedLeaseFile>, FileOperationError> {
    const HEADER_MAX: usize = 4096;
    let len = file.len().with_operation("read", path)?;
    let mut head = [0; HEADER_MAX];
    let read = read_full_at(&*file, 0, &mut head).with_operation("read", path)?;
    let head = &head[..read];
    let Some(start) = head.iter().position(|&octet| octet == b'\n') else {
        let inspected = InspectedLeaseFile { source: None, torn_octets: len };
        return Ok(
            (read < HEADER_MAX && LeaseFileHeader::is_torn(format, head)).then_some(inspected)
        );
    };
    let Some(header) = LeaseFileHeader::parse(format, &head[..start]) else { return Ok(None) };
    let end = last_row_end(&*file, len).with_operation("read", path)?;
    let source = RowSource { path: path.to_owned(), file, header, start: start as u64 + 1, end };
    Ok(Some(InspectedLeaseFile { source: Some(source), torn_octets: len - end }))
}

/// Returns the offset after the last line end of a lease file that has one.
fn last_row_end(file: &dyn LogFile, len: u64) -> std::io::Result<u64> {
    let mut block = [0; 4096];
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let block = &mut block[..(end - start) as usize];
        read_full_at(file, start, block)?;
        if let Some(at) = block.iter().rposition(|&octet| octet == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Number of bytes at the end of the live lease file that are written again when it is opened.
const REWRITTEN_MAX: u64 = 64 << 20;

/// Writes the last bytes of `rows` over themselves, and flushes all rows of the file. Rows of a
/// process that has ended are in the page cache and, if a flush of them has failed, nowhere else,
/// although later flushes succeed. Writing them again makes the next flush include them; no server
/// continues for more than [`REWRITTEN_MAX`] bytes without a successful flush.
pub(super) fn flush_again(rows: &RowSource) -> Result<(), FileOperationError> {
    rewrite_tail(&*rows.file, rows.start, rows.end).with_operation("write", &rows.path)?;
    rows.file.sync_data().with_operation("flush", &rows.path)
}

fn rewrite_tail(file: &dyn LogFile, start: u64, end: u64) -> std::io::Result<()> {
    let mut block = vec![0; 1 << 20];
    let mut offset = start.max(end.saturating_sub(REWRITTEN_MAX));
    while offset < end {
        let len = (block.len() as u64).min(end - offset) as usize;
        let read = read_full_at(file, offset, &mut block[..len])?;
        if read < len {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        write_all_at(file, offset, &block[..len])?;
        offset += len as u64;
    }
    Ok(())
}
