//! Rows of DHCPv4 lease files. Kea reference §3.4; Kea's treatment of odd rows was tested with
//! kea-lfc 2.2.0.

mod decode;
mod encode;

use std::net::Ipv4Addr;

use dhcp_lease::v4::{Lease, RowView, V4};

use super::columns::Columns;
use super::format::LeaseFileFamily;
use super::line::RowLineWriter;
use super::plain::PlainRow;
use super::value::{RowFault, Values};

impl LeaseFileFamily for V4 {
    const NAMES: &'static [&'static str] = &[
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
    // Kea 0.9.
    const FEWEST: usize = 9;

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

    fn low_octet(address: Ipv4Addr) -> u8 {
        address.octets()[3]
    }
}
