//! DHCP configuration: reads Kea's JSON dialect and returns a checked configuration.
//!
//! One run reports every problem of a file, each with file, line, column and, where there is one,
//! advice. The main text is a string, and an [`IncludeResolver`] supplies included files: this
//! crate opens no file, reads no clock and does not look up which interfaces exist. Keys, defaults
//! and scopes follow the manual of ISC Kea; Godwit's own settings are under `user-context.godwit`,
//! which Kea accepts and ignores, so that one file serves both servers.
//!
//! Structure: `json` turns text into values with positions, `fields` reads maps of them, `shared`
//! knows the keys that both servers have, [`v4`] and [`v6`] those of one, `ddns` those of the DNS
//! updater. RFCs to read first: 8259
//! for JSON; 2131, 2132 and 9915 for what is configured.

mod address;
pub mod advise;
mod automata;
mod context;
mod ddns;
mod diagnostics;
mod document;
pub mod expression;
mod fields;
mod json;
mod lenient;
mod problem;
mod schema;
mod shared;
mod source;
pub mod testing;
pub mod v4;
pub mod v6;

pub use ddns::{
    CheckedDdnsConfig, DdnsConfig, DdnsDomain, DdnsServer, TsigAlgorithm, TsigKey, UpdateZones,
    parse_ddns,
};
pub use document::{ConfigDocument, host_document4, host_document6, render};
pub use problem::{ConfigProblem, Severity};
pub use schema::schema;
pub use shared::options::{Definition, Field, OptionData, OptionSpace};
pub use shared::*;
pub use v4::{
    ClassTerms4, ClientClass4, Dhcp4, GlobalTerms4, OutboundInterface, Pool4, Reservation4,
    Reserved4, SocketTerms4, SocketType, Subnet4, SubnetTerms4,
};
pub use v6::{
    ClassTerms6, ClientClass6, Dhcp6, GlobalTerms6, MacSource, NetworkTerms6, OptionData6, PdPool,
    Pool6, Reservation6, Reserved6, ReservedPrefix, ServerIdConfig, ServerIdType, Subnet6,
    SubnetTerms6,
};

use base::{V4, V6};

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
    V4::read_config(&options, name, text, resolver)
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
    V6::read_config(&options, name, text, resolver)
}

/// Reads a DHCPv4 reservation as [`ReadConfig::read_host`] does.
///
/// # Errors
/// Returns every problem of the reservation.
pub fn parse_host4(
    definitions: &str,
    host: &str,
) -> Result<(Reservation4, Vec<ConfigProblem>), Vec<ConfigProblem>> {
    V4::read_host(definitions, host)
}

/// Reads a DHCPv6 reservation as [`ReadConfig::read_host`] does.
///
/// # Errors
/// Returns every problem of the reservation.
pub fn parse_host6(
    definitions: &str,
    host: &str,
) -> Result<(Reservation6, Vec<ConfigProblem>), Vec<ConfigProblem>> {
    V6::read_host(definitions, host)
}

/// Options of reading a configuration: leniency, security rules, and facts about the host.
#[derive(Clone, Debug, Default)]
pub struct ConfigParseOptions {
    /// True if the reader leaves out subnets and reservations that have errors: each of these
    /// becomes a warning instead of the errors. Errors remain when the text is no JSON, or when one
    /// lies outside of subnets and reservations or in a subnet without `id`.
    pub is_lenient: bool,
    /// Rules for the paths, sockets and secrets that a configuration may name.
    pub policy: SecurityPolicy,
    /// Name of the host, which may be the name of the server in a pair; empty if it is not known.
    pub host_name: String,
    /// Names of the server in its relationships of high availability, one for each, which precede
    /// those of the configuration (`this-server-name`); empty if the configuration decides.
    pub server_names: Vec<String>,
}

/// Family whose configurations this crate reads: [`V4`](base::V4) or [`V6`](base::V6).
pub trait ReadConfig: ConfigTypes {
    /// Reads the configuration of a server from `text`, as `options` demands, and checks it. `name`
    /// names `text` in problems.
    ///
    /// # Errors
    /// Returns every problem of the text, warnings included, at least one of them of
    /// [`Severity::Error`].
    fn read_config(
        options: &ConfigParseOptions,
        name: &str,
        text: &str,
        resolver: &mut dyn IncludeResolver,
    ) -> Result<CheckedConfig<DhcpConfig<Self>>, Vec<ConfigProblem>>;

    /// Reads a reservation from outside of a configuration, a JSON map; `definitions` is the list
    /// `option-def` by which its options are read. Returns the reservation with its warnings.
    ///
    /// # Errors
    /// Returns every problem of the reservation.
    fn read_host(
        definitions: &str,
        host: &str,
    ) -> Result<(ConfigReservation<Self>, Vec<ConfigProblem>), Vec<ConfigProblem>>;
}

/// Reservation as a configuration of the family `F` has it.
pub type ConfigReservation<F> =
    Reservation<<F as ConfigTypes>::OptionCode, <F as ConfigTypes>::OwnReserved>;

impl<F: subnets::Scoped> ReadConfig for F {
    fn read_config(
        options: &ConfigParseOptions,
        name: &str,
        text: &str,
        resolver: &mut dyn IncludeResolver,
    ) -> Result<CheckedConfig<DhcpConfig<F>>, Vec<ConfigProblem>> {
        root::parse(options, name, text, resolver)
    }

    fn read_host(
        definitions: &str,
        host: &str,
    ) -> Result<(ConfigReservation<F>, Vec<ConfigProblem>), Vec<ConfigProblem>> {
        root::parse_host::<F>(definitions, host)
    }
}
