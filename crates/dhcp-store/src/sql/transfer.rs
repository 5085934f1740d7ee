//! Transfer of leases from a database table to a lease file of Kea and back, as `kea-admin
//! lease-dump` and `lease-upload` do it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::database::{Database, SqlLoadReport};
use super::error::SqlError;
use super::row::{RowLayout, SqlFamily};
use super::schema::Schema;
use crate::database::DatabaseFault;
use crate::memfile::{
    Columns, LoadReport, OpenError, RowFileFormat, encode_row, load_file, newest,
};
use crate::storage::DiskStorage;
use dhcp_lease::Lease;

/// Number of leases that an upload writes to the table in one transaction.
const UPLOADED_AT_ONCE: usize = 10_000;
/// Maximum number of leases refused by the table that the result names.
const REFUSALS_MAX: usize = 100;

/// Reason why leases could not be transferred between a table and a lease file.
#[derive(Debug)]
pub enum TransferError {
    /// Error of the SQL database.
    Sql(SqlError),
    /// Error of writing the lease file.
    Write(std::io::Error),
    /// Error of reading the lease file.
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

/// Returns the columns that `kea-admin lease-dump` writes for a table of the version in `layout`.
fn columns<F: SqlFamily>(layout: RowLayout) -> Columns {
    match layout.schema {
        Schema::Current => newest::<F>(),
        Schema::Kea22 => Columns::without_newest(&RowFileFormat::for_family::<F>()),
    }
}

/// Writes all leases of a family in `database` to a new lease file, in the order in which the
/// database sorts their addresses.
///
/// # Errors
///
/// Returns an error if the database fails or the file cannot be written; the incomplete file stays.
pub fn dump<F: SqlFamily>(
    database: &mut Database,
    path: &Path,
) -> Result<SqlLoadReport, TransferError> {
    let layout = database.layout()?;
    let columns = columns::<F>(layout);
    let file = File::create(path).map_err(TransferError::Write)?;
    let mut file = BufWriter::new(file);
    let mut row = Vec::new();
    columns.encode_header(&RowFileFormat::for_family::<F>(), &mut row);
    let mut written = file.write_all(&row);
    let loaded = database.load_all::<F>(layout, |lease| {
        if written.is_ok() {
            row.clear();
            encode_row::<F>(&lease.row(), columns, &mut row);
            written = file.write_all(&row);
        }
        Ok(())
    })?;
    written.and_then(|()| file.flush()).map_err(TransferError::Write)?;
    file.get_ref().sync_all().map_err(TransferError::Write)?;
    Ok(loaded)
}

/// Result of an upload of a lease file: the numbers of leases that the table accepted and refused.
#[derive(Debug)]
pub struct UploadResult {
    /// Number of leases that were written to the table.
    pub leases: u64,
    /// Number of leases that the table refused: it has no room for them, or does not allow their
    /// values.
    pub refused: u64,
    /// Errors for the first hundred leases that the table refused, each with the address of the
    /// lease.
    pub refusals: Vec<String>,
    /// Report about the rows of the lease file, including rows that are not leases.
    pub file: LoadReport,
}

/// Writes all leases of a lease file to the table, and replaces the table's leases of the same
/// addresses. A lease that the table refuses is left out; the others of its transaction are
/// written.
///
/// # Errors
///
/// Returns an error if the file cannot be read or the database fails; earlier commits stay.
pub fn upload<F: SqlFamily>(
    database: &mut Database,
    path: &Path,
) -> Result<UploadResult, TransferError> {
    let layout = database.layout()?;
    let (mut leases, file) = load_file::<F>(&DiskStorage, path).map_err(TransferError::Read)?;
    leases.sort_unstable_by_key(|lease| lease.address);
    let mut uploaded = UploadResult { leases: 0, refused: 0, refusals: Vec::new(), file };
    // The first part is at the end, where it is taken first.
    let mut waiting: Vec<&[Lease<F>]> = leases.chunks(UPLOADED_AT_ONCE).rev().collect();
    while let Some(part) = waiting.pop() {
        match (write::<F>(database, layout, part), part) {
            (Ok(()), _) => uploaded.leases += part.len() as u64,
            (Err(error), [lease]) if error.fault() == DatabaseFault::Data => {
                uploaded.refused += 1;
                if uploaded.refusals.len() < REFUSALS_MAX {
                    let address = lease.address;
                    uploaded.refusals.push(format!("the lease of {address} is refused: {error}"));
                }
            }
            // Halves are halved again until the refused lease is alone.
            (Err(error), _) if error.fault() == DatabaseFault::Data => {
                let (first, second) = part.split_at(part.len() / 2);
                waiting.extend([second, first]);
            }
            (Err(error), _) => return Err(error.into()),
        }
    }
    Ok(uploaded)
}

/// Writes leases to the table in a transaction of their own.
fn write<F: SqlFamily>(
    database: &mut Database,
    layout: RowLayout,
    leases: &[Lease<F>],
) -> Result<(), SqlError> {
    database.begin()?;
    let written = database.upsert_many::<F>(layout, leases);
    match written {
        Ok(()) => database.commit(),
        Err(error) => {
            // The first error is the one to report.
            let _ = database.roll_back();
            Err(error)
        }
    }
}
