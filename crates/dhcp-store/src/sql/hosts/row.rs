//! Hosts as values of Kea's columns, and back: the tables `hosts`, `ipv6_reservations`,
//! `dhcp4_options` and `dhcp6_options`.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Host, HostFamily, HostOption, HostResource};
use crate::memfile::RowFault;
use crate::sql::driver::{Column, Kind, Table, Value};
use crate::sql::row::{Layout, Reader, text};
use crate::sql::schema::Schema;
use crate::sql::settings::Backend;

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

/// Kea's number of the scope of options that belong to hosts.
const HOST_SCOPE: i64 = 3;
/// Kea's number of a delegated prefix in `ipv6_reservations`; that of an address is 0.
const PREFIX: i64 = 2;

/// Column with the number of a host, in the tables that refer to `hosts` and in `hosts` itself.
pub(super) const HOST_ID: Column = column("host_id", Kind::Signed32);
/// Column of identifiers, by which hosts are looked up.
pub(super) const IDENTIFIER: Column = column("dhcp_identifier", Kind::Octets);
/// Column of addresses, by which DHCPv4 hosts are looked up, too.
pub(super) const ADDRESS4: Column = column("ipv4_address", Kind::Number);

/// Columns of DHCPv4 hosts, the key first; the last four exist for DHCPv4 only.
const HOSTS4: [Column; 12] = [
    HOST_ID,
    IDENTIFIER,
    column("dhcp_identifier_type", Kind::Signed16),
    column("dhcp4_subnet_id", Kind::Number),
    column("hostname", Kind::Text),
    column("dhcp4_client_classes", Kind::Text),
    column("user_context", Kind::Text),
    column("auth_key", Kind::Text),
    ADDRESS4,
    column("dhcp4_next_server", Kind::Number),
    column("dhcp4_server_hostname", Kind::Text),
    column("dhcp4_boot_file_name", Kind::Text),
];

const HOSTS6: [Column; 8] = [
    HOST_ID,
    IDENTIFIER,
    column("dhcp_identifier_type", Kind::Signed16),
    column("dhcp6_subnet_id", Kind::Number),
    column("hostname", Kind::Text),
    column("dhcp6_client_classes", Kind::Text),
    column("user_context", Kind::Text),
    column("auth_key", Kind::Text),
];

/// Columns of options; those of only one version are last.
const OPTIONS: [Column; 11] = [
    column("option_id", Kind::Number),
    HOST_ID,
    column("scope_id", Kind::Signed16),
    column("code", Kind::Signed32),
    column("value", Kind::Octets),
    column("formatted_value", Kind::Text),
    column("space", Kind::Text),
    column("persistent", Kind::Truth),
    column("user_context", Kind::Text),
    column("cancelled", Kind::Truth),
    column("client_classes", Kind::Text),
];

const RESOURCES: [Column; 7] = [
    column("reservation_id", Kind::Number),
    HOST_ID,
    column("prefix_len", Kind::Signed16),
    column("type", Kind::Signed16),
    column("address", Kind::Address),
    column("excluded_prefix", Kind::Address),
    column("excluded_prefix_len", Kind::Signed16),
];

/// Columns of reservations in Kea 2.2, which keeps addresses as text.
const RESOURCES_KEA22: [Column; 5] =
    [RESOURCES[0], RESOURCES[1], RESOURCES[2], RESOURCES[3], column("address", Kind::Text)];

/// Returns the table of hosts with the columns of `family`.
pub(super) const fn hosts(family: HostFamily) -> Table {
    match family {
        HostFamily::V4 => Table { name: "hosts", columns: &HOSTS4 },
        HostFamily::V6 => Table { name: "hosts", columns: &HOSTS6 },
    }
}

/// Returns the table of the hosts' options.
pub(super) fn options(family: HostFamily, layout: Layout) -> Table {
    let name = match family {
        HostFamily::V4 => "dhcp4_options",
        HostFamily::V6 => "dhcp6_options",
    };
    let columns = match layout.schema {
        Schema::Kea22 => &OPTIONS[..OPTIONS.len() - 2],
        Schema::Current => &OPTIONS[..],
    };
    Table { name, columns }
}

/// Returns the table of the reservations of DHCPv6 hosts.
pub(super) fn resources(layout: Layout) -> Table {
    let columns = match layout.schema {
        Schema::Kea22 => &RESOURCES_KEA22[..],
        Schema::Current => &RESOURCES[..],
    };
    Table { name: "ipv6_reservations", columns }
}

/// Returns the table without its number column, which the database fills.
pub(super) const fn without_number(table: Table) -> Table {
    Table { name: table.name, columns: table.columns.split_at(1).1 }
}

/// Returns the values to look up hosts with these identifiers, sorted and without duplicates.
pub(super) fn identifiers<'i>(octets: impl Iterator<Item = &'i [u8]>) -> Vec<Value> {
    let mut values: Vec<&[u8]> = octets.collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(|octets| Value::Octets(octets.to_vec())).collect()
}

/// Returns an IPv6 address as a value of its column.
pub(super) fn address6(address: Ipv6Addr, layout: Layout) -> Value {
    if has_octets(layout) {
        Value::Octets(address.octets().to_vec())
    } else {
        Value::Text(address.to_string())
    }
}

fn has_octets(layout: Layout) -> bool {
    layout.schema == Schema::Current && layout.backend != Backend::Postgresql
}

fn text_or_null(value: &str) -> Value {
    if value.is_empty() { Value::Null } else { text(value) }
}

fn address4_or_null(address: Option<Ipv4Addr>) -> Value {
    address.map_or(Value::Null, |address| Value::Integer(i64::from(address.to_bits())))
}

/// Appends the values of `host`, without its number.
pub(super) fn encode(family: HostFamily, host: &Host, values: &mut Vec<Value>) {
    values.extend([
        Value::Octets(host.identifier.clone()),
        Value::Integer(i64::from(host.identifier_type)),
        Value::Integer(i64::from(host.subnet_id)),
        text_or_null(&host.hostname),
        text_or_null(&host.client_classes),
        text_or_null(&host.user_context),
        text_or_null(&host.auth_key),
    ]);
    if family == HostFamily::V4 {
        values.extend([
            address4_or_null(host.address),
            address4_or_null(host.next_server),
            text_or_null(&host.server_hostname),
            text_or_null(&host.boot_file_name),
        ]);
    }
}

/// Reads a row of [`hosts`]; returns `None` if it is not for this family.
pub(super) fn decode(family: HostFamily, values: &[Value]) -> Result<Option<Host>, RowFault> {
    let mut reader = Reader::new(values, hosts(family));
    let host_id = reader.number()?;
    let identifier = reader.octets()?.to_vec();
    let identifier_type = reader.number()?;
    let subnet_id = reader.number_or::<i64>(-1)?;
    let subnet_fault = reader.fault();
    let mut host = Host {
        host_id,
        identifier,
        identifier_type,
        hostname: reader.text()?,
        client_classes: reader.text()?,
        user_context: reader.text()?,
        auth_key: reader.text()?,
        ..Host::default()
    };
    if family == HostFamily::V4 {
        let address = |bits: u32| (bits > 0).then(|| Ipv4Addr::from_bits(bits));
        host.address = address(reader.number_or(0)?);
        host.next_server = address(reader.number_or(0)?);
        host.server_hostname = reader.text()?;
        host.boot_file_name = reader.text()?;
    }
    // Kea has two numbers for "not in this family": NULL, and the largest one.
    if subnet_id == -1 || subnet_id == i64::from(u32::MAX) {
        return Ok(None);
    }
    host.subnet_id = u32::try_from(subnet_id).map_err(|_| subnet_fault)?;
    Ok(Some(host))
}

/// Appends the values of an option of host number `host_id`, without the option's own number.
pub(super) fn encode_option(
    host_id: i64,
    option: &HostOption,
    layout: Layout,
    values: &mut Vec<Value>,
) {
    values.extend([
        Value::Integer(host_id),
        Value::Integer(HOST_SCOPE),
        Value::Integer(i64::from(option.code)),
        option.value.clone().map_or(Value::Null, Value::Octets),
        text_or_null(&option.formatted_value),
        text_or_null(&option.space),
        Value::Integer(i64::from(option.is_persistent)),
        text_or_null(&option.user_context),
    ]);
    if layout.schema == Schema::Current {
        let classes =
            if option.client_classes.is_empty() { "[  ]" } else { &option.client_classes };
        values.extend([Value::Integer(i64::from(option.is_cancelled)), text(classes)]);
    }
}

/// Reads a row of [`options`]: its number, the number of its host, and the option.
pub(super) fn decode_option(
    table: Table,
    values: &[Value],
    layout: Layout,
) -> Result<(i64, i64, HostOption), RowFault> {
    let mut reader = Reader::new(values, table);
    let (number, host_id) = (reader.number()?, reader.number()?);
    let _scope: i64 = reader.number()?;
    let code = reader.number()?;
    let has_value = values.get(4).is_some_and(|value| *value != Value::Null);
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

/// Appends the values of a reservation of host number `host_id`, without the reservation's own
/// number.
pub(super) fn encode_resource(
    host_id: i64,
    resource: &HostResource,
    layout: Layout,
    values: &mut Vec<Value>,
) {
    values.extend([
        Value::Integer(host_id),
        Value::Integer(i64::from(resource.len)),
        Value::Integer(if resource.is_prefix { PREFIX } else { 0 }),
        address6(resource.address, layout),
    ]);
    if layout.schema == Schema::Current {
        let (prefix, len) = match resource.excluded {
            Some((prefix, len)) => (address6(prefix, layout), len),
            None => (Value::Null, 0),
        };
        values.extend([prefix, Value::Integer(i64::from(len))]);
    }
}

/// Reads a row of [`resources`]: its number, the number of its host, and the reservation.
pub(super) fn decode_resource(
    table: Table,
    values: &[Value],
    layout: Layout,
) -> Result<(i64, i64, HostResource), RowFault> {
    let mut reader = Reader::new(values, table);
    let (number, host_id) = (reader.number()?, reader.number()?);
    let (len, kind) = (reader.number_or(128)?, reader.number_or::<i64>(0)?);
    let address = read_address6(&mut reader, layout)?.ok_or_else(|| reader.fault())?;
    let mut excluded = None;
    if layout.schema == Schema::Current {
        let prefix = read_address6(&mut reader, layout)?;
        let len = reader.number_or::<u8>(0)?;
        excluded = prefix.filter(|_| len > 0).map(|prefix| (prefix, len));
    }
    Ok((number, host_id, HostResource { address, len, is_prefix: kind == PREFIX, excluded }))
}

fn read_address6(reader: &mut Reader<'_>, layout: Layout) -> Result<Option<Ipv6Addr>, RowFault> {
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
