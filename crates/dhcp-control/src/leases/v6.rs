//! DHCPv6 leases in control commands and their answers.

use core::net::{IpAddr, Ipv6Addr};

use dhcp_lease::v6::lease::HardwareSource;
use dhcp_lease::v6::resource::{Resource, ResourceKind};
use dhcp_lease::v6::{Lease, LeaseClient, LeaseExtra, V6};
use dhcp_lease::{ClientId, HardwareAddress, LeaseState};
use serde_json::{Map, Value, json};

use super::lease_fields::{DUID_OCTETS, hardware, identifier, read_common, subnet_for};
use crate::answer::CommandAnswer;
use crate::arguments::ArgumentFields;
use crate::family::{CommandFamily, FromCommand};
use crate::ip_version::IpVersion;
use crate::subnet_facts::SubnetFacts;
use crate::text::colon_hex;

/// DUID that Kea shows for a DHCPv6 lease without a client: 00:00:00.
pub(super) const EMPTY_DUID: [u8; 3] = [0; 3];

/// Text of the DUID that Kea 2.2 shows for a DHCPv6 lease without a client.
const SHORT_EMPTY_DUID: &str = "00";

/// Returns true if the lease in a command is declined.
fn is_declined(fields: &ArgumentFields<'_>) -> bool {
    fields.get("state").and_then(Value::as_u64) == Some(LeaseState::Declined as u64)
}

impl CommandFamily for V6 {
    type Ip = Ipv6Addr;
    type Other = dhcp_lease::v4::V4;
    const VERSION: IpVersion = IpVersion::V6;
    const FIRST: Ipv6Addr = Ipv6Addr::UNSPECIFIED;
    const USUAL_KIND: ResourceKind = ResourceKind::Address;

    fn ip(address: Resource) -> Ipv6Addr {
        address.address
    }

    fn resource_text(lease: &Lease) -> String {
        match lease.address.kind {
            ResourceKind::Address => format!("address {}", lease.address),
            ResourceKind::Prefix => format!("prefix {}", lease.address),
        }
    }

    fn kind_named(name: &str) -> Option<ResourceKind> {
        match name {
            "IA_NA" | "0" => Some(ResourceKind::Address),
            "IA_PD" | "2" => Some(ResourceKind::Prefix),
            _ => None,
        }
    }

    fn kind_name(kind: ResourceKind) -> &'static str {
        match kind {
            ResourceKind::Address => "IA_NA",
            ResourceKind::Prefix => "IA_PD",
        }
    }

    fn iaid(lease: &Lease) -> Option<u32> {
        Some(lease.client.iaid)
    }

    fn anonymous(lease: &Lease) -> Option<&'static str> {
        lease.client.duid.octets().is_empty().then_some(", has no DUID")
    }

    fn show_own(lease: &Lease, map: &mut Map<String, Value>) {
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("ip-address", json!(lease.address.address.to_string()));
        put("type", json!(Self::kind_name(lease.address.kind)));
        if lease.address.kind == ResourceKind::Prefix {
            put("prefix-len", json!(lease.address.len));
        }
        put("iaid", json!(lease.client.iaid));
        let duid = match lease.client.duid.octets() {
            [] => EMPTY_DUID.as_slice(),
            octets => octets,
        };
        put("duid", json!(colon_hex(duid)));
        put("preferred-lft", json!(lease.extra.preferred_lifetime_s));
        if !lease.extra.hardware.is_empty() {
            put("hw-address", json!(colon_hex(lease.extra.hardware.octets())));
        }
    }
}

impl FromCommand for V6 {
    fn from_json(
        fields: &ArgumentFields<'_>,
        subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
        now_s: u64,
    ) -> Result<Lease, CommandAnswer> {
        let address: Ipv6Addr = fields.address("ip-address", 6)?;
        let duid = match fields.text("duid")? {
            // Kea 2.2 sends declined leases, which have lost their client, with this DUID.
            SHORT_EMPTY_DUID if is_declined(fields) => EMPTY_DUID.to_vec(),
            text => identifier(text, DUID_OCTETS).map_err(CommandAnswer::error)?,
        };
        let resource = resource(fields, address)?;
        let is_address = resource.kind == ResourceKind::Address;
        let subnet = subnet_for(fields, address.into(), is_address, subnet)?;
        let iaid = fields.number("iaid")?;
        let hardware = match fields.optional_text("hw-address")? {
            Some(text) => hardware(text).map_err(CommandAnswer::error)?,
            None => HardwareAddress::NONE,
        };
        let duid = ClientId::new(if duid == EMPTY_DUID { &[] } else { &duid });
        let client = LeaseClient { duid, iaid };
        let mut lease = read_common::<Self>(fields, resource, client, &subnet, now_s)?;
        Self::check_resource(&lease)?;
        let preferred = fields.optional_number("preferred-lft")?;
        lease.extra = LeaseExtra {
            preferred_lifetime_s: preferred.unwrap_or(subnet.valid_lifetime_s),
            hardware,
            hardware_source: HardwareSource::Unknown,
        };
        Ok(lease)
    }
    fn check_resource(lease: &Lease) -> Result<(), CommandAnswer> {
        if lease.address.kind == ResourceKind::Address {
            return Ok(());
        }
        if lease.address.len == 0 {
            return Err(CommandAnswer::error("Invalid prefix length: 0"));
        }
        if lease.state == LeaseState::Declined {
            return Err(CommandAnswer::error("Invalid declined state for PD prefix."));
        }
        Ok(())
    }
}

/// Returns the address or prefix of a lease in a command, from `type` and, for a prefix,
/// `prefix-len`.
fn resource(fields: &ArgumentFields<'_>, address: Ipv6Addr) -> Result<Resource, CommandAnswer> {
    match fields.optional_text("type")? {
        None | Some("IA_NA") => Ok(Resource::address(address)),
        Some("IA_PD") => {
            let len: u8 = fields.number("prefix-len")?;
            if len == 0 || len > 128 {
                return Err(CommandAnswer::error(format!("Invalid prefix length: {len}")));
            }
            let resource = Resource::prefix(address, len);
            if resource.address == address {
                Ok(resource)
            } else {
                Err(CommandAnswer::error(format!(
                    "Prefix address: {address} exceeds prefix/prefix-len pair: {resource}"
                )))
            }
        }
        Some(other) => Err(CommandAnswer::error(format!(
            "Incorrect lease type: {other}, the only supported values are: IA_NA and IA_PD"
        ))),
    }
}
