//! Tests of starts of a server in the way of Kea's: without Kea's folders, and with its flags.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use scenario::ScenarioFamily;
use serde_json::json;

use super::answer_of;
use crate::common::link::LinkNamespaces;
use crate::common::{
    PATIENCE, ServerProcess, TempFolder, configuration, configuration6, has_debian_13,
};
use crate::subjects::process::{Daemon, ServedLink, ServerMake, Setup};

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

/// Returns the type and the link-layer address of the DUID in `folder`, without its time.
fn duid_in(folder: &Path) -> (String, String) {
    let text = fs::read_to_string(folder.join("kea-dhcp6-serverid")).expect("it was written");
    let octets: Vec<&str> = text.trim().split(':').collect();
    assert_eq!(octets.len(), 14, "{text}");
    (octets[..4].join(":"), octets[8..].join(":"))
}

#[test]
fn a_duid_is_made_without_sys_from_the_first_interface_that_is_up() {
    if !has_debian_13() {
        return;
    }
    let Some(link) = LinkNamespaces::new() else { return };
    for (server_end, client_end) in [("sv1", "cv1"), ("sv0", "cv0")] {
        link.join_by_ipv6(server_end, client_end);
    }
    link.ip_at_server("link set sv1 down");
    let folder = TempFolder::new("no-sys");
    let config = configuration6(folder.path(), "\"sv0\"", "", "");
    let mut wrapper = link.at_server();
    // A bare root folder has an empty /sys; Kea's has.
    wrapper.args(["sh", "-c", "mount -t tmpfs none /sys && exec \"$@\"", "sh"]);
    let server = ServerProcess::start_under(wrapper, "dhcp6", &config, folder.path());
    let own = duid_in(folder.path());
    server.stop();
    let interfaces = "\"sv0\"";
    let served = ServedLink { namespace: link.server(), interfaces, has_raw_sockets: false };
    let setup = Setup {
        family: ScenarioFamily::V6,
        config: "\"subnet6\": []",
        has_commands: false,
        persists: false,
        link: Some(served),
    };
    let kea = Daemon::start(ServerMake::Kea3, setup, 0, PATIENCE).expect("Kea starts");
    assert_eq!(own, duid_in(kea.folder()));
}
