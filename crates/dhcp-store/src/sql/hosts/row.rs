//! Hosts as values of Kea's columns, and back: the tables `hosts`, `ipv6_reservations`,
//! `dhcp4_options` and `dhcp6_options`.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{HostFamily, HostOption, HostResource, HostTableRow};
use crate::memfile::RowFault;
use crate::sql::driver::{Column, ColumnKind, SqlTable, SqlValue};
use crate::sql::row::{RowLayout, SqlRowReader, text};
use crate::sql::schema::Schema;
use crate::sql::settings::SqlDatabaseKind;

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

/// Kea's number of the scope of options that belong to hosts, in the tables of options.
const HOST_SCOPE: i64 = 3;
/// Kea's number of a delegated prefix in `ipv6_reservations`; that of an address is 0.
const PREFIX: i64 = 2;

/// Column `host_id` with the number of a host, in `hosts` and in the tables that refer to it.
pub(super) const HOST_ID: Column = column("host_id", ColumnKind::Signed32);
/// Column of the table `hosts` with identifiers, by which hosts are looked up.
pub(super) const IDENTIFIER: Column = column("dhcp_identifier", ColumnKind::Octets);
/// Column of the table `hosts` with reserved DHCPv4 addresses, by which hosts are looked up.
pub(super) const ADDRESS4: Column = column("ipv4_address", ColumnKind::Number);
/// Column of the table `hosts` with host names.
pub(super) const HOSTNAME: Column = column("hostname", ColumnKind::Text);
const SUBNET4: Column = column("dhcp4_subnet_id", ColumnKind::Number);
const SUBNET6: Column = column("dhcp6_subnet_id", ColumnKind::Number);
/// Number of a subnet that stands for none, as NULL does: the host is not in the family.
pub(super) const NO_SUBNET: i64 = u32::MAX as i64;

/// Columns of the table `hosts` for DHCPv4, the key first; the last four exist for DHCPv4 only.
const HOSTS4: [Column; 12] = [
    HOST_ID,
    IDENTIFIER,
    column("dhcp_identifier_type", ColumnKind::Signed16),
    SUBNET4,
    HOSTNAME,
    column("dhcp4_client_classes", ColumnKind::Text),
    column("user_context", ColumnKind::Text),
    column("auth_key", ColumnKind::Text),
    ADDRESS4,
    column("dhcp4_next_server", ColumnKind::Number),
    column("dhcp4_server_hostname", ColumnKind::Text),
    column("dhcp4_boot_file_name", ColumnKind::Text),
];

const HOSTS6: [Column; 8] = [
    HOST_ID,
    IDENTIFIER,
    column("dhcp_identifier_type", ColumnKind::Signed16),
    SUBNET6,
    HOSTNAME,
    column("dhcp6_client_classes", ColumnKind::Text),
    column("user_context", ColumnKind::Text),
    column("auth_key", ColumnKind::Text),
];

/// Columns of the table `hosts` as they are written, for both families: Kea fills those of the
/// other family, too.
const WRITTEN_HOSTS: [Column; 13] = [
    IDENTIFIER,
    column("dhcp_identifier_type", ColumnKind::Signed16),
    SUBNET4,
    SUBNET6,
    ADDRESS4,
    HOSTNAME,
    column("dhcp4_client_classes", ColumnKind::Text),
    column("dhcp6_client_classes", ColumnKind::Text),
    column("user_context", ColumnKind::Text),
    column("dhcp4_next_server", ColumnKind::Number),
    column("dhcp4_server_hostname", ColumnKind::Text),
    column("dhcp4_boot_file_name", ColumnKind::Text),
    column("auth_key", ColumnKind::Text),
];

/// Columns of the tables of hosts' options (`dhcp4_options`, `dhcp6_options`); columns that only
/// one version of the tables has are last.
const OPTIONS: [Column; 11] = [
    column("option_id", ColumnKind::Number),
    HOST_ID,
    column("scope_id", ColumnKind::Signed16),
    column("code", ColumnKind::Signed32),
    column("value", ColumnKind::Octets),
    column("formatted_value", ColumnKind::Text),
    column("space", ColumnKind::Text),
    column("persistent", ColumnKind::Truth),
    column("user_context", ColumnKind::Text),
    column("cancelled", ColumnKind::Truth),
    column("client_classes", ColumnKind::Text),
];

/// Column of the table `ipv6_reservations` with the length of the prefix, 128 for an address.
pub(super) const PREFIX_LEN: Column = column("prefix_len", ColumnKind::Signed16);

const RESOURCES: [Column; 7] = [
    column("reservation_id", ColumnKind::Number),
    HOST_ID,
    PREFIX_LEN,
    column("type", ColumnKind::Signed16),
    column("address", ColumnKind::Address),
    column("excluded_prefix", ColumnKind::Address),
    column("excluded_prefix_len", ColumnKind::Signed16),
];

/// Columns of the table `ipv6_reservations` as they are written; the last two do not exist in Kea
/// 2.2.
const WRITTEN_RESOURCES: [Column; 7] = [
    HOST_ID,
    PREFIX_LEN,
    RESOURCES[3],
    RESOURCES[4],
    column("dhcp6_iaid", ColumnKind::Number),
    RESOURCES[5],
    RESOURCES[6],
];

/// Columns of the table `ipv6_reservations` as they are written in Kea 2.2.
const WRITTEN_RESOURCES_KEA22: [Column; 5] = [
    HOST_ID,
    PREFIX_LEN,
    RESOURCES[3],
    RESOURCES_KEA22[4],
    column("dhcp6_iaid", ColumnKind::Number),
];

/// Columns of the table `ipv6_reservations` in Kea 2.2, which keeps addresses as text.
const RESOURCES_KEA22: [Column; 5] =
    [RESOURCES[0], RESOURCES[1], RESOURCES[2], RESOURCES[3], column("address", ColumnKind::Text)];

/// Returns the table `hosts` with the columns of `family`.
pub(super) const fn hosts(family: HostFamily) -> SqlTable {
    match family {
        HostFamily::V4 => SqlTable { name: "hosts", columns: &HOSTS4 },
        HostFamily::V6 => SqlTable { name: "hosts", columns: &HOSTS6 },
    }
}

/// Returns the table `hosts` with the columns that [`encode`] fills.
pub(super) const fn written_hosts() -> SqlTable {
    SqlTable { name: "hosts", columns: &WRITTEN_HOSTS }
}

/// Returns the column of the table `hosts` with the number of the host's subnet in `family`.
pub(super) const fn subnet_column(family: HostFamily) -> Column {
    match family {
        HostFamily::V4 => SUBNET4,
        HostFamily::V6 => SUBNET6,
    }
}

/// Returns the table of the hosts' options for `family`.
pub(super) fn options(family: HostFamily, layout: RowLayout) -> SqlTable {
    let name = match family {
        HostFamily::V4 => "dhcp4_options",
        HostFamily::V6 => "dhcp6_options",
    };
    let columns = match layout.schema {
        Schema::Kea22 => &OPTIONS[..OPTIONS.len() - 2],
        Schema::Current => &OPTIONS[..],
    };
    SqlTable { name, columns }
}

/// Returns the table `ipv6_reservations` in this layout.
pub(super) fn resources(layout: RowLayout) -> SqlTable {
    let columns = match layout.schema {
        Schema::Kea22 => &RESOURCES_KEA22[..],
        Schema::Current => &RESOURCES[..],
    };
    SqlTable { name: "ipv6_reservations", columns }
}

/// Returns the table `ipv6_reservations` with the columns that [`encode_resource`] fills.
pub(super) fn written_resources(layout: RowLayout) -> SqlTable {
    let columns = match layout.schema {
        Schema::Kea22 => &WRITTEN_RESOURCES_KEA22[..],
        Schema::Current => &WRITTEN_RESOURCES[..],
    };
    SqlTable { name: "ipv6_reservations", columns }
}

/// Returns the column of the table `ipv6_reservations` with the reserved address.
pub(super) fn resource_address(layout: RowLayout) -> Column {
    let at = RESOURCES_KEA22.len() - 1;
    resources(layout).columns[at]
}

/// Returns `table` without its number column, which the database fills.
pub(super) const fn without_number(table: SqlTable) -> SqlTable {
    SqlTable { name: table.name, columns: table.columns.split_at(1).1 }
}

/// Returns the values by which hosts with these identifiers are looked up, sorted and without
/// duplicates.
pub(super) fn identifiers<'i>(octets: impl Iterator<Item = &'i [u8]>) -> Vec<SqlValue> {
    let mut values: Vec<&[u8]> = octets.collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(|octets| SqlValue::Octets(octets.to_vec())).collect()
}

/// Returns an IPv6 address as a value of its column in `ipv6_reservations`.
pub(super) fn address6(address: Ipv6Addr, layout: RowLayout) -> SqlValue {
    if has_octets(layout) {
        SqlValue::Octets(address.octets().to_vec())
    } else {
        SqlValue::Text(address.to_string())
    }
}

fn has_octets(layout: RowLayout) -> bool {
    layout.schema == Schema::Current && layout.backend != SqlDatabaseKind::Postgresql
}

fn text_or_null(value: &str) -> SqlValue {
    if value.is_empty() { SqlValue::Null } else { text(value) }
}

/// Returns an IPv4 address as a value of its column; 0 without an address.
fn address4_or_0(address: Option<Ipv4Addr>) -> SqlValue {
    SqlValue::Integer(address.map_or(0, |address| i64::from(address.to_bits())))
}

/// Appends the values of `host` in the table [`written_hosts`] to `values`, as Kea writes them:
/// texts that are not set are empty, numbers 0, and a few values NULL, not the same ones in each
/// kind of database.
pub(super) fn encode(
    family: HostFamily,
    host: &HostTableRow,
    layout: RowLayout,
    values: &mut Vec<SqlValue>,
) {
    let is_postgresql = layout.backend == SqlDatabaseKind::Postgresql;
    let subnet = SqlValue::Integer(i64::from(host.subnet_id));
    let classes = text(&host.client_classes);
    let in_family = |value: SqlValue, other: SqlValue| match family {
        HostFamily::V4 => [value, other],
        HostFamily::V6 => [other, value],
    };
    let address = match host.address {
        None if !is_postgresql => SqlValue::Null,
        address => address4_or_0(address),
    };
    let auth_key = if is_postgresql { text_or_null(&host.auth_key) } else { text(&host.auth_key) };
    values.extend([
        SqlValue::Octets(host.identifier.clone()),
        SqlValue::Integer(i64::from(host.identifier_type)),
    ]);
    values.extend(in_family(subnet, SqlValue::Null));
    values.extend([address, text(&host.hostname)]);
    values.extend(in_family(classes, text("")));
    values.extend([
        text_or_null(&host.user_context),
        address4_or_0(host.next_server),
        text(&host.server_hostname),
        text(&host.boot_file_name),
        auth_key,
    ]);
}

/// Reads a row of the table [`hosts`]; returns `None` if it is not for this family.
pub(super) fn decode(
    family: HostFamily,
    values: &[SqlValue],
) -> Result<Option<HostTableRow>, RowFault> {
    let mut reader = SqlRowReader::new(values, hosts(family));
    let host_id = reader.number()?;
    let identifier = reader.octets()?.to_vec();
    let identifier_type = reader.number()?;
    let subnet_id = reader.number_or::<i64>(-1)?;
    let subnet_fault = reader.fault();
    let mut host = HostTableRow {
        host_id,
        identifier,
        identifier_type,
        hostname: reader.text()?,
        client_classes: reader.text()?,
        user_context: reader.text()?,
        auth_key: reader.text()?,
        ..HostTableRow::default()
    };
    if family == HostFamily::V4 {
        let address = |bits: u32| (bits > 0).then(|| Ipv4Addr::from_bits(bits));
        host.address = address(reader.number_or(0)?);
        host.next_server = address(reader.number_or(0)?);
        host.server_hostname = reader.text()?;
        host.boot_file_name = reader.text()?;
    }
    // Kea has two numbers for "not in this family": NULL, and the largest one.
    if subnet_id == -1 || subnet_id == NO_SUBNET {
        return Ok(None);
    }
    host.subnet_id = u32::try_from(subnet_id).map_err(|_| subnet_fault)?;
    Ok(Some(host))
}

/// Appends the values of an option of host number `host_id` in the table of options, without the
/// option's own number.
pub(super) fn encode_option(
    host_id: i64,
    option: &HostOption,
    layout: RowLayout,
    values: &mut Vec<SqlValue>,
) {
    values.extend([
        SqlValue::Integer(host_id),
        SqlValue::Integer(HOST_SCOPE),
        SqlValue::Integer(i64::from(option.code)),
        option.value.clone().map_or(SqlValue::Null, SqlValue::Octets),
        text_or_null(&option.formatted_value),
        text_or_null(&option.space),
        SqlValue::Integer(i64::from(option.is_persistent)),
        text_or_null(&option.user_context),
    ]);
    if layout.schema == Schema::Current {
        // Kea 3.0 leaves NULL, which later versions do not allow; all read this as no classes.
        let classes =
            if option.client_classes.is_empty() { "[  ]" } else { &option.client_classes };
        values.extend([SqlValue::Integer(i64::from(option.is_cancelled)), text(classes)]);
    }
}

/// Reads a row of the table [`options`]: its number, the number of its host, and the option.
pub(super) fn decode_option(
    table: SqlTable,
    values: &[SqlValue],
    layout: RowLayout,
) -> Result<(i64, i64, HostOption), RowFault> {
    let mut reader = SqlRowReader::new(values, table);
    let (number, host_id) = (reader.number()?, reader.number()?);
    let _scope: i64 = reader.number()?;
    let code = reader.number()?;
    let has_value = values.get(4).is_some_and(|value| *value != SqlValue::Null);
    let value = reader.octets()?;
    let mut option = HostOption {
        code,
        value: has_value.then(|| value.to_vec()),
        formatted_value: reader.text()?,
        space: reader.text()?,
        is_persistent: reader.truth()?,
        user_context: reader.text()?,
        ..HostOption::default()
    };
    if layout.schema == Schema::Current {
        option.is_cancelled = reader.truth()?;
        option.client_classes = reader.text()?;
        if option.client_classes.chars().all(|letter| "[ ]".contains(letter)) {
            option.client_classes.clear();
        }
    }
    Ok((number, host_id, option))
}

/// Appends the values of a reservation of host number `host_id` in the table
/// [`written_resources`].
pub(super) fn encode_resource(
    host_id: i64,
    resource: &HostResource,
    layout: RowLayout,
    values: &mut Vec<SqlValue>,
) {
    values.extend([
        SqlValue::Integer(host_id),
        SqlValue::Integer(i64::from(resource.len)),
        SqlValue::Integer(if resource.is_prefix { PREFIX } else { 0 }),
        address6(resource.address, layout),
        // Kea does not use the association: it writes none, or 0.
        if layout.backend == SqlDatabaseKind::Postgresql {
            SqlValue::Null
        } else {
            SqlValue::Integer(0)
        },
    ]);
    if layout.schema == Schema::Current {
        let (prefix, len) = match resource.excluded {
            Some((prefix, len)) => (address6(prefix, layout), len),
            None => (SqlValue::Null, 0),
        };
        values.extend([prefix, SqlValue::Integer(i64::from(len))]);
    }
}

/// Reads a row of the table [`resources`]: its number, the number of its host, and the reservation.
pub(super) fn decode_resource(
    table: SqlTable,
    values: &[SqlValue],
    layout: RowLayout,
) -> Result<(i64, i64, HostResource), RowFault> {
    let mut reader = SqlRowReader::new(values, table);
    let (number, host_id) = (reader.number()?, reader.number()?);
    let (len, kind) = (reader.number_or(128)?, reader.number_or::<i64>(0)?);
    let address = read_address6(&mut reader, layout)?.ok_or_else(|| reader.fault())?;
    let mut excluded = None;
    if layout.schema == Schema::Current {
        let prefix = read_address6(&mut reader, layout)?;
        let len = reader.number_or::<u8>(0)?;
        if len > 0 {
            excluded = prefix.map(|prefix| (prefix, len));
        }
    }
    Ok((number, host_id, HostResource { address, len, is_prefix: kind == PREFIX, excluded }))
}

fn read_address6(
    reader: &mut SqlRowReader<'_>,
    layout: RowLayout,
) -> Result<Option<Ipv6Addr>, RowFault> {
    let octets = reader.octets()?;
    if octets.is_empty() {
        return Ok(None);
    }
    if has_octets(layout) {
        let octets: [u8; 16] = octets.try_into().map_err(|_| reader.fault())?;
        return Ok(Some(octets.into()));
    }
    let parsed = std::str::from_utf8(octets).ok().and_then(|text| text.parse().ok());
    parsed.map(Some).ok_or_else(|| reader.fault())
}
