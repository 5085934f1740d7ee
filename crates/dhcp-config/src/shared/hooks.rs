//! Reader of `hooks-libraries`: the built-in hook libraries and their parameters.

use super::class_list::{self, Classified};
use super::control::{FlexId, Hook};
use super::security::{self, PathPurpose};
use super::{godwit, inactive};
use crate::context::ParseContext;
use crate::fields::{MapReader, wrong_kind};
use crate::json::{JsonContent, JsonMember, JsonValue};
use crate::source::SourcePosition;
use base::nearest;

/// Built-in hook libraries, by the part of the file name between `libdhcp_` and `.so`.
const BUILT_IN: [(&str, Hook); 9] = [
    ("bootp", Hook::Bootp),
    ("class_cmds", Hook::ClassCommands),
    ("flex_id", Hook::FlexId),
    ("host_cmds", Hook::HostCommands),
    ("lease_cmds", Hook::LeaseCommands),
    ("mysql", Hook::Mysql),
    ("pgsql", Hook::Pgsql),
    ("stat_cmds", Hook::StatCommands),
    ("subnet_cmds", Hook::SubnetCommands),
];

/// Built-in hook libraries of a configuration, and their parameters.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) active: Vec<Hook>,
    pub(crate) flex_id: FlexId,
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
            paths_of_inactive(name, parameters, findings);
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
        self.active.push(hook);
        match parameters {
            Some(entry) if hook == Hook::FlexId => self.read_flex_id::<F>(&entry.value, findings),
            Some(entry) => no_parameters(hook, &entry.value, findings),
            None => {}
        }
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

/// Checks the paths among the parameters of the hook library `name`, which is not built in: the
/// file may be meant for Kea.
fn paths_of_inactive(name: &str, parameters: Option<&JsonMember>, findings: &mut ParseContext) {
    let scripts: &[&'static str] = match name {
        "run_script" => &["name"],
        "legal_log" | "forensic_log" => &["prerotate", "postrotate"],
        _ => return,
    };
    let Some(entries) = parameters.map(|entry| &entry.value) else { return };
    let JsonContent::Map(_) = &entries.kind else { return };
    let Some(mut fields) = MapReader::from_value(entries, "parameters", findings) else { return };
    for key in scripts {
        if let Some(script) = fields.text(key, findings) {
            security::path(PathPurpose::Script, key, script, findings);
        }
    }
    if name != "run_script"
        && let Some(folder) = fields.text("path", findings)
    {
        security::legal_log("path", folder, findings);
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
