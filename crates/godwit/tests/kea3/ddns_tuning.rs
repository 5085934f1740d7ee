//! Configurations of the hook library ddns_tuning: Kea 3 and Godwit refuse the same ones, for
//! reasons with the same words.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testbed::Debian13;

use crate::common::{TempFolder, confine, has_debian_13};

/// Parameters of the library and the `user-context` of a subnet, with the words that both servers
/// refuse them with; no words if both accept them. `@` is the number of the family.
const CASES: [(&str, &str, &str); 17] = [
    ("", "{}", "params must not be null"),
    ("{}", "{}", ""),
    (r#"{ "hostname-expr": "" }"#, "{}", ""),
    (r#"{ "hostname-expr": "'a'", "other": 1 }"#, "{}", ""),
    (r#"{ "hostname-expr": "ifelse(member('nobody'), 'a', 'b')" }"#, "{}", ""),
    (r#"{ "hostname-expr": 5 }"#, "{}", "'hostname-expr' must be a string"),
    (r#"{ "hostname-expr": [] }"#, "{}", "'hostname-expr' must be a string"),
    (r#"{ "hostname-expr": " " }"#, "{}", "global expression parsing failed: "),
    (r#"{ "hostname-expr": "pkt@.what" }"#, "{}", "global expression parsing failed: "),
    (r#"{ "hostname-expr": "option[1].exists" }"#, "{}", "global expression parsing failed: "),
    (r#"{ "hostname-expr": "pkt.iface ==" }"#, "{}", "global expression parsing failed: "),
    ("{}", r#"{ "ddns-tuning": { "hostname-expr": "'a' + 'b'" } }"#, ""),
    ("{}", r#"{ "ddns-tuning": { "hostname-expr": "" } }"#, ""),
    ("{}", r#"{ "ddns-tuning": { "hostname-expr": 5 } }"#, ""),
    ("{}", r#"{ "ddns-tuning": [ "hostname-expr" ] }"#, ""),
    (
        "{}",
        r#"{ "ddns-tuning": { "hostname-expr": "pkt@.what" } }"#,
        "hostname expression for subnet: PREFIX parsing failed: ",
    ),
    (
        r#"{ "hostname-expr": "'a'" }"#,
        r#"{ "ddns-tuning": { "hostname-expr": " " } }"#,
        "hostname expression for subnet: PREFIX parsing failed: ",
    ),
];

/// Returns the configuration of a case for the server of `family`.
fn configuration(family: u8, parameters: &str, context: &str) -> Value {
    let number = family.to_string();
    let read = |text: &str| -> Value {
        serde_json::from_str(&text.replace('@', &number)).expect("the table has JSON")
    };
    let mut library = json!({ "library": "libdhcp_ddns_tuning.so" });
    if !parameters.is_empty() {
        library["parameters"] = read(parameters);
    }
    let subnet = json!({ "id": 1, "subnet": prefix(family), "user-context": read(context) });
    json!({ format!("Dhcp{family}"): {
        "interfaces-config": { "interfaces": [ "*" ] },
        "lease-database": { "type": "memfile", "persist": false },
        "hooks-libraries": [ library ], format!("subnet{family}"): [ subnet ],
    } })
}

fn prefix(family: u8) -> &'static str {
    if family == 4 { "10.0.0.0/8" } else { "2001:db8::/32" }
}

/// Returns true if the server accepts the configuration, with all that it says.
fn checked(mut command: Command) -> (bool, String) {
    let output = command.output().expect("the server can be started");
    let text = [&output.stdout[..], &output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn godwit(family: u8, folder: &Path, path: &Path) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.arg(format!("dhcp{family}")).arg("-t").arg(path);
    confine(&mut command, folder);
    checked(command)
}

#[test]
fn configurations_of_ddns_tuning_are_refused_for_keas_reasons() {
    if !has_debian_13() {
        return;
    }
    let folder = TempFolder::new("ddns-tuning");
    let path = folder.path().join("kea.conf");
    let debian = Debian13::find().expect("it was looked for");
    for family in [4, 6] {
        for (parameters, context, words) in CASES {
            let config = configuration(family, parameters, context);
            fs::write(&path, config.to_string()).expect("the folder is ours");
            let kea = debian.command(folder.path(), &format!("kea-dhcp{family}"));
            let kea = checked(kea.args(["-T", "/var/lib/kea/kea.conf"]).to_command());
            let ours = godwit(family, folder.path(), &path);
            let words = words.replace("PREFIX", prefix(family));
            for (server, (is_accepted, text)) in [("Kea", kea), ("Godwit", ours)] {
                assert_eq!(is_accepted, words.is_empty(), "{server}: {config}\n{text}");
                assert!(text.contains(&words), "{server}: no {words} in\n{text}");
            }
        }
    }
}
