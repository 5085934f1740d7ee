//! Reader of a whole configuration of either family.

use super::config::DhcpConfig;
use super::hosts::{self, HostScope, ReservationOf};
use super::subnets::{Scope, Scoped, Subnets};
use super::{class_list, global, godwit, interfaces, options, other_keys};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::{self, JsonValue};
use crate::source::Sources;
use crate::{
    CheckedConfig, ConfigDocument, ConfigParseOptions, ConfigProblem, IncludeResolver, NoIncludes,
    lenient,
};

/// Reads a configuration from `text`, which problems name `name`, as `options` demands.
pub(crate) fn parse<F: Scoped>(
    options: &ConfigParseOptions,
    name: &str,
    text: &str,
    resolver: &mut dyn IncludeResolver,
) -> Result<CheckedConfig<DhcpConfig<F>>, Vec<ConfigProblem>> {
    let mut sources = Sources::default();
    let mut findings = ParseContext::with_security(options.policy.clone());
    findings.host_name.clone_from(&options.host_name);
    findings.server_names.clone_from(&options.server_names);
    let root = json::parse(name, text, resolver, &mut sources, &mut findings);
    let config_and_root = root.and_then(|mut root| {
        findings.secret_files = godwit::secret_files(&root, name, resolver);
        let is_lenient = options.is_lenient || godwit::is_lenient(&root);
        let config = if is_lenient && !findings.has_errors() {
            lenient::read::<F>(&mut root, &mut findings)
        } else {
            read::<F>(&root, &mut findings)
        };
        Some((config?, root))
    });
    let failed = findings.has_errors();
    let warnings = findings.into_problems(&sources);
    match config_and_root {
        Some((config, root)) if !failed => {
            Ok(CheckedConfig { config, document: ConfigDocument::new(root, F::SCHEMA), warnings })
        }
        _ => Err(warnings),
    }
}

/// Reads a reservation from outside of a configuration, a JSON map. `definitions` is the list
/// `option-def`.
pub(crate) fn parse_host<F: Scoped>(
    definitions: &str,
    host: &str,
) -> Result<(ReservationOf<F>, Vec<ConfigProblem>), Vec<ConfigProblem>> {
    let text = format!("{{ \"option-def\": {definitions}, \"reservations\": [ {host} ] }}");
    let (mut sources, mut findings) = (Sources::default(), ParseContext::default());
    let root = json::parse("a reservation", &text, &mut NoIncludes, &mut sources, &mut findings);
    let host = root.and_then(|root| {
        let mut fields = MapReader::from_value(&root, "a host", &mut findings)?;
        options::define::<F>(&mut fields, &mut findings);
        // The callers check addresses of databases, as for addresses of global reservations.
        let scope = HostScope { prefix: None, is_address_unique: false };
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

/// Reads a whole configuration; returns `None` when it has no usable map of the server.
pub(crate) fn read<F: Scoped>(
    root: &JsonValue,
    findings: &mut ParseContext,
) -> Option<DhcpConfig<F>> {
    let mut fields = global::top::<F>(root, findings)?;
    let scope = Scope::<F>::read_global(&mut fields, findings);
    scope.check_lifetimes(scope.own_keys(), findings);
    let mut global = global::read::<F>(&mut fields, findings);
    let compatibility = global::compatibility::<F>(&mut fields, findings);
    let interfaces = interfaces::read::<F>(&mut fields, findings);
    let own = F::read_global(&mut fields, &scope.own, findings);
    let client_classes = class_list::classes::<F>(&mut fields, findings);
    let reservations = fields.list("reservations", findings);
    let is_address_unique = global.ip_reservations_unique;
    let networks = fields.list("shared-networks", findings);
    let subnets = fields.list(F::SUBNETS, findings);
    other_keys::finish(fields, F::ELSEWHERE, findings);

    let (subnets, networks) =
        Subnets::<F>::read_all(networks, subnets, &scope, is_address_unique, findings);
    let global_scope = HostScope { prefix: None, is_address_unique };
    let reservations = hosts::read::<F>(reservations, &global_scope, findings);
    global.complete(findings);
    Some(DhcpConfig {
        global,
        subnets,
        networks,
        interfaces,
        options: scope.terms.options,
        compatibility,
        client_classes,
        reservations,
        reservation_modes: scope.terms.policy.reservation_modes(),
        own,
    })
}
