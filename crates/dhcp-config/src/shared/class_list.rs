//! Reader of `client-classes`: the classes of the global scope, and the lists of class names of
//! other scopes.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::{ClassGuards, ClassTest, ClientClass};
use super::config::ConfigTypes;
use super::family::ConfigFamily;
use super::options;
use super::options::definition::Field;
use super::options::definitions::OptionKey;
use super::terms::{Bounded, BoundedKeys, VALID};
use super::types::Lifetime;
use super::{godwit, other_keys};
use crate::context::ParseContext;
use crate::expression::{
    ExpressionError, Pattern, TextExpression, Vocabulary, parse_condition, parse_text,
};
use crate::fields::{MapReader, text_of};
use crate::json::JsonValue;
use crate::source::{PositionedValue, SourcePosition};

/// Names of classes that the server assigns itself: they must not have a test.
const BUILT_IN: [&str; 4] = ["ALL", "KNOWN", "UNKNOWN", "BOOTP"];
/// Names of classes that decide whether a message is dropped or refused: they cannot wait until
/// after allocation.
const SPECIAL: [&str; 2] = ["DROP", "REJECT"];
/// Prefixes of class names that tests may use without a configured class: vendor classes, classes
/// of high availability, classes that hooks assign.
const PREFIXES: [&str; 4] = ["VENDOR_CLASS_", "HA_", "AFTER_", "EXTERNAL_"];

/// Family whose client classes the readers can read.
pub(crate) trait Classified: ConfigFamily {
    /// True for DHCPv6, false for DHCPv4.
    const IS_V6: bool;

    /// Reads the settings that only this family's client classes have.
    fn read_class_terms(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self::OwnClass;
    /// Returns true if the class settings `terms` affect leases, so that they have no effect in a
    /// class that is tested only once a lease exists (`only-in-additional-list`).
    fn shapes_leases(terms: &Self::OwnClass) -> bool;
}

type ClassOf<F> = ClientClass<<F as ConfigFamily>::Code, <F as ConfigTypes>::OwnClass>;

/// Reads the client classes of the global scope (`client-classes`).
pub(crate) fn classes<F: Classified>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<ClassOf<F>> {
    let mut classes = Vec::new();
    let mut names = BTreeMap::new();
    for item in fields.list("client-classes", findings) {
        classes.extend(class::<F>(item, &mut names, findings));
    }
    classes
}

fn class<F: Classified>(
    item: &JsonValue,
    names: &mut BTreeMap<String, SourcePosition>,
    findings: &mut ParseContext,
) -> Option<ClassOf<F>> {
    let mut fields = MapReader::from_value(item, "a client class", findings)?;
    let name = fields.text("name", findings);
    let test = test::<F>(&mut fields, names, findings);
    let only_in_additional_list = either(
        &mut fields,
        ["only-in-additional-list", "only-if-required"],
        |fields, key, findings| fields.boolean(key, findings),
        findings,
    );
    let options = options::class_list::<F>(&mut fields, findings);
    let valid_lifetime = lifetime(&mut fields, VALID, findings);
    let own = F::read_class_terms(&mut fields, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    other_keys::finish(fields, F::ELSEWHERE, findings);

    let Some(name) = name.filter(|name| !name.value.is_empty()) else {
        findings.error(item.at, "a client class needs a `name`");
        return None;
    };
    if let Some(&other) = names.get(name.value) {
        let message = format!("client class `{}` exists already", name.value);
        findings.error_with_second_position(name.at, message, "the other is at", other);
    }
    names.entry(name.value.to_owned()).or_insert(name.at);
    if let Some(test) = &test
        && BUILT_IN.contains(&name.value)
    {
        let message =
            format!("the server itself assigns class `{}`, so it takes no test", name.value);
        findings.error(test.at, message);
    }
    if let Some(only) = only_in_additional_list.filter(|only| only.value) {
        if BUILT_IN.contains(&name.value) || SPECIAL.contains(&name.value) {
            let message = format!(
                "class `{}` cannot have `only-in-additional-list`: the server evaluates it before \
                 it chooses a lease",
                name.value
            );
            findings.error(only.at, message);
        } else if valid_lifetime.is_some() || F::shapes_leases(&own) {
            let message = "with `only-in-additional-list` the server evaluates the class after it \
                           has chosen a lease: lifetimes of the class have no effect";
            findings.warn(only.at, message);
        }
    }
    Some(ClientClass {
        name: name.value.to_owned(),
        test: test.and_then(|test| test.value),
        only_in_additional_list: only_in_additional_list.is_some_and(|only| only.value),
        options,
        valid_lifetime,
        own,
    })
}

/// Reads the test of a client class and its position; returns `None` when the test cannot be used.
fn test<F: Classified>(
    fields: &mut MapReader<'_>,
    names: &BTreeMap<String, SourcePosition>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<Option<ClassTest>>> {
    let plain = fields.text("test", findings);
    let template = fields.text("template-test", findings);
    if let (Some(plain), Some(template)) = (plain, template) {
        let message = "a class has either `test` or `template-test`";
        findings.error_with_second_position(template.at, message, "`test` is at", plain.at);
    }
    let is_template = template.is_some();
    let text = template.or(plain)?;
    let source = text.value.to_owned();
    // A template may name any class, such as one that another template spawns.
    let names = (!is_template).then_some(names);
    let mut vocabulary =
        ConfigVocabulary::<F> { names, findings, family: core::marker::PhantomData };
    let parsed = if is_template {
        parse_text(text.value, &mut vocabulary).map(|text| ClassTest::Template { source, text })
    } else {
        parse_condition(text.value, &mut vocabulary)
            .map(|condition| ClassTest::Test { source, condition })
    };
    let value = parsed.map_err(|error| refuse(text.at, error, findings)).ok();
    Some(PositionedValue { value, at: text.at })
}

/// Parses an expression whose value is a string, and which may name any class.
pub(crate) fn text<F: Classified>(
    text: PositionedValue<&str>,
    findings: &mut ParseContext,
) -> Option<TextExpression> {
    parsed_text::<F>(text.value, findings).map_err(|error| refuse(text.at, error, findings)).ok()
}

/// Parses an expression whose value is a string, and which may name any class; reports nothing.
///
/// # Errors
///
/// The fault of the expression.
pub(super) fn parsed_text<F: Classified>(
    text: &str,
    findings: &mut ParseContext,
) -> Result<TextExpression, ExpressionError> {
    let mut vocabulary =
        ConfigVocabulary::<F> { names: None, findings, family: core::marker::PhantomData };
    parse_text(text, &mut vocabulary)
}

/// Reports the error of an expression at its position inside the string that begins at `at`.
fn refuse(at: SourcePosition, error: ExpressionError, findings: &mut ParseContext) {
    findings.error_inside(at, error.offset, error.message);
}

/// Vocabulary of the expressions of a configuration: the classes and options that they may name.
struct ConfigVocabulary<'n, F> {
    /// Names of the classes read so far; every class name is permitted when `None`.
    names: Option<&'n BTreeMap<String, SourcePosition>>,
    /// State of the parse, with the options that the file defines and its regular expressions.
    findings: &'n mut ParseContext,
    family: core::marker::PhantomData<F>,
}

impl<F: Classified> Vocabulary for ConfigVocabulary<'_, F> {
    fn is_v6(&self) -> bool {
        F::IS_V6
    }

    fn option_code(&self, name: &str) -> Option<u16> {
        let definitions = &self.findings.definitions;
        definitions.find::<F>(F::SPACE, OptionKey::Name(name)).map(|definition| definition.code)
    }

    fn holds_characters(&self, code: u16) -> bool {
        let definition = self.findings.definitions.find::<F>(F::SPACE, OptionKey::Code(code));
        definition
            .is_some_and(|definition| !definition.array && *definition.fields == [Field::Text])
    }

    fn values(&self, code: u16) -> Option<(Field, bool)> {
        // Kea applies definitions of private options of DHCPv4 after classification only.
        if F::CLASS_CODES.iter().any(|codes| codes.contains(&code)) {
            return None;
        }
        let definition = self.findings.definitions.find::<F>(F::SPACE, OptionKey::Code(code))?;
        let [field] = *definition.fields else { return None };
        definition.encapsulates.is_none().then_some((field, definition.array))
    }

    fn check_class(&mut self, name: &str) -> Result<(), String> {
        let begins = |prefix: &&str| name.len() > prefix.len() && name.starts_with(*prefix);
        if BUILT_IN.contains(&name) || PREFIXES.iter().any(begins) {
            return Ok(());
        }
        match self.names {
            Some(names) if !names.contains_key(name) => {
                let near = self
                    .findings
                    .may_suggest()
                    .then(|| base::nearest(name, names.keys().map(String::as_str)))
                    .flatten();
                let near = near.map(|near| format!("; did you mean `{near}`?"));
                let near = near.unwrap_or_default();
                Err(format!("no class `{name}` is defined before this one{near}"))
            }
            _ => Ok(()),
        }
    }

    fn pattern(&mut self, source: &str) -> Result<Pattern, String> {
        self.findings.automata.pattern(source)
    }
}

/// Reads a lifetime of a client class with its bounds: without the value, the bound that is set is
/// the value; a missing bound equals the value.
pub(crate) fn lifetime(
    fields: &mut MapReader<'_>,
    keys: BoundedKeys,
    findings: &mut ParseContext,
) -> Option<Lifetime> {
    let bounded = Bounded::read(fields, keys, findings);
    let (default, min, max) = (bounded.value, bounded.min, bounded.max);
    let any = default.or(min).or(max)?;
    if let (None, Some(min), Some(_)) = (default, min, max) {
        let message = format!("`{}` and `{}` need `{}`", keys.min, keys.max, keys.value);
        findings.error(min.at, message);
        return None;
    }
    let or_any =
        |setting: Option<PositionedValue<u32>>| setting.map_or(any.value, |setting| setting.value);
    let lifetime = Lifetime { default_s: any.value, min_s: or_any(min), max_s: or_any(max) };
    let Lifetime { default_s, min_s, max_s } = lifetime;
    if min_s > default_s || max_s < default_s {
        let message =
            format!("`{}` ({default_s} s) is not from {min_s} s to {max_s} s", keys.value);
        findings.error(any.at, message);
        return None;
    }
    Some(lifetime)
}

/// Reads the lists of class names of a network, subnet or pool.
pub(crate) fn guards(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> ClassGuards {
    let required = either(
        fields,
        ["client-classes", "client-class"],
        |fields, key, findings| match key {
            "client-class" => fields.text(key, findings).map(|name| PositionedValue {
                value: (!name.value.is_empty())
                    .then(|| name.value.to_owned())
                    .into_iter()
                    .collect(),
                at: name.at,
            }),
            _ => list(fields, key, findings),
        },
        findings,
    );
    let additional =
        either(fields, ["evaluate-additional-classes", "require-client-classes"], list, findings);
    let names =
        |setting: Option<PositionedValue<Vec<String>>>| setting.map_or_else(Vec::new, |p| p.value);
    ClassGuards { required: names(required), additional: names(additional) }
}

/// Reads the list of class names under `key`.
fn list(
    fields: &mut MapReader<'_>,
    key: &'static str,
    findings: &mut ParseContext,
) -> Option<PositionedValue<Vec<String>>> {
    let at = fields.take(key)?.at;
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for item in fields.list(key, findings) {
        let Some(name) = text_of(item, key, findings) else { continue };
        if name.value.is_empty() {
            findings.error(name.at, "a class name is empty");
        } else if seen.insert(name.value) {
            names.push(name.value.to_owned());
        }
    }
    Some(PositionedValue { value: names, at })
}

/// Reads the value under `key`, or else under its older name `old`.
fn either<'v, T>(
    fields: &mut MapReader<'v>,
    [key, old]: [&'static str; 2],
    read: impl Fn(&mut MapReader<'v>, &'static str, &mut ParseContext) -> Option<PositionedValue<T>>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<T>> {
    let (current, previous) = (read(fields, key, findings), read(fields, old, findings));
    if let (Some(current), Some(previous)) = (&current, &previous) {
        let message = format!("`{key}` and the older `{old}` exclude each other");
        findings.error_with_second_position(previous.at, message, "the other is at", current.at);
    }
    current.or(previous)
}
