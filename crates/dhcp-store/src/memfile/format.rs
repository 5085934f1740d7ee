//! What a family's lease files look like, and how its leases become rows and the other way round.

use std::fmt::Debug;
use std::io;

use dhcp_lease::{LeaseTable, Leased};

use super::attempt::BlockWriter;
use super::columns::Columns;
use super::line::{self, Line};
use super::load::{LoadError, LoadReport, Source, load};
use super::plain::Plain;
use super::value::{RowFault, Values};

/// A family whose leases Kea keeps in files of rows.
pub trait Rows: Leased {
    /// The columns of the newest files, in order.
    const NAMES: &'static [&'static str];
    /// How many of them every file has.
    const FEWEST: usize;

    /// Most octets of a row, its line end included.
    fn most(row: &Self::Row<'_>) -> usize;

    /// Writes the values of `row` for a file with `columns`.
    fn fill(row: &Self::Row<'_>, columns: Columns, line: &mut Line<'_>);

    /// Reads a lease from the values of its row.
    ///
    /// # Errors
    ///
    /// The first fault met.
    fn parse(values: &mut Values<'_>) -> Result<Self::Lease, RowFault>;

    /// Reads a lease from a plain row: the same as [`Rows::parse`] makes of it, or `None` for a row
    /// that is not plain.
    fn parse_plain(row: &mut Plain<'_>) -> Option<Self::Lease>;

    /// A whole lease as a row.
    fn row_of(lease: &Self::Lease) -> Self::Row<'_>;

    /// What is leased.
    fn address(lease: &Self::Lease) -> Self::Address;

    /// The lowest octet of the address or of the number of the prefix.
    fn low_octet(address: Self::Address) -> u8;

    /// Whether the row says that there is no lease any more.
    fn is_deleted(lease: &Self::Lease) -> bool;
}

/// Appends `row` as a line with `columns` columns; nothing is allocated once `out` has room.
pub fn encode_row<F: Rows>(row: &F::Row<'_>, columns: Columns, out: &mut Vec<u8>) {
    line::append(out, F::most(row), |line| F::fill(row, columns, line));
}

/// The columns of a new file.
#[must_use]
pub const fn newest<F: Rows>() -> Columns {
    Columns::newest(&Format::of::<F>())
}

/// Gives every lease of `table` to `visit`, as a row of a new file.
pub fn rows_of_table<F: Rows>(table: &LeaseTable<F>, visit: &mut dyn FnMut(&[u8])) {
    let mut row = Vec::new();
    table.for_each_lease(|lease| {
        row.clear();
        encode_row::<F>(&F::row_of(&lease), newest::<F>(), &mut row);
        visit(&row);
    });
}

/// A family's format, for those who handle files without knowing what is in them.
#[derive(Clone, Copy)]
pub struct Format {
    pub(crate) names: &'static [&'static str],
    pub(crate) fewest: usize,
    /// Loads files, later ones overriding earlier ones, with that many bad rows in each at most.
    pub(crate) load_sorted: fn(&[Source], u32) -> Result<Sorting, LoadError>,
}

impl Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Format {
    /// The format of `F`'s lease files.
    #[must_use]
    pub const fn of<F: Rows>() -> Self {
        Self { names: F::NAMES, fewest: F::FEWEST, load_sorted: load_sorted::<F> }
    }
}

/// Leases in the order of their addresses, and how their files were.
type Sorting = (Box<dyn Leases>, LoadReport);

/// Leases that only have to be written again.
pub(crate) trait Leases {
    /// How many.
    fn count(&self) -> u64;

    /// Appends them all.
    fn write(&self, writer: &mut BlockWriter<'_>) -> io::Result<()>;
}

struct Sorted<F: Rows>(Vec<F::Lease>);

impl<F: Rows> Leases for Sorted<F> {
    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn write(&self, writer: &mut BlockWriter<'_>) -> io::Result<()> {
        self.0.iter().try_for_each(|lease| {
            writer.append(|block| encode_row::<F>(&F::row_of(lease), newest::<F>(), block))
        })
    }
}

fn load_sorted<F: Rows>(sources: &[Source], max_row_errors: u32) -> Result<Sorting, LoadError> {
    let (mut leases, report) = load::<F>(sources, 1, max_row_errors)?;
    leases.sort_unstable_by_key(|lease| F::address(lease));
    Ok((Box::new(Sorted::<F>(leases)), report))
}
