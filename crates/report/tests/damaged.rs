//! Tests of result folders with a damaged file: unreadable files are refused, and readable ones
//! give pages and comparisons without a panic, however little sense their numbers make.
//!
//! `GODWIT_FUZZ_CASES=n` tries more, `GODWIT_SIM_SEED=s` starts elsewhere.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::Random;
use measure::compare::compare;
use measure::record::{RunRecord, TrialRecord};
use measure::summary::{RunSummary, digest};
use report::{render, render_comparison};
use serde_json::{Value, json};

use crate::simulated::{profiled, quick, small};

const CASES: u64 = 120;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Collects the JSON pointers of all values below `value`.
fn pointers(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            pointers(value, &format!("{path}/{key}"), paths);
        }),
        Value::Array(list) => list.iter().enumerate().for_each(|(index, value)| {
            pointers(value, &format!("{path}/{index}"), paths);
        }),
        _ => {}
    }
    paths.push(path.to_owned());
}

/// Returns a random value in place of `value`, mostly of the same type.
fn other(random: &mut Random, value: &Value) -> Value {
    let numbers = [
        json!(0),
        json!(-1),
        json!(1),
        // The greatest number that JSON's readers agree on; many of them can be added up.
        json!((1_u64 << 53) - 1),
        json!(u32::MAX),
        json!(1e308),
        json!(5e-324),
        json!(-0.5),
    ];
    let texts = ["", "\u{0}", "</script><script>", "é".repeat(3_000).as_str()].map(str::to_owned);
    let one = |random: &mut Random, count: usize| random.below(count as u64) as usize;
    match (random.below(8), value) {
        (0, _) => Value::Null,
        (_, Value::Number(_)) => numbers[one(random, numbers.len())].clone(),
        (_, Value::Bool(is_so)) => json!(!is_so),
        (_, Value::String(_)) => json!(texts[one(random, texts.len())]),
        (1..=3, Value::Array(_)) => json!([]),
        (_, Value::Array(list)) if !list.is_empty() => {
            let mut list = list.clone();
            let at = one(random, list.len());
            match random.below(3) {
                0 => drop(list.remove(at)),
                1 => list.insert(at, list[at].clone()),
                _ => list.reverse(),
            }
            Value::Array(list)
        }
        (_, Value::Object(map)) if !map.is_empty() => {
            let mut map = map.clone();
            let key = map.keys().nth(one(random, map.len())).cloned().unwrap_or_default();
            map.remove(&key);
            Value::Object(map)
        }
        _ => json!({}),
    }
}

/// Damages copies of the document `whole` and passes each to `look`, which returns true if it could
/// be read.
fn damage(test: &str, whole: &Value, mut look: impl FnMut(Value) -> bool) {
    let (cases, seed) = (number("GODWIT_FUZZ_CASES", CASES), number("GODWIT_SIM_SEED", 1));
    let mut paths = Vec::new();
    pointers(whole, "", &mut paths);
    let mut readable = 0;
    for case in 0..cases {
        let mut random = Random::from_seed(seed.wrapping_add(case));
        let mut damaged = whole.clone();
        let mut changes = Vec::new();
        for _ in 0..=random.below(3) {
            let path = &paths[random.below(paths.len() as u64) as usize];
            if let Some(value) = damaged.pointer_mut(path) {
                *value = other(&mut random, value);
                changes.push(format!("{path} = {value:.60}"));
            }
        }
        match catch_unwind(AssertUnwindSafe(|| look(damaged))) {
            Ok(is_readable) => readable += u64::from(is_readable),
            Err(_) => panic!(
                "{changes:?}; repeat with: GODWIT_SIM_SEED={} GODWIT_FUZZ_CASES=1 cargo test \
                 -p report --test main damaged::{test}",
                seed.wrapping_add(case)
            ),
        }
    }
    println!("{cases} cases from seed {seed}, {readable} readable");
    assert!(cases < 100 || readable * 10 > cases, "{readable} of {cases}");
}

#[test]
fn a_damaged_summary_is_refused_or_shown() {
    for whole in [quick(), small()] {
        let value = serde_json::to_value(&whole).expect("a summary is JSON");
        damage("a_damaged_summary", &value, |damaged| {
            let Ok(summary) = serde_json::from_value::<RunSummary>(damaged) else { return false };
            assert!(render(&summary).starts_with("<!"));
            for (a, b) in [(&whole, &summary), (&summary, &whole)] {
                let page = render_comparison(&compare(("a", a), ("b", b), true));
                assert!(page.starts_with("<!"));
            }
            true
        });
    }
}

#[test]
fn a_damaged_trial_is_refused_or_summed_up() {
    let (run, trials) = profiled(&[]);
    let value = json!({ "run": run, "trials": trials });
    damage("a_damaged_trial", &value, |mut damaged| {
        let run = serde_json::from_value::<RunRecord>(damaged["run"].take());
        let trials = serde_json::from_value::<Vec<TrialRecord>>(damaged["trials"].take());
        let (Ok(run), Ok(trials)) = (run, trials) else { return false };
        render(&digest(&run, &trials)).starts_with("<!")
    });
}
