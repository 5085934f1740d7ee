//! Sensitivity of the comparison: a document that has lost a key gives a server that replies
//! differently.

use base::Random;
use serde_json::Value;

use super::{ComparableProtocol, ComparisonCounts, difference, document_text};

/// Number of configurations to try for each key.
const TRIES: u64 = 400;

/// Removes `key` at all places that `path` leads to; returns true if it was there.
fn lose(value: &mut Value, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else { return false };
    let mut is_removed = false;
    match value {
        Value::Array(items) => {
            for item in items {
                is_removed |= lose(item, path);
            }
        }
        Value::Object(map) => {
            if rest.is_empty() {
                is_removed |= map.remove(*key).is_some();
            } else if let Some(inner) = map.get_mut(*key) {
                is_removed |= lose(inner, rest);
            }
            for (_, inner) in map.iter_mut().filter(|(name, _)| name != key) {
                is_removed |= lose(inner, path);
            }
        }
        _ => {}
    }
    is_removed
}

/// Returns the keys, as `key` or `outer/key`, whose loss made no difference to any conversation.
pub(crate) fn unnoticed<P: ComparableProtocol>(keys: &[&'static str]) -> Vec<&'static str> {
    let is_noticed = |path: &str, seed: u64| {
        let text = P::generator().configuration(&mut Random::from_seed(seed));
        let Ok(checked) = P::read(&text) else { return false };
        let mut document = checked.document.to_json();
        let path: Vec<&str> = path.split('/').collect();
        if !lose(&mut document, &path) {
            return false;
        }
        let counterpart_text = document_text(&document, false);
        // A document that the parser refuses is noticed by its reader.
        P::read(&counterpart_text).is_ok()
            && difference::<P>(
                seed,
                &text,
                &checked.config,
                &counterpart_text,
                &mut ComparisonCounts::default(),
            )
            .is_some()
    };
    let is_unnoticed = |key: &&&'static str| !(1..=TRIES).any(|seed| is_noticed(key, seed));
    keys.iter().filter(is_unnoticed).copied().collect()
}
