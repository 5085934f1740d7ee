//! Configurations of ISC dhcpd, converted by `godwit convert`, and served by dhcpd and by Godwit to
//! the same clients. `conformance/dhcpd/` has the files, with the clients of each.

pub(crate) mod link;
pub(crate) mod replies;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{TempFolder, is_root, require};
use crate::subjects::{collect, in_parallel};
use link::{ComparedLink, LinkServer};
use replies::{RecordedReply, ResourcePools, differences};
use scenario::{Scenario, ScenarioFamily, play};

/// Number of configurations that are compared at a time.
const AT_ONCE: usize = 2;
/// Comment at the end of a line of a dhcpd.conf with a statement that is not carried.
const LEFT_OUT: &str = "# not carried";
/// Minimum number of configurations.
const COUNT_MIN: usize = 30;

/// dhcpd.conf with the clients that dhcpd and Godwit serve with it.
struct DhcpdCase {
    name: String,
    scenario: Scenario,
}

fn cases() -> Vec<DhcpdCase> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/dhcpd");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let wanted = std::env::var("GODWIT_DHCPD").unwrap_or_default();
    let case = |path: PathBuf| {
        let name = path.file_stem().expect("it was listed").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("it was just listed");
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        DhcpdCase { name, scenario }
    };
    paths.into_iter().map(case).filter(|case| case.name.contains(&wanted)).collect()
}

/// Result of `godwit convert`: the configuration, and the lines that its notes name.
struct ConversionRun {
    text: String,
    lines: BTreeSet<usize>,
    messages: String,
}

/// Converts `case` in `folder` by the program.
fn converted(case: &DhcpdCase, folder: &Path) -> Result<ConversionRun, String> {
    let file = folder.join("dhcpd.conf");
    fs::write(&file, &case.scenario.config).map_err(|error| error.to_string())?;
    let output = folder.join("converted.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.arg("convert").arg(&file).arg("-o").arg(&output).stdin(Stdio::null());
    command.args(["--interface", "sv0=2001:db8:77::/64"]);
    let ended = command.output().map_err(|error| error.to_string())?;
    let messages = String::from_utf8_lossy(&ended.stderr).into_owned();
    let prefix = format!("{}:", file.display());
    let line_of = |line: &str| line.strip_prefix(&prefix)?.split(':').next()?.parse().ok();
    let lines: BTreeSet<usize> = messages.lines().filter_map(line_of).collect();
    let expected = if lines.is_empty() { 0 } else { 3 };
    if ended.status.code() != Some(expected) || messages.contains("by hand") {
        return Err(format!("{}: {messages}", ended.status));
    }
    let text = fs::read_to_string(&output).map_err(|error| error.to_string())?;
    Ok(ConversionRun { text, lines, messages })
}

/// Checks that exactly the marked lines of `config` have notes.
fn check_notes(config: &str, conversion: &ConversionRun) -> Result<(), String> {
    let marked: BTreeSet<usize> = (1..)
        .zip(config.lines())
        .filter(|(_, line)| line.contains(LEFT_OUT))
        .map(|(number, _)| number)
        .collect();
    if marked == conversion.lines {
        return Ok(());
    }
    let ConversionRun { lines, messages, .. } = conversion;
    Err(format!("lines {marked:?} are marked, and {lines:?} have notes: {messages}"))
}

/// Plays the clients of `case` to `server`, and returns the replies.
fn played(
    case: &DhcpdCase,
    link: &ComparedLink,
    server: &dyn Fn(&ComparedLink) -> Result<LinkServer, String>,
) -> Result<Vec<RecordedReply>, String> {
    let running = server(link)?;
    let mut clients = link.clients(case.scenario.family);
    let result = play(&case.scenario, &mut clients);
    let log = running.end();
    clients.collect_late();
    result.map_err(|failure| format!("step {}: {}; log: {log}", failure.step, failure.what))?;
    Ok(clients.replies)
}

fn compare(case: &DhcpdCase) -> Result<(), String> {
    let folder = TempFolder::new("dhcpd");
    let conversion = converted(case, folder.path())?;
    check_notes(&case.scenario.config, &conversion)?;
    let family = case.scenario.family;
    let Some(link) = ComparedLink::new(&case.scenario) else { return Ok(()) };
    let config = &case.scenario.config;
    let theirs = played(case, &link, &|link| link.start_dhcpd(family, config, folder.path()))
        .map_err(|reason| format!("dhcpd: {reason}"))?;
    let text = &conversion.text;
    let ours = played(case, &link, &|link| link.start_godwit(family, text, folder.path()))
        .map_err(|reason| format!("godwit: {reason}\n{text}"))?;
    let pools = ResourcePools::of(text);
    let found = differences(family, &pools, &theirs, &ours);
    if found.is_empty() { Ok(()) } else { Err(format!("{}\n{text}", found.join("\n"))) }
}

#[test]
fn converted_configurations_serve_clients_as_dhcpd_does() {
    if !require(&["dhcpd", "ip"]) || !is_root() {
        return;
    }
    let cases = cases();
    let is_whole = std::env::var_os("GODWIT_DHCPD").is_none();
    assert!(!is_whole || cases.len() >= COUNT_MIN, "{} configurations", cases.len());
    let outcomes = in_parallel(&cases, AT_ONCE, |case, _| compare(case));
    let mut text = String::new();
    for (case, outcome) in cases.iter().zip(&outcomes) {
        if let Err(reason) = outcome {
            let name = &case.name;
            writeln!(
                text,
                "{name}: {reason}\nrepeat with: GODWIT_DHCPD={name} cargo test -p godwit --test \
                 main dhcpd::\n"
            )
            .expect("text can be written");
        }
    }
    println!("{} configurations compared", cases.len());
    assert!(text.is_empty(), "\n{text}");
}

#[test]
fn a_file_that_dhcpd_refuses_is_refused_with_all_positions() {
    let folder = TempFolder::new("dhcpd-refused");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("inner"), "option routers 10.0.0.300;\n").expect("the folder can be written");
    let text = format!(
        "include \"{}\";\nnonsense 5;\nsubnet 10.0.0.0 netmask 255.0.0.0 {{\n  range;\n}}\n",
        path("inner")
    );
    fs::write(path("outer"), text).expect("the folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    let ended = command.args(["convert", &path("outer")]).output().expect("the program runs");
    assert_eq!(ended.status.code(), Some(2));
    let messages = String::from_utf8_lossy(&ended.stderr).into_owned();
    for begin in [
        format!("{}:1:16: error: `option routers`: `10.0.0.300`", path("inner")),
        format!("{}:2:1: error: `nonsense`", path("outer")),
        format!("{}:4:3: error: `range`", path("outer")),
    ] {
        assert!(messages.contains(&begin), "no {begin} in {messages}");
    }
    assert!(ended.stdout.is_empty());
}

/// Returns the addresses of the relay agents of DHCPv4 in `scenario`.
pub(crate) fn relay_addresses(scenario: &Scenario) -> BTreeSet<String> {
    let steps = scenario.steps.iter().filter_map(|step| step.relay.clone());
    let all = steps.chain([scenario.relay.clone()]);
    let further = scenario.steps.iter().flat_map(|step| step.further_relays.clone());
    all.chain(further)
        .filter(|address| !address.is_empty() && address != "none")
        .filter(|_| scenario.family == ScenarioFamily::V4)
        .collect()
}
