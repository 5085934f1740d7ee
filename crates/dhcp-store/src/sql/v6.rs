//! Conversion of DHCPv6 leases to rows of the table `lease6`, and back.

use std::net::Ipv6Addr;

use dhcp_lease::identity::{DUID_MAX, HARDWARE_ADDRESS_MAX};
use dhcp_lease::v6::{
    HardwareSource, Lease, LeaseClient, LeaseExtra, LeaseState, Resource, ResourceKind, V6,
};
use dhcp_lease::{ClientId, HardwareAddress, HostName};

use super::driver::{Column, ColumnKind, SqlTable, SqlValue};
use super::row::{
    RowLayout, SqlFamily, SqlRowReader, cltt_s, context, expire, identity, lifetime_s, state, text,
};
use super::schema::Schema;
use super::settings::SqlDatabaseKind;
use crate::database::KeyOctets;
use crate::memfile::{NOBODY, RowFault};

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

/// Columns of the table `lease6`; Kea 2.2 lacks the last one.
const COLUMNS: [Column; 18] = [
    column("address", ColumnKind::Address),
    column("duid", ColumnKind::Octets),
    column("valid_lifetime", ColumnKind::Number),
    column("expire", ColumnKind::Time),
    column("subnet_id", ColumnKind::Number),
    column("pref_lifetime", ColumnKind::Number),
    column("lease_type", ColumnKind::Signed16),
    column("iaid", ColumnKind::Signed32),
    column("prefix_len", ColumnKind::Signed16),
    column("fqdn_fwd", ColumnKind::Truth),
    column("fqdn_rev", ColumnKind::Truth),
    column("hostname", ColumnKind::Text),
    column("hwaddr", ColumnKind::Octets),
    column("hwtype", ColumnKind::Signed16),
    column("hwaddr_source", ColumnKind::Signed16),
    column("state", ColumnKind::Number),
    column("user_context", ColumnKind::Text),
    column("pool_id", ColumnKind::Number),
];

/// Returns true if the table `lease6` holds addresses as bytes: only MySQL's and SQLite's newest
/// ones do.
const fn has_octets(layout: RowLayout) -> bool {
    matches!(layout.schema, Schema::Current)
        && !matches!(layout.backend, SqlDatabaseKind::Postgresql)
}

impl SqlFamily for V6 {
    fn table(layout: RowLayout) -> SqlTable {
        let columns = match layout.schema {
            Schema::Kea22 => &COLUMNS[..COLUMNS.len() - 1],
            Schema::Current => &COLUMNS[..],
        };
        SqlTable { name: "lease6", columns }
    }

    fn encode(lease: &Lease, layout: RowLayout, values: &mut Vec<SqlValue>) {
        // As in a lease file, a lease without a client is declined.
        let is_nobodys = lease.client.duid.octets().is_empty();
        let duid = if is_nobodys { &NOBODY } else { lease.client.duid.octets() };
        let iaid = match layout.backend {
            // PostgreSQL's column has the same 32 bits, with a sign.
            SqlDatabaseKind::Postgresql => i64::from(lease.client.iaid as i32),
            SqlDatabaseKind::Mysql | SqlDatabaseKind::Sqlite => i64::from(lease.client.iaid),
        };
        // For a lease without hardware address, Kea with PostgreSQL requires the numbers that it
        // writes itself.
        let is_without = lease.extra.hardware.is_empty();
        let of_hardware = |value: i64| match layout.backend {
            SqlDatabaseKind::Postgresql if is_without => SqlValue::Integer(0),
            SqlDatabaseKind::Mysql | SqlDatabaseKind::Sqlite if is_without => SqlValue::Null,
            _ => SqlValue::Integer(value),
        };
        Self::encode_key(lease.address, layout, values);
        values.extend([
            identity(duid, layout),
            SqlValue::Integer(i64::from(lease.valid_lifetime_s)),
            expire(lease.cltt_s, lease.valid_lifetime_s, layout),
            SqlValue::Integer(i64::from(lease.subnet_id)),
            SqlValue::Integer(i64::from(lease.extra.preferred_lifetime_s)),
            SqlValue::Integer(lease.address.kind as i64),
            SqlValue::Integer(iaid),
            SqlValue::Integer(i64::from(lease.address.len)),
            SqlValue::Integer(i64::from(lease.fqdn_fwd)),
            SqlValue::Integer(i64::from(lease.fqdn_rev)),
            text(&lease.hostname),
            identity(lease.extra.hardware.octets(), layout),
            of_hardware(i64::from(lease.extra.hardware.htype())),
            of_hardware(lease.extra.hardware_source as i64),
            state(if is_nobodys { LeaseState::Declined } else { lease.state }, layout),
            context(&lease.user_context, layout),
        ]);
        if layout.schema == Schema::Current {
            values.push(SqlValue::Integer(i64::from(lease.pool_id)));
        }
    }

    fn encode_key(resource: Resource, layout: RowLayout, values: &mut Vec<SqlValue>) {
        values.push(if has_octets(layout) {
            SqlValue::Octets(resource.address.octets().to_vec())
        } else {
            SqlValue::Text(resource.address.to_string())
        });
    }

    fn decode_key(key: &SqlValue, layout: RowLayout) -> Option<KeyOctets> {
        let key = std::slice::from_ref(key);
        let address = address(&mut SqlRowReader::new(key, Self::table(layout)), layout).ok()?;
        Some((address.octets(), 16))
    }

    fn decode(values: &[SqlValue], layout: RowLayout) -> Result<Lease, RowFault> {
        let mut reader = SqlRowReader::new(values, Self::table(layout));
        let address = address(&mut reader, layout)?;
        let duid = reader.octets()?;
        if duid.len() > DUID_MAX {
            return Err(reader.fault());
        }
        let valid_lifetime_s = reader.number()?;
        let expire_s = reader.number()?;
        let subnet_id = reader.number_or(0)?;
        let preferred_lifetime_s = reader.number_or(0)?;
        let kind: u8 = reader.number()?;
        let kind_fault = reader.fault();
        let iaid = reader.number::<i64>()? as u32;
        let len_bits: u8 = reader.number_or(128)?;
        let resource = match kind {
            kind if kind == ResourceKind::Address as u8 => Resource::address(address),
            kind if kind == ResourceKind::Prefix as u8 && len_bits <= 128 => {
                Resource::prefix(address, len_bits)
            }
            kind if kind == ResourceKind::Prefix as u8 => return Err(reader.fault()),
            // Temporary addresses are obsolete.
            _ => return Err(kind_fault),
        };
        let (fqdn_fwd, fqdn_rev) = (reader.truth()?, reader.truth()?);
        let hostname = HostName::from(reader.text()?).into_lower_case();
        let (hardware, hardware_source) = hardware(&mut reader)?;
        let state = reader.state()?;
        let valid_lifetime_s = lifetime_s(valid_lifetime_s, expire_s, state);
        let user_context = reader.text()?;
        let pool_id = if layout.schema == Schema::Current { reader.number_or(0)? } else { 0 };
        let is_nobodys = duid.is_empty() || duid == NOBODY || duid == &NOBODY[..1];
        if is_nobodys && state != LeaseState::Declined {
            return Err(RowFault::NoClient);
        }
        Ok(Lease {
            address: resource,
            client: LeaseClient { duid: ClientId::new(if is_nobodys { &[] } else { duid }), iaid },
            valid_lifetime_s,
            cltt_s: cltt_s(expire_s, valid_lifetime_s),
            subnet_id,
            pool_id,
            fqdn_fwd,
            fqdn_rev,
            hostname,
            state,
            user_context: user_context.into_boxed_str(),
            extra: LeaseExtra { preferred_lifetime_s, hardware, hardware_source },
        })
    }
}

fn address(reader: &mut SqlRowReader<'_>, layout: RowLayout) -> Result<Ipv6Addr, RowFault> {
    let octets = reader.octets()?;
    if has_octets(layout) {
        let octets: [u8; 16] = octets.try_into().map_err(|_| reader.fault())?;
        return Ok(octets.into());
    }
    let parsed = std::str::from_utf8(octets).ok().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| reader.fault())
}

fn hardware(reader: &mut SqlRowReader<'_>) -> Result<(HardwareAddress, HardwareSource), RowFault> {
    let octets = reader.octets()?;
    if octets.len() > HARDWARE_ADDRESS_MAX {
        return Err(reader.fault());
    }
    let htype = reader.number_or::<u8>(1)?;
    let source = reader.number_or::<u32>(0)?;
    if octets.is_empty() {
        return Ok((HardwareAddress::NONE, HardwareSource::Unknown));
    }
    Ok((HardwareAddress::new(htype, octets), HardwareSource::from_number(source)))
}
