//! Leases from a table to a lease file of Kea's and back, as `kea-admin` does it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::database::{Database, Loaded};
use super::error::SqlError;
use super::row::{Layout, Stored};
use super::schema::Schema;
use crate::memfile::{Columns, Format, LoadReport, OpenError, encode_row, load_file, newest};
use crate::storage::DiskStorage;

/// Leases written in one transaction.
const UPLOADED_AT_ONCE: usize = 10_000;

/// Why leases could not be moved.
#[derive(Debug)]
pub enum TransferError {
    /// The database failed.
    Sql(SqlError),
    /// The file cannot be written.
    Write(std::io::Error),
    /// The file cannot be read.
    Read(OpenError),
}

impl std::fmt::Display for TransferError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sql(error) => error.fmt(f),
            Self::Write(error) => write!(f, "cannot write the lease file: {error}"),
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TransferError {}

impl From<SqlError> for TransferError {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

/// The columns that `kea-admin lease-dump` gives a file: those of a table of this version.
fn columns<F: Stored>(layout: Layout) -> Columns {
    match layout.schema {
        Schema::Current => newest::<F>(),
        Schema::Kea22 => Columns::without_newest(&Format::of::<F>()),
    }
}

/// Writes all leases of a family to a new file, sorted as the database sorts their addresses.
///
/// # Errors
///
/// The database fails, or the file cannot be written; it is left as it is then.
pub fn dump<F: Stored>(database: &mut Database, path: &Path) -> Result<Loaded, TransferError> {
    let layout = database.layout()?;
    let columns = columns::<F>(layout);
    let file = File::create(path).map_err(TransferError::Write)?;
    let mut file = BufWriter::new(file);
    let mut row = Vec::new();
    columns.encode_header(&Format::of::<F>(), &mut row);
    let mut written = file.write_all(&row);
    let loaded = database.load_all::<F>(layout, |lease| {
        if written.is_ok() {
            row.clear();
            encode_row::<F>(&F::row_of(&lease), columns, &mut row);
            written = file.write_all(&row);
        }
        Ok(())
    })?;
    written.and_then(|()| file.flush()).map_err(TransferError::Write)?;
    file.get_ref().sync_all().map_err(TransferError::Write)?;
    Ok(loaded)
}

/// Writes all leases of a lease file to the table, replacing those of the same addresses.
///
/// # Errors
///
/// The file cannot be read, or the database fails; what was committed until then stays.
pub fn upload<F: Stored>(
    database: &mut Database,
    path: &Path,
) -> Result<(u64, LoadReport), TransferError> {
    let layout = database.layout()?;
    let (mut leases, report) = load_file::<F>(&DiskStorage, path).map_err(TransferError::Read)?;
    leases.sort_unstable_by_key(|lease| F::address(lease));
    for some in leases.chunks(UPLOADED_AT_ONCE) {
        database.begin()?;
        match database.upsert_many::<F>(layout, some) {
            Ok(()) => database.commit()?,
            Err(error) => {
                // The first error is the one to tell.
                let _ = database.roll_back();
                return Err(error.into());
            }
        }
    }
    Ok((leases.len() as u64, report))
}
