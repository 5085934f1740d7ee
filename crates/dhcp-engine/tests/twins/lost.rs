//! Sensitivity of the comparison: a document that has lost a key gives a server that replies
//! differently.

use base::Random;
use serde_json::Value;

use super::{ComparableProtocol, ComparisonCounts, difference, shown};

/// Number of configurations to try for each key.
const TRIES: u64 = 400;

/// Removes `key` at all places that `path` leads to; returns true if it was there.
fn lose(value: &mut Value, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else { return false };
    let mut lost = false;
    match value {
        Value::Array(items) => {
            for item in items {
                lost |= lose(item, path);
            }
        }
        Value::Object(map) => {
            if rest.is_empty() {
                lost |= map.remove(*key).is_some();
            } else if let Some(inner) = map.get_mut(*key) {
                lost |= lose(inner, rest);
            }
            for (_, inner) in map.iter_mut().filter(|(name, _)| name != key) {
                lost |= lose(inner, path);
            }
        }
        _ => {}
    }
    lost
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
        let twin = shown(&document, false);
        // A document that the parser refuses is noticed by its reader.
        P::read(&twin).is_ok()
            && difference::<P>(
                seed,
                &text,
                &checked.config,
                &twin,
                &mut ComparisonCounts::default(),
            )
            .is_some()
    };
    let is_lost = |key: &&&'static str| !(1..=TRIES).any(|seed| is_noticed(key, seed));
    keys.iter().filter(is_lost).copied().collect()
}
