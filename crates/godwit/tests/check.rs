//! Tests of the agreement of `-t` and `-c`: the check refuses every configuration that a server
//! does not start with, as text and as JSON.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{self, ServerProcess, TempFolder, free_port, run_bounded};
use serde_json::{Value, json};

/// Returns a configuration of `family` (4 or 6) that a server starts with, without a subnet.
fn sound(family: u8, folder: &Path) -> Value {
    let socket = if family == 4 { "lo/127.0.0.1" } else { "lo" };
    let mut settings = json!({
        "interfaces-config": { "interfaces": [ socket ] },
        "lease-database": { "type": "memfile", "name": folder.join("leases.csv") }
    });
    if family == 6 {
        settings["data-directory"] = json!(folder);
    } else {
        settings["interfaces-config"]["dhcp-socket-type"] = json!("udp");
    }
    settings
}

/// Returns configurations that no server starts with: a key, its value, and the message of `-t`.
fn refused() -> Vec<(&'static str, Value, &'static str)> {
    let library = |name: &str| json!([ { "library": name } ]);
    vec![
        ("hooks-libraries", library("libdhcp_ha.so"), "high-availability is not supported"),
        ("hooks-libraries", library("/opt/own.so"), "unknown-hook is not supported"),
        (
            "config-control",
            json!({ "config-databases": [ { "type": "mysql" } ] }),
            "config-backend is not supported",
        ),
        ("valid-lifetim", json!(1), "error: "),
    ]
}

fn written(family: u8, folder: &Path, settings: Value) -> PathBuf {
    let path = folder.join(format!("dhcp{family}.conf"));
    let root = format!("Dhcp{family}");
    fs::write(&path, json!({ root: settings }).to_string()).unwrap();
    path
}

fn run(family: u8, folder: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    common::confine(&mut command, folder);
    command.arg(format!("dhcp{family}")).args(["-p", &free_port().to_string(), "-X"]);
    run_bounded(command.args(flags).stdin(Stdio::null()))
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_check_refuses_what_no_server_starts_with() {
    for family in [4, 6] {
        for (key, value, why) in refused() {
            let folder = TempFolder::new("check-refused");
            let mut settings = sound(family, folder.path());
            settings[key] = value;
            let path = written(family, folder.path(), settings);
            let path = path.to_str().unwrap();
            let served = run(family, folder.path(), &["-c", path]);
            let checked = run(family, folder.path(), &["-t", path]);
            let codes = [&served, &checked].map(|output| output.status.code());
            assert_eq!(
                codes,
                [Some(2), Some(2)],
                "{key}: {} {}",
                output_text(&served),
                output_text(&checked)
            );
            let last = output_text(&checked).lines().last().unwrap_or_default().to_owned();
            if why == "error: " {
                assert!(output_text(&checked).contains(why), "{}", output_text(&checked));
            } else {
                assert!(last.starts_with("would not start: ") && last.contains(why), "{last}");
                assert!(output_text(&served).contains(why), "{}", output_text(&served));
            }
            assert!(checked.stdout.is_empty(), "nothing is called sound");
        }
    }
}

#[test]
fn a_configuration_without_interfaces_is_valid_with_a_warning() {
    for family in [4, 6] {
        let folder = TempFolder::new("check-no-interfaces");
        let mut settings = sound(family, folder.path());
        settings["interfaces-config"]["interfaces"] = json!([]);
        let path = written(family, folder.path(), settings);
        let checked = run(family, folder.path(), &["-t", path.to_str().unwrap()]);
        assert_eq!(checked.status.code(), Some(0), "{}", output_text(&checked));
        let warning = "warning: `interfaces` in `interfaces-config` is empty";
        assert!(output_text(&checked).contains(warning), "{}", output_text(&checked));
    }
}

/// Configurations in the forms that other programs write, below `conformance/appliances`, each with
/// the parts of the warnings that `-t` prints.
const APPLIANCES: [(&str, &[&str]); 9] = [
    ("opnsense-dhcp4", &["no interface `igb1`"]),
    ("opnsense-dhcp6", &["no interface `igb1`"]),
    (
        "pfsense-dhcp4",
        &[
            "`name` is not allowed",
            "`binding-variables` has no effect",
            "`name` is not allowed",
            "no interface `igb1`",
        ],
    ),
    (
        "pfsense-dhcp6",
        &[
            "`name` is not allowed",
            "`binding-variables` has no effect",
            "`name` is not allowed",
            "no interface `igb1`",
        ],
    ),
    ("sonic-dhcp4", &["`name` is not allowed", "`output` is not allowed"]),
    (
        "vyos-dhcp4",
        &[
            "option 121 of space `dhcp4` is standard in Kea 3",
            "ping-check: ",
            "the option takes fewer values",
            "no option of this list encapsulates space `ubnt`",
            "option 1 (subnet-mask) is set by the server itself",
        ],
    ),
    ("vyos-dhcp6", &["`name` is not allowed", "no option of this list encapsulates space `cisco`"]),
    ("xcat-dhcp4", &[]),
    ("xcat-dhcp6", &[]),
];

#[test]
fn configurations_that_other_programs_write_are_valid() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/appliances");
    for (name, expected) in APPLIANCES {
        let path = all.join(name).with_extension("json");
        let family = if name.ends_with('4') { 4 } else { 6 };
        // In the folders of the system: the check only reads.
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        command.arg(format!("dhcp{family}")).args(["-X", "-t"]).arg(&path);
        let checked = run_bounded(command.stdin(Stdio::null()));
        let text = output_text(&checked);
        assert_eq!(checked.status.code(), Some(0), "{name}: {text}");
        // A machine for tests may have `eth0`.
        let is_warning =
            |line: &&str| line.contains("warning: ") && !line.contains("no interface `eth");
        let warnings: Vec<&str> = text.lines().filter(is_warning).collect();
        assert_eq!(warnings.len(), expected.len(), "{name}: {text}");
        for (warning, expected) in warnings.iter().zip(expected) {
            assert!(warning.contains(expected), "{name}: {warning}");
        }
    }
    assert_eq!(fs::read_dir(all).unwrap().count(), APPLIANCES.len());
}

#[test]
fn what_is_accepted_is_checked_and_served_and_unknown_names_are_refused() {
    let folder = TempFolder::new("check-accepted");
    let mut settings = sound(4, folder.path());
    settings["hooks-libraries"] = json!([ { "library": "libdhcp_ha.so" } ]);
    let path = written(4, folder.path(), settings);
    let name = path.to_str().unwrap();
    let accepted = ["--accept-inactive", "high-availability"];
    let checked = run(4, folder.path(), &[&accepted[..], &["-t", name]].concat());
    assert_eq!(checked.status.code(), Some(0), "{}", output_text(&checked));
    let flags = [&accepted[..], &["-X"]].concat();
    ServerProcess::start_with(&flags, "dhcp4", &path, folder.path()).stop();
    for flag in ["-t", "-c"] {
        let refused = run(4, folder.path(), &["--accept-inactive", "high-avail", flag, name]);
        assert_eq!(refused.status.code(), Some(2), "{flag}: {}", output_text(&refused));
        let text = output_text(&refused);
        assert!(text.contains("high-avail") && text.contains("'high-availability'"), "{text}");
    }
}

#[test]
fn one_file_serves_both_servers_of_a_pair() {
    let folder = TempFolder::new("check-pair");
    let mut settings = sound(4, folder.path());
    let peer = |name: &str, role: &str| json!({ "name": name, "role": role, "url": format!("http://127.0.0.1:{}/", free_port()) });
    let relationship = json!({ "mode": "hot-standby",
        "peers": [ peer("server1", "primary"), peer("server2", "standby") ] });
    settings["hooks-libraries"] = json!([ { "library": "libdhcp_ha.so",
        "parameters": { "high-availability": [relationship] } } ]);
    let path = written(4, folder.path(), settings);
    let name = path.to_str().unwrap();
    for (own, code, message) in [
        (None, 2, "'this-server-name' parameter missing"),
        (Some("server1"), 0, ""),
        (Some("server2"), 0, ""),
        (Some("server3"), 2, "no peer configuration specified for the 'server3'"),
    ] {
        let flags: Vec<&str> = own.iter().flat_map(|own| ["--ha-server-name", *own]).collect();
        let checked = run(4, folder.path(), &[&flags[..], &["-t", name]].concat());
        let text = output_text(&checked);
        assert_eq!(checked.status.code(), Some(code), "{own:?}: {text}");
        assert!(text.contains(message), "{own:?}: {text}");
    }
    let flags = ["--ha-server-name", "server2", "-X"];
    ServerProcess::start_with(&flags, "dhcp4", &path, folder.path()).stop();
}

#[test]
fn json_has_every_problem_with_its_place() {
    let folder = TempFolder::new("check-json");
    let mut settings = sound(4, folder.path());
    settings["hooks-libraries"] = json!([ { "library": "libdhcp_ha.so" } ]);
    settings["interfaces-config"]["interfaces"] = json!(["lo/127.0.0.1", "none9"]);
    let path = written(4, folder.path(), settings.clone());
    let name = path.to_str().unwrap();
    let found = |flags: &[&str], code| -> Value {
        let output = run(4, folder.path(), flags);
        assert_eq!(output.status.code(), Some(code), "{}", output_text(&output));
        assert!(output.stderr.is_empty(), "{}", output_text(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let shown = found(&["--json", "-t", name], 2);
    let head = ["schema", "verdict", "subnets", "file"].map(|key| shown[key].clone());
    assert_eq!(head, [json!("godwit.check.v1"), json!("would-not-start"), json!(0), json!(name)]);
    assert!(shown["reason"].as_str().unwrap().contains("--accept-inactive high-availability"));
    let unsupported = &shown["problems"][0];
    let key = fs::read_to_string(&path).unwrap().find("\"libdhcp_ha.so\"").unwrap();
    let position = ["file", "line", "column", "severity", "id"].map(|key| unsupported[key].clone());
    let expected = [
        json!(name),
        json!(1),
        json!(key + 1),
        json!("warning"),
        json!("DHCP4_CONFIG_UNSUPPORTED"),
    ];
    assert_eq!(position, expected, "{unsupported:#}");
    assert!(unsupported["message"].as_str().unwrap().starts_with("high-availability: "));
    assert!(unsupported["help"].is_string());
    let missing = &shown["problems"][1];
    assert!(missing["message"].as_str().unwrap().contains("none9"), "{shown:#}");
    assert_eq!(
        (&missing["line"], &missing["id"]),
        (&Value::Null, &json!("DHCP4_OPEN_SOCKETS_FAILED"))
    );
    settings["hooks-libraries"] = json!([]);
    settings["valid-lifetim"] = json!(1);
    let path = written(4, folder.path(), settings.clone());
    let shown = found(&["--json", "-T", path.to_str().unwrap()], 2);
    assert_eq!(shown["verdict"], "errors");
    let ids = ["id", "severity"].map(|key| shown["problems"][0][key].clone());
    assert_eq!(ids, [json!("DHCP4_PARSER_FAIL"), json!("error")], "{shown:#}");
    settings.as_object_mut().unwrap().remove("valid-lifetim");
    let path = written(4, folder.path(), settings);
    let shown = found(&["--json", "-t", path.to_str().unwrap()], 0);
    assert_eq!((&shown["verdict"], &shown["reason"]), (&json!("sound"), &Value::Null));
    let shown = found(&["--json", "-t", "/nowhere/x.conf"], 2);
    assert_eq!((&shown["verdict"], &shown["problems"]), (&json!("unreadable"), &json!([])));
}
