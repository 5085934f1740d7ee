//! Tests of the twins (comparison scenarios) of `conformance/twins`: Kea 3 and Godwit play the same
//! steps, and after each step their files, logs, statistics and answers agree, or the twin has a
//! verdict.

mod manual;
mod name_changes;
mod names;
mod rules;
pub(crate) mod tables;
mod views;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use scenario::{ComparedServer, ComparisonScenario, ScenarioFamily, ScenarioPlayer};
use testbed::database::DatabaseEngine;

use crate::common::{TempFolder, has_debian_13, waited_at_most};
use crate::subjects::process::{Daemon, ServerMake, Setup};
use crate::subjects::{collect, in_parallel};
use name_changes::RequestReceiver;
use tables::{LeaseTables, TwinDatabaseServers};
use views::{ObservedServer, now_s};

/// Number of twins played at a time.
const AT_ONCE: usize = 2;

/// Views that threads of Godwit write after the reply. A server that has ended has written them.
const WRITTEN_LATER: [&str; 2] = ["legal-log", "scripts"];

/// Maximum time until Godwit's views are as expected: a reply may leave before it is counted.
const LIMIT: Duration = Duration::from_secs(300);

/// Number of looks without a running script after which none runs.
const LOOKS_WITHOUT_SCRIPTS: usize = 5;

/// Name of the script that both servers call in twins with the view `scripts`.
const SCRIPT_FILE: &str = "scripts/script.sh";

/// Content of that script: each call leaves a file with its argument, the file mode mask and its
/// environment.
const SCRIPT: &str = r#"#!/bin/sh
folder=${0%/*}
file=$(/usr/bin/mktemp "$folder/.call-XXXXXXXX")
{ echo "$# $1 $(umask)"; /usr/bin/env; } > "$file"
/bin/mv "$file" "$folder/call-${file##*-}"
"#;

/// Beginnings of statistics that Kea 3.0 does not have, and later versions do.
const LATER: [&str; 4] = ["pkt", "assigned-", "registered-nas", "cumulative-registered-nas"];

/// Twin and its name: its path below `conformance/twins`, without the extension.
struct NamedTwin {
    name: String,
    comparison: ComparisonScenario,
    /// Server of the database that leases are in; `None` for a lease file.
    engine: Option<DatabaseEngine>,
}

/// Returns every twin of the repository, ordered by name; only those whose name contains
/// `GODWIT_TWIN` if that is set.
fn all() -> Vec<NamedTwin> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/twins");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let wanted = std::env::var("GODWIT_TWIN").unwrap_or_default();
    let mut comparisons = Vec::new();
    for path in paths {
        let relative = path.strip_prefix(&root).expect("it was found below it");
        let name = relative.with_extension("").display().to_string();
        let text = fs::read_to_string(&path).expect("it was just listed");
        let comparison =
            ComparisonScenario::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        if !name.contains(&wanted) {
            continue;
        }
        if comparison.database {
            for engine in DatabaseEngine::ALL {
                let comparison = comparison.clone();
                let name = format!("{name} ({engine:?})");
                comparisons.push(NamedTwin { name, comparison, engine: Some(engine) });
            }
        } else {
            comparisons.push(NamedTwin { name, comparison, engine: None });
        }
    }
    let generated = names::twins().into_iter().filter(|twin| twin.name.contains(&wanted));
    comparisons.extend(generated);
    comparisons
}

/// Views after one step, each with its name.
type StepViews = Vec<(String, Vec<String>)>;

/// Line of a view that only one of the servers has after a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lone {
    view: String,
    maker: ComparedServer,
    line: String,
}

fn start<'s>(
    make: ServerMake,
    comparison: &ComparisonScenario,
    tables: Option<LeaseTables<'s>>,
) -> Result<ObservedServer<'s>, String> {
    let folder = TempFolder::new(&format!("twin-{make:?}").to_lowercase());
    let mut files = comparison.files.clone();
    if comparison.look.iter().any(|view| view == "scripts") {
        files.entry(SCRIPT_FILE.to_owned()).or_insert_with(|| SCRIPT.to_owned());
    }
    for (name, text) in &files {
        let path = folder.path().join(name);
        let parent = path.parent().expect("the file is in the folder");
        fs::create_dir_all(parent).expect("the folder is ours");
        fs::write(&path, text).expect("the folder is ours");
        if name == SCRIPT_FILE {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
    }
    let config = with_server_id(comparison.family, &comparison.config);
    let config = tables.as_ref().map_or_else(|| config.clone(), |tables| tables.add_to(&config));
    let requests = RequestReceiver::new();
    let config = requests.add_to(&config);
    let setup = Setup {
        family: comparison.family,
        config: &config,
        has_commands: true,
        persists: true,
        link: None,
    };
    let begun_s = now_s();
    let daemon = Daemon::start_in(folder, make, setup, LIMIT)?;
    Ok(ObservedServer::new(make, daemon, begun_s, tables, requests))
}

/// Returns `config` with an identifier of the DHCPv6 server, if it has none: Kea's server makes
/// none if loopback is the only interface, and a reload must not change it.
fn with_server_id(family: ScenarioFamily, config: &str) -> String {
    let is_needed = family == ScenarioFamily::V6 && !config.contains("\"server-id\"");
    let identifier = "\"server-id\": { \"type\": \"EN\", \"enterprise-id\": 1, \
                      \"identifier\": \"0102\" }, ";
    if is_needed { identifier.to_owned() + config } else { config.to_owned() }
}

/// Plays `comparison` on `make`; `look` is called after each step with its number. Returns the
/// server, which still runs.
fn play<'s>(
    make: ServerMake,
    comparison: &ComparisonScenario,
    tables: Option<LeaseTables<'s>>,
    mut look: impl FnMut(usize, &mut ObservedServer<'s>),
) -> Result<ObservedServer<'s>, String> {
    let mut observed = start(make, comparison, tables)?;
    let scenario = comparison.scenario();
    let mut player = ScenarioPlayer::new(&scenario);
    look(0, &mut observed);
    for (index, step) in scenario.steps.iter().enumerate() {
        let is_silent = step.get.as_deref() == Some("nothing");
        let before = if is_silent { observed.received(comparison.family) } else { 0 };
        player.play_next(&mut observed).map_err(|finding| {
            let log = last_lines(&observed.daemon.log());
            let state = observed.daemon.state();
            format!("{make:?}, step {}: {} ({state}):\n{log}", finding.step, finding.what)
        })?;
        if is_silent {
            // Kea answers commands in the thread that serves: it has processed the message.
            let is_counted =
                waited_at_most(LIMIT, || observed.received(comparison.family) > before);
            if !is_counted {
                return Err(format!("{make:?}, step {}: the message is not counted", index + 1));
            }
        }
        look(index + 1, &mut observed);
    }
    Ok(observed)
}

/// Returns the end of a log, for the message of a failure.
fn last_lines(log: &str) -> String {
    const COUNT: usize = 20;
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(COUNT)..].join("\n")
}

/// Returns the present views of `comparison`, after the step with the number `step`.
fn views_after(
    comparison: &ComparisonScenario,
    step: usize,
    observed: &mut ObservedServer<'_>,
) -> StepViews {
    let looked: &[String] = if step < comparison.look_from { &[] } else { &comparison.look };
    if looked.iter().any(|view| view == "scripts") {
        // The kernel's list of children may lack some while others end.
        let mut looks_without = 0;
        waited_at_most(LIMIT, || {
            looks_without = if observed.runs_scripts() { 0 } else { looks_without + 1 };
            looks_without > LOOKS_WITHOUT_SCRIPTS
        });
    }
    if !looked.is_empty() {
        waited_at_most(LIMIT, || observed.is_settled(comparison));
    }
    let views = looked.iter().map(String::as_str).chain(["answer"]);
    views.map(|view| (view.to_owned(), observed.lines(view, comparison))).collect()
}

/// Returns true for a statistic that is not a difference: one of later versions, or one that is
/// zero before Kea makes it.
fn is_later(line: &str) -> bool {
    let Some((name, value)) = line.split_once(" = ") else { return false };
    value == "0" || LATER.iter().any(|begin| name.starts_with(begin))
}

/// Returns the lines that only one of the servers has in a view, or has in another order.
fn lone_lines(view: &str, ours: &[String], keas: &[String]) -> Vec<Lone> {
    let lone = |maker, line: &str| Lone { view: view.to_owned(), maker, line: line.to_owned() };
    let mut rest: Vec<&String> = keas.iter().collect();
    let mut found = Vec::new();
    for line in ours {
        match rest.iter().position(|kea| *kea == line) {
            Some(at) => drop(rest.remove(at)),
            None if view == "statistics" && is_later(line) => {}
            None => found.push(lone(ComparedServer::Godwit, line)),
        }
    }
    found.extend(rest.into_iter().map(|line| lone(ComparedServer::Kea, line)));
    if found.is_empty() && view != "statistics" && ours != keas {
        found.push(lone(ComparedServer::Godwit, &format!("in another order: {ours:?}")));
    }
    found
}

/// Returns the differences without a verdict after a step, and adds the numbers of the matching
/// verdicts to `used`.
fn unexplained(
    comparison: &ComparisonScenario,
    ours: &StepViews,
    keas: &StepViews,
    used: &mut BTreeSet<usize>,
) -> Vec<Lone> {
    let mut faults = Vec::new();
    for ((view, own), (_, kea)) in ours.iter().zip(keas) {
        for lone in lone_lines(view, own, kea) {
            let mut numbers = (0..).zip(&comparison.differences);
            match numbers.find(|(_, known)| known.is_about(view, lone.maker, &lone.line)) {
                Some((number, _)) => drop(used.insert(number)),
                None => faults.push(lone),
            }
        }
    }
    faults
}

/// Plays a twin on both servers, and returns its faults: differences without a verdict, verdicts
/// without a difference.
fn faults(named: &NamedTwin, servers: &TwinDatabaseServers) -> Vec<String> {
    let comparison = &named.comparison;
    let tables = || named.engine.map(|engine| servers.make_tables(engine));
    let mut keas = Vec::new();
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    let played = play(ServerMake::Kea3, comparison, tables(), |step, observed| {
        keas.push(views_after(comparison, step, observed));
        if step >= comparison.look_from && !observed.is_settled(comparison) {
            found.push(format!("step {step}: Kea never has what the twin waits for"));
        }
    });
    let mut used = BTreeSet::new();
    let played = played.and_then(|_| {
        play(ServerMake::Godwit, comparison, tables(), |step, observed| {
            let mut lone = Vec::new();
            // A difference stays in later steps.
            let limit = if told.is_empty() { LIMIT } else { Duration::ZERO };
            let mut known = BTreeSet::new();
            waited_at_most(limit, || {
                known.clear();
                lone = unexplained(
                    comparison,
                    &views_after(comparison, step, observed),
                    &keas[step],
                    &mut known,
                );
                lone.is_empty()
            });
            used.extend(known);
            for lone in lone {
                if told.insert(lone.clone()) {
                    let Lone { view, maker, line } = lone;
                    found.push(format!("step {step}, {view}, only {maker:?}: {line}"));
                }
            }
        })
    });
    match played {
        Ok(observed) => found.extend(written_later(comparison, observed, keas.last())),
        Err(fault) => found.push(fault),
    }
    let unused = (0..).zip(&comparison.differences).filter(|(number, _)| !used.contains(number));
    found.extend(unused.map(|(_, known)| format!("a verdict without a difference: {known:?}")));
    found
}

/// Returns the differences without a verdict between `keas`, Kea's views after the last step, and
/// what Godwit has written when it has ended.
fn written_later(
    comparison: &ComparisonScenario,
    mut observed: ObservedServer<'_>,
    keas: Option<&StepViews>,
) -> Vec<String> {
    if let Err(error) = observed.daemon.end() {
        return vec![format!("Godwit does not end: {error}")];
    }
    let (mut ours, mut theirs) = (StepViews::new(), StepViews::new());
    for (view, kea) in keas.into_iter().flatten() {
        if WRITTEN_LATER.contains(&view.as_str()) {
            ours.push((view.clone(), observed.lines(view, comparison)));
            theirs.push((view.clone(), kea.clone()));
        }
    }
    let lone = unexplained(comparison, &ours, &theirs, &mut BTreeSet::new());
    let text = |Lone { view, maker, line }| format!("at the end, {view}, only {maker:?}: {line}");
    lone.into_iter().map(text).collect()
}

/// Plays the twins whose leases are in a database, or in files.
fn play_all(has_database: bool) {
    if !has_debian_13() {
        return;
    }
    let mut comparisons = all();
    comparisons.retain(|named| named.comparison.database == has_database);
    let servers = TwinDatabaseServers::default();
    let mut text = String::new();
    let judged = in_parallel(&comparisons, AT_ONCE, |comparison, _| faults(comparison, &servers));
    for (named, faults) in comparisons.iter().zip(judged) {
        for fault in faults {
            text += &format!("{}: {fault}\n", named.name);
        }
    }
    assert!(text.is_empty(), "\n{text}repeat one with GODWIT_TWIN=name");
}

#[test]
fn what_servers_leave_beside_packets_is_what_kea_3_leaves() {
    play_all(false);
}

#[test]
fn rows_in_databases_are_those_of_kea_3() {
    play_all(true);
}
