//! DHCPv6 leases in control commands and their answers.

use core::net::{IpAddr, Ipv6Addr};

use dhcp_lease::v6::lease::HardwareSource;
use dhcp_lease::v6::resource::{Resource, ResourceKind};
use dhcp_lease::v6::{Lease, V6};
use dhcp_lease::{ClientId, HardwareAddress, LeaseState};
use serde_json::{Map, Value, json};

use super::lease_fields::{
    CommandLeaseFields, DUID_OCTETS, common, hardware, identifier, subnet_for,
};
use crate::answer::CommandAnswer;
use crate::arguments::ArgumentFields;
use crate::family::{CommandFamily, FromCommand, LeaseFields};
use crate::ip_version::IpVersion;
use crate::subnet_facts::SubnetFacts;
use crate::text::colon_hex;

/// DUID that Kea shows for a DHCPv6 lease without a client: 00:00:00.
const EMPTY_DUID: [u8; 3] = [0; 3];

impl CommandFamily for V6 {
    type Ip = Ipv6Addr;
    type Kind = ResourceKind;
    type Other = dhcp_lease::v4::V4;
    const VERSION: IpVersion = IpVersion::V6;
    const FIRST: Ipv6Addr = Ipv6Addr::UNSPECIFIED;
    const USUAL_KIND: ResourceKind = ResourceKind::Address;

    fn ip(address: Resource) -> Ipv6Addr {
        address.address
    }

    fn address(lease: &Lease) -> Resource {
        lease.resource
    }

    fn resource_text(lease: &Lease) -> String {
        match lease.resource.kind {
            ResourceKind::Address => format!("address {}", lease.resource),
            ResourceKind::Prefix => format!("prefix {}", lease.resource),
        }
    }

    fn kind(lease: &Lease) -> ResourceKind {
        lease.resource.kind
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

    fn common(lease: &Lease) -> LeaseFields<'_> {
        common!(lease)
    }

    fn user_context(lease: &mut Lease) -> &mut Box<str> {
        &mut lease.user_context
    }

    fn iaid(lease: &Lease) -> Option<u32> {
        Some(lease.iaid)
    }

    fn anonymous(lease: &Lease) -> Option<&'static str> {
        lease.duid.octets().is_empty().then_some(", has no DUID")
    }

    fn show_own(lease: &Lease, map: &mut Map<String, Value>) {
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("ip-address", json!(lease.resource.address.to_string()));
        put("type", json!(Self::kind_name(lease.resource.kind)));
        if lease.resource.kind == ResourceKind::Prefix {
            put("prefix-len", json!(lease.resource.len));
        }
        put("iaid", json!(lease.iaid));
        let duid = match lease.duid.octets() {
            [] => EMPTY_DUID.as_slice(),
            octets => octets,
        };
        put("duid", json!(colon_hex(duid)));
        put("preferred-lft", json!(lease.preferred_lifetime_s));
        if !lease.hardware.is_empty() {
            put("hw-address", json!(colon_hex(lease.hardware.octets())));
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
        let duid = identifier(fields.text("duid")?, DUID_OCTETS).map_err(CommandAnswer::error)?;
        let resource = resource(fields, address)?;
        let is_address = resource.kind == ResourceKind::Address;
        let subnet = subnet_for(fields, address.into(), is_address, subnet)?;
        let iaid = fields.number("iaid")?;
        let hardware = match fields.optional_text("hw-address")? {
            Some(text) => hardware(text).map_err(CommandAnswer::error)?,
            None => HardwareAddress::NONE,
        };
        let common = CommandLeaseFields::read(fields, &subnet, &address.to_string(), now_s)?;
        if common.state == LeaseState::Declined && !is_address {
            return Err(CommandAnswer::error("Invalid declined state for PD prefix."));
        }
        let preferred = fields.optional_number("preferred-lft")?;
        Ok(Lease {
            resource,
            duid: ClientId::new(if duid == EMPTY_DUID { &[] } else { &duid }),
            iaid,
            valid_lifetime_s: common.valid_lifetime_s,
            preferred_lifetime_s: preferred.unwrap_or(subnet.valid_lifetime_s),
            cltt_s: common.cltt_s,
            subnet_id: subnet.id,
            pool_id: common.pool_id,
            fqdn_fwd: common.fqdn_fwd,
            fqdn_rev: common.fqdn_rev,
            hostname: common.hostname,
            hardware,
            hardware_source: HardwareSource::Unknown,
            state: common.state,
            user_context: common.user_context,
        })
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
