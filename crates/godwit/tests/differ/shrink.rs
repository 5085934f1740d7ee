//! Search for the smallest sequence that still shows a difference.

use serde_json::{Value, json};

use super::batch::{KeaComparison, SequenceDifference, SequenceOutcome};

/// Maximum of rounds of removing members.
const ROUNDS_MAX: usize = 60;

/// Returns the globals and the sequence of `difference` without all parts that it does not need.
pub(super) fn smallest(comparison: &KeaComparison, difference: &SequenceDifference) -> Value {
    let globals = smaller(&difference.globals, |candidates| {
        let sequence = std::slice::from_ref(&difference.sequence);
        let found = candidates.iter().flat_map(|globals| comparison.outcomes(globals, sequence));
        found.map(|outcome| difference.is_shown_by(&outcome)).collect()
    });
    let sequence = smaller(&difference.sequence, |candidates| {
        let found = comparison.outcomes(&globals, candidates);
        found.iter().map(|outcome| difference.is_shown_by(outcome)).collect()
    });
    let found = comparison.outcomes(&globals, std::slice::from_ref(&sequence));
    let values = found.into_iter().find_map(|outcome| match outcome {
        SequenceOutcome::Differs(found) => Some(found.values),
        SequenceOutcome::Alike | SequenceOutcome::Refused(_) => None,
    });
    json!({ "globals": globals, "sequence": sequence, "values": values })
}

/// Removes from `whole` the parts that `is_shown` does not need: for each candidate it returns
/// whether that still shows the difference. The first candidate lacks everything, then come halves,
/// quarters, and so on.
fn smaller(whole: &Value, is_shown: impl Fn(&[Value]) -> Vec<bool>) -> Value {
    let mut smallest = whole.clone();
    let mut size = paths(&smallest).len();
    for _ in 0..ROUNDS_MAX {
        let paths = paths(&smallest);
        // Later elements go first, since those after an element move up.
        let without_all = |paths: &[String]| {
            paths.iter().rev().fold(smallest.clone(), |value, path| without(&value, path))
        };
        let parts: Vec<&[String]> = paths.chunks(size.max(1)).collect();
        let candidates: Vec<Value> = parts.iter().map(|part| without_all(part)).collect();
        let shown = is_shown(&candidates);
        let needless: Vec<String> = parts
            .iter()
            .zip(&shown)
            .filter_map(|(part, is_needless)| is_needless.then_some(*part))
            .flatten()
            .cloned()
            .collect();
        if needless.is_empty() {
            if size <= 1 {
                break;
            }
            size /= 2;
            continue;
        }
        // Parts that are needless alone are mostly needless together.
        let all = without_all(&needless);
        let one = candidates.into_iter().zip(shown).find_map(|(one, shown)| shown.then_some(one));
        smallest = match is_shown(std::slice::from_ref(&all))[..] {
            [true] => all,
            _ => one.unwrap_or(smallest),
        };
    }
    smallest
}

/// Returns the paths of all members and elements of `value` as JSON pointers, outer ones first.
fn paths(value: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    collect(value, String::new(), &mut paths);
    paths
}

fn collect(value: &Value, path: String, paths: &mut Vec<String>) {
    let mut add = |name: String, member: &Value| {
        let path = format!("{path}/{name}");
        paths.push(path.clone());
        collect(member, path, paths);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(name, member)| add(name.clone(), member)),
        Value::Array(items) if items.iter().any(|item| item.is_array() || item.is_object()) => {
            items.iter().enumerate().for_each(|(at, item)| add(at.to_string(), item));
        }
        _ => {}
    }
}

/// Returns `value` without the part at `path`, or unchanged if there is none.
fn without(value: &Value, path: &str) -> Value {
    let mut smaller = value.clone();
    let parts = path.rsplit_once('/');
    let Some((parent, name)) = parts.map(|(parent, name)| (smaller.pointer_mut(parent), name))
    else {
        return smaller;
    };
    match parent {
        Some(Value::Object(map)) => {
            map.remove(name);
        }
        Some(Value::Array(items)) => {
            let at = name.parse().ok().filter(|at| *at < items.len());
            at.map(|at: usize| items.remove(at));
        }
        _ => {}
    }
    smaller
}
