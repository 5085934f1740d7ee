//! Keys that scenarios claim to cover: the test removes them from the scenarios' configurations. A
//! key that a server ignores changes nothing, and no step fails.
//!
//! A scenario must show that each key of the manual that is the same as in Kea matters in every
//! scope, or `exceptions` has the reason. `commands` checks the same for commands.

use crate::subjects;
mod change;
mod commands;
mod exceptions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use crate::common::manual::{self, ManualKey, scope_below};
use crate::subjects::process::{Daemon, ServerMake, Setup};
use crate::subjects::{NamedScenario, REAL_WAIT_MAX_S, document, engine, in_parallel};
use dhcp_config::{NoIncludes, parse_dhcp4, parse_dhcp6};
use exceptions::{CLAIMS, EXCEPTIONS, Exception, ExceptionReason};
use scenario::{Scenario, ScenarioFamily, ScenarioServer, play};
use serde_json::{Map, Value};

/// Maximum time to wait for an answer, which most variants of a scenario do not get.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Number of times that a server must fail at a variant: it may be late, or a second may end
/// meanwhile.
const TIMES: u32 = 3;

/// Number of scenarios that run at a time: servers wait more than they work.
const AT_ONCE: usize = 8;

/// Key in a scope: family, key, and scope as in the manual.
type KeyAt = (char, String, String);

/// Result of trying one scenario without each of its keys.
#[derive(Default)]
struct KeyTrial {
    /// Keys without which a step fails.
    proofs: Vec<(String, String)>,
    /// Covered names that none of the scenario's steps needs.
    idle: Vec<String>,
}

/// Results of all scenarios.
struct KeyFindings {
    /// Keys that matter, each with the name of a scenario that shows it.
    proofs: BTreeMap<KeyAt, String>,
    /// Scenarios with names that they cover without needing them.
    idle: BTreeSet<(String, String)>,
    /// Keys of the manual.
    manual_keys: Vec<ManualKey>,
}

/// Results of all scenarios, computed once for all tests.
static FINDINGS: LazyLock<KeyFindings> = LazyLock::new(find);

fn find() -> KeyFindings {
    let scenarios = subjects::all();
    let mut findings = KeyFindings {
        proofs: BTreeMap::new(),
        idle: BTreeSet::new(),
        manual_keys: manual::keys(&manual::page("coming-from-kea.md")),
    };
    let trials = in_parallel(&scenarios, AT_ONCE, tried);
    for (named, trial) in scenarios.iter().zip(trials) {
        let digit = digit(named.scenario.family);
        for (scope, key) in trial.proofs {
            findings.proofs.entry((digit, key, scope)).or_insert_with(|| named.name.clone());
        }
        findings.idle.extend(trial.idle.into_iter().map(|name| (named.name.clone(), name)));
    }
    findings
}

fn digit(family: ScenarioFamily) -> char {
    match family {
        ScenarioFamily::V4 => '4',
        ScenarioFamily::V6 => '6',
    }
}

/// Returns true if `name`, in the form of scenarios' coverage, means `key` in `scope`: a key alone
/// means it in all scopes, a key after the key of its map only there.
fn means(name: &str, key: &str, scope: &str) -> bool {
    match name.split_once('.') {
        Some((holder, inner)) => inner == key && scope_below(holder) == scope,
        None => name == key,
    }
}

/// Removes every key that the scenario claims to cover from its configuration. `number`
/// distinguishes the folders of its servers.
fn tried(named: &NamedScenario, number: usize) -> KeyTrial {
    let mut trial = KeyTrial::default();
    let config = config_of(&named.scenario);
    let keys: BTreeSet<_> = change::keys(&config).into_iter().collect();
    let (mut needed, mut claimed) = (BTreeSet::new(), BTreeSet::new());
    for (scope, key) in keys {
        let covers = named.scenario.covers.iter().filter(|name| means(name, &key, &scope));
        let covers: Vec<&String> = covers.collect();
        if covers.is_empty() {
            continue;
        }
        if claimed.is_empty() {
            let is_broken = (0..TIMES).all(|_| fails(&named.scenario, config.clone(), number));
            assert!(!is_broken, "{} fails as it is, so that it shows nothing", named.name);
        }
        claimed.extend(covers.iter().copied());
        if matters(named, &config, &scope, &key, number) {
            needed.extend(covers);
            trial.proofs.push((scope, key));
        }
    }
    trial.idle = claimed.difference(&needed).map(|name| (*name).clone()).collect();
    trial
}

fn config_of(scenario: &Scenario) -> Map<String, Value> {
    let text = format!("{{ {} }}", scenario.config);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", scenario.title))
}

/// Returns true if a step fails without `key` in `scope`, or, if not, with another value.
fn matters(
    named: &NamedScenario,
    config: &Map<String, Value>,
    scope: &str,
    key: &str,
    number: usize,
) -> bool {
    let without = change::without(config, scope, key);
    fails(&named.scenario, without, number)
        || change::with_others(config, scope, key)
            .into_iter()
            .any(|other| fails(&named.scenario, other, number))
}

/// Returns true if a step fails under `config`; a refused configuration proves nothing.
fn fails(scenario: &Scenario, config: Map<String, Value>, number: usize) -> bool {
    let text = Value::Object(config).to_string();
    let inside = text[1..text.len() - 1].to_owned();
    if !is_valid(scenario.family, &inside) {
        return false;
    }
    let scenario = Scenario { config: inside, ..scenario.clone() };
    let is_slow = scenario.wait_total_s() > REAL_WAIT_MAX_S;
    let fails_at = |subject: Result<Box<dyn ScenarioServer>, String>| {
        subject.is_ok_and(|mut subject| play(&scenario, subject.as_mut()).is_err())
    };
    if !scenario.has_commands() || is_slow {
        return fails_at(engine::start(&scenario));
    }
    (0..TIMES).all(|_| {
        let daemon = Daemon::start(ServerMake::Godwit, Setup::of(&scenario), number, ANSWER_LIMIT);
        fails_at(daemon.map(|daemon| Box::new(daemon) as Box<dyn ScenarioServer>))
    })
}

fn is_valid(family: ScenarioFamily, config: &str) -> bool {
    let text = document(family, config, "");
    match family {
        ScenarioFamily::V4 => parse_dhcp4("variant", &text, &mut NoIncludes).is_ok(),
        ScenarioFamily::V6 => parse_dhcp6("variant", &text, &mut NoIncludes).is_ok(),
    }
}

/// Returns true if the environment selects scenarios, so that nothing follows about all of them.
fn is_part() -> bool {
    std::env::var_os("GODWIT_SCENARIO").is_some()
}

fn is_excepted(exception: &Exception, family: char, key: &str, scope: &str) -> bool {
    let has = |words: &str, word: &str| words.split(' ').any(|other| other == word);
    exception.families.contains(family) && has(exception.keys, key) && has(exception.scopes, scope)
}

#[test]
fn every_key_that_is_the_same_matters() {
    if is_part() {
        return;
    }
    let mut faults = String::new();
    let mut matter_count = 0;
    let mut used = BTreeSet::new();
    for manual_key in
        FINDINGS.manual_keys.iter().filter(|manual_key| manual_key.status.starts_with("same"))
    {
        let at = (manual_key.family, manual_key.key.clone(), manual_key.scope.clone());
        let excepted = EXCEPTIONS.iter().position(|exception| {
            is_excepted(exception, manual_key.family, &manual_key.key, &manual_key.scope)
        });
        used.extend(excepted.map(|index| (index, manual_key.key.as_str())));
        let excepted = excepted.map(|index| EXCEPTIONS[index].why.text());
        let fault = match (FINDINGS.proofs.get(&at), excepted) {
            (Some(_), None) => {
                matter_count += 1;
                continue;
            }
            (None, Some(_)) => continue,
            (Some(scenario), Some(why)) => format!("is shown by {scenario}, yet excepted: {why}"),
            (None, None) => "is not shown to matter".to_owned(),
        };
        writeln!(
            faults,
            "`{}` of DHCPv{} at {}: {fault}",
            manual_key.key, manual_key.family, manual_key.scope
        )
        .expect("text can be written");
    }
    for (index, exception) in EXCEPTIONS.iter().enumerate() {
        for key in exception.keys.split(' ').filter(|key| !used.contains(&(index, *key))) {
            writeln!(faults, "`{key}`: excepted for nothing").expect("text can be written");
        }
    }
    println!("{matter_count} keys at their places are shown to matter");
    assert!(faults.is_empty(), "\n{faults}");
}

/// Checks that the coverage table is right about keys.
#[test]
fn every_scenario_needs_the_keys_that_it_covers() {
    let idle = &FINDINGS.idle;
    let claims: BTreeSet<_> =
        CLAIMS.iter().map(|(scenario, name, _)| (scenario.to_string(), name.to_string())).collect();
    let false_ones: Vec<_> = idle.difference(&claims).collect();
    assert!(false_ones.is_empty(), "nothing fails without what these cover: {false_ones:#?}");
    let stale: Vec<_> = claims.difference(idle).collect();
    assert!(is_part() || stale.is_empty(), "no longer to be excepted: {stale:#?}");
}

/// Checks that the manual does not understate: no scenario needs a key that the manual calls
/// missing.
#[test]
fn no_key_that_is_not_there_yet_matters() {
    let there: Vec<_> = FINDINGS
        .manual_keys
        .iter()
        .filter(|manual_key| manual_key.status.starts_with("not yet"))
        .map(|manual_key| (manual_key.family, manual_key.key.clone(), manual_key.scope.clone()))
        .filter_map(|at| FINDINGS.proofs.get(&at).map(|scenario| (at, scenario)))
        .collect();
    assert!(there.is_empty(), "`not yet`, but shown to matter: {there:?}");
}

/// Returns true if `file::function` is a test of this repository.
fn is_test(name: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Some((file, function)) = name.split_once("::") else { return false };
    let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    text.contains(&format!("fn {function}("))
}

#[test]
fn what_shows_other_keys_is_there() {
    let named = EXCEPTIONS.iter().filter_map(|exception| match exception.why {
        ExceptionReason::ShownBy(test) => Some(test),
        ExceptionReason::Decides(_) => None,
    });
    let missing: BTreeSet<_> = named.filter(|test| !is_test(test)).collect();
    assert!(missing.is_empty(), "no such test: {missing:#?}");
}
