//! Random choices for configurations of either family.

use base::Random;
use serde_json::{Map, Value, json};

/// Number of clients of a sequence.
pub(super) const CLIENTS: u64 = 3;

/// Member of the globals that the servers do not get: if true, they have a second after each
/// message.
pub(super) const RESTS: &str = "@rests";

/// Maximum of messages of a sequence.
pub(super) const STEPS_MAX: u64 = 8;

/// Returns a random one of `items`.
pub(super) fn pick<'a, T>(random: &mut Random, items: &'a [T]) -> &'a T {
    random.pick(items).expect("no list of choices is empty")
}

/// Adds random ones of `choices` to `map`, each with a chance of one in `chance`.
pub(super) fn add_some(
    random: &mut Random,
    map: &mut Map<String, Value>,
    chance: u64,
    choices: &[(&str, Value)],
) {
    for (key, value) in choices {
        if !map.contains_key(*key) && random.chance(1, chance) {
            map.insert((*key).to_owned(), value.clone());
        }
    }
}

/// Returns random ones of the `option-data` in `menu`, at most one of each name.
pub(super) fn some_options(random: &mut Random, menu: &[Value]) -> Vec<Value> {
    let mut chosen: Vec<Value> = Vec::new();
    for entry in menu {
        let is_there =
            |other: &Value| other["name"] == entry["name"] && entry.get("name").is_some();
        if random.chance(1, 6) && !chosen.iter().any(is_there) {
            chosen.push(entry.clone());
        }
    }
    chosen
}

/// Adds commands to the messages of some sequences, after the first message.
pub(super) fn add_commands(
    random: &mut Random,
    steps: &mut Vec<Value>,
    command: fn(&mut Random) -> Value,
) {
    if random.chance(1, 3) {
        for _ in 0..1 + random.below(2) {
            let at = 1 + random.below(steps.len() as u64) as usize;
            steps.insert(at, command(random));
        }
    }
}

/// Adds a reservation unless another one has its identifier.
pub(super) fn add_host(hosts: &mut Vec<Value>, host: Value) {
    let identifiers = ["hw-address", "client-id", "circuit-id", "duid"];
    let is_same = |other: &Value, key: &str| host.get(key).is_some() && host[key] == other[key];
    if !hosts.iter().any(|other| identifiers.iter().any(|key| is_same(other, key))) {
        hosts.push(host);
    }
}

/// Adds a lifetime of `seconds` to some maps, with bounds to some of those; `kind` is `valid` or
/// `preferred`.
pub(super) fn add_lifetimes(
    random: &mut Random,
    map: &mut Map<String, Value>,
    kind: &str,
    seconds: u64,
) {
    if random.chance(1, 5) {
        map.insert(format!("{kind}-lifetime"), json!(seconds));
        if random.chance(1, 2) {
            map.insert(format!("min-{kind}-lifetime"), json!(seconds / 2));
            map.insert(format!("max-{kind}-lifetime"), json!(seconds * 2));
        }
    }
}
