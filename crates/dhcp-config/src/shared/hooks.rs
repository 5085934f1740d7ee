//! Reader of `hooks-libraries`: the built-in hook libraries and their parameters.

use super::class_list::{self, Classified};
use super::control::{FlexId, Hook, RunScript};
use super::ddns_tuning::{self, DdnsTuning};
use super::high_availability::HaRelationship;
use super::lease_query::{self, LeaseQuery};
use super::legal_log::{self, LegalLog};
use super::security::{self, PathPurpose};
use super::{godwit, high_availability, inactive};
use crate::context::ParseContext;
use crate::fields::{MapReader, wrong_kind};
use crate::json::{JsonContent, JsonMember, JsonValue};
use crate::source::SourcePosition;
use base::nearest;

/// Built-in hook libraries, by the part of the file name between `libdhcp_` and `.so`.
const BUILT_IN: [(&str, Hook); 16] = [
    ("bootp", Hook::Bootp),
    ("class_cmds", Hook::ClassCommands),
    ("ddns_tuning", Hook::DdnsTuning),
    ("flex_id", Hook::FlexId),
    ("forensic_log", Hook::LegalLog),
    ("ha", Hook::HighAvailability),
    ("high_availability", Hook::HighAvailability),
    ("host_cmds", Hook::HostCommands),
    ("lease_cmds", Hook::LeaseCommands),
    ("lease_query", Hook::LeaseQuery),
    ("legal_log", Hook::LegalLog),
    ("mysql", Hook::Mysql),
    ("pgsql", Hook::Pgsql),
    ("run_script", Hook::RunScript),
    ("stat_cmds", Hook::StatCommands),
    ("subnet_cmds", Hook::SubnetCommands),
];

/// Built-in hook libraries of a configuration, and their parameters.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) active: Vec<Hook>,
    pub(crate) ddns_tuning: Option<DdnsTuning>,
    pub(crate) flex_id: FlexId,
    pub(crate) high_availability: Vec<HaRelationship>,
    pub(crate) lease_query: Option<LeaseQuery>,
    pub(crate) legal_log: Option<LegalLog>,
    pub(crate) run_script: Option<RunScript>,
}

/// Reads the hook libraries of a configuration (`hooks-libraries`).
pub(crate) fn read<F: Classified>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Hooks {
    let mut hooks = Hooks::default();
    for item in fields.list("hooks-libraries", findings) {
        hooks.library::<F>(item, findings);
    }
    hooks
}

impl Hooks {
    fn library<F: Classified>(&mut self, item: &JsonValue, findings: &mut ParseContext) {
        let Some(mut fields) = MapReader::from_value(item, "a hook library", findings) else {
            return;
        };
        if fields.take("library").is_none() {
            findings.error(item.at, "a hook library lacks `library`");
        }
        let library = fields.text("library", findings);
        let parameters = fields.take("parameters");
        godwit::refuse_inside::<F>(fields.context(findings), findings);
        fields.finish(findings);
        let Some(library) = library else { return };
        security::path(PathPurpose::HookLibrary, "library", library, findings);
        let Some(name) = own_name(library.value) else {
            findings.inactive(library.at, &inactive::UNKNOWN_HOOK);
            return;
        };
        if let Some(&(_, hook)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
            self.built_in::<F>(hook, library.at, parameters, findings);
        } else if let Some((_, feature)) = inactive::HOOKS.iter().find(|hook| hook.0 == name) {
            findings.inactive(library.at, feature);
        } else {
            let names = BUILT_IN.iter().map(|(name, _)| *name);
            match nearest(name, names.chain(inactive::HOOKS.iter().map(|(name, _)| *name))) {
                Some(near) => findings.error_help(
                    library.at,
                    format!("unknown hook library `{}`", library.value),
                    format!("did you mean `libdhcp_{near}.so`?"),
                ),
                None => findings.inactive(library.at, &inactive::UNKNOWN_HOOK),
            }
        }
    }

    fn built_in<F: Classified>(
        &mut self,
        hook: Hook,
        at: SourcePosition,
        parameters: Option<&JsonMember>,
        findings: &mut ParseContext,
    ) {
        if hook == Hook::Bootp && F::SPACE != "dhcp4" {
            findings.error(at, "the BOOTP library is for DHCPv4");
            return;
        }
        if self.active.contains(&hook) {
            findings.warn(at, "this hook library is loaded already");
            return;
        }
        if hook == Hook::HighAvailability {
            let value = parameters.map(|entry| &entry.value);
            self.high_availability = high_availability::read(at, value, findings);
            if !self.high_availability.is_empty() {
                self.active.push(hook);
            }
            return;
        }
        self.active.push(hook);
        match parameters {
            parameters if hook == Hook::LegalLog => {
                let value = parameters.map(|entry| &entry.value);
                self.legal_log = legal_log::read::<F>(at, value, findings);
            }
            _ if hook == Hook::DdnsTuning => {
                self.ddns_tuning = ddns_tuning::read::<F>(at, parameters, findings);
            }
            _ if hook == Hook::RunScript => self.read_run_script(at, parameters, findings),
            Some(entry) if hook == Hook::FlexId => self.read_flex_id::<F>(&entry.value, findings),
            Some(entry) if hook == Hook::LeaseQuery => {
                self.lease_query = lease_query::read::<F>(&entry.value, findings);
            }
            None if hook == Hook::LeaseQuery => {
                let help = "set `requesters`, the addresses of the relay agents that may query";
                findings.error_help(at, "`requesters` of lease_query is missing", help);
            }
            Some(entry) => no_parameters(hook, &entry.value, findings),
            None => {}
        }
    }

    /// Reads the parameters of run_script, with Kea's texts for errors.
    fn read_run_script(
        &mut self,
        at: SourcePosition,
        parameters: Option<&JsonMember>,
        findings: &mut ParseContext,
    ) {
        let mut name = None;
        if let Some(entry) = parameters {
            let Some(mut fields) =
                MapReader::from_value(&entry.value, "the parameters of run_script", findings)
            else {
                return;
            };
            if let Some(sync) = fields.take("sync")
                && !matches!(sync.value.kind, JsonContent::Bool(_))
            {
                findings.error(sync.value.at, "The 'sync' parameter must be a boolean");
            }
            if let Some(entry) = fields.take("name")
                && !matches!(entry.value.kind, JsonContent::Text(_))
            {
                findings.error(entry.value.at, "The 'name' parameter must be a string");
                return;
            }
            name = fields.text("name", findings);
            // As in Kea, other parameters have no effect.
            for other in fields.untaken_members() {
                if !matches!(&*other.key, "comment" | "user-context") {
                    let key = &other.key;
                    findings.warn(other.at, format!("run_script has no parameter `{key}`"));
                }
            }
        }
        let Some(name) = name else {
            let help = "name the script: `\"parameters\": { \"name\": \"...\" }`";
            return findings.error_help(at, "The 'name' parameter is mandatory", help);
        };
        security::path(PathPurpose::Script, "name", name, findings);
        self.run_script = Some(RunScript { name: name.value.to_owned() });
    }

    fn read_flex_id<F: Classified>(&mut self, value: &JsonValue, findings: &mut ParseContext) {
        let Some(mut fields) = MapReader::from_value(value, "the parameters of flex-id", findings)
        else {
            return;
        };
        let expression = fields.text("identifier-expression", findings);
        let expression = expression.filter(|text| !text.value.is_empty());
        self.flex_id.expression = expression.and_then(|e| class_list::text::<F>(e, findings));
        let replaces = fields.boolean("replace-client-id", findings);
        self.flex_id.replaces_client_id = replaces.is_some_and(|setting| setting.value);
        let ignores = fields.boolean("ignore-iaid", findings);
        self.flex_id.ignores_iaid = ignores.is_some_and(|setting| setting.value);
        let duid = fields.boolean("cid-as-rfc4361-duid", findings);
        self.flex_id.is_like_a_duid = duid.is_some_and(|setting| setting.value);
        godwit::refuse_inside::<F>(fields.context(findings), findings);
        fields.finish(findings);
    }
}

/// Reports parameters of a hook library that has none. `binding-variables` of the lease commands
/// have no effect in this server; Kea keeps them with leases.
fn no_parameters(hook: Hook, value: &JsonValue, findings: &mut ParseContext) {
    let JsonContent::Map(entries) = &value.kind else {
        wrong_kind::<()>(value.at, "parameters", "a map", &value.kind, findings);
        return;
    };
    let is_note = |entry: &&JsonMember| matches!(&*entry.key, "comment" | "user-context");
    for entry in entries.iter().filter(|entry| !is_note(entry)) {
        let is_known = hook == Hook::LeaseCommands && *entry.key == *"binding-variables";
        let message = if is_known {
            "`binding-variables` has no effect in this version of godwit".to_owned()
        } else {
            format!("this hook library has no parameter `{}`", entry.key)
        };
        findings.warn(entry.at, message);
    }
}

/// Returns the part of a hook library's file name between `libdhcp_` and `.so`, if it is named as
/// Kea's are.
fn own_name(library: &str) -> Option<&str> {
    let file = library.rsplit('/').next().unwrap_or(library);
    file.strip_prefix("libdhcp_")?.strip_suffix(".so")
}
