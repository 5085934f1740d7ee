//! Names that a configuration and commands may contain: Kea 3's rules for paths, sockets and
//! secrets.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{self, ServerProcess, TempFolder, run_bounded};

/// Returns a configuration whose files are in `folder`.
fn configuration(folder: &Path) -> Value {
    json!({ "Dhcp4": {
        "interfaces-config": { "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" },
        "control-sockets": [ { "socket-type": "unix", "socket-name": folder.join("ctl") } ],
        "lease-database": { "type": "memfile", "name": folder.join("leases.csv") },
        "hooks-libraries": [ { "library": "libdhcp_lease_cmds.so" } ],
        "subnet4": [ { "id": 1, "subnet": "127.0.0.0/8" } ]
    } })
}

/// Returns the settings that a configuration must not have, with Kea's identifier of the warning.
fn refused(folder: &Path) -> Vec<(&'static str, Value, &'static str)> {
    let http = json!({ "socket-type": "http", "socket-address": "127.0.0.1", "socket-port": 8000 });
    let with_user = |client: Value| {
        let mut socket = http.clone();
        socket["authentication"] = json!({ "type": "basic", "clients": [ client ] });
        json!([socket])
    };
    let unix = |name: String| json!([{ "socket-type": "unix", "socket-name": name }]);
    let log = |name: &str| json!([{ "name": "kea-dhcp4", "output-options": [ { "output": name, "pattern": "x" } ] }]);
    let leases = |name: &str| json!({ "type": "memfile", "name": name });
    let library = |name: &str| json!([{ "library": name }]);
    let script =
        json!([{ "library": "libdhcp_run_script.so", "parameters": { "name": "/bin/sh" } }]);
    let climbing = format!("{}/../x", folder.display());
    let memfile = "DHCPSRV_MEMFILE_PATH_SECURITY_WARNING";
    let logged = "DCTL_LOG_PATH_SECURITY_WARNING";
    let socket = "COMMAND_UNIX_SOCKET_PATH_SECURITY_WARNING";
    let hook = "HOOKS_LIBPATH_SECURITY_WARNING";
    let user = "HTTP_CLIENT_USER_SECURITY_WARNING";
    let password = "HTTP_CLIENT_PASSWORD_SECURITY_WARNING";
    vec![
        ("loggers", log("/etc/cron.d/x"), logged),
        ("loggers", log("../x"), logged),
        ("loggers", log("sub/x"), logged),
        ("loggers", log(&climbing), logged),
        ("lease-database", leases("/var/leases.csv"), memfile),
        ("lease-database", leases("../leases.csv"), memfile),
        ("user-context", json!({ "godwit": { "lease-database": { "sqlite": "/x/y" } } }), memfile),
        ("control-sockets", unix("/tmp/kea4-ctrl-socket".to_owned()), socket),
        ("control-sockets", unix(climbing.clone()), socket),
        ("hooks-libraries", library("/tmp/libdhcp_lease_cmds.so"), hook),
        ("hooks-libraries", script, hook),
        ("control-sockets", json!([http]), "COMMAND_HTTP_SOCKET_SECURITY_WARNING"),
        ("control-sockets", with_user(json!({ "user": "u", "password-file": "p" })), user),
        ("control-sockets", with_user(json!({ "user-file": "u", "password": "p" })), password),
    ]
}

#[test]
fn what_kea_3_refuses_is_refused_and_with_x_a_warning() {
    let folder = TempFolder::new("security");
    let config = folder.path().join("dhcp4.conf");
    for (key, value, id) in refused(folder.path()) {
        let mut document = configuration(folder.path());
        if key == "user-context" {
            document["Dhcp4"].as_object_mut().unwrap().remove("lease-database");
        }
        document["Dhcp4"][key] = value.clone();
        fs::write(&config, document.to_string()).unwrap();
        for (flags, code) in [(&["dhcp4"][..], 2), (&["dhcp4", "-X"], 0)] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
            common::confine(&mut command, folder.path());
            let flags = [flags, &["-t"]].concat();
            let output = run_bounded(command.args(flags).arg(&config).stdin(Stdio::null()));
            let output_text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{key} {value} {id}: {output_text}");
            assert!(
                output_text.contains(if code == 0 { "warning: " } else { "error: " }),
                "{output_text}"
            );
        }
    }
}

fn ask(folder: &Path, command: &Value) -> Value {
    let mut stream = UnixStream::connect(folder.join("ctl")).unwrap();
    stream.write_all(command.to_string().as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

#[test]
fn commands_reach_no_file_outside_and_none_in_use() {
    let folder = TempFolder::new("security-commands");
    let path = folder.path();
    let config = path.join("dhcp4.conf");
    fs::write(&config, configuration(path).to_string()).unwrap();
    let server = ServerProcess::start(&config, path);
    for (key, value, _) in refused(path).into_iter().filter(|(key, ..)| *key != "user-context") {
        let mut document = configuration(path);
        document["Dhcp4"][key] = value.clone();
        for name in ["config-test", "config-set"] {
            let answer = ask(path, &json!({ "command": name, "arguments": document }));
            assert_eq!(answer["result"], 1, "{name} {value}: {answer}");
        }
    }
    // A configuration that no server would start with.
    let mut document = configuration(path);
    document["Dhcp4"]["hooks-libraries"] = json!([ { "library": "libdhcp_ha.so" } ]);
    for name in ["config-test", "config-set"] {
        let answer = ask(path, &json!({ "command": name, "arguments": document }));
        let text = answer["text"].as_str().unwrap_or_default();
        assert_eq!(answer["result"], 1, "{name}: {answer}");
        assert!(text.contains("high-availability is not supported"), "{name}: {answer}");
    }
    let write = |command: &str, name: &str| {
        let question = json!({ "command": command, "arguments": { "filename": name } });
        ask(path, &question)["result"].clone()
    };
    let taken = [
        "leases.csv",
        "leases.csv.2",
        "leases.csv.lock",
        "ctl",
        "ctl.lock",
        "x\ny",
        "dhcp4.kea-dhcp4.pid",
        "/etc/x",
        "../x",
        "sub/x",
        "kea-dhcp6-serverid",
        "x.lock",
    ];
    for name in taken {
        assert_eq!(write("config-write", name), 1, "config-write {name}");
        assert_eq!(write("lease4-write", name), 1, "lease4-write {name}");
    }
    assert_eq!(write("lease4-write", "dhcp4.conf"), 1);
    assert_eq!(write("config-write", "other.conf"), 0);
    assert_eq!(write("lease4-write", "copy.csv"), 0);
    for name in ["other.conf", "copy.csv", "leases.csv"] {
        let mode = fs::metadata(path.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{name}");
    }
    assert_eq!(ask(path, &json!({ "command": "version-get" }))["result"], 0);
    server.stop();
}

#[test]
fn a_folder_of_sockets_that_others_may_enter_is_refused() {
    let folder = TempFolder::new("security-folder");
    let config = folder.path().join("dhcp4.conf");
    fs::write(&config, configuration(folder.path()).to_string()).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    common::confine(&mut command, folder.path());
    let output = run_bounded(command.args(["dhcp4", "-t"]).arg(&config).stdin(Stdio::null()));
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{output_text}");
    assert!(output_text.contains("more relaxed permissions than 750"), "{output_text}");
}

#[test]
fn an_included_file_that_has_no_end_is_refused() {
    let folder = TempFolder::new("security-include");
    let config = folder.path().join("dhcp4.conf");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in ["/dev/zero", pipe.to_str().unwrap(), "/"] {
        fs::write(&config, format!("{{ \"Dhcp4\": <?include \"{file}\"?> }}")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        let output = run_bounded(command.args(["dhcp4", "-t"]).arg(&config).stdin(Stdio::null()));
        let output_text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{file}: {output_text}");
        assert!(output_text.contains("it is not a regular file"), "{file}: {output_text}");
    }
}

/// Capabilities that a server keeps of those that it has: CAP_DAC_OVERRIDE, CAP_NET_BIND_SERVICE,
/// CAP_NET_ADMIN and CAP_NET_RAW (capabilities(7)).
const KEPT: u64 = 1 << 1 | 1 << 10 | 1 << 12 | 1 << 13;

#[test]
fn every_thread_of_a_server_has_no_more_privileges_than_it_needs() {
    let folder = TempFolder::new("security-privileges");
    let config = folder.path().join("kea.conf");
    fs::write(&config, configuration(folder.path()).to_string()).expect("the folder is ours");
    let server = ServerProcess::start(&config, folder.path());
    let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).expect("it runs");
    let mut count = 0;
    for task in tasks {
        let path = task.expect("a thread").path().join("status");
        // A thread may have ended since it was listed.
        let Ok(status) = fs::read_to_string(&path) else { continue };
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim_start_matches(':').trim().to_owned()
        };
        for set in ["CapEff", "CapPrm"] {
            let held = u64::from_str_radix(&of(set), 16).expect("hexadecimal digits");
            assert_eq!(held & !KEPT, 0, "{set} of {}: {held:x}", path.display());
        }
        assert_eq!([of("NoNewPrivs"), of("Seccomp")], ["1", "2"], "{}", path.display());
        count += 1;
    }
    assert!(count >= 2, "a server has several threads");
}
