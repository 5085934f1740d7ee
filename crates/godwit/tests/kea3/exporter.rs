//! Metrics of `kea-exporter-metrics`: their names and labels are those that kea-exporter makes of
//! Kea 3.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use scenario::{Scenario, ScenarioFamily, play};

use super::clients::{SCRIPT, folder};
use super::daemon;
use crate::common::{has_debian_13, run_bounded, waited_until};
use crate::subjects::process::{Daemon, ServerMake};

/// Steps that make every counter that both servers have by then: one client gets a lease, another
/// finds none.
const STEPS_4: &str = r#"
title = "One address for two clients"
family = "v4"
relay = "10.0.0.1"
config = '''
    "subnet4": [ { "id": 1, "subnet": "10.0.0.0/24",
                   "pools": [ { "pool": "10.0.0.10 - 10.0.0.10" } ] },
                 { "id": 2, "subnet": "10.2.0.0/24", "pools": [ { "pool": "10.2.0.0/25" } ] } ],
    "user-context": { "godwit": { "kea-exporter-metrics": true } }
'''
[[step]]
send = "DISCOVER"
get = "OFFER"
[[step]]
send = "REQUEST"
options = { 50 = "ip:$yiaddr", 54 = "ip:$server" }
get = "ACK"
[[step]]
send = "DISCOVER"
client = 2
get = "nothing"
"#;

const STEPS_6: &str = r#"
title = "One address for two clients"
family = "v6"
relay = "2001:db8:1::1"
config = '''
    "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64",
                   "pools": [ { "pool": "2001:db8:1::10 - 2001:db8:1::10" } ],
                   "pd-pools": [ { "prefix": "2001:db8:8000::", "prefix-len": 56,
                                   "delegated-len": 60 } ] } ],
    "user-context": { "godwit": { "kea-exporter-metrics": true } }
'''
[[step]]
send = "SOLICIT"
na = { 1 = [] }
get = "ADVERTISE"
keep = { address = "na 1 address" }
[[step]]
send = "REQUEST"
na = { 1 = ["$address"] }
get = "REPLY"
[[step]]
send = "SOLICIT"
client = 2
na = { 1 = [] }
get = "ADVERTISE"
"#;

/// Metric with its labels, in one spelling for both sources.
type Series = (String, BTreeSet<String>);

/// Returns the metrics that kea-exporter makes of the server at the unix socket `path`.
fn exported(python: &Path, path: &Path, family: ScenarioFamily) -> BTreeSet<Series> {
    let number = if family == ScenarioFamily::V4 { "4" } else { "6" };
    let mut command = Command::new(python);
    command.args(["-B", SCRIPT, "kea-exporter", "none", "user", "password"]);
    let output = run_bounded(command.arg(path).arg(number));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // `NAME [('label', 'value'), ...]`
    let series = |line: &str| {
        let (name, labels) = line.split_once(" [")?;
        let labels = labels.trim_end_matches(']').split("), (").filter(|part| !part.is_empty());
        let label = |part: &str| {
            let part = part.trim_matches(['(', ')']);
            let (key, value) = part.split_once(", ").expect("a pair");
            format!("{}={}", key.trim_matches('\''), value.trim_matches('\''))
        };
        name.starts_with("kea_").then(|| (name.to_owned(), labels.map(label).collect()))
    };
    text.lines().filter_map(series).collect()
}

/// Returns the metrics of `/metrics` that have names of kea-exporter.
fn exposed(path: &Path) -> BTreeSet<Series> {
    let mut stream = UnixStream::connect(path).expect("the server takes requests");
    let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(request).expect("the server reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the server answers");
    let series = |line: &str| {
        let (name, rest) = line.split_once('{')?;
        let (labels, _value) = rest.split_once("} ")?;
        let label = |part: &str| part.replacen("=\"", "=", 1).trim_end_matches('"').to_owned();
        let labels = labels.split(",").map(label).collect();
        name.starts_with("kea_").then(|| (name.to_owned(), labels))
    };
    text.lines().filter_map(series).collect()
}

/// Returns a server that has played the steps and counted the last reply.
fn played(make: ServerMake, scenario: &Scenario) -> Daemon {
    let mut daemon = daemon(make, scenario.family, &scenario.config);
    play(scenario, &mut daemon).unwrap_or_else(|finding| panic!("{make:?}: {finding:?}"));
    daemon
}

#[test]
fn metrics_have_the_names_and_labels_of_kea_exporter() {
    if !has_debian_13() {
        return;
    }
    let Some(folder) = folder() else {
        testkit::skip_even_if_required("no kea-exporter; `cargo xtask test setup` installs it");
        return;
    };
    let python = folder.join("first/bin/python");
    for steps in [STEPS_4, STEPS_6] {
        let scenario = Scenario::parse(steps).expect("it is sound");
        let kea = played(ServerMake::Kea3, &scenario);
        let expected = exported(&python, &kea.control_path(), scenario.family);
        assert!(expected.len() > 20, "{expected:#?}");
        let own = played(ServerMake::Godwit, &scenario);
        let path = own.control_path();
        waited_until(|| exposed(&path).is_superset(&expected));
        let found = exposed(&path);
        let missing: Vec<_> = expected.difference(&found).collect();
        // Later versions of Kea also count failures of subnets from the start on.
        let is_later = |series: &&Series| series.0.ends_with("_allocations_failed_total");
        let further: Vec<_> = found.difference(&expected).filter(|s| !is_later(s)).collect();
        assert!(missing.is_empty() && further.is_empty(), "{missing:#?}\nfurther: {further:#?}");
    }
}
