//! Conversion of DHCPv4 leases to rows of the table `lease4`, and back.

use std::net::Ipv4Addr;

use dhcp_lease::identity::{CLIENT_ID_MAX, HARDWARE_ADDRESS_MAX};
use dhcp_lease::v4::{Lease, LeaseClient, LeaseState, V4};
use dhcp_lease::{ClientId, HardwareAddress, HostName};

use super::driver::{Column, ColumnKind, SqlTable, SqlValue};
use super::row::{
    RowLayout, SqlFamily, SqlRowReader, cltt_s, context, expire, identity, lifetime_s, state, text,
};
use super::schema::Schema;
use crate::database::{KeyOctets, SharedLeaseFamily};
use crate::memfile::RowFault;

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

/// Number of the last columns of `lease4` that Kea 2.2 lacks.
const NEW_COLUMNS: usize = 3;

/// Maximum number of bytes of a relay agent's identifier in the table `lease4`.
const RELAY_ID_MAX: usize = 255;

/// Columns of the table `lease4`, the newest last.
const COLUMNS: [Column; 14] = [
    column("address", ColumnKind::Number),
    column("hwaddr", ColumnKind::Octets),
    column("client_id", ColumnKind::Octets),
    column("valid_lifetime", ColumnKind::Number),
    column("expire", ColumnKind::Time),
    column("subnet_id", ColumnKind::Number),
    column("fqdn_fwd", ColumnKind::Truth),
    column("fqdn_rev", ColumnKind::Truth),
    column("hostname", ColumnKind::Text),
    column("state", ColumnKind::Number),
    column("user_context", ColumnKind::Text),
    column("relay_id", ColumnKind::Octets),
    column("remote_id", ColumnKind::Octets),
    column("pool_id", ColumnKind::Number),
];

/// Returns the relay agent's identifier and its remote identifier from option 82, which `context`
/// contains, in the form that Kea's bulk leasequery looks for.
fn relay_identifiers(context: &str) -> [SqlValue; 2] {
    const KEYS: [&str; 2] = ["relay-id", "remote-id"];
    if !KEYS.iter().any(|key| context.contains(key)) {
        return [SqlValue::Null, SqlValue::Null];
    }
    let context: serde_json::Value = serde_json::from_str(context).unwrap_or_default();
    let info = &context["ISC"]["relay-agent-info"];
    KEYS.map(|key| {
        let octets = info[key].as_str().and_then(octets_of);
        let octets = octets.filter(|octets| (1..=RELAY_ID_MAX).contains(&octets.len()));
        octets.map_or(SqlValue::Null, SqlValue::Octets)
    })
}

/// Returns the bytes of hexadecimal `digits`; `None` if the text is not pairs of digits.
fn octets_of(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect())
}

impl SqlFamily for V4 {
    fn table(layout: RowLayout) -> SqlTable {
        let columns = match layout.schema {
            Schema::Kea22 => &COLUMNS[..COLUMNS.len() - NEW_COLUMNS],
            Schema::Current => &COLUMNS[..],
        };
        SqlTable { name: "lease4", columns }
    }

    fn encode(lease: &Lease, layout: RowLayout, values: &mut Vec<SqlValue>) {
        Self::encode_key(lease.address, layout, values);
        let hardware = match lease.client.hardware.octets() {
            // Kea writes no NULL here, for a declined address either.
            [] => SqlValue::Octets(Vec::new()),
            octets => identity(octets, layout),
        };
        let client_id = lease.client.identifier().unwrap_or_default();
        values.extend([
            hardware,
            identity(client_id, layout),
            SqlValue::Integer(i64::from(lease.valid_lifetime_s)),
            expire(lease.cltt_s, lease.valid_lifetime_s, layout),
            SqlValue::Integer(i64::from(lease.subnet_id)),
            SqlValue::Integer(i64::from(lease.fqdn_fwd)),
            SqlValue::Integer(i64::from(lease.fqdn_rev)),
            text(&lease.hostname),
            state(lease.state, layout),
            context(&lease.user_context, layout),
        ]);
        if layout.schema == Schema::Current {
            values.extend(relay_identifiers(&lease.user_context));
            values.push(SqlValue::Integer(i64::from(lease.pool_id)));
        }
    }

    fn encode_key(address: Ipv4Addr, _: RowLayout, values: &mut Vec<SqlValue>) {
        values.push(SqlValue::Integer(i64::from(address.to_bits())));
    }

    fn decode_key(key: &SqlValue, _: RowLayout) -> Option<KeyOctets> {
        let SqlValue::Integer(bits) = key else { return None };
        Some(Self::octets_of(Ipv4Addr::from_bits(u32::try_from(*bits).ok()?)))
    }

    fn decode(values: &[SqlValue], layout: RowLayout) -> Result<Lease, RowFault> {
        let mut reader = SqlRowReader::new(values, Self::table(layout));
        let address = Ipv4Addr::from_bits(reader.number()?);
        let hardware = reader.octets()?;
        if hardware.len() > HARDWARE_ADDRESS_MAX {
            return Err(reader.fault());
        }
        let client_id = reader.octets()?;
        if client_id.len() > CLIENT_ID_MAX {
            return Err(reader.fault());
        }
        let valid_lifetime_s = reader.number()?;
        let expire_s = reader.number()?;
        let subnet_id = reader.number_or(0)?;
        let (fqdn_fwd, fqdn_rev) = (reader.truth()?, reader.truth()?);
        let hostname = HostName::from(reader.text()?).into_lower_case();
        let state = reader.state()?;
        let valid_lifetime_s = lifetime_s(valid_lifetime_s, expire_s, state);
        let user_context = reader.text()?;
        let mut pool_id = 0;
        if layout.schema == Schema::Current {
            // The context also has both identifiers of the relay agent.
            reader.octets()?;
            reader.octets()?;
            pool_id = reader.number_or(0)?;
        }
        if hardware.is_empty() && client_id.is_empty() && state != LeaseState::Declined {
            return Err(RowFault::NoClient);
        }
        Ok(Lease {
            address,
            client: LeaseClient {
                // The table does not have the hardware type; Kea assumes Ethernet too.
                hardware: match hardware {
                    [] => HardwareAddress::default(),
                    octets => HardwareAddress::new(1, octets),
                },
                client_id: (!client_id.is_empty()).then(|| ClientId::new(client_id)),
            },
            valid_lifetime_s,
            cltt_s: cltt_s(expire_s, valid_lifetime_s),
            subnet_id,
            fqdn_fwd,
            fqdn_rev,
            hostname,
            state,
            user_context: user_context.into_boxed_str(),
            pool_id,
            extra: (),
        })
    }
}

#[cfg(test)]
mod tests {
    use dhcp_lease::sample::{SampleFamily, SampleLease};

    use super::*;
    use crate::sql::SqlDatabaseKind;

    #[test]
    fn identifiers_of_relay_agents_have_columns() {
        let octets = |octets: &[u8]| SqlValue::Octets(octets.to_owned());
        let long = "AB".repeat(RELAY_ID_MAX + 1);
        let long = format!(r#"{{ "ISC": {{ "relay-agent-info": {{ "relay-id": "{long}" }} }} }}"#);
        let cases = [
            ("", [SqlValue::Null, SqlValue::Null]),
            ("{ \"relay-id\": \"0A\" }", [SqlValue::Null, SqlValue::Null]),
            ("{ \"relay-id\"", [SqlValue::Null, SqlValue::Null]),
            (long.as_str(), [SqlValue::Null, SqlValue::Null]),
            (
                r#"{ "ISC": { "relay-agent-info": { "remote-id": "0A0B", "sub-options": "" } } }"#,
                [SqlValue::Null, octets(&[0x0a, 0x0b])],
            ),
            (
                r#"{ "ISC": { "relay-agent-info": { "relay-id": "01", "remote-id": "0g" } } }"#,
                [octets(&[1]), SqlValue::Null],
            ),
        ];
        for (context, expected) in cases {
            assert_eq!(relay_identifiers(context), expected, "{context}");
        }
        let lease = V4::lease(&SampleLease {
            address: 10,
            client: 1,
            valid_lifetime_s: 60,
            cltt_s: 1_000_000,
            subnet_id: 7,
            pool_id: 3,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: r#"{ "ISC": { "relay-agent-info": { "remote-id": "0A" } } }"#,
        });
        let layout = RowLayout { backend: SqlDatabaseKind::Sqlite, schema: Schema::Current };
        let mut values = Vec::new();
        V4::encode(&lease, layout, &mut values);
        let columns = V4::table(layout).columns;
        let at = columns.iter().position(|column| column.name == "remote_id").unwrap();
        assert_eq!(values[at], octets(&[10]));
        assert_eq!(V4::decode(&values, layout), Ok(lease));
    }
}
