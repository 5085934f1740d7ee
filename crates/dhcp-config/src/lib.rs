//! DHCP configuration: reads Kea's JSON dialect and returns a checked configuration.
//!
//! One run reports every problem of a file, each with file, line, column and, where there is one,
//! advice. The main text is a string, and an [`IncludeResolver`] supplies included files: this
//! crate opens no file, reads no clock and does not look up which interfaces exist. Keys, defaults
//! and scopes follow the manual of ISC Kea; Godwit's own settings are under `user-context.godwit`,
//! which Kea accepts and ignores, so that one file serves both servers.
//!
//! Structure: `json` turns text into values with positions, `fields` reads maps of them, `shared`
//! knows the keys that both servers have, [`v4`] and [`v6`] those of one. RFCs to read first: 8259
//! for JSON; 2131, 2132 and 9915 for what is configured.

mod address;
pub mod advise;
mod automata;
mod context;
mod diagnostics;
mod document;
pub mod expression;
mod fields;
mod json;
mod lenient;
mod problem;
mod shared;
mod source;
pub mod testing;
pub mod v4;
pub mod v6;

pub use document::{ConfigDocument, render};
pub use problem::{ConfigProblem, Severity};
pub use shared::options::{Definition, Field, OptionData, OptionSpace};
pub use shared::*;
pub use v4::{
    ClassTerms4, ClientClass4, Compatibility, Dhcp4, InterfacesConfig, Network4, OutboundInterface,
    Pool4, Reservation4, Reserved4, SocketType, Subnet4,
};
pub use v6::{
    ClassTerms6, ClientClass6, Dhcp6, InterfacesConfig6, MacSource, Network6, OptionData6, PdPool,
    Pool6, Reservation6, Reserved6, ReservedPrefix, ServerIdConfig, ServerIdType, Subnet6,
};

use context::ParseContext;
use json::JsonValue;
use source::Sources;

/// Source of the texts of files that a configuration includes by `<?include "file"?>`.
///
/// Kea takes such a name relative to the working directory of the server, not to the including
/// file, so within one parse equal names mean the same file.
pub trait IncludeResolver {
    /// Returns the text of the file `path`, which the file `including` includes.
    ///
    /// # Errors
    /// Returns the reason why the file cannot be read, as one phrase for the operator.
    fn read(&mut self, including: &str, path: &str) -> Result<String, String>;
}

/// Include resolver that refuses every include: for text that comes without files around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl IncludeResolver for NoIncludes {
    fn read(&mut self, _including: &str, _path: &str) -> Result<String, String> {
        Err("included files are not available here".to_owned())
    }
}

/// Configuration that passed every check, with its warnings.
#[derive(Clone, Debug)]
pub struct CheckedConfig<T> {
    /// Checked configuration, inheritance resolved.
    pub config: T,
    /// Configuration as the JSON document that control commands show.
    pub document: ConfigDocument,
    /// Warnings about the configuration, in the order of their positions in the text.
    pub warnings: Vec<ConfigProblem>,
}

/// Reads the configuration of a DHCPv4 server from `text` and checks it. `name` names `text` in
/// problems.
///
/// # Errors
/// Returns every problem of the text, warnings included, at least one of them of
/// [`Severity::Error`].
pub fn parse_dhcp4(
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
) -> Result<CheckedConfig<Dhcp4>, Vec<ConfigProblem>> {
    let options = ConfigParseOptions::default();
    parse_dhcp4_by(&options, name, text, resolver)
}

/// Reads the configuration of a DHCPv6 server from `text` and checks it. `name` names `text` in
/// problems.
///
/// # Errors
/// Returns every problem of the text, warnings included, at least one of them of
/// [`Severity::Error`].
pub fn parse_dhcp6(
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
) -> Result<CheckedConfig<Dhcp6>, Vec<ConfigProblem>> {
    let options = ConfigParseOptions::default();
    parse_dhcp6_by(&options, name, text, resolver)
}

/// Reads the configuration of a DHCPv4 server as [`parse_dhcp4`] does, without the subnets and
/// reservations that have errors: each of these becomes a warning instead of the errors.
///
/// # Errors
/// Returns every problem when the text is no JSON, or when an error lies outside of subnets and
/// reservations or in a subnet without `id`.
pub fn parse_dhcp4_lenient(
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
) -> Result<CheckedConfig<Dhcp4>, Vec<ConfigProblem>> {
    let options = ConfigParseOptions { is_lenient: true, ..ConfigParseOptions::default() };
    parse_dhcp4_by(&options, name, text, resolver)
}

/// Reads the configuration of a DHCPv6 server as [`parse_dhcp6`] does, without the subnets and
/// reservations that have errors: each of these becomes a warning instead of the errors.
///
/// # Errors
/// Returns the errors of [`parse_dhcp4_lenient`].
pub fn parse_dhcp6_lenient(
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
) -> Result<CheckedConfig<Dhcp6>, Vec<ConfigProblem>> {
    let options = ConfigParseOptions { is_lenient: true, ..ConfigParseOptions::default() };
    parse_dhcp6_by(&options, name, text, resolver)
}

/// Reads a DHCPv4 reservation from outside of a configuration, a JSON map; `definitions` is the
/// list `option-def` by which its options are read. Returns the reservation with its warnings.
///
/// # Errors
/// Returns every problem of the reservation.
pub fn parse_host4(
    definitions: &str,
    host: &str,
) -> Result<(Reservation4, Vec<ConfigProblem>), Vec<ConfigProblem>> {
    parse_host::<v4::Dhcp4Family>(definitions, host)
}

/// Reads a DHCPv6 reservation from outside of a configuration, as [`parse_host4`] reads one of
/// DHCPv4.
///
/// # Errors
/// Returns every problem of the reservation.
pub fn parse_host6(
    definitions: &str,
    host: &str,
) -> Result<(Reservation6, Vec<ConfigProblem>), Vec<ConfigProblem>> {
    parse_host::<v6::Dhcp6Family>(definitions, host)
}

fn parse_host<F: hosts::ReservationFamily>(
    definitions: &str,
    host: &str,
) -> Result<(hosts::ReservationOf<F>, Vec<ConfigProblem>), Vec<ConfigProblem>> {
    let text = format!("{{ \"option-def\": {definitions}, \"reservations\": [ {host} ] }}");
    let (mut sources, mut findings) = (Sources::default(), ParseContext::default());
    let root = json::parse("a reservation", &text, &mut NoIncludes, &mut sources, &mut findings);
    let host = root.and_then(|root| {
        let mut fields = fields::MapReader::from_value(&root, "a host", &mut findings)?;
        options::define::<F>(&mut fields, &mut findings);
        // The callers check addresses of databases, as for addresses of global reservations.
        let scope = hosts::HostScope { prefix: None, is_address_unique: false };
        let items = fields.list("reservations", &mut findings);
        hosts::read::<F>(items, &scope, &mut findings).pop()
    });
    let failed = findings.has_errors();
    let problems = findings.into_problems(&sources);
    match host {
        Some(host) if !failed => Ok((host, problems)),
        _ => Err(problems),
    }
}

/// Options of reading a configuration: leniency and security rules.
#[derive(Clone, Debug, Default)]
pub struct ConfigParseOptions {
    /// True if the reader leaves out subnets and reservations that have errors, as
    /// [`parse_dhcp4_lenient`] does.
    pub is_lenient: bool,
    /// Rules for the paths, sockets and secrets that a configuration may name.
    pub policy: SecurityPolicy,
}

/// Reads the configuration of a DHCPv4 server as `options` demands.
///
/// # Errors
/// Returns every problem of the text, warnings included, at least one of them of
/// [`Severity::Error`].
pub fn parse_dhcp4_by(
    options: &ConfigParseOptions,
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
) -> Result<CheckedConfig<Dhcp4>, Vec<ConfigProblem>> {
    parse(options, name, text, resolver, v4::read_root, &document::SHAPE4)
}

/// Reads the configuration of a DHCPv6 server as `options` demands.
///
/// # Errors
/// Returns every problem of the text, warnings included, at least one of them of
/// [`Severity::Error`].
pub fn parse_dhcp6_by(
    options: &ConfigParseOptions,
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
) -> Result<CheckedConfig<Dhcp6>, Vec<ConfigProblem>> {
    parse(options, name, text, resolver, v6::read_root, &document::SHAPE6)
}

fn parse<T>(
    options: &ConfigParseOptions,
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
    read_root: fn(&JsonValue, &mut ParseContext) -> Option<T>,
    shape: &'static document::DocumentSchema,
) -> Result<CheckedConfig<T>, Vec<ConfigProblem>> {
    let mut sources = Sources::default();
    let mut findings = ParseContext::with_security(options.policy.clone());
    let root = json::parse(name, text, resolver, &mut sources, &mut findings);
    let config_and_root = root.and_then(|mut root| {
        let is_lenient = options.is_lenient || godwit::is_lenient(&root);
        let config = if is_lenient && !findings.has_errors() {
            lenient::read(&mut root, &mut findings, read_root)
        } else {
            read_root(&root, &mut findings)
        };
        Some((config?, root))
    });
    let failed = findings.has_errors();
    let warnings = findings.into_problems(&sources);
    match config_and_root {
        Some((config, root)) if !failed => {
            Ok(CheckedConfig { config, document: ConfigDocument::new(root, shape), warnings })
        }
        _ => Err(warnings),
    }
}
