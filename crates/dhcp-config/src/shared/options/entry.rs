//! Reader of one element of `option-data`.

use super::define::{self};
use super::definition::Definition;
use super::definitions::OptionKey;
use super::text::EncodedOptionBytes;
use super::{OptionSpace, check, hex, text};
use crate::context::ParseContext;
use crate::fields::{MapReader, text_of, wrong_kind};
use crate::json::{JsonContent, JsonValue};
use crate::shared::family::ConfigFamily;
use crate::shared::{godwit, other_keys};
use crate::source::{PositionedValue, SourcePosition};

/// Prefix of the names of vendors' option spaces.
const VENDOR: &str = "vendor-";

/// Option of `option-data`, in any space, without its sub-options.
#[derive(Debug)]
pub(super) struct OptionDataEntry {
    pub(super) at: SourcePosition,
    pub(super) space: String,
    pub(super) code: u16,
    /// Bytes of the option's fields, and of sub-options that were given with them as bytes.
    pub(super) octets: Vec<u8>,
    /// Number of bytes of the option's fields.
    pub(super) fields_len: usize,
    /// Name of the space of the option's sub-options.
    pub(super) encapsulates: Option<String>,
    pub(super) always_send: bool,
    pub(super) never_send: bool,
    /// Class tags of the option (`client-classes`).
    pub(super) tags: Vec<String>,
    /// Enterprise number of the option, if several options of its code may differ by that number.
    enterprise: Option<[u8; 4]>,
}

impl OptionDataEntry {
    /// Returns the key by which this option must differ from others in the list, with a last part
    /// that is true for an option without class tags.
    pub(super) fn list_key(&self) -> impl Ord + '_ {
        (&self.space, self.code, self.enterprise, self.tags.is_empty())
    }

    /// Returns the option's space in replies; `None` for sub-options of other options.
    pub(super) fn reply_space<F: ConfigFamily>(&self) -> Option<OptionSpace> {
        if self.space == F::SPACE {
            return Some(OptionSpace::Standard);
        }
        let number = self.space.strip_prefix(VENDOR)?.parse().ok().filter(|number| *number != 0);
        number.map(OptionSpace::Vendor)
    }
}

/// Reads one option, an element of `option-data`.
pub(super) fn read<F: ConfigFamily>(
    item: &JsonValue,
    findings: &mut ParseContext,
) -> Option<OptionDataEntry> {
    let mut fields = MapReader::from_value(item, "an option", findings)?;
    let space = fields.text("space", findings);
    let space = space.unwrap_or(PositionedValue { value: F::SPACE, at: item.at });
    let name = fields.text("name", findings);
    let code = fields.integer("code", define::codes::<F>(space.value), findings);
    let has_code = fields.take("code").is_some();
    let data = fields.take("data").map(|entry| &entry.value);
    let csv = fields.boolean("csv-format", findings).is_none_or(|csv| csv.value);
    let flag =
        |setting: Option<PositionedValue<bool>>| setting.is_some_and(|setting| setting.value);
    let always_send = flag(fields.boolean("always-send", findings));
    let never_send = flag(fields.boolean("never-send", findings));
    let tags = tags(&mut fields, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    other_keys::finish(fields, F::ELSEWHERE, findings);

    if !is_space::<F>(space, findings) || has_code && code.is_none() {
        return None;
    }
    // Without a value it can only prevent other options from being sent, and needs none.
    let csv = csv && !(never_send && data.is_none());
    let (number, definition) = identify::<F>(item.at, space.value, name, code, csv, findings)?;
    let definition = if data.is_some() || !never_send { definition.as_ref() } else { None };
    let EncodedOptionBytes { octets, fields_len, .. } =
        octets::<F>(item.at, data, csv, definition, findings)?;
    if space.value == F::SPACE && is_set_by_server::<F>(item.at, number, definition, findings) {
        return None;
    }
    if F::SUB_OPTION_WIDTH == 2 && octets.len() > usize::from(u16::MAX) {
        findings.error(item.at, format!("option {number} has more than 65535 bytes"));
        return None;
    }
    if space.value == F::SPACE && number == F::VENDOR_CLASS && !is_vendor_class::<F>(&octets) {
        let message = "a vendor class option has an enterprise number, then data, each with its \
                       length in front";
        findings.error_help(data.map_or(item.at, |data| data.at), message, F::VENDOR_CLASS_HELP);
        return None;
    }
    let has_enterprise =
        space.value == F::SPACE && [F::VENDOR_CLASS, F::VENDOR_OPTIONS].contains(&number);
    Some(OptionDataEntry {
        at: item.at,
        space: space.value.to_owned(),
        code: number,
        enterprise: if has_enterprise { octets.first_chunk().copied() } else { None },
        octets,
        fields_len,
        encapsulates: definition.and_then(|d| d.encapsulates.as_deref()).map(str::to_owned),
        always_send,
        never_send,
        tags,
    })
}

/// Reads the class tags of an option (`client-classes`), trimmed, without empty ones.
fn tags(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Vec<String> {
    let items = fields.list("client-classes", findings).iter();
    let names = items.filter_map(|item| text_of(item, "client-classes", findings));
    let names = names.map(|name| name.value.trim()).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Returns true if the bytes of a vendor class option are an enterprise number and pieces of data
/// after their lengths.
fn is_vendor_class<F: ConfigFamily>(octets: &[u8]) -> bool {
    let Some((_, mut rest)) = octets.split_first_chunk::<4>() else { return octets.is_empty() };
    while !rest.is_empty() {
        let width = F::SUB_OPTION_WIDTH;
        let Some((len, tail)) = rest.split_at_checked(width) else { return false };
        let len = len.iter().fold(0, |sum, &octet| sum << 8 | usize::from(octet));
        let Some((_, tail)) = tail.split_at_checked(len) else { return false };
        rest = tail;
    }
    true
}

/// Returns true if options can be in a space with the name `space`; reports an error if not.
fn is_space<F: ConfigFamily>(space: PositionedValue<&str>, findings: &mut ParseContext) -> bool {
    let families = ["dhcp4", "dhcp6"];
    if space.value != F::SPACE && families.contains(&space.value) {
        let message = format!("option space `{}` is for the other DHCP version", space.value);
        findings.error_help(space.at, message, format!("the one here is `{}`", F::SPACE));
        return false;
    }
    define::is_name(space, "an option space", findings)
}

/// Returns true if the server sets the option itself, and reports that.
fn is_set_by_server<F: ConfigFamily>(
    at: SourcePosition,
    number: u16,
    definition: Option<&Definition>,
    findings: &mut ParseContext,
) -> bool {
    let code = F::Code::try_from(number).ok().expect("checked against the range");
    let Some(instead) = F::set_by_server(code) else { return false };
    let name = definition.map_or("", |definition| &definition.name);
    let message = format!("option {number} ({name}) is set by the server itself");
    findings.warn_help(at, message, instead);
    true
}

/// Returns the code of an option and its definition, from the option's name, its code or both.
fn identify<F: ConfigFamily>(
    at: SourcePosition,
    space: &str,
    name: Option<PositionedValue<&str>>,
    code: Option<PositionedValue<i64>>,
    csv: bool,
    findings: &mut ParseContext,
) -> Option<(u16, Option<Definition>)> {
    let find = |key, findings: &ParseContext| findings.definitions.find::<F>(space, key).cloned();
    let of_space = if space == F::SPACE { String::new() } else { format!(" in space `{space}`") };
    if let Some(code) = code {
        let number = u16::try_from(code.value).expect("checked against the range");
        let definition = find(OptionKey::Code(number), findings);
        match (&definition, name) {
            (Some(definition), Some(name)) if definition.name != name.value => {
                let message =
                    format!("option {number} is `{}`, not `{}`", definition.name, name.value);
                findings.error(name.at, message);
                return None;
            }
            (None, _) if csv => {
                findings.error_help(
                    code.at,
                    format!("option {number} has no definition{of_space}"),
                    "define it with `option-def`, or give its value in hexadecimal, with \
                     `\"csv-format\": false`",
                );
                return None;
            }
            _ => return Some((number, definition)),
        }
    }
    let Some(name) = name else {
        findings.error(at, "an option needs `name` or `code`");
        return None;
    };
    if let Some(definition) = find(OptionKey::Name(name.value), findings) {
        return Some((definition.code, Some(definition)));
    }
    let message = format!("unknown option `{}`{of_space}", name.value);
    let names =
        if findings.may_suggest() { findings.definitions.names::<F>(space) } else { Vec::new() };
    let help = match base::nearest(name.value, names.into_iter()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "define it with `option-def`, or give it by `code`, with `\"csv-format\": false`"
            .to_owned(),
    };
    findings.error_help(name.at, message, help);
    None
}

/// Returns the bytes of an option's value, from text of the option's type or from hexadecimal
/// digits.
fn octets<F: ConfigFamily>(
    at: SourcePosition,
    data: Option<&JsonValue>,
    csv: bool,
    definition: Option<&Definition>,
    findings: &mut ParseContext,
) -> Option<EncodedOptionBytes> {
    let (at, text): (SourcePosition, &[u8]) = match data {
        None => (at, &[]),
        Some(JsonValue { at, kind: JsonContent::Text(text) }) => (*at, text),
        Some(JsonValue { at, kind }) => return wrong_kind(*at, "data", "a string", kind, findings),
    };
    let may_be_empty = F::LISTS_MAY_BE_EMPTY;
    let result = match definition {
        Some(definition) if csv => text::octets(definition, text, may_be_empty),
        Some(definition) => {
            hex::value(text).and_then(|octets| check::octets(definition, octets, may_be_empty))
        }
        None => hex::value(text).map(EncodedOptionBytes::from_octets),
    };
    match result {
        Ok(encoded) => {
            if let Some(unused) = encoded.unused {
                findings.warn_help(at, unused.message(), unused.help());
            }
            Some(encoded)
        }
        Err(reason) => {
            let message = match definition {
                Some(definition) => format!("option `{}`: {reason}", definition.name),
                None => reason,
            };
            findings.error(at, message);
            None
        }
    }
}
