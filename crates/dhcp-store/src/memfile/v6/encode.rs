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
