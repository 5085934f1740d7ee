//! Tests of starts of a server in the way of Kea's: without Kea's folders, and with its flags.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::answer_of;
use crate::common::{ServerProcess, TempFolder, configuration, configuration6};

/// Adds a control socket named `socket` to the configuration file `config`.
fn add_socket(config: &Path, socket: &Path) {
    let text = fs::read_to_string(config).expect("it was written here");
    let entry = json!([{ "socket-type": "unix", "socket-name": socket }]);
    let keys = format!("\"control-sockets\": {entry}, \"interfaces-config\"");
    fs::write(config, text.replacen("\"interfaces-config\"", &keys, 1))
        .expect("the folder is ours");
}

#[test]
fn folders_of_kea_that_are_missing_are_made() {
    let folder = TempFolder::new("folders");
    let subnet = r#"{ "id": 1, "subnet": "2001:db8::/32" }"#;
    let config = configuration6(folder.path(), "\"lo/::1\"", "", subnet);
    let text = fs::read_to_string(&config).expect("it was written here");
    let data = format!("\"data-directory\": \"{}\",", folder.path().display());
    fs::write(&config, text.replace(&data, "")).expect("the folder is ours");
    let missing = folder.path().join("none/yet");
    add_socket(&config, &missing.join("sockets/control"));
    let folders = ["data", "logs", "sockets", "pids"].map(|name| missing.join(name));
    let variables =
        ["KEA_DHCP_DATA_DIR", "KEA_LOG_FILE_DIR", "KEA_CONTROL_SOCKET_DIR", "KEA_PIDFILE_DIR"];
    let mut wrapper = Command::new("env");
    for (variable, folder) in variables.iter().zip(&folders) {
        wrapper.arg(format!("{variable}={}", folder.display()));
    }
    let server = ServerProcess::start_under(wrapper, "dhcp6", &config, folder.path());
    for file in ["data/leases.csv", "data/kea-dhcp6-serverid", "sockets/control", "logs", "pids"] {
        assert!(missing.join(file).exists(), "{file}: {}", server.log());
    }
    for folder in &folders {
        let mode = fs::metadata(folder).expect("it was made").permissions().mode();
        assert_eq!(mode & 0o777, 0o750, "{}", folder.display());
    }
    server.stop();
}

#[test]
fn nobody_is_served_in_repair_mode_until_a_command_enables_it() {
    let folder = TempFolder::new("repair");
    let config = configuration(folder.path(), "none", 1);
    let socket = folder.path().join("socket");
    add_socket(&config, &socket);
    let server = ServerProcess::start_with(&["-F", "-R"], "dhcp4", &config, folder.path());
    server.wait_for("DHCP4_CB_REPAIR_MODE_ENABLED");
    let told = |name: &str| answer_of(&socket, &json!({ "command": name }));
    let is_disabled = || {
        let state = told("status-get")["arguments"]["dhcp-state"].clone();
        assert_eq!(state["disabled-by-user"], state["globally-disabled"]);
        state["disabled-by-user"].clone()
    };
    assert_eq!(is_disabled(), true);
    assert_eq!(told("dhcp-enable")["result"], 0);
    assert_eq!(is_disabled(), false);
    // As in Kea, the next configuration disables it again.
    assert_eq!(told("config-reload")["result"], 0);
    assert_eq!(is_disabled(), true);
    let log = server.stop();
    assert!(log.contains("the DHCP service is enabled"), "{log}");
}
