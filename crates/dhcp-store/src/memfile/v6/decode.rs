//! v6 rows in: one line of text as a lease, or the reason why it is none.

use std::net::Ipv6Addr;

use dhcp_lease::identity::HARDWARE_ADDRESS_MAX;
use dhcp_lease::v6::{HardwareSource, Lease, Resource};
use dhcp_lease::{ClientId, HardwareAddress, LeaseState};

use super::EMPTY_DUID;
use crate::memfile::value::{RowFault, Value, Values};

/// Longest DUID (RFC 9915 §11.1): 128 octets behind the type.
const DUID_MAX: usize = 130;

/// Reads a row's values.
pub(super) fn parse(values: &mut Values<'_>) -> Result<Lease, RowFault> {
    let address = values.next("address");
    let duid_value = values.next("duid");
    let duid = duid_value.colon_hex()?;
    let valid_lifetime_s = values.next("valid_lifetime").number()?;
    let expire_s: u64 = values.next("expire").number()?;
    let subnet_id = values.next("subnet_id").number()?;
    let preferred_lifetime_s = values.next("pref_lifetime").number()?;
    let kind = values.next("lease_type");
    let iaid = values.next("iaid").number()?;
    let resource = resource(address, kind, values.next("prefix_len"))?;
    let fqdn_fwd = values.next("fqdn_fwd").flag()?;
    let fqdn_rev = values.next("fqdn_rev").flag()?;
    let hostname = values.next("hostname").hostname()?;
    let hardware = values.next("hwaddr").or("").colon_hex()?;
    let state = values.next("state").or("0").state()?;
    let user_context = values.next("user_context").or("").json()?;
    let htype = values.next("hwtype").or_if_empty("1").number()?;
    let source = values.next("hwaddr_source").or_if_empty("0").number()?;
    let pool_id = values.next("pool_id").or("0").number()?;
    values.end()?;
    if hardware.octets().len() > HARDWARE_ADDRESS_MAX {
        return Err(RowFault::Value("hwaddr"));
    }
    if duid.is_empty() || duid.octets().len() > DUID_MAX {
        return Err(duid_value.fault());
    }
    // Kea before 2.4 has one octet.
    let is_nobodys = EMPTY_DUID.starts_with(duid.octets());
    if is_nobodys && state != LeaseState::Declined {
        return Err(RowFault::NoClient);
    }
    let has_hardware = !hardware.is_empty();
    Ok(Lease {
        resource,
        duid: ClientId::new(if is_nobodys { &[] } else { duid.octets() }),
        iaid,
        valid_lifetime_s,
        preferred_lifetime_s,
        cltt_s: expire_s.saturating_sub(u64::from(valid_lifetime_s)),
        subnet_id,
        pool_id,
        fqdn_fwd,
        fqdn_rev,
        hostname: hostname.to_ascii_lowercase().into_boxed_str(),
        hardware: match hardware.octets() {
            [] => HardwareAddress::NONE,
            octets => HardwareAddress::new(htype, octets),
        },
        hardware_source: match has_hardware {
            true => HardwareSource::from_number(source),
            false => HardwareSource::Unknown,
        },
        state,
        user_context: user_context.into_boxed_str(),
    })
}

/// What is leased. Temporary addresses (1) are not served (RFC 9915 has made them obsolete).
fn resource(address: Value<'_>, kind: Value<'_>, len: Value<'_>) -> Result<Resource, RowFault> {
    let at: Ipv6Addr = address.address()?;
    let number: u8 = kind.number()?;
    let bits: u8 = len.number()?;
    match number {
        0 if bits == 128 => Ok(Resource::address(at)),
        2 if (1..=128).contains(&bits) => {
            let prefix = Resource::prefix(at, bits);
            if prefix.address == at { Ok(prefix) } else { Err(address.fault()) }
        }
        0 | 2 => Err(len.fault()),
        _ => Err(kind.fault()),
    }
}
