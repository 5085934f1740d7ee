//! v6 rows out: one lease as a line of text.

use dhcp_lease::LeaseState;
use dhcp_lease::v6::{Lease, RowView};

use super::EMPTY_DUID;
use crate::memfile::Columns;
use crate::memfile::line::append;

/// A whole lease as a row.
#[must_use]
pub fn row_of(lease: &Lease) -> RowView<'_> {
    RowView {
        resource: lease.resource,
        duid: lease.duid.octets(),
        iaid: lease.iaid,
        valid_lifetime_s: lease.valid_lifetime_s,
        preferred_lifetime_s: lease.preferred_lifetime_s,
        cltt_s: lease.cltt_s,
        subnet_id: lease.subnet_id,
        pool_id: lease.pool_id,
        fqdn_fwd: lease.fqdn_fwd,
        fqdn_rev: lease.fqdn_rev,
        hostname: &lease.hostname,
        hardware: lease.hardware,
        hardware_source: lease.hardware_source,
        state: lease.state,
        user_context: &lease.user_context,
    }
}

/// Octets that the columns of bounded width take at most, separators included: address 40, two
/// lifetimes 22, expiry 21, subnet, IAID and pool 33, kind 2, length 4, flags 4, state 2, hardware
/// type 4 and source 4, and 4 for those without a bound.
const BOUNDED_MAX: usize = 140;

/// Appends `row` as a line with `columns`. Infinite lifetimes are added like others, as Kea does.
pub fn encode_row(row: &RowView<'_>, columns: Columns, out: &mut Vec<u8>) {
    let duid = if row.duid.is_empty() { &EMPTY_DUID } else { row.duid };
    let most = BOUNDED_MAX
        + 3 * (row.hardware.octets().len() + duid.len())
        + 5 * (row.hostname.len() + row.user_context.len());
    append(out, most, |line| {
        line.address_v6(row.resource.address);
        line.colon_hex(duid);
        line.decimal(u64::from(row.valid_lifetime_s));
        line.decimal(row.cltt_s.saturating_add(u64::from(row.valid_lifetime_s)));
        line.decimal(u64::from(row.subnet_id));
        line.decimal(u64::from(row.preferred_lifetime_s));
        line.decimal(row.resource.kind as u64);
        line.decimal(u64::from(row.iaid));
        line.decimal(u64::from(row.resource.len));
        line.put(if row.fqdn_fwd { b"1," } else { b"0," });
        line.put(if row.fqdn_rev { b"1," } else { b"0," });
        line.escaped(row.hostname.as_bytes());
        if columns.has(12) {
            line.colon_hex(row.hardware.octets());
        }
        if columns.has(13) {
            line.decimal(state(row) as u64);
        }
        if columns.has(14) {
            line.escaped(row.user_context.as_bytes());
        }
        if columns.has(16) {
            // Kea leaves them empty without an address.
            if row.hardware.is_empty() {
                line.put(b",,");
            } else {
                line.decimal(u64::from(row.hardware.htype()));
                line.decimal(row.hardware_source as u64);
            }
        }
        if columns.has(17) {
            line.decimal(u64::from(row.pool_id));
        }
    });
}

/// Kea throws away a row with the empty DUID unless it is of a declined lease, so the deletion of
/// such a lease says that it was one.
fn state(row: &RowView<'_>) -> LeaseState {
    let is_nobodys = row.duid.is_empty() || row.duid == EMPTY_DUID;
    if is_nobodys && row.valid_lifetime_s == 0 { LeaseState::Declined } else { row.state }
}

#[cfg(test)]
mod tests {
    use dhcp_lease::HardwareAddress;
    use dhcp_lease::v6::{HardwareSource, Resource, V6};

    use super::*;
    use crate::memfile::{Header, RowCodec};

    const DUID: [u8; 14] = [0, 1, 0, 1, 0x32, 0x94, 0xf5, 0xce, 0, 0x0c, 1, 2, 3, 4];

    fn row<'a>() -> RowView<'a> {
        RowView {
            resource: Resource::address("2001:db8:1:1::9b".parse().unwrap()),
            duid: &DUID,
            iaid: 1,
            valid_lifetime_s: 1000,
            preferred_lifetime_s: 600,
            cltt_s: 1_795_307_854,
            subnet_id: 7,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: "",
            hardware: HardwareAddress::new(1, &DUID[8..]),
            hardware_source: HardwareSource::Duid,
            state: LeaseState::Assigned,
            user_context: "",
        }
    }

    /// Columns of a header with `count` columns.
    fn columns(count: usize) -> Columns {
        Header::parse::<V6>(V6::COLUMNS[..count].join(",").as_bytes()).unwrap().columns
    }

    fn text(row: &RowView<'_>, columns: Columns) -> String {
        let mut out = b"before\n".to_vec();
        encode_row(row, columns, &mut out);
        String::from_utf8(out).unwrap().strip_prefix("before\n").unwrap().to_owned()
    }

    #[test]
    fn rows_look_like_keas() {
        // Rows that Kea 2.2 wrote, but for the empty DUID, which has one octet there.
        let expected = "2001:db8:1:1::9b,00:01:00:01:32:94:f5:ce:00:0c:01:02:03:04,1000,1795308854,\
                        7,600,0,1,128,0,0,,00:0c:01:02:03:04,0,,1,2\n";
        assert_eq!(text(&row(), columns(17)), expected);
        let declined = RowView {
            duid: &[],
            iaid: 78,
            valid_lifetime_s: u32::MAX,
            preferred_lifetime_s: 0,
            cltt_s: 1_795_307_884,
            hardware: HardwareAddress::NONE,
            hardware_source: HardwareSource::Unknown,
            state: LeaseState::Declined,
            ..row()
        };
        let expected = "2001:db8:1:1::9b,00:00:00,4294967295,6090275179,7,0,0,78,128,0,0,,,1,,,\n";
        assert_eq!(text(&declined, columns(17)), expected);
        let prefix = Resource::prefix("2001:db8:1:89a0::".parse().unwrap(), 60);
        let prefix = RowView { resource: prefix, pool_id: 9, hostname: "a,b", ..row() };
        let expected = "2001:db8:1:89a0::,00:01:00:01:32:94:f5:ce:00:0c:01:02:03:04,1000,1795308854,\
                        7,600,2,1,60,0,0,a&#x2cb,00:0c:01:02:03:04,0,,1,2,9\n";
        assert_eq!(text(&prefix, Columns::NEWEST), expected);
    }

    #[test]
    fn rows_for_older_files_have_their_columns() {
        for count in [12, 13, 14, 15, 17, 18] {
            let text = text(&row(), columns(count));
            assert_eq!(text.matches(',').count() + 1, count, "{text}");
        }
    }

    #[test]
    fn a_deleted_lease_of_nobody_is_a_declined_one() {
        let deleted = RowView { duid: &[], valid_lifetime_s: 0, ..row() };
        assert!(text(&deleted, Columns::NEWEST).contains(",1,,1,2,0\n"));
    }

    #[test]
    fn the_longest_row_has_room() {
        let octets = [0xff; 130];
        let name = "\u{1}".repeat(255);
        let longest = RowView {
            resource: Resource::prefix(std::net::Ipv6Addr::from_bits(u128::MAX), 128),
            duid: &octets,
            iaid: u32::MAX,
            valid_lifetime_s: u32::MAX,
            preferred_lifetime_s: u32::MAX,
            cltt_s: u64::MAX,
            subnet_id: u32::MAX,
            pool_id: u32::MAX,
            hostname: &name,
            hardware: HardwareAddress::new(255, &octets),
            hardware_source: HardwareSource::DocsisModem,
            user_context: &name,
            ..row()
        };
        let text = text(&longest, Columns::NEWEST);
        assert_eq!(text.split(',').count(), 18);
        assert!(text.ends_with(",255,128,4294967295\n"));
    }
}
