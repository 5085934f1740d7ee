//! Reader of the parameters that only DHCPv4 has: those that inner scopes inherit (global, shared
//! network, subnet), of the global scope, of sockets, and of classes.

use core::net::{Ipv4Addr, Ipv6Addr};

use base::V4;

use super::types::{
    ClassTerms4, GlobalTerms4, OutboundInterface, SocketTerms4, SocketType, SubnetTerms4,
};
use crate::address::prefix;
use crate::context::ParseContext;
use crate::document::{DocumentSchema, SHAPE4};
use crate::fields::MapReader;
use crate::shared::class_list::Classified;
use crate::shared::subnets::{OwnScopeKeys, Scoped};
use crate::shared::{Lifetime, inactive};
use crate::source::PositionedValue;

/// Maximum length of `server-hostname` in bytes: the field `sname` without its final zero (RFC 2131
/// §2).
pub(super) const MAX_SERVER_HOSTNAME: usize = 63;
/// Maximum length of `boot-file-name` in bytes: the field `file` without its final zero (RFC 2131
/// §2).
pub(super) const MAX_BOOT_FILE_NAME: usize = 127;

/// Inheritable parameters that only DHCPv4 scopes set.
#[derive(Clone, Debug)]
pub(crate) struct Dhcp4Scope {
    offer_lifetime: Option<PositionedValue<u32>>,
    authoritative: Option<PositionedValue<bool>>,
    match_client_id: Option<PositionedValue<bool>>,
    next_server: Option<PositionedValue<Ipv4Addr>>,
    server_hostname: Option<String>,
    boot_file_name: Option<String>,
}

impl Scoped for V4 {
    type OwnScope = Dhcp4Scope;
    /// Setting `authoritative` of the scope.
    type OwnKeys = Option<PositionedValue<bool>>;
    type Delegated = ();
    const SCHEMA: &'static DocumentSchema = &SHAPE4;

    fn read_scope(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Dhcp4Scope {
        Dhcp4Scope {
            offer_lifetime: fields.u32("offer-lifetime", findings),
            authoritative: fields.boolean("authoritative", findings),
            match_client_id: fields.boolean("match-client-id", findings),
            next_server: fields.address("next-server", findings),
            server_hostname: name(fields, "server-hostname", MAX_SERVER_HOSTNAME, findings),
            boot_file_name: name(fields, "boot-file-name", MAX_BOOT_FILE_NAME, findings),
        }
    }

    fn read_global(
        fields: &mut MapReader<'_>,
        scope: &Dhcp4Scope,
        findings: &mut ParseContext,
    ) -> GlobalTerms4 {
        let mut flag = |key, default| value(fields.boolean(key, findings), default);
        GlobalTerms4 {
            authoritative: value(scope.authoritative, false),
            echo_client_id: flag("echo-client-id", true),
            stash_agent_options: flag("stash-agent-options", false),
        }
    }

    fn read_sockets(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> SocketTerms4 {
        let types = [("raw", SocketType::Raw), ("udp", SocketType::Udp)];
        let outbound = [
            ("same-as-inbound", OutboundInterface::SameAsInbound),
            ("use-routing", OutboundInterface::UseRouting),
        ];
        SocketTerms4 {
            socket_type: fields
                .word("dhcp-socket-type", &types, false, findings)
                .unwrap_or_default(),
            outbound: fields
                .word("outbound-interface", &outbound, false, findings)
                .unwrap_or_default(),
        }
    }

    fn own_keys(scope: &Dhcp4Scope) -> Option<PositionedValue<bool>> {
        scope.authoritative
    }

    fn inside(scope: Dhcp4Scope, outer: &Dhcp4Scope) -> Dhcp4Scope {
        let Dhcp4Scope { server_hostname, boot_file_name, .. } = scope;
        Dhcp4Scope {
            offer_lifetime: scope.offer_lifetime.or(outer.offer_lifetime),
            authoritative: scope.authoritative.or(outer.authoritative),
            match_client_id: scope.match_client_id.or(outer.match_client_id),
            next_server: scope.next_server.or(outer.next_server),
            server_hostname: server_hostname.or_else(|| outer.server_hostname.clone()),
            boot_file_name: boot_file_name.or_else(|| outer.boot_file_name.clone()),
        }
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

    /// Checks that all subnets of a shared network agree with it on `authoritative`: they give
    /// unknown clients the same answer.
    fn agree(network: &Dhcp4Scope, members: &[OwnScopeKeys<Self>], findings: &mut ParseContext) {
        let authoritative = value(network.authoritative, false);
        for setting in members.iter().filter_map(|member| member.own) {
            if setting.value != authoritative {
                let message = format!("`authoritative` is {authoritative} for the shared network");
                findings.error_help(setting.at, message, "its subnets have to agree with it");
            }
        }
    }

    fn own_subnet(
        scope: Dhcp4Scope,
        _valid: Lifetime,
        _own_keys: OwnScopeKeys<Self>,
        _delegated: (),
        _findings: &mut ParseContext,
    ) -> SubnetTerms4 {
        SubnetTerms4 {
            offer_lifetime_s: value(scope.offer_lifetime, 0),
            authoritative: value(scope.authoritative, false),
            match_client_id: value(scope.match_client_id, true),
            next_server: value(scope.next_server, Ipv4Addr::UNSPECIFIED),
            server_hostname: scope.server_hostname.unwrap_or_default(),
            boot_file_name: scope.boot_file_name.unwrap_or_default(),
        }
    }
}

fn value<T>(setting: Option<PositionedValue<T>>, default: T) -> T {
    setting.map_or(default, |setting| setting.value)
}

impl Classified for V4 {
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
