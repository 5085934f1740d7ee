//! DHCPv4 leases and the table `lease4`.

use std::net::Ipv4Addr;

use dhcp_lease::identity::{CLIENT_ID_MAX, HARDWARE_ADDRESS_MAX};
use dhcp_lease::v4::{Lease, LeaseState, V4};
use dhcp_lease::{ClientId, HardwareAddress, HostName};

use super::driver::{Column, Kind, Table, Value};
use super::row::{
    Layout, Reader, Stored, cltt_s, context, expire, identity, lifetime_s, state, text,
};
use super::schema::Schema;
use crate::database::{KeyOctets, Shared};
use crate::memfile::RowFault;

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

/// The newest column last: Kea 2.2 is without it.
const COLUMNS: [Column; 12] = [
    column("address", Kind::Number),
    column("hwaddr", Kind::Octets),
    column("client_id", Kind::Octets),
    column("valid_lifetime", Kind::Number),
    column("expire", Kind::Time),
    column("subnet_id", Kind::Number),
    column("fqdn_fwd", Kind::Truth),
    column("fqdn_rev", Kind::Truth),
    column("hostname", Kind::Text),
    column("state", Kind::Number),
    column("user_context", Kind::Text),
    column("pool_id", Kind::Number),
];

impl Stored for V4 {
    fn table(layout: Layout) -> Table {
        let columns = match layout.schema {
            Schema::Kea22 => &COLUMNS[..COLUMNS.len() - 1],
            Schema::Current => &COLUMNS[..],
        };
        Table { name: "lease4", columns }
    }

    fn encode(lease: &Lease, layout: Layout, values: &mut Vec<Value>) {
        Self::encode_key(lease.address, layout, values);
        values.extend([
            identity(lease.hardware.octets(), layout),
            lease.client_id.as_ref().map_or(Value::Null, |id| identity(id.octets(), layout)),
            Value::Integer(i64::from(lease.valid_lifetime_s)),
            expire(lease.cltt_s, lease.valid_lifetime_s, layout),
            Value::Integer(i64::from(lease.subnet_id)),
            Value::Integer(i64::from(lease.fqdn_fwd)),
            Value::Integer(i64::from(lease.fqdn_rev)),
            text(&lease.hostname),
            state(lease.state, layout),
            context(&lease.user_context, layout),
        ]);
        if layout.schema == Schema::Current {
            values.push(Value::Integer(i64::from(lease.pool_id)));
        }
    }

    fn encode_key(address: Ipv4Addr, _: Layout, values: &mut Vec<Value>) {
        values.push(Value::Integer(i64::from(address.to_bits())));
    }

    fn decode_key(key: &Value, _: Layout) -> Option<KeyOctets> {
        let Value::Integer(bits) = key else { return None };
        Some(Self::octets_of(Ipv4Addr::from_bits(u32::try_from(*bits).ok()?)))
    }

    fn decode(values: &[Value], layout: Layout) -> Result<Lease, RowFault> {
        let mut reader = Reader::new(values, Self::table(layout));
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
        let pool_id = if layout.schema == Schema::Current { reader.number_or(0)? } else { 0 };
        if hardware.is_empty() && client_id.is_empty() && state != LeaseState::Declined {
            return Err(RowFault::NoClient);
        }
        Ok(Lease {
            address,
            // The table does not say which kind; Kea takes Ethernet too.
            hardware: match hardware {
                [] => HardwareAddress::default(),
                octets => HardwareAddress::new(1, octets),
            },
            client_id: (!client_id.is_empty()).then(|| ClientId::new(client_id)),
            valid_lifetime_s,
            cltt_s: cltt_s(expire_s, valid_lifetime_s),
            subnet_id,
            fqdn_fwd,
            fqdn_rev,
            hostname,
            state,
            user_context: user_context.into_boxed_str(),
            pool_id,
        })
    }
}
