//! Differences that have a verdict: `conformance/differences.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use scenario::Verdict;

use super::reply::{self, Fields};
use crate::subjects::process::Make;

/// A difference with its verdict: one of a whole exchange, or of a field of some replies.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The messages and fields that differ.
    signature: Option<String>,
    /// The type of the replies, with `field`.
    reply: Option<String>,
    /// The field that differs.
    field: Option<String>,
    /// Fields of Godwit's reply, each with digits that it must contain.
    #[serde(default)]
    holds: BTreeMap<String, String>,
    /// Which versions of Kea: `2.2`, `3.0`.
    kea: Vec<String>,
    /// Who is right.
    #[allow(dead_code, reason = "for readers of the file, whom it must be there for")]
    verdict: Verdict,
    /// Why.
    note: String,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    difference: Vec<Entry>,
}

/// The file's entries.
pub(super) struct Known(Vec<Entry>);

impl Known {
    /// Reads the file.
    pub(super) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
        let text = std::fs::read_to_string(root.join("differences.toml")).expect("it is there");
        let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        let is_whole = |entry: &Entry| {
            let is_one = entry.signature.is_some() != entry.field.is_some();
            is_one && entry.reply.is_some() == entry.field.is_some() && !entry.note.is_empty()
        };
        assert!(file.difference.iter().all(is_whole), "{file:?}");
        Self(file.difference)
    }

    /// Returns whether `signature` has a verdict for `kea`.
    pub(super) fn has(&self, kea: Make, signature: &str) -> bool {
        self.of(kea).any(|entry| entry.signature.as_deref() == Some(signature))
    }

    /// Returns whether a difference in `field` of `reply`, Godwit's, has one.
    pub(super) fn has_field(&self, kea: Make, field: &str, reply: &Fields) -> bool {
        self.of(kea).any(|entry| {
            let holds = |(name, digits): (&String, &String)| {
                reply.get(name).is_some_and(|value| value.contains(digits.as_str()))
            };
            entry.field.as_deref() == Some(field)
                && entry.reply == Some(reply::name(reply))
                && entry.holds.iter().all(holds)
        })
    }

    fn of(&self, kea: Make) -> impl Iterator<Item = &Entry> {
        let version = if kea == Make::Kea3 { "3.0" } else { "2.2" };
        self.0.iter().filter(move |entry| entry.kea.iter().any(|kea| kea == version))
    }
}
