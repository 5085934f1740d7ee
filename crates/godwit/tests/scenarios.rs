//! Conformance scenarios, played against the engine, the server, Kea 2.2 and Kea 3.0, and a report
//! of the differences of each Kea.

use crate::common::{self, PATIENCE};
use crate::subjects;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::subjects::process::{Daemon, ServerMake, Setup};
use crate::subjects::{NamedScenario, REAL_WAIT_MAX_S, engine, in_parallel};
use scenario::{DeviationReason, KeaNote, play};

/// Number of scenarios played at a time.
const AT_ONCE: usize = 2;

/// Maximum number of times that a scenario is played if it depends on when seconds end, or on when
/// a reply comes.
const TRIES_MAX: u32 = 30;

/// Maximum time to wait for a reply that Kea is known not to give, or to give differently.
const KNOWN_LIMIT: Duration = Duration::from_secs(5);

/// Result of a scenario on one subject (engine or server).
#[derive(Clone, Debug, PartialEq, Eq)]
enum SubjectOutcome {
    Agrees,
    Differs(String),
    NotPlayed(&'static str),
}

fn on_engine(named: &NamedScenario) -> SubjectOutcome {
    // A few commands are only there for steps that take too long on the server.
    if named.scenario.has_commands() && named.scenario.wait_total_s() <= REAL_WAIT_MAX_S {
        return SubjectOutcome::NotPlayed("the engine has no control channel");
    }
    judge(named, engine::start(&named.scenario))
}

fn on_daemon(make: ServerMake, named: &NamedScenario, number: usize) -> SubjectOutcome {
    if named.scenario.wait_total_s() > REAL_WAIT_MAX_S {
        return SubjectOutcome::NotPlayed("too much time passes in it");
    }
    if note_of(make, named).is_some_and(|kea| kea.verdict == DeviationReason::Unsupported) {
        return SubjectOutcome::NotPlayed("not in Debian's version");
    }
    let mut tries = 0;
    loop {
        let limit = if is_known(make, named) { KNOWN_LIMIT } else { PATIENCE };
        let started = Daemon::start(make, Setup::of(&named.scenario), number, limit);
        let begun_s = wall_s();
        let outcome = judge(
            named,
            started.map(|daemon| Box::new(daemon) as Box<dyn scenario::ScenarioServer>),
        );
        tries += 1;
        // A lease given again a second later is a second shorter, which no scenario without waiting
        // expects. If seconds pass, threads may read the clock late.
        let is_timed = named.scenario.wait_total_s() > 0 || wall_s() != begun_s;
        // An answer that should not come and is late makes silence look true: what is known to
        // differ may seem to agree.
        let is_known = is_known(make, named);
        let is_expected = is_known != (outcome == SubjectOutcome::Agrees);
        if is_expected || !(is_known || is_timed) || tries == TRIES_MAX {
            return outcome;
        }
    }
}

/// Returns the scenario's note on a server that is known to differ.
const fn note_of(make: ServerMake, named: &NamedScenario) -> Option<&KeaNote> {
    match make {
        ServerMake::Godwit => None,
        ServerMake::Kea => named.scenario.kea.as_ref(),
        ServerMake::Kea3 => named.scenario.kea3.as_ref(),
    }
}

/// Returns true if the server is known to differ from the scenario.
const fn is_known(make: ServerMake, named: &NamedScenario) -> bool {
    note_of(make, named).is_some()
}

/// Returns the seconds since 1970.
fn wall_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn judge(
    named: &NamedScenario,
    subject: Result<Box<dyn scenario::ScenarioServer>, String>,
) -> SubjectOutcome {
    let mut subject = match subject {
        Ok(subject) => subject,
        Err(error) => return SubjectOutcome::Differs(error),
    };
    match play(&named.scenario, subject.as_mut()) {
        Ok(()) => SubjectOutcome::Agrees,
        Err(finding) => SubjectOutcome::Differs(format!("step {}: {}", finding.step, finding.what)),
    }
}

/// Returns the command that plays a scenario alone.
fn repeated(name: &str) -> String {
    format!(
        "repeat with: GODWIT_SCENARIO={name} cargo test -p godwit --test main \
         scenarios::"
    )
}

/// Asserts that every scenario agrees, and lists the differences.
fn assert_agreement(scenarios: &[NamedScenario], outcomes: &[SubjectOutcome]) {
    let mut text = String::new();
    for (named, outcome) in scenarios.iter().zip(outcomes) {
        if let SubjectOutcome::Differs(what) = outcome {
            let name = &named.name;
            writeln!(text, "{name}: {what}; {}", repeated(name)).expect("text can be written");
        }
    }
    let played = outcomes.iter().filter(|o| !matches!(o, SubjectOutcome::NotPlayed(_))).count();
    println!("{played} of {} scenarios played", scenarios.len());
    assert!(text.is_empty(), "\n{text}");
}

#[test]
fn the_engine_plays_every_scenario() {
    let scenarios = subjects::all();
    let outcomes = in_parallel(&scenarios, AT_ONCE, |named, _| on_engine(named));
    assert_agreement(&scenarios, &outcomes);
}

#[test]
fn the_daemon_plays_every_scenario() {
    let scenarios = subjects::all();
    let play = |named: &NamedScenario, number| on_daemon(ServerMake::Godwit, named, number);
    assert_agreement(&scenarios, &in_parallel(&scenarios, AT_ONCE, play));
}

#[test]
fn every_difference_of_kea_2_2_has_a_verdict() {
    if common::require(&["kea-dhcp4", "kea-dhcp6"]) {
        assert_verdicts(ServerMake::Kea, "Kea 2.2");
    }
}

#[test]
fn every_difference_of_kea_3_has_a_verdict() {
    if common::has_debian_13() {
        assert_verdicts(ServerMake::Kea3, "Kea 3.0");
    }
}

/// Asserts that every difference of `make` has a verdict in the scenario, and every verdict a
/// difference.
fn assert_verdicts(make: ServerMake, version: &str) {
    let scenarios = subjects::all();
    let outcomes = in_parallel(&scenarios, AT_ONCE, |named, number| on_daemon(make, named, number));
    let report = report(make, version, &scenarios, &outcomes);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = format!("{make:?}-differences.md").to_lowercase();
    std::fs::write(folder.join(file), &report).expect("the folder is there");
    let mut faults = String::new();
    for (named, outcome) in scenarios.iter().zip(&outcomes) {
        match (outcome, note_of(make, named)) {
            (SubjectOutcome::Differs(what), None) => {
                let name = &named.name;
                writeln!(faults, "{name}: unexplained: {what}; {}", repeated(name)).expect("text");
            }
            (SubjectOutcome::Agrees, Some(note)) => {
                writeln!(faults, "{}: agrees, but `{}`", named.name, note.note).expect("text");
            }
            _ => {}
        }
    }
    assert!(faults.is_empty(), "\n{faults}\n{report}");
}

/// Returns the report of differences, as Markdown.
fn report(
    make: ServerMake,
    version: &str,
    scenarios: &[NamedScenario],
    outcomes: &[SubjectOutcome],
) -> String {
    let count = |wanted: fn(&SubjectOutcome) -> bool| outcomes.iter().filter(|o| wanted(o)).count();
    let mut text = format!(
        "# {version} and the scenarios\n\n{} scenarios: {} agree, {} differ, {} not played.\n\n\
         | Scenario | What Kea does | Verdict | Why |\n|---|---|---|---|\n",
        scenarios.len(),
        count(|o| *o == SubjectOutcome::Agrees),
        count(|o| matches!(o, SubjectOutcome::Differs(_))),
        count(|o| matches!(o, SubjectOutcome::NotPlayed(_))),
    );
    for (named, outcome) in scenarios.iter().zip(outcomes) {
        let what = match outcome {
            SubjectOutcome::Agrees => continue,
            SubjectOutcome::Differs(what) => what.as_str(),
            SubjectOutcome::NotPlayed(why) => why,
        };
        let (verdict, note) = note_of(make, named).map_or(("unexplained", ""), |kea| {
            let verdict = match kea.verdict {
                DeviationReason::Rfc => "ours is right by RFC",
                DeviationReason::Newer => "newer Kea does as ours",
                DeviationReason::Bug => "fault of Kea's",
                DeviationReason::Unsupported => "not in this version",
                DeviationReason::Ours => "meant",
            };
            (verdict, kea.note.as_str())
        });
        writeln!(text, "| {} | {what} | {verdict} | {note} |", named.name).expect("text");
    }
    text
}

/// Checks that the coverage table in the repository matches the scenarios, and that every name in
/// `keys.txt` has a scenario. With `GODWIT_WRITE` set it writes the table anew.
#[test]
fn every_name_has_a_scenario() {
    if std::env::var_os("GODWIT_SCENARIO").is_some() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let names = std::fs::read_to_string(root.join("keys.txt")).expect("the names are there");
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in names.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        rows.insert(line.to_owned(), Vec::new());
    }
    for named in subjects::all() {
        let family = format!("{:?}", named.scenario.family).to_lowercase();
        for name in &named.scenario.covers {
            rows.entry(format!("{family} {name}")).or_default().push(named.name.clone());
        }
    }
    let empty: Vec<&String> =
        rows.iter().filter(|(_, scenarios)| scenarios.is_empty()).map(|(row, _)| row).collect();
    assert!(empty.is_empty(), "without a scenario: {empty:?}");
    let mut table = "# What the scenarios cover\n\nMade from the scenarios by their test \
                     (`GODWIT_WRITE=1 cargo test -p godwit --test main scenarios::`).\n\n\
                     | Family and name | Scenarios |\n|---|---|\n"
        .to_owned();
    for (row, scenarios) in &rows {
        let short: Vec<&str> = scenarios.iter().filter_map(|name| name.get(3..)).collect();
        writeln!(table, "| {row} | {} |", short.join(", ")).expect("text");
    }
    let path = root.join("COVERAGE.md");
    if std::env::var_os("GODWIT_WRITE").is_some() {
        std::fs::write(&path, &table).expect("the repository can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == table, "conformance/COVERAGE.md is not up to date");
}
