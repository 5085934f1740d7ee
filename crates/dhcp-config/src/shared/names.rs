//! Reader of the settings of clients' host names: `dhcp-ddns`, and the keys `ddns-...` and
//! `hostname-char-...` of the global scope, networks, subnets and pools. All keys are checked as
//! Kea does. Only the keys that shape the name of a client have an effect: those that Kea follows
//! also when it updates no DNS server.

use core::net::IpAddr;

use base::HostName;

use super::family::ConfigFamily;
use super::{CharacterSet, godwit, inactive};
use crate::context::ParseContext;
use crate::fields::{MapReader, U32};
use crate::json::JsonValue;
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

/// Configuration keys of a scope that shape the host name in replies to a client.
struct Keys {
    override_no_update: &'static str,
    override_client_update: &'static str,
    replace_client_name: &'static str,
    generated_prefix: &'static str,
    qualifying_suffix: &'static str,
}

const SCOPE: Keys = Keys {
    override_no_update: "ddns-override-no-update",
    override_client_update: "ddns-override-client-update",
    replace_client_name: "ddns-replace-client-name",
    generated_prefix: "ddns-generated-prefix",
    qualifying_suffix: "ddns-qualifying-suffix",
};

/// Configuration keys for host names before Kea 1.8, in the map `dhcp-ddns`.
const OLD: Keys = Keys {
    override_no_update: "override-no-update",
    override_client_update: "override-client-update",
    replace_client_name: "replace-client-name",
    generated_prefix: "generated-prefix",
    qualifying_suffix: "qualifying-suffix",
};

/// Reads the settings of a scope for its clients' host names.
pub(crate) fn read(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> NameKeys {
    let keys = shape(fields, &SCOPE, findings);
    fields.boolean("ddns-send-updates", findings);
    fields.boolean("ddns-update-on-renew", findings);
    conflict_resolution(fields, findings);
    times(fields, findings);
    keys
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

/// Reads the settings for host names under the given keys. Keys without effect that differ from
/// Kea's defaults are reported as an inactive feature; keys from before Kea 1.8 never have an
/// effect.
fn shape(fields: &mut MapReader<'_>, keys: &Keys, findings: &mut ParseContext) -> NameKeys {
    let has_effect = keys.replace_client_name == SCOPE.replace_client_name;
    let mut ddns_positions: Vec<SourcePosition> = Vec::new();
    for key in [keys.override_no_update, keys.override_client_update] {
        let set = fields.boolean(key, findings).filter(|setting| setting.value);
        ddns_positions.extend(set.map(|setting| setting.at));
    }
    let modes = [
        ("never", ReplaceName::Never),
        ("always", ReplaceName::Always),
        ("when-present", ReplaceName::WhenPresent),
        ("when-not-present", ReplaceName::WhenNotPresent),
    ];
    let at = fields.take(keys.replace_client_name).map(|entry| entry.at);
    let replace = fields.word(keys.replace_client_name, &modes, true, findings);
    if !has_effect && replace.is_some_and(|mode| mode != ReplaceName::Never) {
        ddns_positions.extend(at);
    }
    let generated_prefix = part_of_name(fields, keys.generated_prefix, findings);
    let qualifying_suffix = part_of_name(fields, keys.qualifying_suffix, findings);
    let differs = |text: Option<PositionedValue<&str>>, default: &str| {
        text.filter(|text| text.value != default).map(|text| text.at)
    };
    let character_set = characters(fields, findings);
    let character_replacement = replacement(fields, findings);
    if !has_effect {
        ddns_positions.extend(differs(qualifying_suffix, ""));
        let set = character_set.as_ref().filter(|set| set.value != CharacterSet::default());
        ddns_positions.extend(set.map(|set| set.at));
        ddns_positions.extend(differs(character_replacement, ""));
    }
    ddns_positions.into_iter().for_each(|at| findings.inactive(at, &inactive::DDNS));
    let owned = |text: Option<PositionedValue<&str>>| text.map(|text| text.value.to_owned());
    NameKeys {
        replace,
        generated_prefix: owned(generated_prefix),
        qualifying_suffix: owned(qualifying_suffix),
        character_set: character_set.map(|set| set.value),
        character_replacement: owned(character_replacement),
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

fn conflict_resolution(fields: &mut MapReader<'_>, findings: &mut ParseContext) {
    let modes = [
        ("check-with-dhcid", ()),
        ("no-check-with-dhcid", ()),
        ("check-exists-with-dhcid", ()),
        ("no-check-without-dhcid", ()),
    ];
    let old = fields.boolean("ddns-use-conflict-resolution", findings);
    let new = fields.take("ddns-conflict-resolution-mode").map(|entry| entry.at);
    fields.word("ddns-conflict-resolution-mode", &modes, false, findings);
    if let (Some(old), Some(new)) = (old, new) {
        let message = "`ddns-use-conflict-resolution` is the older form of \
                       `ddns-conflict-resolution-mode`";
        findings.error_with_second_position(old.at, message, "the other is at", new);
    }
}

/// Checks the times for which DNS resolvers may cache a name: `ddns-ttl`, or `ddns-ttl-percent` of
/// the lifetime with its bounds.
fn times(fields: &mut MapReader<'_>, findings: &mut ParseContext) {
    let fixed = fields.u32("ddns-ttl", findings);
    let percent = fields.float("ddns-ttl-percent", findings);
    let least = fields.u32("ddns-ttl-min", findings);
    let most = fields.u32("ddns-ttl-max", findings);
    let others = [
        ("ddns-ttl-percent", percent.map(|setting| setting.at)),
        ("ddns-ttl-min", least.map(|setting| setting.at)),
        ("ddns-ttl-max", most.map(|setting| setting.at)),
    ];
    for (key, at) in others {
        if let (Some(fixed), Some(at)) = (fixed, at) {
            let message = format!("`{key}` and `ddns-ttl` exclude each other");
            findings.error_with_second_position(at, message, "`ddns-ttl` is at", fixed.at);
        }
    }
    if let (Some(least), Some(most)) = (least, most)
        && most.value < least.value
    {
        let (min, max) = (least.value, most.value);
        let message = format!("`ddns-ttl-max` ({max} s) is below `ddns-ttl-min` ({min} s)");
        findings.error_with_second_position(most.at, message, "`ddns-ttl-min` is at", least.at);
    }
}

/// Checks the map `dhcp-ddns`, the connection to Kea's DNS update server.
pub(crate) fn dhcp_ddns<F: ConfigFamily>(value: &JsonValue, findings: &mut ParseContext) {
    const PORT: core::ops::RangeInclusive<i64> = 0..=65_535;
    let Some(mut fields) = MapReader::from_value(value, "`dhcp-ddns`", findings) else { return };
    let enable = fields.boolean("enable-updates", findings);
    if fields.take("enable-updates").is_none() {
        let help = "must be `true` or `false`";
        findings.error_help(value.at, "`dhcp-ddns` lacks `enable-updates`", help);
    }
    if let Some(enable) = enable.filter(|enable| enable.value) {
        findings.inactive(enable.at, &inactive::DDNS);
    }
    let server = address(&mut fields, "server-ip", findings);
    let sender = address(&mut fields, "sender-ip", findings);
    let server_port = fields.integer("server-port", PORT, findings);
    let sender_port = fields.integer("sender-port", PORT, findings);
    fields.integer("max-queue-size", U32, findings);
    fields.word("ncr-protocol", &[("UDP", ())], true, findings);
    fields.word("ncr-format", &[("JSON", ())], true, findings);
    shape(&mut fields, &OLD, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);

    let loopback = IpAddr::from([127, 0, 0, 1]);
    let server = server.map_or(loopback, |server| server.value);
    let Some(sender) = sender else { return };
    if sender.value.is_ipv4() != server.is_ipv4() {
        let message = format!(
            "`sender-ip` {} and `server-ip` {server} are of different \
                     families",
            sender.value
        );
        findings.error(sender.at, message);
    }
    let port =
        |setting: Option<PositionedValue<i64>>, default| setting.map_or(default, |port| port.value);
    if sender.value == server && port(sender_port, 0) == port(server_port, 53_001) {
        findings.error(sender.at, "`sender-ip` and `server-ip` are the same address and port");
    }
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
