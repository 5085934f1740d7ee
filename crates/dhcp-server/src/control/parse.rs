//! Parser of control commands within a memory budget: `{"":0}` has seven bytes as text and takes
//! about seven hundred as a value.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Memory in bytes that the JSON values of any control command may take, however short its text.
const LEAST_BYTES: usize = 64 << 20;
/// Memory in bytes that the values of a control command may take for each byte of its text.
const PER_OCTET: usize = 4;

/// Memory in bytes of a JSON value in a list, whose capacity grows by doubling.
const VALUE_BYTES: usize = 2 * size_of::<Value>();
/// Memory in bytes that the allocator adds to a JSON string.
const STRING_BYTES: usize = 24;
/// Memory in bytes that the parser counts for the first node of a JSON map, and for each further
/// entry.
const MAP_BYTES: usize = 640;
const ENTRY_BYTES: usize = 112;

/// Text of the error for a control command that takes too much memory.
const TOO_LARGE: &str = "the command takes too much memory: put a large configuration into the \
                         configuration file and use config-reload";

/// Parses the control command `text` to a JSON value.
///
/// # Errors
///
/// The text is not valid JSON, or its values would take more memory than a command may.
pub(super) fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    parse_within(text, LEAST_BYTES.max(PER_OCTET * text.len()))
}

fn parse_within(text: &[u8], budget_bytes: usize) -> Result<Value, serde_json::Error> {
    let remaining = Cell::new(budget_bytes);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = BudgetedValueSeed { remaining_bytes: &remaining }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Seed of the next JSON value, with the bytes that it and all later ones may take.
#[derive(Clone, Copy)]
struct BudgetedValueSeed<'b> {
    remaining_bytes: &'b Cell<usize>,
}

impl BudgetedValueSeed<'_> {
    fn spend<E: Error>(self, bytes: usize) -> Result<(), E> {
        let remaining = self.remaining_bytes.get().checked_sub(bytes);
        self.remaining_bytes.set(remaining.ok_or_else(|| E::custom(TOO_LARGE))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for BudgetedValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.spend(VALUE_BYTES)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BudgetedValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.spend(STRING_BYTES + value.len())?;
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.spend(STRING_BYTES + value.len())?;
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let node = if map.is_empty() { MAP_BYTES } else { ENTRY_BYTES };
            self.spend(node + STRING_BYTES + key.len())?;
            map.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_what_serde_reads() {
        let text = r#" { "a": [ 1, -2, 1.5, 1e400, "x\n", null, true, {} ], "b": { "c": "" } } "#;
        let text = text.replace("1e400", "18446744073709551615");
        let expected: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parse(text.as_bytes()).unwrap(), expected);
        for text in ["", "{", "{} x", "[1,]", "nul", "\"\\x\"", "{\"a\":1e999}"] {
            let ours = parse(text.as_bytes()).map_err(|error| error.to_string());
            let theirs = serde_json::from_str(text).map_err(|e: serde_json::Error| e.to_string());
            assert_eq!(ours, theirs, "{text}");
        }
    }

    #[test]
    fn values_of_every_kind_count() {
        for item in ["0", "{\"\":0}", "[]", "\"xxxxxxxxxxxxxxxx\"", "{}", "[[[[0]]]]"] {
            let list = |count: usize| format!("[{}]", vec![item; count].join(","));
            assert!(parse_within(list(100).as_bytes(), 100 << 10).is_ok(), "{item}");
            let error = parse_within(list(10_000).as_bytes(), 100 << 10).unwrap_err();
            assert!(error.to_string().starts_with(TOO_LARGE), "{item}: {error}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        for depth in [1_000, 1_000_000] {
            let list = "[".repeat(depth) + &"]".repeat(depth);
            let map = "{\"a\":".repeat(depth) + "0" + &"}".repeat(depth);
            for text in [list, map] {
                let error = parse(text.as_bytes()).unwrap_err().to_string();
                assert!(error.starts_with("recursion limit exceeded"), "{error}");
            }
        }
    }
}
