//! Pools and reservations in the scope of a sequence, whose marks are replaced.

use std::net::Ipv4Addr;

use serde_json::Value;

use super::super::held::PoolNumber;
use super::super::value::{Learned, octets};

/// Returns the address in hexadecimal digits.
pub(super) fn address(digits: &str) -> Option<Ipv4Addr> {
    let octets = octets(digits, &Learned::new());
    <[u8; 4]>::try_from(octets).ok().map(Ipv4Addr::from)
}

fn subnets(scope: &Value) -> &[Value] {
    scope["subnet4"].as_array().map_or_else(|| std::slice::from_ref(scope), Vec::as_slice)
}

/// Returns the pool that contains `address`.
pub(super) fn pool(scope: &Value, address: Ipv4Addr) -> Option<PoolNumber> {
    let has = |pool: &Value| {
        let (first, last) = pool["pool"].as_str()?.split_once(" - ")?;
        let ends: [Ipv4Addr; 2] = [first.parse().ok()?, last.parse().ok()?];
        (ends[0]..=ends[1]).contains(&address).then_some(())
    };
    subnets(scope).iter().enumerate().find_map(|(number, subnet)| {
        let mut pools = subnet["pools"].as_array()?.iter();
        Some((number, pools.position(|pool| has(pool).is_some())?))
    })
}

/// Returns the reservation of `address`: `true` if it is for a client with one of `identities`,
/// `false` if it is only for others, `None` without one.
pub(super) fn reserved(scope: &Value, address: Ipv4Addr, identities: &[String]) -> Option<bool> {
    let address = address.to_string();
    let hosts = subnets(scope).iter().filter_map(|subnet| subnet["reservations"].as_array());
    let mut owners = hosts.flatten().filter(|host| host["ip-address"] == address).peekable();
    owners.peek()?;
    Some(owners.any(|host| is_own(host, identities)))
}

/// Returns true if `address` is reserved for a client with one of `identities` in a subnet that has
/// another reservation of the client, or one of a relay agent's port, which may be the client's.
pub(super) fn is_further(scope: &Value, address: Ipv4Addr, identities: &[String]) -> bool {
    let address = address.to_string();
    let mut lists = subnets(scope).iter().filter_map(|subnet| subnet["reservations"].as_array());
    lists.any(|hosts| {
        let (reserving, others): (Vec<&Value>, Vec<&Value>) =
            hosts.iter().partition(|host| host["ip-address"] == address);
        let is_of_port = |host: &Value| !host["circuit-id"].is_null();
        reserving.iter().any(|host| is_own(host, identities))
            && others.iter().any(|host| is_own(host, identities) || is_of_port(host))
    })
}

/// Returns true if a reservation is of a client with one of `identities`.
fn is_own(host: &Value, identities: &[String]) -> bool {
    let mut own = ["hw-address", "client-id"].iter().filter_map(|kind| host[*kind].as_str());
    // The hardware address of a message has the length of its field.
    own.any(|own| identities.iter().any(|one| one.starts_with(&own.replace(':', ""))))
}
