//! Reader of the settings of clients' host names: the keys `ddns-...` and `hostname-char-...` of
//! the global scope, networks, subnets and pools. All keys are checked as Kea does.

use core::net::IpAddr;

use base::HostName;

use super::CharacterSet;
use super::name_updates::{self, NameUpdateKeys};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::source::{PositionedValue, SourcePosition};

/// Default beginning of host names that the server makes from addresses.
const GENERATED_PREFIX: &str = "myhost";

/// Settings of a scope for its clients' host names; `None` inherits from the scope around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameKeys {
    /// Clients whose host name the server replaces by one that it makes
    /// (`ddns-replace-client-name`).
    pub replace: Option<ReplaceName>,
    /// Beginning of host names that the server makes from addresses (`ddns-generated-prefix`).
    pub generated_prefix: Option<String>,
    /// Domain that the server appends to host names (`ddns-qualifying-suffix`).
    pub qualifying_suffix: Option<String>,
    /// Characters that the server replaces in host names from clients (`hostname-char-set`).
    pub character_set: Option<CharacterSet>,
    /// Text that replaces characters of `character_set` (`hostname-char-replacement`).
    pub character_replacement: Option<String>,
    /// Settings of the DNS updates of the names.
    pub updates: NameUpdateKeys,
}

impl NameKeys {
    /// Returns the settings of this scope with unset ones taken from `outer`.
    #[must_use]
    pub fn inside(self, outer: &Self) -> Self {
        Self {
            replace: self.replace.or(outer.replace),
            generated_prefix: self.generated_prefix.or_else(|| outer.generated_prefix.clone()),
            qualifying_suffix: self.qualifying_suffix.or_else(|| outer.qualifying_suffix.clone()),
            character_set: self.character_set.or_else(|| outer.character_set.clone()),
            character_replacement: self
                .character_replacement
                .or_else(|| outer.character_replacement.clone()),
            updates: self.updates.inside(&outer.updates),
        }
    }

    /// Returns the settings of this scope with Kea's defaults for unset ones.
    #[must_use]
    pub(crate) fn settled(self) -> Self {
        self.inside(&Self {
            replace: Some(ReplaceName::default()),
            generated_prefix: Some(GENERATED_PREFIX.to_owned()),
            qualifying_suffix: Some(String::new()),
            character_set: Some(CharacterSet::default()),
            character_replacement: Some(String::new()),
            updates: NameUpdateKeys::usual(),
        })
    }
}

/// Clients whose host names the server replaces by generated ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplaceName {
    /// The server replaces no client's name.
    #[default]
    Never,
    /// The server replaces the name of every client.
    Always,
    /// The server replaces the names of clients that send one.
    WhenPresent,
    /// The server makes names for clients that send none.
    WhenNotPresent,
}

/// Words of `ddns-replace-client-name`.
const REPLACE_MODES: [(&str, ReplaceName); 4] = [
    ("never", ReplaceName::Never),
    ("always", ReplaceName::Always),
    ("when-present", ReplaceName::WhenPresent),
    ("when-not-present", ReplaceName::WhenNotPresent),
];

/// Reads the settings of a scope for its clients' host names.
pub(crate) fn read(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> NameKeys {
    let owned = |text: PositionedValue<&str>| text.value.to_owned();
    NameKeys {
        updates: name_updates::read(fields, findings),
        replace: fields.word("ddns-replace-client-name", &REPLACE_MODES, true, findings),
        generated_prefix: part_of_name(fields, "ddns-generated-prefix", findings).map(owned),
        qualifying_suffix: part_of_name(fields, "ddns-qualifying-suffix", findings).map(owned),
        character_set: characters(fields, findings).map(|set| set.value),
        character_replacement: replacement(fields, findings).map(owned),
    }
}

/// Reads the settings of a pool for its clients' host names. As in Kea the characters to replace
/// are those of its subnet.
pub(crate) fn read_of_pool(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> NameKeys {
    let keys = read(fields, findings);
    for key in ["hostname-char-set", "hostname-char-replacement"] {
        if let Some(at) = fields.take(key).map(|entry| entry.value.at) {
            let message = format!("`{key}` has no effect in a pool");
            findings.warn_help(at, message, "as in Kea, the value of the pool's subnet applies");
        }
    }
    NameKeys { character_set: None, character_replacement: None, ..keys }
}

/// Checks the keys for host names that Kea had in the map `dhcp-ddns` before version 1.8, which
/// have no effect. Those that differ from Kea's defaults are reported.
pub(super) fn old_keys(fields: &mut MapReader<'_>, findings: &mut ParseContext) {
    let mut set: Vec<(&str, SourcePosition)> = Vec::new();
    for key in ["override-no-update", "override-client-update"] {
        let flag = fields.boolean(key, findings).filter(|flag| flag.value);
        set.extend(flag.map(|flag| (key, flag.at)));
    }
    let at = fields.take("replace-client-name").map(|entry| entry.value.at);
    let replace = fields.word("replace-client-name", &REPLACE_MODES, true, findings);
    let replaces = replace.is_some_and(|mode| mode != ReplaceName::Never);
    set.extend(at.filter(|_| replaces).map(|at| ("replace-client-name", at)));
    let differs = |text: Option<PositionedValue<&str>>, default: &str| {
        text.filter(|text| text.value != default).map(|text| text.at)
    };
    let prefix = part_of_name(fields, "generated-prefix", findings);
    set.extend(differs(prefix, GENERATED_PREFIX).map(|at| ("generated-prefix", at)));
    let suffix = part_of_name(fields, "qualifying-suffix", findings);
    set.extend(differs(suffix, "").map(|at| ("qualifying-suffix", at)));
    let characters = characters(fields, findings);
    let characters = characters.filter(|set| set.value != CharacterSet::default());
    set.extend(characters.map(|characters| ("hostname-char-set", characters.at)));
    let replacement = replacement(fields, findings);
    set.extend(differs(replacement, "").map(|at| ("hostname-char-replacement", at)));
    for (key, at) in set {
        let message = format!("`{key}` has no effect in `dhcp-ddns`");
        let prefix = if key.starts_with("hostname") { "" } else { "ddns-" };
        let help = format!("set `{prefix}{key}` for all subnets, or in some of them");
        findings.warn_help(at, message, help);
    }
}

/// Reads the text of `key`, a prefix or suffix of host names. A text that cannot be part of a host
/// name is reported and has no effect.
fn part_of_name<'v>(
    fields: &mut MapReader<'v>,
    key: &'static str,
    findings: &mut ParseContext,
) -> Option<PositionedValue<&'v str>> {
    let text = fields.text(key, findings)?;
    if let Err(fault) = HostName::check(text.value) {
        findings.warn(text.at, format!("`{key}`: {fault}; it has no effect"));
        return None;
    }
    Some(text)
}

/// Reads `hostname-char-set`, the characters to replace in host names.
fn characters(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<CharacterSet>> {
    let text = fields.text("hostname-char-set", findings)?;
    match findings.automata.set(text.value) {
        Ok(value) => Some(PositionedValue { value, at: text.at }),
        Err(reason) => {
            let message = format!("`hostname-char-set` is not a regular expression: {reason}");
            let help = "write an extended regular expression that matches the characters to \
                        replace in names, such as `[^A-Za-z0-9.-]`";
            findings.error_help(text.at, message, help);
            None
        }
    }
}

/// Reads `hostname-char-replacement`, the text for replaced characters of host names.
fn replacement<'v>(
    fields: &mut MapReader<'v>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<&'v str>> {
    let text = fields.text("hostname-char-replacement", findings)?;
    let is_group = |pair: &[u8]| pair[0] == b'$' && matches!(pair[1], b'1'..=b'9');
    if text.value.as_bytes().windows(2).any(is_group) {
        let message = "`hostname-char-replacement` names a group of `hostname-char-set`";
        let help = "the server inserts nothing for it; `$&` is the whole match, `$$` a dollar sign";
        findings.warn_help(text.at, message, help);
    }
    Some(text)
}

/// Reads an IPv4 or IPv6 address from `key`; an empty text counts as not set.
pub(crate) fn address(
    fields: &mut MapReader<'_>,
    key: &'static str,
    findings: &mut ParseContext,
) -> Option<PositionedValue<IpAddr>> {
    let text = fields.text(key, findings).filter(|text| !text.value.is_empty())?;
    match text.value.parse() {
        Ok(value) => Some(PositionedValue { value, at: text.at }),
        Err(_) => {
            findings.error(text.at, format!("`{key}`: `{}` is not an address", text.value));
            None
        }
    }
}
