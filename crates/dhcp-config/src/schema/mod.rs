//! JSON schema of configurations, made by the readers themselves: they read a sample that has each
//! kind of map once, and a recorder keeps the keys that they take, with the forms of the values. So
//! the schema has every key that the readers know, and no other.

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::context::ParseContext;
use crate::json::{self, JsonContent, JsonValue};
use crate::shared::root;
use crate::shared::subnets::Scoped;
use crate::source::{SourcePosition, Sources};
use crate::{NoIncludes, SecurityPolicy};

/// Sample of a DHCPv4 configuration, with each kind of map.
const SAMPLE4: &str = include_str!("sample4.json");
/// Sample of a DHCPv6 configuration, with each kind of map.
const SAMPLE6: &str = include_str!("sample6.json");

/// Form of the values of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// Form that the reader of the map does not say, such as a map.
    Any,
    Integer {
        low: i64,
        high: i64,
    },
    Number,
    Boolean,
    Text,
    /// One of several words.
    Words(Vec<&'static str>),
    List,
}

/// Keys of maps by the positions of the maps, with the forms of their values.
type KeyTable = BTreeMap<SourcePosition, BTreeMap<&'static str, KeyForm>>;

/// Recorder of the keys that readers take. Clones record to the same table.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyRecorder(Rc<RefCell<KeyTable>>);

impl KeyRecorder {
    /// Records that the map at `at` may have `key`. The first form of a key that says something is
    /// kept.
    pub(crate) fn record(&self, at: SourcePosition, key: &'static str, form: KeyForm) {
        let mut table = self.0.borrow_mut();
        let known = table.entry(at).or_default().entry(key).or_insert(KeyForm::Any);
        if *known == KeyForm::Any {
            *known = form;
        }
    }
}

/// Returns the JSON schema (draft 2020-12) of the configuration of a DHCPv6 server if `is_v6`, else
/// of a DHCPv4 server.
///
/// # Panics
/// Panics if the readers refuse the sample, which a test reads.
#[must_use]
pub fn schema(is_v6: bool) -> Value {
    if is_v6 {
        schema_of::<base::V6>("Dhcp6", SAMPLE6)
    } else {
        schema_of::<base::V4>("Dhcp4", SAMPLE4)
    }
}

fn schema_of<F: Scoped>(name: &str, sample: &str) -> Value {
    let mut sources = Sources::default();
    let mut findings = ParseContext::with_security(SecurityPolicy::default());
    let recorder = KeyRecorder::default();
    findings.keys = Some(recorder.clone());
    let root = json::parse("sample", sample, &mut NoIncludes, &mut sources, &mut findings);
    let root = root.expect("the sample is JSON");
    let config = root::read::<F>(&root, &mut findings);
    let has_failed = config.is_none() || findings.has_errors();
    let problems = findings.into_problems(&sources);
    assert!(!has_failed, "the sample is valid: {problems:?}");
    let table = recorder.0.borrow();
    let mut schema = of_value(&root, &table);
    if let Value::Object(members) = &mut schema {
        let about = format!("Configuration of {name}, in Kea's dialect");
        members.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        members.insert("title".into(), about.into());
        members.insert("required".into(), json!([name]));
    }
    schema
}

/// Returns the schema of values such as `sample`.
fn of_value(sample: &JsonValue, table: &KeyTable) -> Value {
    match &sample.kind {
        JsonContent::Map(members) => {
            let keys = table.get(&sample.at);
            let mut properties = Map::new();
            for (key, form) in keys.into_iter().flatten() {
                properties.insert((*key).to_owned(), of_form(form));
            }
            for member in members {
                let is_scalar =
                    !matches!(member.value.kind, JsonContent::Map(_) | JsonContent::List(_));
                let is_known = keys.is_none_or(|keys| keys.contains_key(&*member.key));
                if !is_scalar && is_known {
                    let inner = of_value(&member.value, table);
                    properties.insert(member.key.to_string(), inner);
                }
            }
            complete(&mut properties);
            let mut schema = json!({ "type": "object", "properties": properties });
            // A map that readers take no keys of may have any others.
            if let (Some(_), Value::Object(schema)) = (keys, &mut schema) {
                schema.insert("additionalProperties".into(), false.into());
            }
            schema
        }
        JsonContent::List(items) => {
            let items = items.iter().map(|item| of_value(item, table));
            let merged = items.reduce(merged).unwrap_or_else(|| json!({}));
            json!({ "type": "array", "items": merged })
        }
        JsonContent::Text(_) => json!({ "type": "string" }),
        JsonContent::Integer(_) => json!({ "type": "integer" }),
        _ => json!({}),
    }
}

/// Returns a schema of values that `left` or `right` describes: two items of one list.
fn merged(left: Value, right: Value) -> Value {
    let (Value::Object(mut left), Value::Object(right)) = (left, right) else { return json!({}) };
    if is_open(&left) {
        return Value::Object(right);
    }
    for (key, other) in right {
        let own = left.remove(&key);
        let whole = match own {
            Some(own @ Value::Object(_)) if other.is_object() => merged(own, other),
            Some(own) => own,
            None => other,
        };
        left.insert(key, whole);
    }
    Value::Object(left)
}

/// Returns true if `schema` says nothing about values, or about the items of a list.
fn is_open(schema: &Map<String, Value>) -> bool {
    let is_list = schema.get("type").is_some_and(|kind| kind == "array");
    schema.is_empty() || (is_list && !schema.contains_key("items"))
}

/// Keys that the file may have in place of another key, with the other key; the schema of a list's
/// items if the first has one value of the second.
const ALIASES: [(&str, &str, bool); 4] = [
    ("require-client-classes", "evaluate-additional-classes", false),
    ("output_options", "output-options", false),
    ("control-socket", "control-sockets", true),
    ("hosts-database", "hosts-databases", true),
];

/// Forms of keys that readers take without one, in whichever map they are.
const FORMS: [(&str, &str); 10] = [
    ("cert-file", "string"),
    ("cert-required", "boolean"),
    ("data", "string"),
    ("key-file", "string"),
    ("parameters", "object"),
    ("socket-address", "string"),
    ("socket-name", "string"),
    ("socket-port", "integer"),
    ("trust-anchor", "string"),
    ("user-context", "object"),
];

/// Completes the schemas of keys about which the sample says nothing.
fn complete(properties: &mut Map<String, Value>) {
    for (alias, key, is_item) in ALIASES {
        let known = properties.get(key).map(|known| if is_item { &known["items"] } else { known });
        if let Some(known) = known.cloned()
            && properties.contains_key(alias)
        {
            properties.insert(alias.to_owned(), known);
        }
    }
    for (key, kind) in FORMS {
        // The parameters of each hook library differ.
        if key == "parameters" && properties.contains_key(key) {
            properties.insert(key.to_owned(), json!({}));
        }
        let own = properties.get_mut(key).and_then(Value::as_object_mut);
        if let Some(own) = own.filter(|own| is_open(own)) {
            own.insert("type".to_owned(), kind.into());
        }
    }
}

fn of_form(form: &KeyForm) -> Value {
    match form {
        KeyForm::Any => json!({}),
        KeyForm::Integer { low, high } => {
            json!({ "type": "integer", "minimum": low, "maximum": high })
        }
        KeyForm::Number => json!({ "type": "number" }),
        KeyForm::Boolean => json!({ "type": "boolean" }),
        KeyForm::Text => json!({ "type": "string" }),
        KeyForm::Words(words) => json!({ "type": "string", "enum": words }),
        KeyForm::List => json!({ "type": "array" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the paths below `path` at which `schema` says nothing about the value.
    fn collect_open(schema: &Value, path: &str, open: &mut Vec<String>) {
        if schema.as_object().is_some_and(is_open) {
            open.push(path.to_owned());
        }
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            collect_open(inner, &format!("{path}/{key}"), open);
        }
        if let Some(inner) = schema.get("items") {
            collect_open(inner, &format!("{path}[]"), open);
        }
    }

    #[test]
    fn the_samples_have_each_kind_of_map() {
        for is_v6 in [false, true] {
            let mut open = Vec::new();
            collect_open(&schema(is_v6), "", &mut open);
            assert!(open.is_empty(), "samples lack these: {open:#?}");
        }
    }
}
