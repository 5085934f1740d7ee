//! Format of a family's lease files, and conversion between leases and rows.

use std::fmt::Debug;
use std::io;

use dhcp_lease::{Lease, LeaseTable, RowView, TableFamily};

use super::columns::{Columns, LeaseFileHeader};
use super::file_operations::BlockWriter;
use super::line::{self, RowLineWriter};
use super::load::{LeaseLoadError, LoadReport, RowSource, load};
use super::plain::PlainRow;
use super::value::{RowFault, Values, parse_row};

/// Family (DHCPv4 or DHCPv6) whose leases Kea keeps in files of rows.
pub trait LeaseFileFamily: TableFamily {
    /// Columns of the family's newest lease files, in order.
    const NAMES: &'static [&'static str];
    /// Number of columns that every lease file of the family has.
    const FEWEST: usize;

    /// Returns the maximum number of bytes of `row` as a line of a lease file, its line end
    /// included.
    fn most(row: &RowView<'_, Self>) -> usize;

    /// Writes the values of `row` to `line`, for a lease file with `columns`.
    fn fill(row: &RowView<'_, Self>, columns: Columns, line: &mut RowLineWriter<'_>);

    /// Reads a lease from the values of its row in a lease file.
    ///
    /// # Errors
    ///
    /// Returns the first fault.
    fn parse(values: &mut Values<'_>) -> Result<Lease<Self>, RowFault>;

    /// Reads a lease from a plain row of a lease file, one without escapes or unusual values;
    /// returns the same lease as [`LeaseFileFamily::parse`], or `None` for a row that is not plain.
    fn parse_plain(row: &mut PlainRow<'_>) -> Option<Lease<Self>>;

    /// Returns the lowest byte of the address, or of the number of the prefix.
    fn low_octet(address: Self::Address) -> u8;
}

/// Appends `row` as a line of a lease file with `columns` columns; does not allocate if `out` has
/// capacity.
pub fn encode_row<F: LeaseFileFamily>(row: &RowView<'_, F>, columns: Columns, out: &mut Vec<u8>) {
    line::append(out, F::most(row), |line| F::fill(row, columns, line));
}

/// Reads a lease from `line`, a row with all columns of a new lease file and its line end.
///
/// # Errors
///
/// Returns the first fault.
pub fn decode_row<F: LeaseFileFamily>(line: &[u8]) -> Result<Lease<F>, RowFault> {
    let row = line.strip_suffix(b"\n").unwrap_or(line);
    // Files of other versions have rows with fewer or more values; a comma in a text is escaped.
    let commas = row.iter().filter(|&&octet| octet == b',').count();
    if commas + 1 != F::NAMES.len() {
        return Err(RowFault::ValueCount);
    }
    let mut plain = PlainRow::new(line);
    if let Some(lease) = F::parse_plain(&mut plain).filter(|_| plain.len() == line.len()) {
        return Ok(lease);
    }
    if row.contains(&b'\n') {
        return Err(RowFault::Rubbish);
    }
    let header = LeaseFileHeader { columns: newest::<F>(), unknown: 0 };
    parse_row(row, &RowFileFormat::for_family::<F>(), header)
}

/// Returns the columns of a new lease file.
#[must_use]
pub const fn newest<F: LeaseFileFamily>() -> Columns {
    Columns::newest(&RowFileFormat::for_family::<F>())
}

/// Passes every lease of `table` to `visit`, as a row of a new lease file.
pub fn rows_of_table<F: LeaseFileFamily>(table: &LeaseTable<F>, visit: &mut dyn FnMut(&[u8])) {
    let mut row = Vec::new();
    table.for_each_lease(|lease| {
        row.clear();
        encode_row(&lease.row(), newest::<F>(), &mut row);
        visit(&row);
    });
}

/// Format of a family's lease files, for code that handles files without knowledge of their
/// contents.
#[derive(Clone, Copy)]
pub struct RowFileFormat {
    pub(crate) names: &'static [&'static str],
    pub(crate) fewest: usize,
    /// Function that loads lease files, later ones overriding earlier ones; a file with more bad
    /// rows than the second argument fails the load.
    pub(crate) load_sorted: fn(&[RowSource], u32) -> Result<Sorting, LeaseLoadError>,
}

impl Debug for RowFileFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("names", &self.names).finish_non_exhaustive()
    }
}

impl RowFileFormat {
    /// Returns the format of `F`'s lease files.
    #[must_use]
    pub const fn for_family<F: LeaseFileFamily>() -> Self {
        Self { names: F::NAMES, fewest: F::FEWEST, load_sorted: load_sorted::<F> }
    }
}

/// Leases from lease files in the order of their addresses, and the report about the files.
type Sorting = (Box<dyn WritableLeases>, LoadReport);

/// Leases that a cleanup writes to a file again.
pub(crate) trait WritableLeases {
    /// Returns the number of leases to write.
    fn count(&self) -> u64;

    /// Appends all leases to the lease file of `writer`.
    fn write(&self, writer: &mut BlockWriter<'_>) -> io::Result<()>;
}

struct SortedLeases<F: LeaseFileFamily>(Vec<Lease<F>>);

impl<F: LeaseFileFamily> WritableLeases for SortedLeases<F> {
    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn write(&self, writer: &mut BlockWriter<'_>) -> io::Result<()> {
        self.0.iter().try_for_each(|lease| {
            writer.append(|block| encode_row(&lease.row(), newest::<F>(), block))
        })
    }
}

fn load_sorted<F: LeaseFileFamily>(
    sources: &[RowSource],
    max_row_errors: u32,
) -> Result<Sorting, LeaseLoadError> {
    let (mut leases, report) = load::<F>(sources, 1, max_row_errors)?;
    leases.sort_unstable_by_key(|lease| lease.address);
    Ok((Box::new(SortedLeases::<F>(leases)), report))
}

#[cfg(test)]
mod tests {
    use dhcp_lease::v4::V4;

    use super::*;

    #[test]
    fn a_row_is_one_line() {
        let plain = "192.0.2.7,02:00:00:00:00:07,,600,1600,1,0,0,host,0,,0";
        let escaped = "192.0.2.7,02:00:00:00:00:07,01:02,600,1600,1,0,0,a&#x2cb,0,{ \"a\": 1 },0";
        for row in [plain, escaped] {
            for line in [row.to_owned(), format!("{row}\n")] {
                let lease = decode_row::<V4>(line.as_bytes()).unwrap();
                let mut encoded = Vec::new();
                encode_row(&lease.row(), newest::<V4>(), &mut encoded);
                assert_eq!(String::from_utf8(encoded).unwrap(), format!("{row}\n"));
            }
            let short = row.rsplit_once(',').unwrap().0;
            let long = format!("{row},1");
            let two = format!("{row}\n{row}\n");
            let blank = format!("{row}\n\n");
            for line in ["", "\n", &two, &blank, short, &long, &row[..20]] {
                assert!(decode_row::<V4>(line.as_bytes()).is_err(), "{line:?}");
            }
        }
    }
}
