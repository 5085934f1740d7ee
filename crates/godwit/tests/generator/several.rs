//! Tests of several generators that act as one on this machine: a script replaces SSH and does to
//! each host what its name says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::responder::{ClientTreatment, DhcpResponder};
use super::{figures, send_args, words};
use crate::common::{TempFolder, free_port, run_bounded};

/// Returns the responder's treatment of a client by its number modulo eleven: each for a hundred of
/// 1,100 clients, on either generator.
pub(crate) fn misbehave(client: u32) -> ClientTreatment {
    match client % 11 {
        1 => ClientTreatment::Nothing,
        2 => ClientTreatment::NothingTo(3),
        3 => ClientTreatment::Nak,
        4 => ClientTreatment::Twice,
        5 => ClientTreatment::WrongNumber,
        6 => ClientTreatment::OtherClient,
        7 => ClientTreatment::NoAddress,
        8 => ClientTreatment::NoServer,
        9 => ClientTreatment::Cut,
        10 => ClientTreatment::SameAddress,
        _ => ClientTreatment::Good,
    }
}

/// Arguments of the run for [`misbehave`].
pub(crate) const MISBEHAVED: &str = "-r 1100 -n 1100 -R 1100 -d 20";

/// Checks the counts of the run [`MISBEHAVED`] by two generators together, and those of the
/// responder.
pub(crate) fn check_misbehaved(json: &Value, responder: &DhcpResponder) {
    let names = [
        "sent",
        "on_time",
        "lost",
        "nak",
        "invalid",
        "wrong_client",
        "duplicates",
        "unmatched",
        "malformed",
        "late",
        "in_flight",
    ];
    assert_eq!(
        figures(json, 0, names),
        [1_100, 600, 300, 0, 200, 0, 100, 100, 100, 0, 0],
        "{json}"
    );
    assert_eq!(figures(json, 1, names), [600, 300, 100, 100, 0, 100, 100, 0, 0, 0, 0], "{json}");
    assert_eq!(responder.counts(), [1_100, 600, 0, 0]);
    assert_eq!((responder.clients().len(), responder.relays()), (1_100, 2));
    // All but one of the clients that get one address, on either generator.
    assert_eq!(json["exchanges"][1]["conflict_count"], 99);
    assert_eq!((json["leases"].as_u64(), json["orphans"].as_u64()), (Some(201), Some(100)));
    assert_eq!(json["exchanges"][1]["latency_due"]["count"], 300);
    let generators = json["generators"].as_array().unwrap();
    assert_eq!(generators.len(), 2, "{json}");
    for name in ["sent", "on_time", "lost", "invalid", "wrong_client"] {
        let of = |generator: &Value, exchange: usize| figures(generator, exchange, [name])[0];
        for exchange in 0..2 {
            let sum: u64 = generators.iter().map(|generator| of(generator, exchange)).sum();
            assert_eq!(sum, figures(json, exchange, [name])[0], "{name}: {json}");
        }
    }
    for generator in generators {
        assert_eq!(figures(generator, 0, ["sent", "due"]), [550, 550], "{json}");
        let us = |name: &str| generator[name].as_f64().unwrap();
        // Both clocks are one kernel's.
        assert!(us("clock_offset_us").abs() <= us("clock_uncertainty_us") + 0.001, "{generator}");
        assert!(generator["clock_drift_us"].is_number(), "{generator}");
    }
}

/// Replacement of SSH: `FOLDER/ssh HOST COMMAND`.
struct SshReplacement {
    folder: TempFolder,
}

impl SshReplacement {
    fn new(label: &str) -> Self {
        let folder = TempFolder::new(label);
        let script = format!(
            r#"#!/bin/sh
host=$1
shift
case $host in
refusing)
    echo "ssh: connect to host $host port 22: Connection refused" >&2
    exit 255 ;;
other)
    echo '{{"hello":{{"protocol":1,"version":"0.0.1"}}}}'
    cat >/dev/null ;;
dying)
    "$@" | while read -r line; do
        echo "$line"
        case $line in *progress*) exit 1 ;; esac
    done
    exit 9 ;;
*)
    echo $$ >>{}
    exec "$@" ;;
esac
"#,
            folder.path().join("pids").display()
        );
        let path = folder.path().join("ssh");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn run(&self, line: &str, remote: &str, responder: &DhcpResponder) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        command.arg("perfdhcp").args(words(line)).args(["--remote-godwit", remote]);
        command.arg("--ssh-command").arg(self.folder.path().join("ssh"));
        run_bounded(command.args(send_args(responder, free_port())))
    }

    fn measured(&self, line: &str, responder: &DhcpResponder) -> (Value, i32) {
        let output = self.run(&format!("{line} --json -"), env!("CARGO_BIN_EXE_godwit"), responder);
        let text = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {error}"));
        (json, output.status.code().unwrap())
    }

    /// Returns the process ids of the healthy generators that were started.
    fn pids(&self) -> Vec<String> {
        let pids = fs::read_to_string(self.folder.path().join("pids")).unwrap_or_default();
        pids.lines().map(Into::into).collect()
    }
}

#[test]
fn two_generators_have_the_ledger_of_the_responder() {
    let ssh = SshReplacement::new("several-ledger");
    let responder = DhcpResponder::start(false, misbehave);
    let line = format!("--generators a=127.0.0.2,b=127.0.0.3 {MISBEHAVED}");
    let (json, code) = ssh.measured(&line, &responder);
    assert_eq!(code, 3, "{json}");
    check_misbehaved(&json, &responder);
    assert_eq!(json["offered_per_s"].as_f64(), Some(1_100.0));
}

#[test]
fn lists_go_with_the_run_and_its_parts_are_disjoint() {
    let ssh = SshReplacement::new("several-lists");
    let folder = TempFolder::new("several-lists-files");
    let macs = folder.path().join("macs");
    let list: String = (1..=5).map(|n| format!("02:00:00:00:00:0{n}\n")).collect();
    fs::write(&macs, list).unwrap();
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let generators = "--generators a=127.0.0.2,b=127.0.0.3,c=127.0.0.4";
    let line = format!("{generators} -r 600 -n 301 -d 60 -s 3 -M {}", macs.display());
    let (json, code) = ssh.measured(&line, &responder);
    assert_eq!((code, json["leases"].as_u64()), (0, Some(5)), "{json}");
    assert_eq!(responder.clients(), [1, 2, 3, 4, 5]);
    assert_eq!(responder.counts(), [301, 301, 0, 0]);
    let sent: Vec<u64> = json["generators"]
        .as_array()
        .unwrap()
        .iter()
        .map(|generator| figures(generator, 0, ["sent"])[0])
        .collect();
    assert_eq!(sent, [101, 100, 100]);
    assert_eq!((json["seed"].as_u64(), responder.relays()), (Some(3), 3));
    // A client that gets its address again, on either generator, would be a conflict.
    assert_eq!(json["exchanges"][1]["conflict_count"], 0);
}

#[test]
fn the_text_has_a_line_for_each_generator_and_periodic_sums() {
    let ssh = SshReplacement::new("several-text");
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let line = "--generators a=127.0.0.2,b=127.0.0.3 -r 100 -p 3 -R 100 -d 60 -t 1";
    let output = ssh.run(line, env!("CARGO_BIN_EXE_godwit"), &responder);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let begun = text.lines().find_map(|line| line.strip_prefix("sent packets: ")).unwrap();
    let periodic: Vec<&str> = text.lines().filter(|line| line.starts_with("sent: ")).collect();
    assert!(periodic.len() >= 2, "{text}");
    let first = periodic[0].split(['/', ' ']).nth(1).unwrap().parse::<u64>().unwrap();
    assert!(first > 0, "a line has sums: {text}");
    // On a busy machine the time may be over before the last exchange of one generator has begun.
    let own = ["a (127.0.0.2:", "b (127.0.0.3:"].map(|own| {
        let line = text.lines().find(|line| line.starts_with(own)).unwrap();
        let (_, figures) = line.split_once(" sent ").unwrap();
        let (sent, rest) = figures.split_once('/').unwrap();
        assert!(rest.starts_with(&format!("{sent}, on time {sent}/{sent}, late ")), "{line}");
        sent.parse::<u64>().unwrap()
    });
    assert!(own.iter().all(|sent| (1..=150).contains(sent)), "{own:?}");
    assert_eq!(begun, own.iter().sum::<u64>().to_string(), "{text}");
}

/// Returns true if the process exists.
fn runs(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

#[test]
fn a_host_that_fails_is_named_and_the_others_are_ended() {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let godwit = env!("CARGO_BIN_EXE_godwit");
    for (hosts, remote, named, told) in [
        ("a=127.0.0.2,refusing", godwit, "refusing", "255): ssh: connect to host refusing port"),
        ("a=127.0.0.2,b", "/nonexistent/godwit", "", "not found"),
        ("a=127.0.0.2,other", godwit, "other", "it has godwit 0.0.1 (protocol 1), this is godwit"),
        ("a=127.0.0.2,b=192.0.2.9", godwit, "b", "192.0.2.9"),
        ("a=127.0.0.2,b=nosuch9", godwit, "b", "no interface"),
        ("a=127.0.0.2,b=127.0.0.2", godwit, "", "127.0.0.2"),
        ("a=127.0.0.2,dying=127.0.0.3", godwit, "dying", "ended too early (exit status: 9)"),
    ] {
        let ssh = SshReplacement::new("several-fail");
        let output =
            ssh.run(&format!("--generators {hosts} -r 50 -p 50 -R 50"), remote, &responder);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{hosts}: {error}");
        assert!(error.starts_with(&format!("error: generator {named}")), "{hosts}: {error}");
        assert!(error.contains(told), "{hosts}: {error}");
        assert!(error.contains("perfdhcp --follow`"), "what was tried: {error}");
        assert!(ssh.pids().iter().all(|pid| !runs(pid)), "{hosts}: all are ended");
    }
}

#[test]
fn a_signal_ends_all_and_what_they_counted_is_told() {
    let ssh = SshReplacement::new("several-signal");
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.args(words("perfdhcp --generators a=127.0.0.2,b=127.0.0.3 -r 200 -p 50 -R 50 -d 60"));
    command.args(["--json", "-", "--remote-godwit", env!("CARGO_BIN_EXE_godwit")]);
    command.arg("--ssh-command").arg(ssh.folder.path().join("ssh"));
    command.args(send_args(&responder, free_port())).stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    responder.wait_for(100);
    run_bounded(Command::new("kill").args(["-INT", &child.id().to_string()]));
    let output = child.wait_with_output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &json["interrupted"]), (Some(130), &Value::Bool(true)));
    let sent = figures(&json, 0, ["sent"])[0];
    assert_eq!(responder.counts()[0], sent, "{json}");
    assert!(ssh.pids().len() == 2 && ssh.pids().iter().all(|pid| !runs(pid)));
}
