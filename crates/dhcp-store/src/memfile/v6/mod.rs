//! Rows of DHCPv6 lease files. Kea reference §3.4; Kea's treatment of odd rows was tested with
//! kea-lfc 2.2.0.

mod decode;
mod encode;

use dhcp_lease::v6::{Lease, Resource, RowView, V6};

use super::columns::Columns;
use super::format::LeaseFileFamily;
use super::line::RowLineWriter;
use super::plain::PlainRow;
use super::value::{RowFault, Values};

// Any Kea can read this DUID. Versions before 2.4 write a single zero instead, which later versions
// reject.
pub(crate) use dhcp_lease::identity::DECLINED_LEASE_DUID as NOBODY;

impl LeaseFileFamily for V6 {
    const NAMES: &'static [&'static str] = &[
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
    // Kea 0.8.
    const FEWEST: usize = 12;

    fn most(row: &RowView<'_>) -> usize {
        encode::most(row)
    }

    fn fill(row: &RowView<'_>, columns: Columns, line: &mut RowLineWriter<'_>) {
        encode::fill(row, columns, line);
    }

    fn parse(values: &mut Values<'_>) -> Result<Lease, RowFault> {
        decode::parse(values)
    }

    fn parse_plain(row: &mut PlainRow<'_>) -> Option<Lease> {
        decode::parse_plain(row)
    }

    fn low_octet(resource: Resource) -> u8 {
        // A prefix of length zero has no number.
        let host_bits = 128 - u32::from(resource.len.min(128));
        resource.address.to_bits().checked_shr(host_bits).unwrap_or(0) as u8
    }
}
