//! Writer of DHCPv4 lease file rows: one lease as a line of text, without allocation.

use dhcp_lease::v4::{LeaseState, RowView};

use super::super::columns::Columns;
use super::super::line::RowLineWriter;

/// Maximum number of bytes of a DHCPv4 row's columns of bounded width, separators included: address
/// 16, lifetime 11, expiry 21, subnet 11, flags 4, state 2, pool 11, and 4 for the separators of
/// the other columns.
const BOUNDED_MAX: usize = 80;

/// Returns the maximum number of bytes that the DHCPv4 row `row` takes.
pub(super) fn most(row: &RowView<'_>) -> usize {
    let client_id = row.client.identifier().unwrap_or_default();
    BOUNDED_MAX
        + 3 * (row.client.hardware.octets().len() + client_id.len())
        + 5 * (row.hostname.len() + row.user_context.len())
}

/// Fills `line` with the values of the DHCPv4 row `row`. The column `expire` is the sum of cltt and
/// lifetime also for an infinite lifetime, as in Kea.
pub(super) fn fill(row: &RowView<'_>, columns: Columns, line: &mut RowLineWriter<'_>) {
    let client_id = row.client.identifier().unwrap_or_default();
    line.address4(row.address);
    line.colon_hex(row.client.hardware.octets());
    line.colon_hex(client_id);
    line.decimal(u64::from(row.valid_lifetime_s));
    line.decimal(row.cltt_s.saturating_add(u64::from(row.valid_lifetime_s)));
    line.decimal(u64::from(row.subnet_id));
    line.put(if row.fqdn_fwd { b"1," } else { b"0," });
    line.put(if row.fqdn_rev { b"1," } else { b"0," });
    line.escaped(row.hostname.as_bytes());
    if columns.count() > 9 {
        line.put(&[b'0' + state(row) as u8, b',']);
    }
    if columns.count() > 10 {
        line.escaped(row.user_context.as_bytes());
    }
    if columns.count() > 11 {
        line.decimal(u64::from(row.pool_id));
    }
}

/// Returns the lease state to write for a DHCPv4 row. Kea throws away a row without any client
/// unless it is of a declined lease, so the deletion of such a lease has the state declined.
fn state(row: &RowView<'_>) -> LeaseState {
    let is_nobodys =
        row.client.hardware.is_empty() && row.client.identifier().is_none_or(<[u8]>::is_empty);
    if is_nobodys && row.valid_lifetime_s == 0 { LeaseState::Declined } else { row.state }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use dhcp_lease::v4::{LeaseClient, V4};
    use dhcp_lease::{ClientId, HardwareAddress};
    use std::net::Ipv4Addr;

    use super::*;
    use crate::memfile::{encode_row, newest};

    static CLIENT: LazyLock<LeaseClient> = LazyLock::new(|| LeaseClient {
        hardware: HardwareAddress::new(1, &[0, 0x0c, 1, 2, 3, 0x0a]),
        client_id: Some(ClientId::new(&[1, 0, 0x0c, 1, 2, 3, 0x0a])),
    });
    static NOBODY: LazyLock<LeaseClient> = LazyLock::new(LeaseClient::default);

    fn row<'a>() -> RowView<'a> {
        RowView {
            address: Ipv4Addr::new(10, 9, 1, 231),
            client: &CLIENT,
            valid_lifetime_s: 3600,
            cltt_s: 1_795_293_786,
            subnet_id: 7,
            fqdn_fwd: false,
            fqdn_rev: true,
            hostname: "host1",
            state: LeaseState::Assigned,
            user_context: "",
            pool_id: 0,
            extra: (),
        }
    }

    fn text(row: &RowView<'_>, columns: Columns) -> String {
        let mut out = b"before\n".to_vec();
        encode_row::<V4>(row, columns, &mut out);
        String::from_utf8(out).unwrap().strip_prefix("before\n").unwrap().to_owned()
    }

    #[test]
    fn rows_look_like_keas() {
        // This row is one that Kea 2.2 wrote, except for the flag and the pool.
        let expected =
            "10.9.1.231,00:0c:01:02:03:0a,01:00:0c:01:02:03:0a,3600,1795297386,7,0,1,host1,0,,0\n";
        assert_eq!(text(&row(), newest::<V4>()), expected);
        let infinite = RowView {
            client: &NOBODY,
            valid_lifetime_s: u32::MAX,
            cltt_s: 1_795_293_793,
            hostname: "a,b&c\u{ff}\n",
            user_context: r#"{ "a": [ 1, 2 ] }"#,
            state: LeaseState::Declined,
            pool_id: u32::MAX,
            ..row()
        };
        let expected = "10.9.1.231,,,4294967295,6090261088,7,0,1,a&#x2cb&#x26c&#xc3&#xbf&#x0a,1,{ \"a\": [ 1&#x2c 2 ] },4294967295\n";
        assert_eq!(text(&infinite, newest::<V4>()), expected);
    }

    #[test]
    fn a_deleted_lease_of_nobody_is_a_declined_one() {
        let deleted = RowView { client: &NOBODY, valid_lifetime_s: 0, ..row() };
        let expected = "10.9.1.231,,,0,1795293786,7,0,1,host1,1,,0\n";
        assert_eq!(text(&deleted, newest::<V4>()), expected);
    }

    #[test]
    fn the_longest_row_has_room() {
        let octets = [0xff; 255];
        let name = "\u{1}".repeat(255);
        let longest = RowView {
            address: Ipv4Addr::BROADCAST,
            client: &LeaseClient {
                hardware: HardwareAddress::new(1, &octets),
                client_id: Some(ClientId::new(&octets)),
            },
            cltt_s: u64::MAX,
            valid_lifetime_s: u32::MAX,
            subnet_id: u32::MAX,
            hostname: &name,
            user_context: &name,
            pool_id: u32::MAX,
            ..row()
        };
        let text = text(&longest, newest::<V4>());
        assert_eq!(text.split(',').count(), 12);
        assert!(text.ends_with(",4294967295\n"));
    }
}
