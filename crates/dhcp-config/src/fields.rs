//! Reader of a configuration map key by key: it takes each key with its type and range, and a key
//! that no reader takes is unknown.

use core::ops::RangeInclusive;

use crate::address::Address;
use crate::diagnostics::ParseDiagnostics;
use crate::json::{JsonContent, JsonMember, JsonValue};
use crate::schema::{KeyForm, KeyRecorder};
use crate::source::{PositionedValue, SourcePosition};
use base::nearest;

/// Reader of one configuration map, with the keys that were taken so far.
pub(crate) struct MapReader<'v> {
    /// Position of the map in the configuration.
    pub(crate) at: SourcePosition,
    /// Name of the map in messages: "`subnet4`", "a pool".
    what: &'static str,
    entries: &'v [JsonMember],
    taken_keys: Vec<&'static str>,
    /// Recorder of the keys taken, while a schema is made.
    recorder: Option<KeyRecorder>,
}

/// Number of keys that the readers of most configuration maps take.
const KEYS_OF_MOST: usize = 16;

/// Range of integers that Kea keeps in 32 bits, unsigned.
pub(crate) const U32: RangeInclusive<i64> = 0..=u32::MAX as i64;

impl<'v> MapReader<'v> {
    /// Creates a reader of the map `value`, called `what` in messages; reports an error when the
    /// value is not a map.
    pub(crate) fn from_value(
        value: &'v JsonValue,
        what: &'static str,
        findings: &mut ParseDiagnostics,
    ) -> Option<Self> {
        let entries: &[JsonMember] = match &value.kind {
            JsonContent::Map(entries) => entries,
            kind => return wrong_kind(value.at, what, "a map", kind, findings),
        };
        let recorder = findings.keys.clone();
        let taken_keys = Vec::with_capacity(KEYS_OF_MOST);
        Some(Self { at: value.at, what, entries, taken_keys, recorder })
    }

    /// Takes the map's entry `key`, the first one if the key occurs twice: the parser has reported
    /// the second.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<&'v JsonMember> {
        self.taken_keys.push(key);
        self.record(key, KeyForm::Any);
        self.entries.iter().find(|entry| *entry.key == *key)
    }

    /// Records that the value of `key` has the form `form`, while a schema is made.
    fn record(&self, key: &'static str, form: KeyForm) {
        if let Some(recorder) = &self.recorder {
            recorder.record(self.at, key, form);
        }
    }

    /// Takes the integer under `key`, which must be within `range`, with its position.
    pub(crate) fn integer(
        &mut self,
        key: &'static str,
        range: RangeInclusive<i64>,
        findings: &mut ParseDiagnostics,
    ) -> Option<PositionedValue<i64>> {
        self.record(key, KeyForm::Integer { low: *range.start(), high: *range.end() });
        let entry = self.take(key)?;
        let at = entry.value.at;
        match entry.value.kind {
            JsonContent::Integer(value) if range.contains(&value) => {
                Some(PositionedValue { value, at })
            }
            JsonContent::Integer(value) => {
                let (low, high) = range.into_inner();
                let message = format!("`{key}` is {value}; it must be from {low} to {high}");
                findings.error(at, message);
                None
            }
            ref kind => wrong_kind(at, key, "an integer", kind, findings),
        }
    }

    /// Takes the unsigned 32-bit integer under `key`, with its position.
    pub(crate) fn u32(
        &mut self,
        key: &'static str,
        findings: &mut ParseDiagnostics,
    ) -> Option<PositionedValue<u32>> {
        let PositionedValue { value, at } = self.integer(key, U32, findings)?;
        Some(PositionedValue {
            value: u32::try_from(value).expect("checked against the range"),
            at,
        })
    }

    /// Takes the number under `key`, with or without a fraction, with its position.
    pub(crate) fn float(
        &mut self,
        key: &'static str,
        findings: &mut ParseDiagnostics,
    ) -> Option<PositionedValue<f64>> {
        self.record(key, KeyForm::Number);
        let entry = self.take(key)?;
        let at = entry.value.at;
        match entry.value.kind {
            JsonContent::Float(value) => Some(PositionedValue { value, at }),
            JsonContent::Integer(value) => Some(PositionedValue { value: value as f64, at }),
            ref kind => wrong_kind(at, key, "a number", kind, findings),
        }
    }

    /// Takes the boolean under `key`, with its position.
    pub(crate) fn boolean(
        &mut self,
        key: &'static str,
        findings: &mut ParseDiagnostics,
    ) -> Option<PositionedValue<bool>> {
        self.record(key, KeyForm::Boolean);
        let entry = self.take(key)?;
        let at = entry.value.at;
        match entry.value.kind {
            JsonContent::Bool(value) => Some(PositionedValue { value, at }),
            ref kind => wrong_kind(at, key, "`true` or `false`", kind, findings),
        }
    }

    /// Takes the string under `key`, which must be UTF-8, with its position.
    pub(crate) fn text(
        &mut self,
        key: &'static str,
        findings: &mut ParseDiagnostics,
    ) -> Option<PositionedValue<&'v str>> {
        self.record(key, KeyForm::Text);
        let entry = self.take(key)?;
        text_of(&entry.value, key, findings)
    }

    /// Takes the bytes of the string under `key`, without a check, with their position.
    pub(crate) fn octets(
        &mut self,
        key: &'static str,
        findings: &mut ParseDiagnostics,
    ) -> Option<PositionedValue<&'v [u8]>> {
        self.record(key, KeyForm::Text);
        let JsonValue { at, kind } = &self.take(key)?.value;
        match kind {
            JsonContent::Text(octets) => Some(PositionedValue { value: octets, at: *at }),
            kind => wrong_kind(*at, key, "a string", kind, findings),
        }
    }

    /// Takes the address under `key`; `None` also for an empty string, which Kea reads as "not
    /// set".
    pub(crate) fn address<A: Address>(
        &mut self,
        key: &'static str,
        findings: &mut ParseDiagnostics,
    ) -> Option<PositionedValue<A>> {
        let text = self.text(key, findings)?;
        if text.value.is_empty() {
            return None;
        }
        address_of(text, key, findings)
    }

    /// Takes the string under `key`, which must be one of `words`, and returns that word's value;
    /// with `fold` upper and lower case are the same.
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
        fold: bool,
        findings: &mut ParseDiagnostics,
    ) -> Option<T> {
        if !fold {
            self.record(key, KeyForm::Words(words.iter().map(|(word, _)| *word).collect()));
        }
        let text = self.text(key, findings)?;
        let same =
            |word: &str| word == text.value || (fold && word.eq_ignore_ascii_case(text.value));
        if let Some(&(_, value)) = words.iter().find(|(word, _)| same(word)) {
            return Some(value);
        }
        let list: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
        let message = format!("`{key}` cannot be `{}`", text.value);
        findings.error_help(text.at, message, format!("must be one of: {}", list.join(", ")));
        None
    }

    /// Takes the elements of the list under `key`; empty when the key is absent.
    pub(crate) fn list(
        &mut self,
        key: &'static str,
        findings: &mut ParseDiagnostics,
    ) -> &'v [JsonValue] {
        self.record(key, KeyForm::List);
        let Some(entry) = self.take(key) else { return &[] };
        match &entry.value.kind {
            JsonContent::List(items) => items,
            kind => {
                wrong_kind::<()>(entry.value.at, key, "a list", kind, findings);
                &[]
            }
        }
    }

    /// Takes `user-context` and `comment` of the map, which are allowed nearly everywhere; returns
    /// the context's map.
    pub(crate) fn context(&mut self, findings: &mut ParseDiagnostics) -> Option<&'v JsonValue> {
        // No reader uses it, so it may hold any bytes.
        self.octets("comment", findings);
        let entry = self.take("user-context")?;
        match &entry.value.kind {
            JsonContent::Map(_) => Some(&entry.value),
            kind => wrong_kind(entry.value.at, "user-context", "a map", kind, findings),
        }
    }

    /// Returns the entries of the map that have not been taken so far.
    pub(crate) fn untaken_members(&self) -> Vec<&'v JsonMember> {
        let is_taken = |entry: &&JsonMember| self.taken_keys.iter().any(|key| **key == *entry.key);
        self.entries.iter().filter(|entry| !is_taken(entry)).collect()
    }

    /// Reports that the map's entry `entry` has an unknown key.
    pub(crate) fn unknown(
        &self,
        entry: &JsonMember,
        hint: Option<&str>,
        findings: &mut ParseDiagnostics,
    ) {
        let message = format!("unknown key `{}` in {}", entry.key, self.what);
        let near = || {
            let near = nearest(&entry.key, self.taken_keys.iter().copied())?;
            Some(format!("did you mean `{near}`?"))
        };
        match hint.map(str::to_owned).or_else(near) {
            Some(help) => findings.error_help(entry.at, message, help),
            None => findings.error(entry.at, message),
        }
    }

    /// Reports every key of the map that has not been taken as unknown.
    pub(crate) fn finish(self, findings: &mut ParseDiagnostics) {
        for entry in self.untaken_members() {
            self.unknown(entry, None, findings);
        }
    }
}

/// Reports that the value of `key` is of the wrong kind, unless the lexer has reported it already.
pub(crate) fn wrong_kind<T>(
    at: SourcePosition,
    key: &str,
    expected: &str,
    kind: &JsonContent,
    findings: &mut ParseDiagnostics,
) -> Option<T> {
    if *kind != JsonContent::Unusable {
        // Names of maps come as phrases, keys bare.
        let quote = if key.contains([' ', '`']) { "" } else { "`" };
        let actual = kind.name();
        let message = format!("{quote}{key}{quote} must be {expected}, not {actual}");
        findings.error(at, message);
    }
    None
}

/// Returns the text of `value`, which must be a string of UTF-8, with its position.
pub(crate) fn text_of<'v>(
    value: &'v JsonValue,
    key: &str,
    findings: &mut ParseDiagnostics,
) -> Option<PositionedValue<&'v str>> {
    let at = value.at;
    match &value.kind {
        JsonContent::Text(octets) => match core::str::from_utf8(octets) {
            Ok(text) => Some(PositionedValue { value: text, at }),
            Err(_) => {
                let help = "write characters beyond ASCII as they are, not as `\\u` escapes";
                findings.error_help(at, format!("`{key}` is not valid UTF-8"), help);
                None
            }
        },
        kind => wrong_kind(at, key, "a string", kind, findings),
    }
}

/// Returns the address that the string `text` spells, with its position.
pub(crate) fn address_of<A: Address>(
    text: PositionedValue<&str>,
    key: &str,
    findings: &mut ParseDiagnostics,
) -> Option<PositionedValue<A>> {
    match text.value.parse() {
        Ok(value) => Some(PositionedValue { value, at: text.at }),
        Err(_) => {
            let message = format!("`{key}`: `{}` is not {}", text.value, A::KIND);
            findings.error(text.at, message);
            None
        }
    }
}
