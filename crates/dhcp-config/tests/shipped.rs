//! Tests of the configurations under `data`: Godwit's problems, Kea's agreement, and real files.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{data, folder, lines, problems, problems6, shipped_includes};
use dhcp_config::{ConfigProblem, Severity, parse_dhcp4, parse_dhcp6};
use testkit::TempFolder;

/// Server of Kea and the parser of Godwit for its configurations.
#[derive(Clone, Copy)]
struct KeaServerParser {
    name: &'static str,
    /// Suffix of the names of its folders under `data`.
    suffix: &'static str,
    /// Function that returns the problems of a text, and true if it is accepted.
    parse: fn(&str, &str) -> (Vec<ConfigProblem>, bool),
}

fn outcome<T>(
    parsed: Result<dhcp_config::CheckedConfig<T>, Vec<ConfigProblem>>,
) -> (Vec<ConfigProblem>, bool) {
    match parsed {
        Ok(checked) => (checked.warnings, true),
        Err(problems) => (problems, false),
    }
}

const DHCP4: KeaServerParser = KeaServerParser {
    name: "kea-dhcp4",
    suffix: "",
    parse: |name, text| outcome(parse_dhcp4(name, text, &mut shipped_includes())),
};

const DHCP6: KeaServerParser = KeaServerParser {
    name: "kea-dhcp6",
    suffix: "6",
    parse: |name, text| outcome(parse_dhcp6(name, text, &mut shipped_includes())),
};

/// Returns true if `kea -t` accepts `file`, and its output.
fn kea_accepts(kea: &Path, folder: &Path, file: &str) -> (bool, String) {
    let output = Command::new(kea)
        .args(["-t", file])
        .current_dir(folder)
        .env("KEA_PIDFILE_DIR", folder)
        .env("KEA_LOCKFILE_DIR", "none")
        .stdin(Stdio::null())
        .output()
        .expect("Kea starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn verdicts_agree(server: KeaServerParser, kind: &str, accepted: bool) {
    let Some(kea) = testkit::find_tool(server.name) else {
        testkit::skip(format_args!("{} is not installed", server.name));
        return;
    };
    let scratch = TempFolder::new(&format!("{}-{kind}", server.name));
    std::fs::create_dir(scratch.path().join("include")).expect("the folder is fresh");
    for (name, text) in folder("include") {
        std::fs::write(scratch.path().join("include").join(name), text)
            .expect("the folder is ours");
    }
    for (name, text) in folder(&format!("{kind}{}", server.suffix)) {
        std::fs::write(scratch.path().join(&name), &text).expect("the folder is ours");
        let (theirs, output) = kea_accepts(&kea, scratch.path(), &name);
        let (problems, ours) = (server.parse)(&name, &text);
        let messages: Vec<String> = problems.iter().map(ConfigProblem::to_string).collect();
        assert_eq!(theirs, accepted, "kea, {name}: {output}");
        assert_eq!(ours, accepted, "godwit, {name}: {messages:?}");
    }
}

#[test]
fn kea_accepts_what_is_accepted() {
    verdicts_agree(DHCP4, "accepted", true);
}

#[test]
fn kea_refuses_what_is_refused() {
    verdicts_agree(DHCP4, "refused", false);
}

#[test]
fn kea_accepts_what_is_accepted_of_dhcpv6() {
    verdicts_agree(DHCP6, "accepted", true);
}

#[test]
fn kea_refuses_what_is_refused_of_dhcpv6() {
    verdicts_agree(DHCP6, "refused", false);
}

fn refused_files_have_their_problems(kind: &str, problems: fn(&str) -> Vec<ConfigProblem>) {
    let expected =
        std::fs::read_to_string(data().join(format!("{kind}.txt"))).expect("it is shipped");
    let mut report = String::new();
    for (name, text) in folder(kind) {
        for line in lines(&problems(&text)) {
            report.push_str(&format!("{name}:{line}\n"));
        }
    }
    assert_eq!(report, expected);
}

#[test]
fn each_refused_file_has_its_problems_at_their_places() {
    refused_files_have_their_problems("refused", problems);
}

#[test]
fn each_refused_file_of_dhcpv6_has_its_problems_at_their_places() {
    refused_files_have_their_problems("refused6", problems6);
}

/// Returns the errors in the configuration that Debian installs for a server.
fn errors_of_installed(server: KeaServerParser) -> Option<Vec<String>> {
    let file = format!("/etc/kea/{}.conf", server.name);
    let Ok(text) = std::fs::read_to_string(&file) else {
        testkit::skip(format_args!("{file} is not installed"));
        return None;
    };
    let (problems, _) = (server.parse)(&file, &text);
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    Some(errors.map(|problem| problem.message.clone()).collect())
}

#[test]
fn the_configurations_that_debian_installs_are_accepted() {
    for server in [DHCP4, DHCP6] {
        if let Some(errors) = errors_of_installed(server) {
            assert_eq!(errors, [""; 0], "{}", server.name);
        }
    }
}
