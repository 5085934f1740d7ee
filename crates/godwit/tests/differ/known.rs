//! Differences that have a verdict, from `conformance/differences.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use scenario::{DeviationReason, ScenarioFamily};

use super::value::{self, Fields};
use crate::common::manual::running_text;
use crate::subjects::process::ServerMake;

/// Maximum length of a label, in bytes (RFC 1035 §2.3.4).
const LABEL_LENGTH_MAX: usize = 63;

/// Difference with its verdict: one of a whole exchange, or of a field of some replies or leases.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownKeaDifference {
    /// Family in which the two servers differ.
    family: ScenarioFamily,
    /// Messages and fields that differ; a `*` matches any text.
    signature: Option<String>,
    /// Type of the replies, with `field`; `lease` for a field of leases.
    reply: Option<String>,
    /// Field that differs; a `*` matches any text.
    field: Option<String>,
    /// Beginning of the name of the message that the reply answers, with `reply`.
    sent: Option<String>,
    /// Fields of Godwit's reply, each with digits that it must contain; `none` if it lacks the
    /// field.
    #[serde(default)]
    holds: BTreeMap<String, String>,
    /// Fields of Kea's reply, each with text that it contains. `^` is its beginning, `$` its end,
    /// and `none` means a reply without the field. `not UTF-8` means hexadecimal digits of bytes
    /// that no name keeps, `not ASCII` any other characters, and `long label` a name (a JSON string
    /// or hexadecimal digits) with a label of more than 63 bytes.
    #[serde(default)]
    kea_has: BTreeMap<String, String>,
    /// End of the signature of the difference, with `reply`: the earlier events.
    after: Option<String>,
    /// True if Kea's number is lower than Godwit's, or is missing.
    #[serde(default)]
    kea_is_lower: bool,
    /// Versions of Kea: `2.2`, `3.0`.
    kea: Vec<String>,
    /// Verdict: the server that is right.
    verdict: DeviationReason,
    /// Words of the manual that inform users, unless newer versions of Kea do the same.
    manual: Option<String>,
    /// Reason of the verdict.
    note: String,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    difference: Vec<KnownKeaDifference>,
}

/// Field that differs, with its message and replies.
#[derive(Clone, Copy, Debug)]
pub(super) struct DifferingField<'a> {
    /// Name of the field.
    pub(super) field: &'a str,
    /// Name of the message; empty for leases.
    pub(super) sent: &'a str,
    /// Name of the reply, or `lease`.
    pub(super) reply: &'a str,
    /// Reply or lease of Godwit.
    pub(super) ours: &'a Fields,
    /// Reply or lease of Kea.
    pub(super) theirs: &'a Fields,
    /// Earlier events that matter, in the words of the ends of signatures.
    pub(super) after: &'a str,
}

impl DifferingField<'_> {
    /// Returns true if Kea's number is lower, or is missing.
    fn is_lower(&self) -> bool {
        let number = |fields: &Fields| fields.get(self.field)?.parse::<i128>().ok();
        number(self.theirs) < number(self.ours)
    }
}

impl KnownKeaDifference {
    /// Returns true if the entry is complete, and `manual` has its words: in `Coming from Kea`,
    /// which names the RFC by which an entry is right.
    fn is_sound(&self, manual: &str) -> bool {
        let is_one = self.signature.is_some() != self.field.is_some();
        let has_reply = self.reply.is_some() == self.field.is_some();
        let has_terms = self.field.is_some()
            || (self.sent.is_none() && self.after.is_none() && !self.kea_is_lower);
        let told = self.manual.as_deref().filter(|words| manual.contains(*words));
        let is_told = match self.verdict {
            DeviationReason::Newer => self.manual.is_none() && self.kea == ["2.2"],
            DeviationReason::Rfc | DeviationReason::Bug | DeviationReason::Ours => told.is_some(),
            DeviationReason::Unsupported => false,
        };
        is_one && has_reply && has_terms && is_told && !self.note.is_empty()
    }
}

/// Entries of the file for a family and a version of Kea.
pub(super) struct KnownKeaDifferences(Vec<KnownKeaDifference>);

impl KnownKeaDifferences {
    /// Reads the file.
    pub(super) fn read(family: ScenarioFamily, kea: ServerMake) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
        let text = std::fs::read_to_string(root.join("differences.toml")).expect("it is there");
        let mut file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        let manual = running_text("coming-from-kea.md");
        let unsound: Vec<_> =
            file.difference.iter().filter(|entry| !entry.is_sound(&manual)).collect();
        assert!(unsound.is_empty(), "no sound verdicts with words of the manual: {unsound:#?}");
        let version = if kea == ServerMake::Kea3 { "3.0" } else { "2.2" };
        file.difference
            .retain(|entry| entry.family == family && entry.kea.iter().any(|kea| kea == version));
        Self(file.difference)
    }

    /// Returns true if `signature` has a verdict.
    pub(super) fn has(&self, signature: &str) -> bool {
        let patterns = self.0.iter().filter_map(|entry| entry.signature.as_deref());
        patterns.into_iter().any(|pattern| is_like(signature, pattern))
    }

    /// Returns true if a difference in a field has a verdict.
    pub(super) fn has_field(&self, differing: DifferingField<'_>) -> bool {
        let DifferingField { field, sent, reply, ours, theirs, after } = differing;
        self.0.iter().any(|entry| {
            let holds = |(name, digits): (&String, &String)| match ours.get(name) {
                Some(value) => value.contains(digits.as_str()),
                None => digits == "none",
            };
            entry.field.as_deref().is_some_and(|pattern| is_like(field, pattern))
                && entry.reply.as_deref() == Some(reply)
                && entry.sent.as_deref().is_none_or(|begin| sent.starts_with(begin))
                && entry.after.as_deref().is_none_or(|wanted| after.contains(wanted))
                && (!entry.kea_is_lower || differing.is_lower())
                && entry.holds.iter().all(holds)
                && entry.kea_has.iter().all(|(name, value)| match theirs.get(name) {
                    Some(theirs) => is_found(value, theirs),
                    None => value == "none",
                })
        })
    }
}

/// Returns true if `text` matches `pattern`, in which each `*` matches any text.
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((begin, rest)) => text.strip_prefix(begin).is_some_and(|text| {
            text.char_indices().any(|(at, _)| is_like(&text[at..], rest)) || is_like("", rest)
        }),
    }
}

/// Returns true if `text` matches the words `wanted` of a verdict.
fn is_found(wanted: &str, text: &str) -> bool {
    match wanted {
        "not ASCII" => !text.is_ascii(),
        "not UTF-8" => {
            let octets = value::octets(text, &value::Learned::new());
            octets.contains(&0) || std::str::from_utf8(&octets).is_err()
        }
        "long label" => {
            let octets = match serde_json::from_str::<String>(text) {
                Ok(name) => name.into_bytes(),
                Err(_) => value::octets(text, &value::Learned::new()),
            };
            octets.split(|octet| *octet == b'.').any(|label| label.len() > LABEL_LENGTH_MAX)
        }
        wanted if wanted.contains('*') => is_like(text, wanted),
        wanted => format!("^{text}$").contains(wanted),
    }
}
