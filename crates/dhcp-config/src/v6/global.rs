//! Reader of the global scope of a DHCPv6 configuration.

use std::collections::BTreeSet;

use super::options::definitions;
use super::scope::Scope;
use super::types::{Dhcp6, InterfacesConfig6, MacSource, Network6, Subnet6};
use super::{Dhcp6Family, server_id};
use crate::context::ParseContext;
use crate::fields::{MapReader, text_of};
use crate::json::{JsonContent, JsonValue};
use crate::shared::class_list;
use crate::shared::family::ConfigFamily;
use crate::shared::global;
use crate::shared::hosts::{self, HostScope};
use crate::shared::interfaces::ListeningSettings;
use crate::shared::security;
use crate::shared::subnets::{Scoped, Subnets};

/// Code of the DHCPv6 option ERP Local Domain Name, which relay agents may always supply for the
/// client (RFC 6440).
const ERP_LOCAL_DOMAIN_NAME: u16 = 65;

/// Names of the sources from which Kea takes hardware addresses of DHCPv6 clients. `any` means all,
/// in this order.
const MAC_SOURCES: [(&str, MacSource); 11] = [
    ("raw", MacSource::Raw),
    ("client-link-addr-option", MacSource::ClientLinkAddress),
    ("rfc6939", MacSource::ClientLinkAddress),
    ("duid", MacSource::Duid),
    ("ipv6-link-local", MacSource::Ipv6LinkLocal),
    ("remote-id", MacSource::RemoteId),
    ("rfc4649", MacSource::RemoteId),
    ("subscriber-id", MacSource::SubscriberId),
    ("rfc4580", MacSource::SubscriberId),
    ("docsis-cmts", MacSource::DocsisCmts),
    ("docsis-modem", MacSource::DocsisModem),
];

/// Reads a whole DHCPv6 configuration; returns `None` when it has no usable `Dhcp6`.
pub(crate) fn read_root(root: &JsonValue, findings: &mut ParseContext) -> Option<Dhcp6> {
    let fields = global::top::<Dhcp6Family>(root, findings)?;
    Some(read_global(fields, findings))
}

fn read_global(mut fields: MapReader<'_>, findings: &mut ParseContext) -> Dhcp6 {
    let scope = Scope::read_global(&mut fields, findings);
    Dhcp6Family::check_lifetimes(&scope, Dhcp6Family::own_keys(&scope), findings);
    let mut global = global::read::<Dhcp6Family>(&mut fields, findings);
    let [lenient_option_parsing] =
        global::compatibility(["lenient-option-parsing"], &mut fields, findings);
    let interfaces = interfaces(&mut fields, findings);
    let server_id = fields.take("server-id");
    let server_id = server_id.map(|entry| server_id::read(&entry.value, findings));
    let relay_supplied_options = relay_supplied_options(&mut fields, findings);
    let mac_sources = mac_sources(&mut fields, findings);
    let allow_registration = fields.boolean("allow-address-registration", findings);
    let data_directory = fields.text("data-directory", findings);
    let data_directory = data_directory.filter(|folder| !folder.value.is_empty());
    if let Some(folder) = data_directory {
        security::data_folder("data-directory", folder, findings);
    }
    let client_classes = class_list::classes::<Dhcp6Family>(&mut fields, findings);
    let reservations = fields.list("reservations", findings);
    let is_address_unique = global.ip_reservations_unique;
    let networks = fields.list("shared-networks", findings);
    let subnets = fields.list(Dhcp6Family::SUBNETS, findings);
    crate::shared::other_keys::finish(fields, Dhcp6Family::ELSEWHERE, findings);

    let (mut subnets, mut networks) =
        Subnets::<Dhcp6Family>::read_all(networks, subnets, &scope, is_address_unique, findings);
    sort_by_id(&mut subnets, &mut networks);
    let global_scope = HostScope { prefix: None, is_address_unique };
    let reservations = hosts::read::<Dhcp6Family>(reservations, &global_scope, findings);
    global.inactive = findings.inactive_features();
    Dhcp6 {
        global,
        subnets,
        networks,
        interfaces,
        reservation_modes: scope.terms.policy.reservation_modes(),
        options: scope.terms.options,
        server_id: server_id.unwrap_or_default(),
        relay_supplied_options,
        lenient_option_parsing,
        client_classes,
        reservations,
        allow_address_registration: allow_registration.is_none_or(|allow| allow.value),
        mac_sources,
        data_directory: data_directory.map(|folder| folder.value.to_owned()),
    }
}

fn interfaces(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> InterfacesConfig6 {
    let entry = fields.take("interfaces-config");
    let fields =
        entry.and_then(|e| MapReader::from_value(&e.value, "`interfaces-config`", findings));
    let listening = fields.map(|fields| ListeningSettings::read::<Dhcp6Family>(fields, findings));
    let listening = listening.unwrap_or_default();
    InterfacesConfig6 {
        interfaces: listening.interfaces,
        re_detect: listening.re_detect,
        require_all_sockets: listening.require_all_sockets,
        socket_max_retries: listening.socket_max_retries,
        socket_retry_wait_ms: listening.socket_retry_wait_ms,
    }
}

/// Reads the options that relay agents may supply for clients (`relay-supplied-options`): codes as
/// text, or names.
fn relay_supplied_options(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Vec<u16> {
    let mut codes = vec![ERP_LOCAL_DOMAIN_NAME];
    for item in fields.list("relay-supplied-options", findings) {
        let Some(text) = text_of(item, "relay-supplied-options", findings) else { continue };
        let by_name = || definitions::by_name(text.value).map(|definition| definition.code);
        match text.value.parse().ok().filter(|code| *code != 0).or_else(by_name) {
            Some(code) => codes.push(code),
            None => {
                let message = format!("`{}` is neither an option code nor a name", text.value);
                findings.error(text.at, message);
            }
        }
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Reads the sources of clients' hardware addresses (`mac-sources`).
fn mac_sources(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Vec<MacSource> {
    let all_sources = || {
        let mut all: Vec<MacSource> = MAC_SOURCES.iter().map(|(_, source)| *source).collect();
        all.dedup();
        all
    };
    let Some(entry) = fields.take("mac-sources") else { return all_sources() };
    let items = fields.list("mac-sources", findings);
    if entry.value.kind == JsonContent::List(Box::default()) {
        findings.error_help(entry.value.at, "`mac-sources` is empty", "`\"any\"` is Kea's default");
    }
    let mut words: BTreeSet<&str> = BTreeSet::new();
    let mut sources = Vec::new();
    for item in items {
        let Some(text) = text_of(item, "mac-sources", findings) else { continue };
        let sources_of_word = match MAC_SOURCES.iter().find(|(name, _)| *name == text.value) {
            Some((_, source)) => vec![*source],
            None if text.value == "any" => all_sources(),
            None => {
                let names: Vec<&str> = MAC_SOURCES.iter().map(|(name, _)| *name).collect();
                let message = format!("`mac-sources` cannot hold `{}`", text.value);
                findings.error_help(
                    text.at,
                    message,
                    format!("valid values: any, {}", names.join(", ")),
                );
                continue;
            }
        };
        if !words.insert(text.value) {
            findings.error(text.at, format!("`{}` is in this list already", text.value));
        }
        // A source after `any`, or under a second name, changes nothing.
        sources.extend(
            sources_of_word
                .into_iter()
                .filter(|source| !sources.contains(source))
                .collect::<Vec<_>>(),
        );
    }
    sources
}

/// Sorts subnets by their ids, as Kea keeps them: of the subnets that fit a client, the server
/// selects the one with the lowest id.
fn sort_by_id(subnets: &mut [Subnet6], networks: &mut [Network6]) {
    subnets.sort_by_key(|subnet| subnet.id);
    networks.iter_mut().for_each(|network| network.subnets.clear());
    for (at, subnet) in subnets.iter().enumerate() {
        if let Some(network) = subnet.network.and_then(|network| networks.get_mut(network)) {
            network.subnets.push(at);
        }
    }
}
