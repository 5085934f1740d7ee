//! DHCPv4 rows.
//!
//! Kea reference §3.4. What Kea does with odd rows was tried on kea-lfc 2.2.0.

mod decode;
mod encode;

use std::net::Ipv4Addr;

use dhcp_lease::v4::{Lease, RowView, V4};

pub use encode::{encode_row, row_of};

use super::codec::RowCodec;
use super::columns::Columns;
use super::value::{RowFault, Values};

impl RowCodec for V4 {
    const NAME: &'static str = "DHCPv4";
    /// Those of Kea 3.
    const COLUMNS: &'static [&'static str] = &[
        "address",
        "hwaddr",
        "client_id",
        "valid_lifetime",
        "expire",
        "subnet_id",
        "fqdn_fwd",
        "fqdn_rev",
        "hostname",
        "state",
        "user_context",
        "pool_id",
    ];
    /// Kea 0.9.
    const COLUMNS_FEWEST: usize = 9;

    fn parse(values: &mut Values<'_>) -> Result<Lease, RowFault> {
        decode::parse(values)
    }

    fn encode(row: &RowView<'_>, columns: Columns, out: &mut Vec<u8>) {
        encode_row(row, columns, out);
    }

    fn row_of(lease: &Lease) -> RowView<'_> {
        row_of(lease)
    }

    fn subject(lease: &Lease) -> (Ipv4Addr, bool) {
        (lease.address, lease.valid_lifetime_s == 0)
    }
}
