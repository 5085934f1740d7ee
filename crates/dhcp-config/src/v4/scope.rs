//! Reader of DHCPv4 parameters that inner scopes inherit: global, shared network, subnet.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::Dhcp4Family;
use super::types::{ClassTerms4, Network4, Subnet4};
use crate::address::prefix;
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::shared::class_list::Classified;
use crate::shared::inactive;
use crate::shared::networks::LinkSelectors;
use crate::shared::pools::{EnclosingSubnet, PlacedRange};
use crate::shared::subnets::{Scoped, SubnetProperties};
use crate::shared::terms::{Bounded, InheritableTerms};
use crate::source::PositionedValue;

/// Maximum length of `server-hostname` in bytes: the field `sname` without its final zero (RFC 2131
/// §2).
pub(super) const MAX_SERVER_HOSTNAME: usize = 63;
/// Maximum length of `boot-file-name` in bytes: the field `file` without its final zero (RFC 2131
/// §2).
pub(super) const MAX_BOOT_FILE_NAME: usize = 127;

/// Inheritable DHCPv4 parameters that one scope sets, or after [`Scoped::inside`] all that hold in
/// it.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(super) terms: InheritableTerms<u8>,
    offer_lifetime: Option<PositionedValue<u32>>,
    pub(super) authoritative: Option<PositionedValue<bool>>,
    match_client_id: Option<PositionedValue<bool>>,
    next_server: Option<PositionedValue<Ipv4Addr>>,
    server_hostname: Option<String>,
    boot_file_name: Option<String>,
}

/// Keys of a DHCPv4 scope, set by the scope itself, that are checked after inheritance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnScopeKeys4 {
    valid: Bounded,
    authoritative: Option<PositionedValue<bool>>,
}

impl Scoped for Dhcp4Family {
    type Scope = Scope;
    type Own = OwnScopeKeys4;
    type Delegated = ();
    type Subnet = Subnet4;
    type Network = Network4;

    fn read_scope(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Scope {
        Scope {
            terms: InheritableTerms::read::<Self>(fields, findings),
            offer_lifetime: fields.u32("offer-lifetime", findings),
            authoritative: fields.boolean("authoritative", findings),
            match_client_id: fields.boolean("match-client-id", findings),
            next_server: fields.address("next-server", findings),
            server_hostname: name(fields, "server-hostname", MAX_SERVER_HOSTNAME, findings),
            boot_file_name: name(fields, "boot-file-name", MAX_BOOT_FILE_NAME, findings),
        }
    }

    fn own_keys(scope: &Scope) -> OwnScopeKeys4 {
        OwnScopeKeys4 { valid: scope.terms.valid, authoritative: scope.authoritative }
    }

    fn inside(scope: Scope, outer: &Scope) -> Scope {
        let Scope { server_hostname, boot_file_name, .. } = scope;
        Scope {
            terms: scope.terms.inside(&outer.terms),
            offer_lifetime: scope.offer_lifetime.or(outer.offer_lifetime),
            authoritative: scope.authoritative.or(outer.authoritative),
            match_client_id: scope.match_client_id.or(outer.match_client_id),
            next_server: scope.next_server.or(outer.next_server),
            server_hostname: server_hostname.or_else(|| outer.server_hostname.clone()),
            boot_file_name: boot_file_name.or_else(|| outer.boot_file_name.clone()),
        }
    }

    fn check_lifetimes(scope: &Scope, own_keys: OwnScopeKeys4, findings: &mut ParseContext) {
        scope.terms.valid.valid_lifetime(own_keys.valid, findings);
    }

    fn read_interface_id(
        _: &mut MapReader<'_>,
        _: &mut ParseContext,
    ) -> Option<PositionedValue<Vec<u8>>> {
        None
    }

    /// Checks a subnet's keys `4o6-...`, which assign DHCPv4-query messages (DHCPv4 over DHCPv6,
    /// RFC 7341) to it.
    fn check_own_keys(fields: &mut MapReader<'_>, findings: &mut ParseContext) {
        let interface = fields.text("4o6-interface", findings);
        let interface = interface.filter(|text| !text.value.is_empty()).map(|text| text.at);
        let id = fields.octets("4o6-interface-id", findings);
        let id = id.filter(|id| !id.value.is_empty()).map(|id| id.at);
        let subnet = fields.text("4o6-subnet", findings).filter(|text| !text.value.is_empty());
        if let Some(text) = subnet.filter(|text| prefix::<Ipv6Addr>(text.value).is_none()) {
            let message = format!("`4o6-subnet`: `{}` is not an IPv6 prefix", text.value);
            findings.error_help(text.at, message, "write it as `2001:db8::/32`");
        }
        let subnet = subnet.filter(|text| prefix::<Ipv6Addr>(text.value).is_some());
        for at in [interface, id, subnet.map(|text| text.at)].into_iter().flatten() {
            findings.inactive(at, &inactive::DHCP4O6);
        }
    }

    fn read_delegated(
        _: &[JsonValue],
        _: &EnclosingSubnet<Self>,
        _: &mut Vec<PlacedRange<Ipv4Addr>>,
        _: &mut ParseContext,
    ) {
    }

    fn delegated_items<'v>(_: &mut MapReader<'v>, _: &mut ParseContext) -> &'v [JsonValue] {
        &[]
    }

    /// Checks that all subnets of a shared network agree with it on `authoritative`: they give
    /// unknown clients the same answer.
    fn agree(network: &Scope, members: &[OwnScopeKeys4], findings: &mut ParseContext) -> bool {
        let authoritative = network.authoritative.is_some_and(|setting| setting.value);
        for setting in members.iter().filter_map(|member| member.authoritative) {
            if setting.value != authoritative {
                let message = format!("`authoritative` is {authoritative} for the shared network");
                findings.error_help(setting.at, message, "its subnets have to agree with it");
            }
        }
        authoritative
    }

    fn subnet(
        properties: SubnetProperties<Self>,
        scope: Scope,
        own_keys: OwnScopeKeys4,
        findings: &mut ParseContext,
    ) -> Subnet4 {
        let valid_lifetime = scope.terms.valid.valid_lifetime(own_keys.valid, findings);
        let times = scope.terms.times::<Self>(valid_lifetime, findings);
        let policy = scope.terms.policy;
        let value =
            |setting: Option<PositionedValue<bool>>, default| setting.map_or(default, |p| p.value);
        Subnet4 {
            id: properties.id,
            prefix: properties.prefix,
            network: properties.network,
            pools: properties.pools,
            relay_addresses: properties.link.relay_addresses,
            interface: properties.link.interface.map(|setting| setting.value),
            valid_lifetime,
            renew_timer_s: times.renew_timer_s,
            rebind_timer_s: times.rebind_timer_s,
            calculate_tee_times: times.calculate_tee_times,
            t1_percent: times.t1_percent,
            t2_percent: times.t2_percent,
            cache_threshold: times.cache_threshold,
            cache_max_age_s: times.cache_max_age_s,
            offer_lifetime_s: scope.offer_lifetime.map_or(0, |setting| setting.value),
            authoritative: value(scope.authoritative, false),
            match_client_id: value(scope.match_client_id, true),
            next_server: scope.next_server.map_or(Ipv4Addr::UNSPECIFIED, |setting| setting.value),
            server_hostname: scope.server_hostname.unwrap_or_default(),
            boot_file_name: scope.boot_file_name.unwrap_or_default(),
            names: scope.terms.names.settled(),
            options: scope.terms.options,
            guards: properties.link.guards,
            reservations: properties.reservations,
            reservation_modes: policy.reservation_modes(),
            allocator: policy.allocator(),
            adaptive_lease_time_threshold: policy.adaptive_threshold(),
            store_extended_info: policy.store_extended_info(),
        }
    }

    fn network(
        name: String,
        link: LinkSelectors<Ipv4Addr>,
        subnets: Vec<usize>,
        scope: Scope,
        authoritative: bool,
    ) -> Network4 {
        let interface = link.interface.map(|setting| setting.value);
        let relay_addresses = link.relay_addresses;
        Network4 {
            name,
            subnets,
            interface,
            relay_addresses,
            authoritative,
            options: scope.terms.options,
            guards: link.guards,
        }
    }
}

impl Classified for Dhcp4Family {
    type ClassTerms = ClassTerms4;
    const IS_V6: bool = false;

    fn read_class_terms(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> ClassTerms4 {
        let next_server = fields.address::<Ipv4Addr>("next-server", findings);
        if let Some(broadcast) = next_server.filter(|address| address.value.is_broadcast()) {
            findings.error(broadcast.at, "`next-server` cannot be the broadcast address");
        }
        ClassTerms4 {
            // Kea takes 0.0.0.0 as none.
            next_server: next_server
                .map(|address| address.value)
                .filter(|address| !address.is_unspecified()),
            server_hostname: name(fields, "server-hostname", MAX_SERVER_HOSTNAME, findings),
            boot_file_name: name(fields, "boot-file-name", MAX_BOOT_FILE_NAME, findings),
            offer_lifetime_s: fields.u32("offer-lifetime", findings).map(|setting| setting.value),
        }
    }

    fn shapes_leases(terms: &ClassTerms4) -> bool {
        terms.offer_lifetime_s.is_some()
    }
}

/// Reads the name under `key`, which must fit a fixed field of the DHCPv4 message. An empty one
/// counts as not set, as in Kea.
pub(super) fn name(
    fields: &mut MapReader<'_>,
    key: &'static str,
    most: usize,
    findings: &mut ParseContext,
) -> Option<String> {
    let text = fields.text(key, findings).filter(|text| !text.value.is_empty())?;
    let length = text.value.len();
    if length > most {
        findings.error(text.at, format!("`{key}` has {length} bytes; at most {most} are allowed"));
        return None;
    }
    Some(text.value.to_owned())
}
