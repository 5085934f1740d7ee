//! Reader of the settings that only the global scope of a DHCPv6 configuration has.

use std::collections::BTreeSet;

use super::options::definitions;
use super::server_id;
use super::types::{GlobalTerms6, MacSource};
use crate::context::ParseContext;
use crate::fields::{MapReader, text_of};
use crate::json::JsonContent;
use crate::shared::security;

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

/// Reads the settings that only the global scope of DHCPv6 has.
pub(super) fn read(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> GlobalTerms6 {
    let server_id = fields.take("server-id");
    let server_id = server_id.map(|entry| server_id::read(&entry.value, findings));
    let relay_supplied_options = relay_supplied_options(fields, findings);
    let mac_sources = mac_sources(fields, findings);
    let allow_registration = fields.boolean("allow-address-registration", findings);
    let data_directory = fields.text("data-directory", findings);
    let data_directory = data_directory.filter(|folder| !folder.value.is_empty());
    if let Some(folder) = data_directory {
        security::data_folder("data-directory", folder, findings);
    }
    GlobalTerms6 {
        server_id: server_id.unwrap_or_default(),
        relay_supplied_options,
        data_directory: data_directory.map(|folder| folder.value.to_owned()),
        allow_address_registration: allow_registration.is_none_or(|allow| allow.value),
        mac_sources,
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
