//! Writer of DHCPv6 lease file rows, without allocation.

use dhcp_lease::v6::{Lease, LeaseState, RowView};

use super::super::columns::Columns;
use super::super::line::RowLineWriter;
use super::NOBODY;

/// Returns all values of a DHCPv6 lease as a row.
pub(super) fn row_of(lease: &Lease) -> RowView<'_> {
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

/// Maximum number of bytes of a DHCPv6 row's columns of bounded width, separators included: address
/// 40, lifetimes 22, expiry 21, subnet, pool and IAID 33, lease type, flags and state 8, prefix
/// length 4, hardware type 6, its source 11, and 4 for the separators of the other columns.
const BOUNDED_MAX: usize = 149;

/// Returns the maximum number of bytes that the DHCPv6 row `row` takes.
pub(super) fn most(row: &RowView<'_>) -> usize {
    BOUNDED_MAX
        + 3 * (row.duid.len().max(NOBODY.len()) + row.hardware.octets().len())
        + 5 * (row.hostname.len() + row.user_context.len())
}

/// Fills `line` with the values of the DHCPv6 row `row`. The column `expire` is the sum of cltt and
/// lifetime also for an infinite lifetime, as in Kea.
pub(super) fn fill(row: &RowView<'_>, columns: Columns, line: &mut RowLineWriter<'_>) {
    let is_nobodys = row.duid.is_empty() || row.duid == NOBODY;
    line.address6(row.resource.address);
    line.colon_hex(if is_nobodys { &NOBODY } else { row.duid });
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
    if columns.count() > 12 {
        line.colon_hex(row.hardware.octets());
    }
    if columns.count() > 13 {
        // Kea throws away a row without a client unless it is of a declined lease.
        let state = if is_nobodys { LeaseState::Declined } else { row.state };
        line.put(&[b'0' + state as u8, b',']);
    }
    if columns.count() > 14 {
        line.escaped(row.user_context.as_bytes());
    }
    let has_hardware = !row.hardware.is_empty();
    let mut of_hardware = |at: usize, value: u64| match columns.count() > at {
        true if has_hardware => line.decimal(value),
        true => line.put(b","),
        false => {}
    };
    of_hardware(15, u64::from(row.hardware.htype()));
    of_hardware(16, row.hardware_source as u64);
    if columns.count() > 17 {
        line.decimal(u64::from(row.pool_id));
    }
}

#[cfg(test)]
mod tests {
    use dhcp_lease::HardwareAddress;
    use dhcp_lease::v6::{HardwareSource, Resource, V6};

    use super::*;
    use crate::memfile::{encode_row, newest};

    fn row<'a>() -> RowView<'a> {
        RowView {
            resource: Resource::address("2001:db8:1::a:1".parse().unwrap()),
            duid: &[0, 3, 0, 1, 2, 0, 0, 0, 0, 9],
            iaid: 1_234_567,
            valid_lifetime_s: 4000,
            preferred_lifetime_s: 3000,
            cltt_s: 1_795_293_786,
            subnet_id: 7,
            pool_id: 5,
            fqdn_fwd: false,
            fqdn_rev: true,
            hostname: "host1",
            hardware: HardwareAddress::new(1, &[2, 0, 0, 0, 0, 9]),
            hardware_source: HardwareSource::Duid,
            state: LeaseState::Assigned,
            user_context: "",
        }
    }

    fn text(row: &RowView<'_>) -> String {
        let mut out = b"before\n".to_vec();
        encode_row::<V6>(row, newest::<V6>(), &mut out);
        String::from_utf8(out).unwrap().strip_prefix("before\n").unwrap().to_owned()
    }

    #[test]
    fn rows_look_like_keas() {
        let expected = "2001:db8:1::a:1,00:03:00:01:02:00:00:00:00:09,4000,1795297786,7,3000,0,\
                        1234567,128,0,1,host1,02:00:00:00:00:09,0,,1,2,5\n";
        assert_eq!(text(&row()), expected);
        let prefix = RowView {
            resource: Resource::prefix("2001:db8:8000::".parse().unwrap(), 56),
            hardware: HardwareAddress::NONE,
            hardware_source: HardwareSource::Unknown,
            hostname: "",
            ..row()
        };
        let expected = "2001:db8:8000::,00:03:00:01:02:00:00:00:00:09,4000,1795297786,7,3000,2,\
                        1234567,56,0,1,,,0,,,,5\n";
        assert_eq!(text(&prefix), expected);
    }

    #[test]
    fn a_lease_of_nobody_is_a_declined_one() {
        let deleted = RowView { duid: &[], valid_lifetime_s: 0, ..row() };
        let text = text(&deleted);
        assert!(text.starts_with("2001:db8:1::a:1,00:00:00,0,"), "{text}");
        assert!(text.ends_with(",1,,1,2,5\n"), "{text}");
    }

    #[test]
    fn the_longest_row_has_room() {
        let name = "\u{1}".repeat(255);
        let longest = RowView {
            resource: Resource::prefix(
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap(),
                128,
            ),
            duid: &[0xff; 130],
            iaid: u32::MAX,
            valid_lifetime_s: u32::MAX,
            preferred_lifetime_s: u32::MAX,
            cltt_s: u64::MAX,
            subnet_id: u32::MAX,
            pool_id: u32::MAX,
            hostname: &name,
            hardware: HardwareAddress::new(255, &[0xff; 20]),
            hardware_source: HardwareSource::DocsisModem,
            user_context: &name,
            ..row()
        };
        let text = text(&longest);
        assert_eq!(text.split(',').count(), 18);
        assert!(text.ends_with(",4294967295\n"));
    }
}
