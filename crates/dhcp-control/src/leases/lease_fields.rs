//! Lease fields that both families have, as JSON in commands and answers.

use core::net::IpAddr;
use core::ops::RangeInclusive;

use dhcp_lease::user_context::check_user_context;
use dhcp_lease::{Family, HardwareAddress, HostName, Lease, LeaseState};
use serde_json::{Map, Value, json};

use crate::answer::CommandAnswer;
use crate::arguments::ArgumentFields;
use crate::family::CommandFamily;
use crate::subnet_facts::SubnetFacts;
use crate::text::type_name;
use crate::text::{kea_json, octets_from_colon_hex, octets_from_hex};

/// Permitted lengths of a DHCPv4 client identifier, in bytes.
pub(super) const CLIENT_ID_OCTETS: RangeInclusive<usize> = 2..=255;
/// Permitted lengths of a DUID, in bytes (RFC 9915 §11.1).
pub(super) const DUID_OCTETS: RangeInclusive<usize> = 3..=130;
/// Kea's names of the lease states, in the order of their numbers.
pub(super) const STATES: [&str; 5] =
    ["default", "declined", "expired-reclaimed", "released", "registered"];

/// Adds the fields of `lease` that leases of both families have to `map`.
pub(crate) fn show_common<F: Family>(lease: &Lease<F>, map: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("subnet-id", json!(lease.subnet_id));
    if lease.pool_id > 0 {
        put("pool-id", json!(lease.pool_id));
    }
    put("cltt", json!(lease.cltt_s));
    put("valid-lft", json!(lease.valid_lifetime_s));
    put("fqdn-fwd", json!(lease.fqdn_fwd));
    put("fqdn-rev", json!(lease.fqdn_rev));
    put("hostname", json!(&*lease.hostname));
    put("state", json!(lease.state as u8));
    if let Ok(context) = serde_json::from_str(&lease.user_context) {
        put("user-context", context);
    }
}

/// Returns the subnet that the fields of a lease in a command name, or the one that its address
/// belongs to.
pub(super) fn subnet_for(
    fields: &ArgumentFields<'_>,
    address: IpAddr,
    is_address: bool,
    subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
) -> Result<SubnetFacts, CommandAnswer> {
    let id = fields.optional_number("subnet-id")?.unwrap_or(0);
    check_subnet(id, address, is_address, subnet)
}

/// Returns the subnet of a lease of `address` with the subnet's number `id`, or the one that the
/// address belongs to if the number is 0.
fn check_subnet(
    id: u32,
    address: IpAddr,
    is_address: bool,
    subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
) -> Result<SubnetFacts, CommandAnswer> {
    let version = if address.is_ipv4() { 4 } else { 6 };
    if id == 0 && !is_address {
        return Err(CommandAnswer::error(
            "Subnet-id is 0 or not specified. This is allowed for address leases only, not prefix \
             leases.",
        ));
    }
    let Some(facts) = subnet(id, address) else {
        return Err(CommandAnswer::conflict(match id {
            0 => {
                format!("subnet-id not specified and failed to find a subnet for address {address}")
            }
            id => format!(
                "Invalid subnet-id: No IPv{version} subnet with subnet-id={id} currently configured."
            ),
        }));
    };
    if id != 0 && is_address && !facts.contains(address) {
        return Err(CommandAnswer::conflict(format!(
            "The address {address} does not belong to subnet {}, subnet-id={id}",
            facts.text()
        )));
    }
    Ok(facts)
}

/// Latest time of a lease's transaction in a row, in seconds since 1970: with every lifetime its
/// end is a number that JSON has.
const CLTT_MAX_S: u64 = i64::MAX as u64 - u32::MAX as u64;

/// Returns `lease`, which a partner has sent as a row of a lease file, with the number of its
/// subnet, if the lease passes the checks of one that comes as fields.
pub(crate) fn checked_lease<F: CommandFamily>(
    mut lease: Lease<F>,
    subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
) -> Result<Lease<F>, CommandAnswer> {
    let is_address = lease.kind() == F::USUAL_KIND;
    let ip = F::ip(lease.address);
    lease.subnet_id = check_subnet(lease.subnet_id, ip.into(), is_address, subnet)?.id;
    F::check_resource(&lease)?;
    check_name(&lease.hostname, lease.fqdn_fwd || lease.fqdn_rev)?;
    if !(1..=CLTT_MAX_S).contains(&lease.cltt_s) {
        return Err(CommandAnswer::error(format!("expiration time is wrong for address {ip}")));
    }
    let context = &*lease.user_context;
    if !context.is_empty() && serde_json::from_str::<Map<String, Value>>(context).is_err() {
        return Err(CommandAnswer::error(format!("the user context of {ip} is not a JSON map")));
    }
    check_storable_context(context)?;
    Ok(lease)
}

/// Checks that a lease whose DNS entries the server keeps if `has_entries` has a host name.
fn check_name(hostname: &str, has_entries: bool) -> Result<(), CommandAnswer> {
    if hostname.is_empty() && has_entries {
        return Err(CommandAnswer::error(
            "No hostname specified and either forward or reverse fqdn was set to true.",
        ));
    }
    Ok(())
}

/// Reads the lease of `address` and `client` in `subnet` from a command's arguments, without the
/// fields that only its family has.
pub(super) fn read_common<F: CommandFamily>(
    fields: &ArgumentFields<'_>,
    address: F::Address,
    client: F::LeaseClient,
    subnet: &SubnetFacts,
    now_s: u64,
) -> Result<Lease<F>, CommandAnswer> {
    let pool_id = fields.optional_number("pool-id")?.unwrap_or(0);
    let valid_lifetime_s = fields.optional_number("valid-lft")?.unwrap_or(subnet.valid_lifetime_s);
    let cltt_s = cltt(fields, valid_lifetime_s, &F::ip(address).to_string())?.unwrap_or(now_s);
    let (fqdn_fwd, fqdn_rev) = (fields.flag("fqdn-fwd")?, fields.flag("fqdn-rev")?);
    let hostname = fields.optional_text("hostname")?.unwrap_or_default().to_lowercase();
    check_name(&hostname, fqdn_fwd || fqdn_rev)?;
    let state = state(fields.optional_number("state")?.unwrap_or(0))?;
    let user_context = user_context(fields)?;
    Ok(Lease {
        address,
        client,
        subnet_id: subnet.id,
        pool_id,
        valid_lifetime_s,
        cltt_s,
        fqdn_fwd,
        fqdn_rev,
        // Kea accepts names of any length; a name that is too long for a lease is truncated.
        hostname: HostName::from(hostname),
        state,
        user_context,
        extra: F::LeaseExtra::default(),
    })
}

/// Returns the client's last transaction time (cltt) in wall-clock seconds: `expire` minus the
/// valid lifetime; `None` without the argument `expire`.
fn cltt(
    fields: &ArgumentFields<'_>,
    valid_lifetime_s: u32,
    address: &str,
) -> Result<Option<u64>, CommandAnswer> {
    let Some(expires_s) = fields.optional_number::<i64>("expire")? else { return Ok(None) };
    match u64::try_from(expires_s).ok().filter(|&expires_s| expires_s > 0) {
        None => Err(CommandAnswer::error(format!(
            "expiration time must be positive for address {address}"
        ))),
        Some(expires_s) => match expires_s.checked_sub(valid_lifetime_s.into()) {
            Some(cltt_s) => Ok(Some(cltt_s)),
            None => Err(CommandAnswer::error(format!(
                "expiration time must be greater than valid lifetime for address {address}"
            ))),
        },
    }
}

fn state(number: u8) -> Result<LeaseState, CommandAnswer> {
    LeaseState::from_number(number).ok_or_else(|| {
        CommandAnswer::error(format!(
            "Invalid state value: {number}, supported values are: 0 (default), 1 (declined), 2 \
             (expired-reclaimed), 3 (released) and 4 (registered)"
        ))
    })
}

/// Returns the user context in a command's arguments as leases store it, with the `comment` of the
/// lease in it.
fn user_context(fields: &ArgumentFields<'_>) -> Result<Box<str>, CommandAnswer> {
    let context = fields.get("user-context");
    let mut map = match context {
        None => Map::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(other) => {
            return Err(CommandAnswer::error(format!(
                "Invalid user context '{}' is not a JSON map.",
                kea_json(other)
            )));
        }
    };
    let comment = fields.get("comment");
    if let Some(comment) = comment {
        if map.contains_key("comment") {
            return Err(CommandAnswer::error(format!(
                "Duplicated comment entry '{}' in user context '{}'",
                kea_json(comment),
                kea_json(&Value::Object(map))
            )));
        }
        map.insert("comment".to_owned(), comment.clone());
    }
    match (context, comment) {
        (None, None) => Ok("".into()),
        _ => {
            let text = kea_json(&Value::Object(map));
            check_storable_context(&text)?;
            Ok(text.into())
        }
    }
}

/// Checks that a lease can store the user context `context`; an error answer if not.
pub(super) fn check_storable_context(context: &str) -> Result<(), CommandAnswer> {
    check_user_context(context)
        .map_err(|fault| CommandAnswer::error(format!("Invalid user context: {fault}.")))
}

/// Reads the bytes of a client identifier or DUID from text; their number must be in `lens`.
pub(super) fn identifier(text: &str, lens: RangeInclusive<usize>) -> Result<Vec<u8>, String> {
    let (least, most) = lens.into_inner();
    let octets = octets_from_hex(text)?;
    let count = octets.len();
    if count < least {
        return Err(format!("identifier is too short ({count}), at least {least} is required"));
    }
    if count > most {
        return Err(format!("identifier is too large ({count}), at most {most} is required"));
    }
    Ok(octets)
}

/// Reads a hardware address from text. Kea's texts have no hardware type; the type is Ethernet.
pub(super) fn hardware(text: &str) -> Result<HardwareAddress, String> {
    let octets = octets_from_colon_hex(text)?;
    if octets.len() > dhcp_lease::identity::HARDWARE_ADDRESS_MAX {
        Err("address vector size exceeds MAX_HWADDR_LEN".to_owned())
    } else {
        Ok(HardwareAddress::new(1, &octets))
    }
}

/// Returns `item`, an element of a list in a command, as a map; an error answer if it is none.
pub(super) fn as_map<'a>(item: &'a Value) -> Result<ArgumentFields<'a>, CommandAnswer> {
    match item {
        Value::Object(map) => Ok(ArgumentFields(map)),
        other => Err(CommandAnswer::error(format!(
            "get(string) called on a non-map Element: {}",
            type_name(other)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use dhcp_lease::ClientId;
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::{LeaseClient, LeaseExtra, Resource, V6};

    use super::*;

    fn subnet(id: u32, address: IpAddr) -> Option<SubnetFacts> {
        let (prefix, length): (IpAddr, u8) = match address {
            IpAddr::V4(_) => (Ipv4Addr::new(192, 0, 2, 0).into(), 24),
            IpAddr::V6(_) => (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0).into(), 32),
        };
        (id <= 7).then_some(SubnetFacts { id: 7, prefix, length, valid_lifetime_s: 0 })
    }

    fn lease<F: CommandFamily>(address: F::Address, client: F::LeaseClient) -> Lease<F> {
        Lease {
            address,
            client,
            valid_lifetime_s: 600,
            cltt_s: 1_000,
            subnet_id: 7,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: HostName::default(),
            state: LeaseState::Assigned,
            user_context: Box::default(),
            extra: F::LeaseExtra::default(),
        }
    }

    fn lease_v4() -> Lease<V4> {
        lease(Ipv4Addr::new(192, 0, 2, 7), dhcp_lease::v4::LeaseClient::default())
    }

    #[test]
    fn a_row_of_a_partner_passes_the_checks_of_fields() {
        let checked = |lease| checked_lease::<V4>(lease, &subnet);
        assert_eq!(checked(lease_v4()), Ok(lease_v4()));
        let by_address = Lease { subnet_id: 0, ..lease_v4() };
        assert_eq!(checked(by_address).map(|lease| lease.subnet_id), Ok(7));
        let last = Lease { cltt_s: CLTT_MAX_S, valid_lifetime_s: u32::MAX, ..lease_v4() };
        assert!(checked(last.clone()).is_ok());
        for bad in [
            Lease { subnet_id: 8, ..lease_v4() },
            Lease { address: Ipv4Addr::new(192, 0, 3, 7), ..lease_v4() },
            Lease { fqdn_rev: true, ..lease_v4() },
            Lease { cltt_s: 0, ..lease_v4() },
            Lease { cltt_s: CLTT_MAX_S + 1, ..last },
            Lease { user_context: "{ \"a\" }".into(), ..lease_v4() },
            Lease { user_context: "[]".into(), ..lease_v4() },
            Lease { user_context: "{ \"a\": \"\\u0000\" }".into(), ..lease_v4() },
            Lease {
                user_context: format!("{{\"a\":\"{}\"}}", "b".repeat(70_000)).into(),
                ..lease_v4()
            },
        ] {
            assert!(checked(bad.clone()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_row_with_a_prefix_passes_the_checks_of_fields() {
        let address = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0);
        let client = LeaseClient { duid: ClientId::new(&[0, 3, 0, 1, 2]), iaid: 1 };
        let of = |resource, state| {
            let lease = lease::<V6>(resource, client.clone());
            let lease = Lease { state, extra: LeaseExtra::default(), ..lease };
            checked_lease(lease, &subnet).is_ok()
        };
        assert!(of(Resource::prefix(address, 56), LeaseState::Assigned));
        assert!(of(Resource::address(address), LeaseState::Declined));
        assert!(!of(Resource::prefix(address, 56), LeaseState::Declined));
        assert!(!of(Resource::prefix(Ipv6Addr::UNSPECIFIED, 0), LeaseState::Assigned));
    }
}
