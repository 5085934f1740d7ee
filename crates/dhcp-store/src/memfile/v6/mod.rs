//! DHCPv6 rows.
//!
//! Kea reference §3.4. What Kea does with odd rows was tried on kea-dhcp6 and kea-lfc 2.2.0.

mod decode;
mod encode;

use dhcp_lease::v6::{Lease, Resource, RowView, V6};

pub use encode::{encode_row, row_of};

use super::codec::RowCodec;
use super::columns::Columns;
use super::value::{RowFault, Values};

/// What Kea keeps for the DUID of nobody's lease.
const EMPTY_DUID: [u8; 3] = [0; 3];

impl RowCodec for V6 {
    const NAME: &'static str = "DHCPv6";
    /// Those of Kea 3.
    const COLUMNS: &'static [&'static str] = &[
        "address",
        "duid",
        "valid_lifetime",
        "expire",
        "subnet_id",
        "pref_lifetime",
        "lease_type",
        "iaid",
        "prefix_len",
        "fqdn_fwd",
        "fqdn_rev",
        "hostname",
        "hwaddr",
        "state",
        "user_context",
        "hwtype",
        "hwaddr_source",
        "pool_id",
    ];
    /// Kea 0.9.
    const COLUMNS_FEWEST: usize = 12;

    fn parse(values: &mut Values<'_>) -> Result<Lease, RowFault> {
        decode::parse(values)
    }

    fn encode(row: &RowView<'_>, columns: Columns, out: &mut Vec<u8>) {
        encode_row(row, columns, out);
    }

    fn row_of(lease: &Lease) -> RowView<'_> {
        row_of(lease)
    }

    fn subject(lease: &Lease) -> (Resource, bool) {
        (lease.resource, lease.valid_lifetime_s == 0)
    }
}
