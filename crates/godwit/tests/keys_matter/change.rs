//! Variants of configurations: without a key, or with another value for it.

use serde_json::{Map, Number, Value};

use crate::common::manual::{FREE, scope_below};

/// Words that are values of some key, which refuses the words of others.
// tidy: table
const WORDS: [&str; 20] = [
    "iterative",
    "random",
    "flq",
    "hw-address",
    "duid",
    "client-id",
    "circuit-id",
    "flex-id",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "binary",
    "none",
    "LLT",
    "LL",
    "any",
    // Options of one or several addresses.
    "time-servers",
    "nisp-servers",
    "domain-name",
];

/// Words inside values, with their replacements.
const PARTS: [(&str, &str); 3] = [("uint8", "uint16"), ("uint16", "uint32"), ("uint32", "uint8")];

/// Returns the keys of `config`, the map inside `Dhcp4` or `Dhcp6`, each with its scope, in their
/// order. A key in several maps of a scope occurs as often.
pub(crate) fn keys(config: &Map<String, Value>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(&mut config.clone(), "G", &mut |scope, key, _| found.push((scope, key)));
    found
}

/// Function that may change a value.
type Visit<'a> = &'a mut dyn FnMut(String, String, &mut Value);

fn walk(map: &mut Map<String, Value>, scope: &str, visit: Visit<'_>) {
    for (key, value) in map.iter_mut() {
        visit(scope.to_owned(), key.clone(), value);
        if FREE.contains(&key.as_str()) {
            continue;
        }
        match value {
            Value::Object(inner) => walk(inner, scope_below(key), visit),
            Value::Array(items) => {
                for inner in items.iter_mut().filter_map(Value::as_object_mut) {
                    walk(inner, scope_below(key), visit);
                }
            }
            _ => {}
        }
    }
}

/// Returns `config` without `key` in `scope`.
pub(crate) fn without(config: &Map<String, Value>, scope: &str, key: &str) -> Map<String, Value> {
    let mut config = config.clone();
    let is_it = |at: &str| at == scope;
    if is_it("G") {
        config.remove(key);
    }
    walk(&mut config, "G", &mut |_, holder, value| {
        if !is_it(scope_below(&holder)) || FREE.contains(&holder.as_str()) {
            return;
        }
        match value {
            Value::Object(map) => drop(map.remove(key)),
            Value::Array(items) => {
                for map in items.iter_mut().filter_map(Value::as_object_mut) {
                    map.remove(key);
                }
            }
            _ => {}
        }
    });
    config
}

/// Returns every variant of `config` with another value for `key` in `scope`: in all maps of the
/// scope at once, then in one map each.
pub(crate) fn with_others(
    config: &Map<String, Value>,
    scope: &str,
    key: &str,
) -> Vec<Map<String, Value>> {
    let mut values = Vec::new();
    walk(&mut config.clone(), "G", &mut |at, name, value| {
        if at == scope && name == key {
            values.push(others(value));
        }
    });
    let rounds = values.iter().map(Vec::len).max().unwrap_or(0);
    let together = (0..rounds).map(|round| (None, round));
    let alone =
        (0..values.len()).flat_map(|map| (0..values[map].len()).map(move |r| (Some(map), r)));
    let alone = alone.filter(|_| values.len() > 1);
    together
        .chain(alone)
        .map(|(only, round)| replaced(config, scope, key, &values, only, round))
        .collect()
}

/// Returns `config` with value number `round` of each map's `values`; only in map `only` if it is
/// set.
fn replaced(
    config: &Map<String, Value>,
    scope: &str,
    key: &str,
    values: &[Vec<Value>],
    only: Option<usize>,
    round: usize,
) -> Map<String, Value> {
    let mut config = config.clone();
    let mut index = 0;
    walk(&mut config, "G", &mut |at, name, value| {
        if at == scope && name == key {
            if let Some(other) =
                values[index].get(round).filter(|_| only.is_none_or(|o| o == index))
            {
                *value = other.clone();
            }
            index += 1;
        }
    });
    config
}

/// Returns other values of the same type; some are invalid for the key of `value`.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Bool(is_set) => vec![Value::Bool(!is_set)],
        Value::Number(number) => other_numbers(number),
        Value::String(text) => other_texts(text).into_iter().map(Value::String).collect(),
        Value::Array(items) => other_lists(items),
        Value::Object(_) => vec![Value::Object(Map::new())],
    }
}

fn other_numbers(number: &Number) -> Vec<Value> {
    let Some(number) = number.as_u64() else {
        return [0.0, 0.1, 0.9, 1.0].map(Value::from).to_vec();
    };
    // A time a hundred times as long does not pass on a busy machine either.
    let much = number.saturating_mul(100);
    [number + 1, number.saturating_sub(1), number * 2, number / 2, 0, 1, much]
        .into_iter()
        .filter(|other| *other != number)
        .map(Value::from)
        .collect()
}

/// Returns variants of a text: one digit changed, the last ones first; other words; longer and
/// shorter ones.
fn other_texts(text: &str) -> Vec<String> {
    let mut others = Vec::new();
    for (at, digit) in text.char_indices().rev().filter(|(_, c)| c.is_ascii_digit()) {
        for digit in [(digit as u8 - b'0' + 1) % 10, (digit as u8 - b'0' + 9) % 10] {
            others.push(format!("{}{digit}{}", &text[..at], &text[at + 1..]));
        }
    }
    others.extend(PARTS.iter().map(|(part, other)| text.replace(part, other)));
    others.extend(WORDS.iter().map(|word| (*word).to_owned()));
    others.extend([format!("{text}x"), String::new()]);
    others.retain(|other| other != text);
    others
}

/// Returns variants of a list: without one item, with one item changed, reversed, empty.
fn other_lists(items: &[Value]) -> Vec<Value> {
    let mut lists = vec![Vec::new(), items.iter().rev().cloned().collect()];
    for at in 0..items.len() {
        let mut fewer = items.to_vec();
        fewer.remove(at);
        lists.push(fewer);
        if items[at].is_string() || items[at].is_number() {
            lists.extend(others(&items[at]).into_iter().map(|other| {
                let mut changed = items.to_vec();
                changed[at] = other;
                changed
            }));
        }
    }
    lists.into_iter().filter(|list| list != items).map(Value::Array).collect()
}
