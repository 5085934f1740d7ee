//! Reader of the global scope of a DHCPv4 configuration.

use super::types::{Compatibility, Dhcp4, Network4, Subnet4};
use super::{Dhcp4Family, interfaces, scope::Scope};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::shared::hosts::{self, HostScope};
use crate::shared::subnets::{Scoped, Subnets};
use crate::shared::{class_list, family::ConfigFamily, global};

/// Flags of the map `compatibility` in a DHCPv4 configuration.
const COMPATIBILITY: [&str; 4] = [
    "lenient-option-parsing",
    "ignore-dhcp-server-identifier",
    "ignore-rai-link-selection",
    "exclude-first-last-24",
];

/// Reads a whole DHCPv4 configuration; returns `None` when it has no usable `Dhcp4`.
pub(crate) fn read_root(root: &JsonValue, findings: &mut ParseContext) -> Option<Dhcp4> {
    let fields = global::top::<Dhcp4Family>(root, findings)?;
    Some(read_global(fields, findings))
}

fn read_global(mut fields: MapReader<'_>, findings: &mut ParseContext) -> Dhcp4 {
    let scope = Dhcp4Family::read_scope(&mut fields, findings);
    Dhcp4Family::check_lifetimes(&scope, Dhcp4Family::own_keys(&scope), findings);
    let mut global = global::read::<Dhcp4Family>(&mut fields, findings);
    let compatibility = compatibility(&mut fields, findings);
    let interfaces = fields.take("interfaces-config");
    let interfaces = interfaces.map(|entry| interfaces::read(entry, findings));
    let echo_client_id = fields.boolean("echo-client-id", findings);
    let reservations = fields.list("reservations", findings);
    let stash_agent_options = fields.boolean("stash-agent-options", findings);
    let client_classes = class_list::classes::<Dhcp4Family>(&mut fields, findings);
    let is_address_unique = global.ip_reservations_unique;
    let networks = fields.list("shared-networks", findings);
    let subnets = fields.list(Dhcp4Family::SUBNETS, findings);
    crate::shared::other_keys::finish(fields, Dhcp4Family::ELSEWHERE, findings);

    let (mut subnets, mut networks) =
        Subnets::<Dhcp4Family>::read_all(networks, subnets, &scope, is_address_unique, findings);
    sort_by_id(&mut subnets, &mut networks);
    let global_scope = HostScope { prefix: None, is_address_unique };
    let reservations = hosts::read::<Dhcp4Family>(reservations, &global_scope, findings);
    global.inactive = findings.inactive_features();
    let Scope { authoritative, terms, .. } = scope;
    let reservation_modes = terms.policy.reservation_modes();
    Dhcp4 {
        global,
        subnets,
        networks,
        interfaces: interfaces.unwrap_or_default(),
        authoritative: authoritative.is_some_and(|setting| setting.value),
        options: terms.options,
        echo_client_id: echo_client_id.is_none_or(|setting| setting.value),
        compatibility,
        client_classes,
        reservations,
        reservation_modes,
        stash_agent_options: stash_agent_options.is_some_and(|setting| setting.value),
    }
}

fn compatibility(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Compatibility {
    let [
        lenient_option_parsing,
        ignore_dhcp_server_identifier,
        ignore_rai_link_selection,
        exclude_first_last_24,
    ] = global::compatibility(COMPATIBILITY, fields, findings);
    Compatibility {
        lenient_option_parsing,
        ignore_dhcp_server_identifier,
        ignore_rai_link_selection,
        exclude_first_last_24,
    }
}

/// Sorts subnets by their ids, as Kea keeps them: of the subnets that fit a client, the server
/// selects the one with the lowest id.
fn sort_by_id(subnets: &mut [Subnet4], networks: &mut [Network4]) {
    subnets.sort_by_key(|subnet| subnet.id);
    networks.iter_mut().for_each(|network| network.subnets.clear());
    for (at, subnet) in subnets.iter().enumerate() {
        if let Some(network) = subnet.network.and_then(|network| networks.get_mut(network)) {
            network.subnets.push(at);
        }
    }
}
