//! Reader of `option-def`: options that the operator defines.

use std::borrow::Cow;

use super::definition::{Definition, Field};
use super::definitions::{Custom, OptionKey};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::shared::family::ConfigFamily;
use crate::shared::godwit;
use crate::source::PositionedValue;

/// Reads the option definitions of the global scope (`option-def`).
pub(crate) fn define<F: ConfigFamily>(fields: &mut MapReader<'_>, findings: &mut ParseContext) {
    for item in fields.list("option-def", findings) {
        if let Some(custom) = read::<F>(item, findings) {
            add::<F>(custom, 0, findings);
        }
    }
}

/// Reads the option definitions of a client class (`option-def`); they hold until [`end_class`]
/// gets the returned value.
pub(super) fn begin_class<F: ConfigFamily>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> usize {
    let mark = findings.definitions.len();
    if F::CLASS_CODES.is_empty() {
        return mark;
    }
    for item in fields.list("option-def", findings) {
        let Some(custom) = read::<F>(item, findings) else { continue };
        let code = custom.definition.code;
        if custom.space != F::SPACE || !F::CLASS_CODES.iter().any(|codes| codes.contains(&code)) {
            let message =
                format!("a client class cannot define option {code} of space `{}`", custom.space);
            findings.error_help(
                item.at,
                message,
                "a client class may define option 43 and options 224 to 254 only",
            );
            continue;
        }
        add::<F>(custom, mark, findings);
    }
    mark
}

/// Removes the option definitions of a client class, those from the mark `mark` on.
pub(super) fn end_class(mark: usize, findings: &mut ParseContext) {
    findings.definitions.truncate(mark);
}

/// Adds an option definition unless another one since `mark` or a standard one has its code or
/// name.
fn add<F: ConfigFamily>(custom: Custom, mark: usize, findings: &mut ParseContext) {
    let Custom { space, definition, at } = &custom;
    let keys = [OptionKey::Code(definition.code), OptionKey::Name(&definition.name)];
    let described = |key| match key {
        OptionKey::Code(code) => format!("option {code}"),
        OptionKey::Name(name) => format!("option `{name}`"),
    };
    let clash = keys
        .into_iter()
        .find_map(|key| Some((key, findings.definitions.since(mark, space, key)?.at)));
    if let Some((key, other)) = clash {
        let message = format!("{} of space `{space}` is defined already", described(key));
        findings.error_with_second_position(*at, message, "the other is at", other);
        return;
    }
    let standard = F::SPACES.iter().find(|standard| standard.name == space);
    let standard_key = keys.into_iter().find(|&key| {
        standard.is_some_and(|space| {
            let mut others = space.definitions.iter();
            others.any(|other| key.is_of(other) && !is_redefinable::<F>(space.name, other.code))
        })
    });
    if let Some(key) = standard_key {
        let message = format!("{} of space `{space}` is a standard option", described(key));
        if space.starts_with("vendor-") {
            findings.warn_help(*at, message, "this definition of it has no effect");
        } else {
            findings.error_help(*at, message, "standard options cannot be defined again");
        }
        return;
    }
    let is_standard = standard.is_some_and(|space| space.by_code(definition.code).is_some());
    if is_standard && !F::CLASS_CODES.iter().any(|codes| codes.contains(&definition.code)) {
        let message = format!("option {} of space `{space}` is standard in Kea 3", definition.code);
        findings.warn_help(*at, message, "this definition of it applies, as in Kea 2.2");
    }
    findings.definitions.push(custom);
}

/// Returns true if operators may define the standard option `code` of `space` anew.
fn is_redefinable<F: ConfigFamily>(space: &str, code: u16) -> bool {
    let mut spaces = F::REDEFINABLE.iter();
    spaces.any(|(name, codes)| *name == space && (codes.is_empty() || codes.contains(&code)))
}

/// Reads one option definition, an element of `option-def`.
fn read<F: ConfigFamily>(item: &JsonValue, findings: &mut ParseContext) -> Option<Custom> {
    let mut fields = MapReader::from_value(item, "an option definition", findings)?;
    for key in ["name", "code", "type"] {
        if fields.take(key).is_none() {
            let help = "write `\"name\": \"my-option\", \"code\": 224, \"type\": \"string\"`";
            findings.error_help(item.at, format!("an option definition lacks `{key}`"), help);
        }
    }
    let name = fields.text("name", findings);
    let space = fields.text("space", findings);
    let space = space.map_or(PositionedValue { value: F::SPACE, at: item.at }, |space| space);
    let code = fields.integer("code", codes::<F>(space.value), findings);
    let kind = fields.text("type", findings);
    let records = fields.text("record-types", findings);
    let array = fields.boolean("array", findings);
    let encapsulates = fields.text("encapsulate", findings).filter(|s| !s.value.is_empty());
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);

    let name = name.filter(|name| is_name(*name, "an option", findings));
    let is_good = is_name(space, "an option space", findings);
    let kind = kind.and_then(|kind| self::kind::<F>(kind, findings));
    let records = records.filter(|records| !records.value.trim().is_empty());
    let array = array.filter(|array| array.value);
    let fields = self::fields::<F>(kind?, records, array, findings);
    let encapsulates = encapsulates.filter(|inner| {
        is_name(*inner, "an option space", findings) && nests(*inner, space.value, array, findings)
    });
    let (fields, name, code) = (fields?, name?, code?);
    let has_room = !matches!(*fields, [Field::Binary | Field::Text]);
    let encapsulates = match encapsulates {
        Some(inner) if !has_room => {
            let message = format!(
                "options of space `{}` cannot follow the value of an option of type `binary` or \
                 `string`",
                inner.value
            );
            findings.warn_help(inner.at, message, "as in Kea, they are not sent");
            None
        }
        other => other,
    };
    is_good.then(|| Custom {
        space: space.value.to_owned(),
        definition: Definition {
            code: u16::try_from(code.value).expect("checked against the range"),
            name: Cow::Owned(name.value.to_owned()),
            fields: Cow::Owned(fields),
            array: array.is_some(),
            encapsulates: encapsulates.map(|inner| Cow::Owned(inner.value.to_owned())),
        },
        at: item.at,
    })
}

/// Returns the codes that options of the space `space` may have. Padding and the end mark exist
/// only in the family's own space.
pub(super) fn codes<F: ConfigFamily>(space: &str) -> core::ops::RangeInclusive<i64> {
    if space == F::SPACE { 1..=F::LAST_CODE } else { 0..=F::LAST_CODE.max(0xff) }
}

/// Checks the name of an option or space: letters, digits, hyphens and underscores, the last two
/// not at the ends.
pub(super) fn is_name(
    name: PositionedValue<&str>,
    what: &str,
    findings: &mut ParseContext,
) -> bool {
    let octets = name.value.as_bytes();
    let is_inner = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    let ends = [octets.first(), octets.last()];
    let is_good = octets.iter().all(is_inner)
        && ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric));
    if !is_good {
        let message = format!("`{}` cannot be the name of {what}", name.value);
        let help = "names are made of letters, digits, and hyphens and underscores inside";
        findings.error_help(name.at, message, help);
    }
    is_good
}

/// Type of an option that the operator defines, the value of `type`.
#[derive(Clone, Copy)]
enum OptionType {
    Empty,
    Record,
    Field(Field),
}

fn kind<F: ConfigFamily>(
    text: PositionedValue<&str>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<OptionType>> {
    let kinds = [
        ("binary", OptionType::Field(Field::Binary)),
        ("boolean", OptionType::Field(Field::Boolean)),
        ("empty", OptionType::Empty),
        ("fqdn", OptionType::Field(Field::Name)),
        ("int16", OptionType::Field(Field::I16)),
        ("int32", OptionType::Field(Field::I32)),
        ("int8", OptionType::Field(Field::I8)),
        ("ipv4-address", OptionType::Field(Field::Ipv4)),
        ("ipv6-address", OptionType::Field(Field::Ipv6)),
        ("ipv6-prefix", OptionType::Field(Field::Ipv6Prefix)),
        ("psid", OptionType::Field(Field::Psid)),
        ("record", OptionType::Record),
        ("string", OptionType::Field(Field::Text)),
        ("tuple", OptionType::Field(F::TUPLE)),
        ("uint16", OptionType::Field(Field::U16)),
        ("uint32", OptionType::Field(Field::U32)),
        ("uint8", OptionType::Field(Field::U8)),
    ];
    let kind = kinds.iter().find(|(name, _)| *name == text.value);
    if kind.is_none() {
        let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
        let message = format!("`{}` is not an option type", text.value);
        findings.error_help(text.at, message, format!("types are: {}", names.join(", ")));
    }
    kind.map(|&(_, value)| PositionedValue { value, at: text.at })
}

/// Returns the types of the fields of an option that the operator defines.
fn fields<F: ConfigFamily>(
    kind: PositionedValue<OptionType>,
    records: Option<PositionedValue<&str>>,
    array: Option<PositionedValue<bool>>,
    findings: &mut ParseContext,
) -> Option<Vec<Field>> {
    let types: Option<Vec<Field>> = match (kind.value, records) {
        (OptionType::Record, None) => {
            findings.error(kind.at, "an option of type `record` needs `record-types`");
            None
        }
        (OptionType::Record, Some(records)) => record::<F>(records, findings),
        (_, Some(records)) => {
            findings.error(records.at, "`record-types` is for type `record` only");
            None
        }
        (OptionType::Empty, None) => Some(Vec::new()),
        (OptionType::Field(field), None) => Some(vec![field]),
    };
    let types = types?;
    let last_is_bounded = types.last().is_some_and(|last| !last.is_greedy());
    if !last_is_bounded && let Some(array) = array {
        let message = "an array needs elements with a known end";
        findings.error_help(array.at, message, "`binary`, `string` and `empty` have no known end");
        return None;
    }
    Some(types)
}

/// Returns the types of the fields that `record-types` lists.
fn record<F: ConfigFamily>(
    records: PositionedValue<&str>,
    findings: &mut ParseContext,
) -> Option<Vec<Field>> {
    let names = records.value.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut fields = Vec::new();
    for name in names {
        match kind::<F>(PositionedValue { value: name, at: records.at }, findings)?.value {
            OptionType::Field(field) => fields.push(field),
            OptionType::Empty | OptionType::Record => {
                findings.error(records.at, format!("a record cannot have a field `{name}`"));
                return None;
            }
        }
    }
    let Some((_, inner)) = fields.split_last().filter(|(_, inner)| !inner.is_empty()) else {
        findings.error(records.at, "a record has at least two fields");
        return None;
    };
    if inner.iter().any(|field| field.is_greedy()) {
        let message = "`binary` and `string` can only be the last field of a record";
        findings.error(records.at, message);
        return None;
    }
    Some(fields)
}

/// Returns true if an option of `space` can have sub-options of the space `inner`.
fn nests(
    inner: PositionedValue<&str>,
    space: &str,
    array: Option<PositionedValue<bool>>,
    findings: &mut ParseContext,
) -> bool {
    if let Some(array) = array {
        findings.error_with_second_position(
            inner.at,
            "an array has no sub-options",
            "`array` is at",
            array.at,
        );
        return false;
    }
    if inner.value == space {
        findings.error(inner.at, format!("an option of space `{space}` cannot encapsulate it"));
        return false;
    }
    true
}
