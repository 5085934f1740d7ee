//! What the two families' rows differ in; everything around them is written once.

use dhcp_lease::Leased;

use super::columns::{Columns, Header};
use super::value::{RowFault, Values};

/// A family whose leases are rows of a lease file.
pub trait RowCodec: Leased {
    /// The family's name, to operators.
    const NAME: &'static str;
    /// All columns, in order.
    const COLUMNS: &'static [&'static str];
    /// Fewest columns that a lease file has.
    const COLUMNS_FEWEST: usize;

    /// Reads a row's values.
    ///
    /// # Errors
    ///
    /// The first fault met.
    fn parse(values: &mut Values<'_>) -> Result<Self::Lease, RowFault>;

    /// Appends `row` as a line with `columns`, without allocation but for the room in `out`.
    fn encode(row: &Self::Row<'_>, columns: Columns, out: &mut Vec<u8>);

    /// A whole lease as a row.
    fn row_of(lease: &Self::Lease) -> Self::Row<'_>;

    /// What is leased, and whether a row with the lease says that it is deleted.
    fn subject(lease: &Self::Lease) -> (Self::Address, bool);
}

/// Reads the line of a file with this `header`, given without its line end. Rows may have fewer
/// values than the header names columns beyond the hostname, or more as far as they are known:
/// two versions of Kea may have taken turns on the file.
///
/// # Errors
///
/// The first fault met.
pub fn parse_row<F: RowCodec>(line: &[u8], header: Header) -> Result<F::Lease, RowFault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Kea 2.2 writes control characters of a host name as they are, but never a zero.
    if line.contains(&0) {
        return Err(RowFault::Rubbish);
    }
    F::parse(&mut Values::new(line, header.most_values::<F>())).map_err(|fault| match fault {
        _ if line.iter().any(|&octet| octet < 0x20 && octet != b'\t') => RowFault::Rubbish,
        fault => fault,
    })
}
