//! Writer of DHCPv6 lease file rows, without allocation.

use dhcp_lease::v6::{LeaseState, RowView};

use super::super::columns::Columns;
use super::super::line::RowLineWriter;
use super::NOBODY;

/// Maximum number of bytes of a DHCPv6 row's columns of bounded width, separators included: address
/// 40, lifetimes 22, expiry 21, subnet, pool and IAID 33, lease type, flags and state 8, prefix
/// length 4, hardware type 6, its source 11, and 4 for the separators of the other columns.
const BOUNDED_MAX: usize = 149;

/// Returns the maximum number of bytes that the DHCPv6 row `row` takes.
pub(super) fn most(row: &RowView<'_>) -> usize {
    let duid = row.client.duid.octets();
    BOUNDED_MAX
        + 3 * (duid.len().max(NOBODY.len()) + row.extra.hardware.octets().len())
        + 5 * (row.hostname.len() + row.user_context.len())
}

/// Fills `line` with the values of the DHCPv6 row `row`. The column `expire` is the sum of cltt and
/// lifetime also for an infinite lifetime, as in Kea.
pub(super) fn fill(row: &RowView<'_>, columns: Columns, line: &mut RowLineWriter<'_>) {
    let duid = row.client.duid.octets();
    let is_nobodys = duid.is_empty() || duid == NOBODY;
    line.address6(row.address.address);
    line.colon_hex(if is_nobodys { &NOBODY } else { duid });
    line.decimal(u64::from(row.valid_lifetime_s));
    line.decimal(row.cltt_s.saturating_add(u64::from(row.valid_lifetime_s)));
    line.decimal(u64::from(row.subnet_id));
    line.decimal(u64::from(row.extra.preferred_lifetime_s));
    line.decimal(row.address.kind as u64);
    line.decimal(u64::from(row.client.iaid));
    line.decimal(u64::from(row.address.len));
    line.put(if row.fqdn_fwd { b"1," } else { b"0," });
    line.put(if row.fqdn_rev { b"1," } else { b"0," });
    line.escaped(row.hostname.as_bytes());
    if columns.count() > 12 {
        line.colon_hex(row.extra.hardware.octets());
    }
    if columns.count() > 13 {
        // Kea throws away a row without a client unless it is of a declined lease.
        let state = if is_nobodys { LeaseState::Declined } else { row.state };
        line.put(&[b'0' + state as u8, b',']);
    }
    if columns.count() > 14 {
        line.escaped(row.user_context.as_bytes());
    }
    let has_hardware = !row.extra.hardware.is_empty();
    let mut of_hardware = |at: usize, value: u64| match columns.count() > at {
        true if has_hardware => line.decimal(value),
        true => line.put(b","),
        false => {}
    };
    of_hardware(15, u64::from(row.extra.hardware.htype()));
    of_hardware(16, row.extra.hardware_source as u64);
    if columns.count() > 17 {
        line.decimal(u64::from(row.pool_id));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use dhcp_lease::v6::{HardwareSource, LeaseClient, LeaseExtra, Resource, V6};
    use dhcp_lease::{ClientId, HardwareAddress};

    use super::*;
    use crate::memfile::{encode_row, newest};

    static CLIENT: LazyLock<LeaseClient> = LazyLock::new(|| LeaseClient {
        duid: ClientId::new(&[0, 3, 0, 1, 2, 0, 0, 0, 0, 9]),
        iaid: 1_234_567,
    });

    fn row<'a>() -> RowView<'a> {
        RowView {
            address: Resource::address("2001:db8:1::a:1".parse().unwrap()),
            client: &CLIENT,
            valid_lifetime_s: 4000,
            cltt_s: 1_795_293_786,
            subnet_id: 7,
            pool_id: 5,
            fqdn_fwd: false,
            fqdn_rev: true,
            hostname: "host1",
            state: LeaseState::Assigned,
            user_context: "",
            extra: LeaseExtra {
                preferred_lifetime_s: 3000,
                hardware: HardwareAddress::new(1, &[2, 0, 0, 0, 0, 9]),
                hardware_source: HardwareSource::Duid,
            },
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
            address: Resource::prefix("2001:db8:8000::".parse().unwrap(), 56),
            hostname: "",
            extra: LeaseExtra { preferred_lifetime_s: 3000, ..LeaseExtra::default() },
            ..row()
        };
        let expected = "2001:db8:8000::,00:03:00:01:02:00:00:00:00:09,4000,1795297786,7,3000,2,\
                        1234567,56,0,1,,,0,,,,5\n";
        assert_eq!(text(&prefix), expected);
    }

    #[test]
    fn a_lease_of_nobody_is_a_declined_one() {
        let nobody = LeaseClient { duid: ClientId::default(), iaid: 1_234_567 };
        let deleted = RowView { client: &nobody, valid_lifetime_s: 0, ..row() };
        let text = text(&deleted);
        assert!(text.starts_with("2001:db8:1::a:1,00:00:00,0,"), "{text}");
        assert!(text.ends_with(",1,,1,2,5\n"), "{text}");
    }

    #[test]
    fn the_longest_row_has_room() {
        let name = "\u{1}".repeat(255);
        let longest = RowView {
            address: Resource::prefix(
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap(),
                128,
            ),
            client: &LeaseClient { duid: ClientId::new(&[0xff; 130]), iaid: u32::MAX },
            valid_lifetime_s: u32::MAX,
            cltt_s: u64::MAX,
            subnet_id: u32::MAX,
            pool_id: u32::MAX,
            hostname: &name,
            user_context: &name,
            extra: LeaseExtra {
                preferred_lifetime_s: u32::MAX,
                hardware: HardwareAddress::new(255, &[0xff; 20]),
                hardware_source: HardwareSource::DocsisModem,
            },
            ..row()
        };
        let text = text(&longest);
        assert_eq!(text.split(',').count(), 18);
        assert!(text.ends_with(",4294967295\n"));
    }
}
