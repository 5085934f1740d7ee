//! Reads parameters, options and permissions of a scope.

use super::{ModelReader, ScopeKind};
use crate::expression::{DataExpression, ExpressionReader};
use crate::lexer::{DhcpdToken, DhcpdTokenKind, FilePosition};
use crate::options::KnownOption;
use crate::options::value::{self, DeclaredValue, ValueFault};
use crate::parameters::{CARRIED, ParameterForm, left_out_statement};
use crate::settings::{ParameterValue, Permit, PermittedClients, Positioned, ScopeSettings};
use crate::statement::DhcpdStatement;

/// Help about host names in place of addresses.
const NAME_HELP: &str = "write the address in place of the name";

impl ModelReader {
    /// Reads one statement that is no declaration to `settings`.
    pub(super) fn parameter(
        &mut self,
        statement: &DhcpdStatement,
        kind: ScopeKind,
        settings: &mut ScopeSettings,
    ) {
        let keyword = statement.keyword();
        match keyword.as_str() {
            "option" | "supersede" | "default" | "append" | "prepend" | "send" => {
                self.option(statement, settings);
            }
            "authoritative" => put_flag(settings, "authoritative", statement.at, true),
            "not" if statement.begins(&["not", "authoritative"]) => {
                put_flag(settings, "authoritative", statement.at, false);
            }
            "allow" | "deny" | "ignore" => self.permission(statement, kind, settings),
            "vendor-option-space" => {
                let space = statement.words.get(1).and_then(DhcpdToken::word);
                let Some(space) = space else {
                    return self.error(statement.at, "`vendor-option-space` needs a name");
                };
                settings.vendor_space = Some(self.registry.canonical_space(space));
            }
            "lease" | "break" => {}
            _ => self.other_parameter(&keyword, statement, settings),
        }
    }

    fn other_parameter(
        &mut self,
        keyword: &str,
        statement: &DhcpdStatement,
        settings: &mut ScopeSettings,
    ) {
        if let Some((name, form)) = CARRIED.iter().find(|(name, _)| *name == keyword) {
            if let Some(value) = self.value(*form, statement) {
                settings.parameters.insert(name, Positioned { at: statement.at, value });
            }
            return;
        }
        let first = statement.words.get(1);
        if let Some(left_out) = left_out_statement(keyword) {
            let is_off = first
                .and_then(DhcpdToken::keyword)
                .is_some_and(|word| matches!(word.as_str(), "off" | "false" | "none" | "0"));
            if !is_off {
                let name = if keyword == "on" || keyword == "failover" {
                    statement.shown()
                } else {
                    keyword.to_owned()
                };
                self.findings.note(statement.at, name, left_out.effect, left_out.help);
            }
            return;
        }
        let shown = statement.words.first().map_or_else(String::new, DhcpdToken::shown);
        self.error(statement.at, format!("`{shown}` is no statement of dhcpd.conf"));
    }

    /// Returns the value of a parameter.
    fn value(&mut self, form: ParameterForm, statement: &DhcpdStatement) -> Option<ParameterValue> {
        let words = statement.after(1);
        let name = statement.keyword();
        let Some(first) = words.first() else {
            self.error(statement.at, format!("`{name}` needs a value"));
            return None;
        };
        let value = match (form, &first.kind) {
            (ParameterForm::Number, DhcpdTokenKind::Word(word)) => match word.as_str() {
                "infinite" | "-1" => Some(ParameterValue::Number(u32::MAX)),
                word => word.parse().ok().map(ParameterValue::Number),
            },
            (ParameterForm::Flag, DhcpdTokenKind::Word(word)) => {
                value::flag(word).map(ParameterValue::Flag)
            }
            (ParameterForm::Text, DhcpdTokenKind::Text(octets)) if words.len() == 1 => {
                Some(ParameterValue::Text(String::from_utf8_lossy(octets).into_owned()))
            }
            (ParameterForm::Text, _) => {
                self.expression_value(&name, statement);
                return None;
            }
            (ParameterForm::Address, DhcpdTokenKind::Word(word)) => {
                return match value::ipv4(word) {
                    Ok(address) => Some(ParameterValue::Text(address.to_string())),
                    Err(fault) => {
                        self.fault(&name, first.at, fault);
                        None
                    }
                };
            }
            _ => None,
        };
        if value.is_none() || words.len() > 1 {
            let shown = words.last().filter(|_| words.len() > 1).unwrap_or(first);
            let message = format!("`{}` is no value of `{name}`", shown.shown());
            self.error(shown.at, message);
        }
        value
    }

    fn expression_value(&mut self, name: &str, statement: &DhcpdStatement) {
        let effect = "its value is computed for each client";
        let help = "write client classes, each with a constant value";
        self.findings.note(statement.at, name, effect, help);
    }

    fn fault(&mut self, name: &str, at: FilePosition, fault: ValueFault) {
        match fault {
            ValueFault::Wrong(message) => self.error(at, format!("`{name}`: {message}")),
            ValueFault::HostName(host) => {
                let effect = format!("dhcpd looks `{host}` up when it starts");
                self.findings.note(at, name, effect, NAME_HELP);
            }
        }
    }

    fn option(&mut self, statement: &DhcpdStatement, settings: &mut ScopeSettings) {
        if statement.begins(&["option", "space"])
            || statement.words.get(2).is_some_and(|word| word.is_word("code"))
        {
            return;
        }
        let skipped = if statement.begins(&["supersede", "option"]) { 2 } else { 1 };
        let Some(word) = statement.words.get(skipped) else {
            return self.error(statement.at, "the option needs a name");
        };
        let name = word.word().unwrap_or_default();
        let Some(known) = self.registry.find(name) else {
            let message = format!("unknown option `{}`", word.shown());
            return self.error(word.at, message);
        };
        let values = statement.after(skipped + 1);
        let value = if values.first().is_some_and(|word| word.is_sign("=")) {
            self.computed(&known, values.get(1..).unwrap_or_default(), statement)
        } else {
            match value::parse(&known.layout, values) {
                Ok(value) => Some(value),
                Err(fault) => {
                    let at = values.first().map_or(statement.at, |first| first.at);
                    self.fault(&format!("option {name}"), at, fault);
                    None
                }
            }
        };
        if let Some(value) = value {
            settings.options.insert(known.key, Positioned { at: statement.at, value });
        }
    }

    /// Returns the value of `option NAME = EXPRESSION` if it does not depend on the client.
    fn computed(
        &mut self,
        known: &KnownOption,
        words: &[DhcpdToken],
        statement: &DhcpdStatement,
    ) -> Option<DeclaredValue> {
        let reader = ExpressionReader::new(words, &self.registry, statement.at).whole_data();
        if let Ok(DataExpression::Constant(octets)) = reader {
            return Some(DeclaredValue::from_octets(octets));
        }
        let effect = "its value is computed for each client";
        let help = "the hook library `flex_option` computes options";
        self.findings.note(statement.at, format!("option {}", known.name), effect, help);
        None
    }

    /// Reads `allow`, `deny` and `ignore`.
    fn permission(
        &mut self,
        statement: &DhcpdStatement,
        kind: ScopeKind,
        settings: &mut ScopeSettings,
    ) {
        let is_allowed = statement.begins(&["allow"]);
        let words: Vec<String> =
            statement.after(1).iter().filter_map(DhcpdToken::keyword).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let clients = match words[..] {
            ["unknown-clients"] | ["unknown", "clients"] => PermittedClients::Unknown,
            ["known-clients"] | ["known", "clients"] => PermittedClients::Known,
            ["all", "clients"] => PermittedClients::All,
            ["members", "of"] | ["members"] => {
                let name = statement.words.last();
                let Some(DhcpdToken { kind: DhcpdTokenKind::Text(name), .. }) = name else {
                    return self.error(statement.at, "the name of a class is missing");
                };
                PermittedClients::Members(String::from_utf8_lossy(name).into_owned())
            }
            _ => return self.other_permission(statement, &words, kind, settings),
        };
        // In pools a list of permissions is meant, elsewhere the default for clients without a
        // host declaration: to allow them is the default.
        if kind != ScopeKind::Pool && is_allowed && clients == PermittedClients::Unknown {
            settings.permits.retain(|permit| permit.clients != PermittedClients::Unknown);
            return;
        }
        settings.permits.push(Permit { is_allowed, clients });
    }

    fn other_permission(
        &mut self,
        statement: &DhcpdStatement,
        words: &[&str],
        kind: ScopeKind,
        settings: &mut ScopeSettings,
    ) {
        let is_allowed = statement.begins(&["allow"]);
        match (words, is_allowed) {
            (["booting"], false) => settings.ignored = Some(statement.at),
            // The defaults of dhcpd, or without an effect on clients.
            (["booting" | "bootp" | "duplicates" | "declines"], true)
            | (["client-updates" | "leasequery"], _) => {}
            (["bootp"], false) => {}
            (["dynamic", "bootp", "clients"], false) if kind == ScopeKind::Pool => {}
            (["duplicates" | "declines"] | ["after", ..] | ["dynamic", ..], _) => {
                let effect = "the server treats such clients apart";
                let help = "nothing corresponds";
                self.findings.note(statement.at, statement.shown(), effect, help);
            }
            (["authenticated" | "unauthenticated", "clients"], _) => {
                let effect = "authentication of clients was never written in dhcpd";
                self.findings.note(statement.at, statement.shown(), effect, "nothing to do");
            }
            _ => {
                let message = format!("`{}` is no permission of dhcpd.conf", statement.shown());
                self.error(statement.at, message);
            }
        }
    }
}

fn put_flag(settings: &mut ScopeSettings, name: &'static str, at: FilePosition, is_on: bool) {
    let value = ParameterValue::Flag(is_on);
    settings.parameters.insert(name, Positioned { at, value });
}
