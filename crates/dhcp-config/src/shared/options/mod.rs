//! `option-data`: configured options as octets ready to be sent.
//!
//! The tables of each family say which type each standard option has, `fields` turns text of such
//! a type into octets and checks octets given as such. RFCs to have read: 2132, 3397, 3442, 3646,
//! 5969, 7598.

mod definition;
mod fields;
mod hex;

pub use definition::{Definition, Field};
pub(crate) use definition::{array, by_code, by_name, one};
pub(crate) use hex::{binary_field, identifier as host_identifier};

use super::family::Family;
use super::{godwit, other_keys};
use crate::fields::{Fields, text_of};
use crate::json::{Kind, Value};
use crate::source::{At, Findings, Placed};

/// An option as configured: its value as it goes on the wire. `C` is the type of a code: `u8` in
/// DHCPv4, `u16` in DHCPv6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionData<C = u8> {
    /// Option code: 1 to 254 in DHCPv4, 1 to 65535 in DHCPv6.
    pub code: C,
    /// Where the code belongs.
    pub space: Space,
    /// The value without code and length, of any length (RFC 3396 splits it).
    pub octets: Vec<u8>,
    /// Sent to clients that did not ask for it, too.
    pub always_send: bool,
    /// Never sent; wins over `always_send`.
    pub never_send: bool,
    /// Class tags: only clients in one of these get it; everyone when empty.
    pub client_classes: Vec<String>,
}

/// The space of an option that replies carry. Sub-options of every other space are part of the
/// octets of the option that holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// The family's own options.
    #[default]
    Standard,
    /// Sub-options of a vendor's options with this enterprise number: inside option 125 in DHCPv4,
    /// option 17 in DHCPv6.
    Vendor(u32),
}

/// Reads `option-data` of a scope: what that scope itself sets, ordered by space and code. Of one
/// code, options with class tags come before the one without, which is for everyone else.
pub(crate) fn list<F: Family>(
    fields: &mut Fields<'_>,
    findings: &mut Findings,
) -> Vec<OptionData<F::Code>> {
    let mut options: Vec<(At, OptionData<F::Code>)> = Vec::new();
    for item in fields.list("option-data", findings) {
        if let Some(option) = option::<F>(item, findings) {
            options.push((item.at, option));
        }
    }
    in_order(options, findings)
}

fn in_order<C: Copy + Ord + core::fmt::Display>(
    mut options: Vec<(At, OptionData<C>)>,
    findings: &mut Findings,
) -> Vec<OptionData<C>> {
    options
        .sort_by_key(|(_, option)| (option.space, option.code, option.client_classes.is_empty()));
    // Of two for everyone, Kea sends the later one.
    options.reverse();
    options.dedup_by(|(at, earlier), (_, last)| {
        let same = (earlier.space, earlier.code) == (last.space, last.code)
            && earlier.client_classes.is_empty()
            && last.client_classes.is_empty();
        if same {
            let message = format!("option {} is set again later in this list", last.code);
            findings.warn_help(*at, message, "the later one is sent");
        }
        same
    });
    options.reverse();
    options.into_iter().map(|(_, option)| option).collect()
}

/// `client-classes` of an option: its class tags, trimmed, empty ones dropped.
fn tags(fields: &mut Fields<'_>, findings: &mut Findings) -> Vec<String> {
    let items = fields.list("client-classes", findings).iter();
    let names = items.filter_map(|item| text_of(item, "client-classes", findings));
    let names = names.map(|name| name.value.trim()).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Reads one element of `option-data`.
fn option<F: Family>(item: &Value, findings: &mut Findings) -> Option<OptionData<F::Code>> {
    let mut fields = Fields::of(item, "an option", findings)?;
    let name = fields.text("name", findings);
    let code = fields.integer("code", 1..=F::LAST_CODE, findings);
    let code_given = fields.take("code").is_some();
    let data = fields.take("data").map(|entry| &entry.value);
    let csv = fields.boolean("csv-format", findings).is_none_or(|csv| csv.value);
    let flag = |placed: Option<Placed<bool>>| placed.is_some_and(|placed| placed.value);
    let always_send = flag(fields.boolean("always-send", findings));
    let never_send = flag(fields.boolean("never-send", findings));
    let space = fields.text("space", findings);
    let client_classes = tags(&mut fields, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    other_keys::finish(fields, &[], F::ELSEWHERE, findings);

    if let Some(space) = space.filter(|space| space.value != F::SPACE) {
        let message =
            format!("option space `{}` is not supported by this version of godwit", space.value);
        findings.error_help(space.at, message, format!("`{}` is the one supported", F::SPACE));
        return None;
    }
    if code_given && code.is_none() {
        return None;
    }
    let (number, definition) = identify::<F>(item.at, name, code, csv, findings)?;
    let code = F::Code::try_from(number).ok().expect("checked against the range");
    if let Some(instead) = F::set_by_server(code) {
        let name = definition.map_or("", |definition| definition.name);
        let message = format!("option {number} ({name}) is set by the server itself");
        findings.warn_help(item.at, message, instead);
        return None;
    }
    let octets = octets::<F>(item.at, data, csv, definition, findings)?;
    Some(OptionData {
        code,
        space: Space::Standard,
        octets,
        always_send,
        never_send,
        client_classes,
    })
}

/// The code of an option and its definition, from its name, its code or both.
fn identify<F: Family>(
    at: At,
    name: Option<Placed<&str>>,
    code: Option<Placed<i64>>,
    csv: bool,
    findings: &mut Findings,
) -> Option<(u16, Option<&'static Definition>)> {
    if let Some(code) = code {
        let number = u16::try_from(code.value).expect("checked against the range");
        let definition = by_code(F::DEFINITIONS, number);
        match (definition, name) {
            (Some(definition), Some(name)) if definition.name != name.value => {
                let message =
                    format!("option {number} is `{}`, not `{}`", definition.name, name.value);
                findings.error(name.at, message);
                return None;
            }
            (None, _) if csv => {
                findings.error_help(
                    code.at,
                    format!("option {number} has no standard definition"),
                    "give its value in hexadecimal, with `\"csv-format\": false`",
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
    if let Some(definition) = by_name(F::DEFINITIONS, name.value) {
        return Some((definition.code, Some(definition)));
    }
    let message = format!("unknown option `{}`", name.value);
    let names = F::DEFINITIONS.iter().map(|definition| definition.name);
    match crate::suggest::nearest(name.value, names) {
        Some(near) => findings.error_help(name.at, message, format!("did you mean `{near}`?")),
        None => findings.error_help(
            name.at,
            message,
            "options beyond the standard ones are given by `code`, with `\"csv-format\": false`",
        ),
    }
    None
}

/// The octets of a value, from text of the option's type or from hexadecimal digits.
fn octets<F: Family>(
    at: At,
    data: Option<&Value>,
    csv: bool,
    definition: Option<&Definition>,
    findings: &mut Findings,
) -> Option<Vec<u8>> {
    let (at, text): (At, &[u8]) = match data {
        None => (at, &[]),
        Some(Value { at, kind: Kind::Text(text) }) => (*at, text),
        Some(Value { at, kind }) => {
            return crate::fields::wrong_kind(*at, "data", "a string", kind, findings);
        }
    };
    let result = match definition {
        Some(definition) if csv => fields::from_text(definition, text, F::LISTS_MAY_BE_EMPTY),
        Some(definition) => hex::value(text).and_then(|given| fields::check(definition, given)),
        None => hex::value(text).map(fields::Encoded::whole),
    };
    match result {
        Ok(encoded) => {
            if let Some(unused) = encoded.unused {
                findings.warn_help(at, unused.message(), unused.help());
            }
            Some(encoded.octets)
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
