//! Tests of commands over every kind of socket, as the manual shows them, against a running server.

use crate::common;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::perfdhcp::{PATIENT, whole_run};
use crate::common::{
    ServerProcess, TempFolder, configuration, configuration6, require, run_bounded,
};
use serde_json::{Value, json};
use testkit::wait_until;

const MANUAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/control.md");
const DASHBOARD: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/grafana-dashboard.json");

/// Adds `keys` (JSON, with a comma after them) to the global scope of the file `config`.
fn add_keys(config: &Path, keys: &str) {
    let text = fs::read_to_string(config).expect("it was written here");
    let at = text.find(r#""interfaces-config""#).expect("every configuration has interfaces");
    fs::write(config, format!("{}{keys} {}", &text[..at], &text[at..]))
        .expect("the folder can be written");
}

/// Sends `command` to the unix socket `path` and returns the answer.
fn command(path: &Path, command: &Value) -> Value {
    let mut stream = UnixStream::connect(path).expect("the server takes commands");
    stream.write_all(command.to_string().as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    serde_json::from_str(&answer).expect("an answer is JSON")
}

/// Starts a server with one unix socket.
fn start(label: &str) -> (TempFolder, ServerProcess, PathBuf, PathBuf) {
    start_with(label, "")
}

/// Starts a server with one unix socket, and with `keys` as [`add_keys`] takes them.
fn start_with(label: &str, keys: &str) -> (TempFolder, ServerProcess, PathBuf, PathBuf) {
    let folder = TempFolder::new(label);
    let config = configuration(folder.path(), "always", 2);
    let socket = folder.path().join("socket");
    let entry = json!([{ "socket-type": "unix", "socket-name": socket }]);
    add_keys(&config, &format!("\"control-sockets\": {entry},{keys}"));
    let server = ServerProcess::start(&config, folder.path());
    (folder, server, config, socket)
}

/// Checks that the time since the last reload goes on when a command changes a part of the
/// configuration, as in Kea; Stork shows it.
#[test]
fn a_change_of_a_part_of_the_configuration_is_no_reload() {
    let libraries = r#" "hooks-libraries": [ { "library": "libdhcp_subnet_cmds.so" },
        { "library": "libdhcp_host_cmds.so" } ],"#;
    let (_folder, server, _config, socket) = start_with("partial-change", libraries);
    let seconds = || {
        let status = command(&socket, &json!({ "command": "status-get" }));
        let seconds = |key: &str| status["arguments"][key].as_u64().expect("a number of seconds");
        (seconds("uptime"), seconds("reload"))
    };
    wait_until(|| seconds().0 > 0);
    let subnet = json!({ "id": 77, "subnet": "198.51.100.0/24" });
    let reservation = json!({ "subnet-id": 77, "hw-address": "02:00:00:00:00:77",
        "ip-address": "198.51.100.77" });
    let reservation_arguments = json!({ "reservation": reservation, "operation-target": "memory" });
    for (name, arguments) in [
        ("subnet4-add", json!({ "subnet4": [subnet] })),
        ("reservation-add", reservation_arguments),
        ("subnet4-del", json!({ "id": 77 })),
    ] {
        let answer = command(&socket, &json!({ "command": name, "arguments": arguments }));
        assert_eq!(answer["result"], 0, "{name}: {answer}");
        let (uptime_s, reload_s) = seconds();
        assert!(reload_s > 0, "{name}: {uptime_s} s after the start");
    }
    let answer = command(&socket, &json!({ "command": "config-reload" }));
    assert_eq!(answer["result"], 0, "{answer}");
    let (uptime_s, reload_s) = seconds();
    assert!(reload_s < uptime_s, "{reload_s} of {uptime_s} s");
    server.stop();
}

fn shell(script: &str) -> Output {
    run_bounded(Command::new("sh").args(["-ec", script]))
}

/// Returns the blocks of the manual that are fenced with three backquotes: their kind and their
/// text.
fn blocks(manual: &str) -> Vec<(String, String)> {
    let mut parts = manual.split("```");
    parts.next();
    let fenced = parts.step_by(2);
    fenced
        .filter_map(|block| block.split_once('\n'))
        .map(|(kind, text)| (kind.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn the_manual_shows_what_works() {
    if !require(&["curl", "openssl", "kea-shell"]) {
        return;
    }
    let folder = TempFolder::new("manual");
    let path = folder.path().display().to_string();
    let [http, https] = [(); 2].map(|()| common::free_port().to_string());
    let manual = fs::read_to_string(MANUAL)
        .expect("the manual is part of the repository")
        // First the ports: the path has numbers, too.
        .replace("8443", &https)
        .replace("8000", &http)
        .replace("/run/kea", &path)
        .replace("/etc/kea", &path);
    let blocks = blocks(&manual);
    let text_of = |wanted: &str| {
        let found = blocks.iter().find(|(_, text)| text.contains(wanted));
        found.map(|(_, text)| text.clone()).expect("the manual has it")
    };
    let made = shell(&text_of("openssl req"));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let config = configuration(folder.path(), "always", 1);
    add_keys(&config, &format!("{},", text_of("\"control-sockets\"").trim_end()));
    let server = ServerProcess::start(&config, folder.path());
    let mut run = 0;
    let mut answer = String::new();
    for (kind, text) in &blocks {
        match kind.as_str() {
            // It ran before the start of the server, which has read its results.
            "sh" if text.contains("openssl req") => {}
            "sh" => {
                let output = shell(text);
                assert!(output.status.success(), "{text}: {output:?}");
                answer = String::from_utf8_lossy(&output.stdout).into_owned();
                run += 1;
            }
            "text" => {
                for line in text.lines() {
                    assert!(answer.contains(line), "no `{line}` in: {answer}");
                }
            }
            _ => {}
        }
    }
    assert!(run >= 7, "{run} examples");
    server.stop();
}

#[test]
fn a_client_without_a_certificate_does_not_come_far() {
    if !require(&["curl", "openssl"]) {
        return;
    }
    let folder = TempFolder::new("certificate");
    let path = folder.path().display().to_string();
    let port = common::free_port();
    let manual = fs::read_to_string(MANUAL).expect("the manual is part of the repository");
    let manual = manual.replace("/etc/kea", &path);
    let blocks = blocks(&manual);
    let certificates = blocks.iter().find(|(_, text)| text.contains("openssl req"));
    assert!(shell(&certificates.expect("the manual has it").1).status.success());
    let tls = folder.path().join("tls");
    let config = configuration(folder.path(), "always", 1);
    let socket = |is_required: bool| {
        json!([{
            "socket-type": "https", "socket-address": "127.0.0.1", "socket-port": port,
            "trust-anchor": tls.join("ca.crt"), "cert-file": tls.join("server.crt"),
            "key-file": tls.join("server.key"), "cert-required": is_required
        }])
    };
    let required = format!("\"control-sockets\": {},", socket(true));
    add_keys(&config, &required);
    let server = ServerProcess::start(&config, folder.path());
    let curl = |further: &str| {
        shell(&format!(
            "curl -s -m 300 --cacert {path}/tls/ca.crt {further} https://127.0.0.1:{port}/metrics"
        ))
    };
    assert!(!curl("").status.success());
    let foreign = format!(
        "cd {path}/tls && openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=other \
         -keyout other.key -out other.crt"
    );
    assert!(shell(&foreign).status.success());
    let key_pair = |name: &str| format!("--cert {path}/tls/{name}.crt --key {path}/tls/{name}.key");
    assert!(!curl(&key_pair("other")).status.success(), "of another authority");
    assert!(curl(&key_pair("client")).status.success());
    // The same socket, which stays open, now accepts every client.
    let text = fs::read_to_string(&config).expect("it was written here");
    let optional = format!("\"control-sockets\": {},", socket(false));
    fs::write(&config, text.replace(&required, &optional)).expect("the folder can be written");
    server.signal("HUP");
    server.wait_for("reloaded");
    assert!(curl("").status.success());
    server.stop();
}

#[test]
fn a_configuration_is_changed_whole_or_not_at_all() {
    let (_folder, server, config, socket) = start("config-set");
    let get = || command(&socket, &json!({ "command": "config-get" }))["arguments"].clone();
    let before = get();
    assert_eq!(before["Dhcp4"]["valid-lifetime"], 4_000);
    let mut document = json!({ "Dhcp4": before["Dhcp4"] });
    document["Dhcp4"]["valid-lifetime"] = json!("long");
    let answer = command(&socket, &json!({ "command": "config-set", "arguments": document }));
    assert_eq!(answer["result"], 1, "{answer}");
    assert_eq!(get()["hash"], before["hash"]);
    document["Dhcp4"]["valid-lifetime"] = json!(5_000);
    let answer = command(&socket, &json!({ "command": "config-test", "arguments": document }));
    assert_eq!(answer["result"], 0, "{answer}");
    assert_eq!(get()["hash"], before["hash"]);
    // A socket that cannot be opened leaves everything unchanged, the old socket too.
    let mut unreachable = document.clone();
    unreachable["Dhcp4"]["control-sockets"][0]["socket-name"] = json!("/nonexistent/socket");
    let answer = command(&socket, &json!({ "command": "config-set", "arguments": unreachable }));
    assert_eq!(answer["result"], 1, "{answer}");
    assert_eq!(get()["hash"], before["hash"]);
    let answer = command(&socket, &json!({ "command": "config-set", "arguments": document }));
    assert_eq!(
        (answer["result"].as_i64(), answer["text"].as_str()),
        (Some(0), Some("Configuration successful.")),
        "{answer}"
    );
    assert_eq!(get()["Dhcp4"]["valid-lifetime"], 5_000);
    let answer = command(&socket, &json!({ "command": "config-reload" }));
    assert_eq!(answer["result"], 0, "{answer}");
    assert_eq!(get()["hash"], before["hash"], "the file still says so");
    // The written file is read as the same configuration.
    command(&socket, &json!({ "command": "config-set", "arguments": document }));
    let hash = get()["hash"].clone();
    let answer = command(&socket, &json!({ "command": "config-write" }));
    assert_eq!(answer["result"], 0, "{answer}");
    assert!(fs::read_to_string(&config).expect("it is there").contains("5000"));
    command(&socket, &json!({ "command": "config-reload" }));
    assert_eq!(get()["hash"], hash);
    let elsewhere = json!({ "command": "config-write", "arguments": { "filename": "/tmp/x" } });
    assert_eq!(command(&socket, &elsewhere)["result"], 1);
    server.stop();
}

#[test]
fn a_server_without_interfaces_takes_commands_and_then_a_configuration_with_some() {
    let folder = TempFolder::new("no-interfaces");
    let config = configuration(folder.path(), "always", 2);
    let socket = folder.path().join("socket");
    let entry = json!([{ "socket-type": "unix", "socket-name": socket }]);
    add_keys(&config, &format!("\"control-sockets\": {entry},"));
    let text = fs::read_to_string(&config).expect("it was written here");
    let with_interface: Value = serde_json::from_str(&text).expect("it is JSON");
    fs::write(&config, text.replace(r#""lo/127.0.0.1""#, "")).expect("the folder can be written");
    let server = ServerProcess::start(&config, folder.path());
    let unheard = "DHCPSRV_NO_SOCKETS_OPEN no interface configured to listen to DHCP traffic";
    server.wait_for(unheard);
    let set = json!({ "command": "config-set", "arguments": with_interface });
    let answer = command(&socket, &set);
    assert_eq!(answer["result"], 0, "{answer}");
    let relay = UdpSocket::bind(("127.0.0.1", server.relay_port)).expect("the port is free");
    relay.set_read_timeout(Some(common::PATIENCE)).expect("it is a socket");
    offered(&relay, &server, 1);
    let answer = command(&socket, &json!({ "command": "config-reload" }));
    assert_eq!(answer["result"], 0, "{answer}");
    let is_unheard_again = || server.log().matches(unheard).count() == 2;
    assert!(common::waited_until(is_unheard_again), "{}", server.log());
    server.stop();
}

#[test]
fn commands_do_not_stop_packets_and_a_disabled_service_does() {
    if !require(&["perfdhcp"]) {
        return;
    }
    let (_folder, server, _, socket) = start("packets");
    let run_with = |wait: &[&str], mac: &str| {
        let output = run_bounded(
            Command::new("perfdhcp")
                .args(["-4", "-r", "20", "-n", "5", "-n", "5", "-R", "5"])
                .args(wait)
                .args(["-b", mac, "-l", "127.0.0.1", "-L", &server.relay_port.to_string()])
                .args(["-N", &server.port.to_string(), "127.0.0.1"]),
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let run = |mac: &str| run_with(&PATIENT, mac);
    let is_whole = |report: &str| report.matches("received packets: 5").count() == 2;
    let exchange = |mac: &str| is_whole(&whole_run(5, |_| run(mac)).report);
    let first = whole_run(5, |_| run("mac=00:0c:01:00:00:00"));
    assert!(is_whole(&first.report), "{}", first.report);
    let statistic = |name: &str| {
        let get = json!({ "command": "statistic-get", "arguments": { "name": name } });
        command(&socket, &get)["arguments"][name][0][0].clone()
    };
    // A reply may be there before it is counted.
    let are_counted = || {
        statistic("pkt4-discover-received") == first.begun
            && statistic("pkt4-ack-sent") == statistic("pkt4-request-received")
    };
    assert!(common::waited_until(are_counted), "{}", statistic("pkt4-discover-received"));
    let acknowledged = statistic("pkt4-ack-sent");
    assert!(acknowledged.as_u64() >= Some(5));
    let disable = json!({ "command": "dhcp-disable", "arguments": { "max-period": 3600 } });
    assert_eq!(command(&socket, &disable)["result"], 0);
    // The server gives no lease, however long the client waits.
    run_with(&["-W", "500000"], "mac=00:0c:01:00:01:00");
    let is_counted = || statistic("pkt4-service-disabled").as_u64() >= Some(5);
    assert!(common::waited_until(is_counted), "{}", statistic("pkt4-service-disabled"));
    assert_eq!(statistic("pkt4-ack-sent"), acknowledged);
    assert_eq!(command(&socket, &json!({ "command": "dhcp-enable" }))["result"], 0);
    assert!(exchange("mac=00:0c:01:00:02:00"));
    // With a period the service comes back by itself.
    let disable = json!({ "command": "dhcp-disable", "arguments": { "max-period": 1 } });
    assert_eq!(command(&socket, &disable)["result"], 0);
    server.wait_for("the DHCP service is disabled");
    assert!(common::waited_until(
        || server.log().matches("the DHCP service is enabled").count() == 2
    ));
    assert!(exchange("mac=00:0c:01:00:03:00"));
    server.stop();
}

#[test]
fn leases_that_a_command_adds_are_on_disk_when_it_is_answered() {
    let folder = TempFolder::new("leases");
    let config = configuration(folder.path(), "always", 2);
    let socket = folder.path().join("socket");
    let entry = json!([{ "socket-type": "unix", "socket-name": socket }]);
    let hooks = r#"[ { "library": "/usr/lib/kea/hooks/libdhcp_lease_cmds.so" } ]"#;
    add_keys(&config, &format!("\"control-sockets\": {entry}, \"hooks-libraries\": {hooks},"));
    let server = ServerProcess::start(&config, folder.path());
    let ask = |name: &str, arguments: Value| {
        command(&socket, &json!({ "command": name, "arguments": arguments }))
    };
    let rows = || fs::read_to_string(folder.path().join("leases.csv")).expect("it is there");
    for number in 1..=25 {
        let address = format!("127.1.0.{number}");
        let hardware = format!("00:00:00:00:00:{number:02x}");
        let answer = ask("lease4-add", json!({ "ip-address": address, "hw-address": hardware }));
        assert_eq!(answer["result"], 0, "{answer}");
        assert!(rows().contains(&format!("\n{address},{hardware},")), "{}", rows());
    }
    let twice =
        ask("lease4-add", json!({ "ip-address": "127.1.0.1", "hw-address": "00:00:00:00:00:99" }));
    assert_ne!(twice["result"], 0, "{twice}");
    let found = ask("lease4-get", json!({ "ip-address": "127.1.0.7" }));
    assert_eq!(found["arguments"]["hw-address"], "00:00:00:00:00:07");
    let found = ask("lease4-get-by-hw-address", json!({ "hw-address": "00:00:00:00:00:07" }));
    assert_eq!(found["arguments"]["leases"][0]["ip-address"], "127.1.0.7");
    let mut from = "start".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = ask("lease4-get-page", json!({ "from": from, "limit": 10 }));
        let Some(leases) = page["arguments"]["leases"].as_array().filter(|page| !page.is_empty())
        else {
            break;
        };
        seen.extend(
            leases.iter().map(|lease| lease["ip-address"].as_str().expect("it has one").to_owned()),
        );
        from.clone_from(seen.last().expect("the page has leases"));
    }
    let expected: Vec<String> = (1..=25).map(|number| format!("127.1.0.{number}")).collect();
    assert_eq!(seen, expected);
    let removed = ask("lease4-del", json!({ "ip-address": "127.1.0.7" }));
    assert_eq!(removed["result"], 0, "{removed}");
    assert_eq!(ask("lease4-get", json!({ "ip-address": "127.1.0.7" }))["result"], 3);
    let get = json!({ "name": "subnet[1].assigned-addresses" });
    let statistic = ask("statistic-get", get);
    assert_eq!(statistic["arguments"]["subnet[1].assigned-addresses"][0][0], 24, "{statistic}");
    let written = folder.path().join("written.csv");
    let answer = ask("lease4-write", json!({ "filename": written }));
    assert_eq!(answer["result"], 0, "{answer}");
    assert_eq!(fs::read_to_string(&written).expect("it was written").lines().count(), 25);
    assert_ne!(ask("lease4-write", json!({ "filename": "/tmp/elsewhere.csv" }))["result"], 0);
    server.stop();
    // The next start finds all leases.
    let server = ServerProcess::start(&config, folder.path());
    let all = command(&socket, &json!({ "command": "lease4-get-all" }));
    assert_eq!(all["arguments"]["leases"].as_array().map(Vec::len), Some(24), "{all}");
    server.stop();
}

#[test]
fn a_shutdown_ends_the_server_with_the_value_that_was_asked_for() {
    let folder = TempFolder::new("shutdown");
    let config = configuration(folder.path(), "none", 1);
    let socket = folder.path().join("socket");
    let entry = json!([{ "socket-type": "unix", "socket-name": socket }]);
    add_keys(&config, &format!("\"control-sockets\": {entry},"));
    let mut server = Command::new(env!("CARGO_BIN_EXE_godwit"));
    common::confine(&mut server, folder.path());
    let child = server
        .args(["dhcp4", "-p", &common::free_port().to_string(), "-c"])
        .arg(&config)
        .spawn()
        .expect("the server can be started");
    let mut server = ControlServerProcess(child);
    assert!(common::waited_until(|| UnixStream::connect(&socket).is_ok()));
    let ask = json!({ "command": "shutdown", "arguments": { "exit-value": 7 } });
    assert_eq!(command(&socket, &ask), json!({ "result": 0, "text": "Shutting down." }));
    assert_eq!(server.0.wait().expect("it was started here").code(), Some(7));
    assert!(!socket.exists() && !folder.path().join("socket.lock").exists());
}

/// Child process that ends with the test.
struct ControlServerProcess(std::process::Child);

impl Drop for ControlServerProcess {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Returns the address that the server offers to the client with the hardware address
/// 02:00:00:00:00:`client`. `socket` is a relay agent's.
fn offered(socket: &UdpSocket, server: &ServerProcess, client: u8) -> Ipv4Addr {
    let mut discover = vec![0; 236];
    discover[..8].copy_from_slice(&[1, 1, 6, 1, 0, 0, 0, client]);
    discover[24..28].copy_from_slice(&[127, 0, 0, 1]);
    discover[28..34].copy_from_slice(&[2, 0, 0, 0, 0, client]);
    discover.extend([99, 130, 83, 99, 53, 1, 1, 255]);
    socket.send_to(&discover, ("127.0.0.1", server.port)).expect("loopback takes it");
    let mut offer = [0; 1500];
    socket.recv(&mut offer).expect("it is offered something");
    let address: [u8; 4] = offer[16..20].try_into().expect("four octets");
    address.into()
}

#[test]
fn a_reservation_is_changed_alone_as_with_the_whole_configuration() {
    let folder = TempFolder::new("hosts");
    let config = configuration(folder.path(), "always", 2);
    let socket = folder.path().join("socket");
    let entry = json!([{ "socket-type": "unix", "socket-name": socket }]);
    let hooks = r#"[ { "library": "libdhcp_host_cmds.so" } ]"#;
    add_keys(&config, &format!("\"control-sockets\": {entry}, \"hooks-libraries\": {hooks},"));
    let server = ServerProcess::start(&config, folder.path());
    let relay = UdpSocket::bind(("127.0.0.1", server.relay_port)).expect("the port is free");
    relay.set_read_timeout(Some(common::PATIENCE)).expect("it is a socket");
    let offered = |client| offered(&relay, &server, client);
    let get = || command(&socket, &json!({ "command": "config-get" }))["arguments"].clone();
    let host = |client: u8, last: u8| {
        json!({ "subnet-id": 1, "hw-address": format!("02:00:00:00:00:{client:02x}"),
                "ip-address": format!("127.2.0.{last}") })
    };
    let change = |name: &str, arguments: Value| {
        let mut arguments = arguments;
        arguments["operation-target"] = json!("memory");
        let answer = command(&socket, &json!({ "command": name, "arguments": arguments }));
        // In either case the server serves the configuration that it returns.
        let told = get();
        let whole = json!({ "Dhcp4": told["Dhcp4"] });
        let set = command(&socket, &json!({ "command": "config-set", "arguments": whole }));
        assert_eq!(set["result"], 0, "{set}");
        assert_eq!(get(), told);
        answer["result"].as_i64()
    };
    let listed = || {
        let told = get();
        let hosts = told["Dhcp4"]["subnet4"][0]["reservations"].as_array().map(Vec::len);
        hosts.unwrap_or_default()
    };
    for client in 1..=3 {
        let given = json!({ "reservation": host(client, client) });
        assert_eq!(change("reservation-add", given), Some(0));
        assert_eq!(offered(client), Ipv4Addr::new(127, 2, 0, client));
    }
    // The same client, another client's address, no address at all, an address outside the subnet.
    for (name, wrong) in [
        ("reservation-add", host(1, 9)),
        ("reservation-add", host(9, 1)),
        ("reservation-update", host(2, 1)),
        ("reservation-add", json!({ "subnet-id": 1, "hw-address": "", "hostname": "x" })),
        ("reservation-add", json!({ "subnet-id": 1, "flex-id": "01", "ip-address": "10.0.0.1" })),
    ] {
        assert_eq!(change(name, json!({ "reservation": wrong })), Some(1), "{wrong}");
    }
    assert_eq!(listed(), 3);
    assert_eq!(change("reservation-update", json!({ "reservation": host(2, 20) })), Some(0));
    assert_eq!(offered(2), Ipv4Addr::new(127, 2, 0, 20));
    let first = json!({ "subnet-id": 1, "ip-address": "127.2.0.1" });
    assert_eq!(change("reservation-del", first.clone()), Some(0));
    assert_eq!(change("reservation-del", first), Some(3));
    assert_eq!(offered(1).octets()[..2], [127, 1]);
    assert_eq!(offered(2), Ipv4Addr::new(127, 2, 0, 20));
    assert_eq!(offered(3), Ipv4Addr::new(127, 2, 0, 3));
    assert_eq!(listed(), 2);
    let everywhere = json!({ "subnet-id": 0, "hw-address": "02:00:00:00:00:07", "hostname": "g" });
    assert_eq!(change("reservation-add", json!({ "reservation": everywhere })), Some(0));
    assert_eq!(get()["Dhcp4"]["reservations"][0]["hostname"], "g");
    server.stop();
}

/// Returns the text that Prometheus would read from the server at `socket`.
fn exposition(socket: &Path) -> String {
    let mut stream = UnixStream::connect(socket).expect("the server takes commands");
    let get = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(get).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    answer.split_once("\r\n\r\n").expect("HTTP has a head").1.to_owned()
}

/// Returns every name of a metric in `text`.
fn metrics(text: &str) -> Vec<&str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split(|character| !is_part(character)).filter(|word| word.starts_with("godwit_")).collect()
}

#[test]
fn every_metric_of_the_dashboard_is_exposed() {
    let dashboard = fs::read_to_string(DASHBOARD).expect("it is part of the repository");
    serde_json::from_str::<Value>(&dashboard).expect("a dashboard is JSON");
    let (_folder, server4, _, socket4) = start("dashboard4");
    let folder6 = TempFolder::new("dashboard6");
    let subnet = r#"{ "id": 1, "subnet": "2001:db8::/32" }"#;
    let config6 = configuration6(folder6.path(), r#""lo""#, "", subnet);
    let socket6 = folder6.path().join("socket");
    let entry = json!([{ "socket-type": "unix", "socket-name": socket6 }]);
    add_keys(&config6, &format!("\"control-sockets\": {entry},"));
    let ports = [common::free_port(), common::free_port()];
    let env = Command::new("env");
    let server6 = ServerProcess::launch_on(env, "dhcp6", ports, &config6, folder6.path());
    for (family, socket) in [("dhcp4", &socket4), ("dhcp6", &socket6)] {
        let text = exposition(socket);
        let wanted = dashboard.replace("${server}", family);
        let wanted = metrics(&wanted);
        assert!(wanted.len() > 15, "{wanted:?}");
        for name in wanted {
            let suffixes = ["_bucket", "_sum", "_count"];
            let bare = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
            assert!(text.contains(&format!("# TYPE {bare} ")), "{name} is not exposed: {text}");
        }
    }
    server4.stop();
    server6.stop();
}

#[test]
fn what_older_lease_files_keep_of_relay_agents_has_the_present_form_once_loaded() {
    let shown = |name: &str, address: &str, rows: &str, write: &dyn Fn(&Path) -> PathBuf| {
        let folder = TempFolder::new(&format!("extended-{name}"));
        let config = write(folder.path());
        let socket = folder.path().join("socket");
        let entry = json!([{ "socket-type": "unix", "socket-name": socket }]);
        let hooks = json!([{ "library": "libdhcp_lease_cmds.so" }]);
        add_keys(&config, &format!("\"control-sockets\": {entry}, \"hooks-libraries\": {hooks},"));
        fs::write(folder.path().join("leases.csv"), rows).expect("the folder can be written");
        let server = ServerProcess::start_under(Command::new("env"), name, &config, folder.path());
        let ask = json!({ "command": format!("lease{}-get", &name[4..]),
            "arguments": { "ip-address": address } });
        let answer = command(&socket, &ask);
        let log = server.stop();
        assert!(
            log.contains("1 row had relay agent information in the form of an older Kea"),
            "{log}"
        );
        answer["arguments"]["user-context"].clone()
    };
    let v4 = shown(
        "dhcp4",
        "127.1.0.9",
        "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,\
         user_context,pool_id\n\
         127.1.0.9,02:00:00:00:00:09,,4000,4102444800,1,0,0,,0,\
         { \"ISC\": { \"relay-agent-info\": \"0x0201AA\" } },0\n",
        &|folder| configuration(folder, "none", 1),
    );
    let map = json!({ "remote-id": "AA", "sub-options": "0x0201AA" });
    assert_eq!(v4, json!({ "ISC": { "relay-agent-info": map } }));
    let subnet = r#"{ "id": 1, "subnet": "2001:db8::/64",
        "pools": [ { "pool": "2001:db8::1 - 2001:db8::ff" } ] }"#;
    let v6 = shown(
        "dhcp6",
        "2001:db8::9",
        "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,\
         fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source,pool_id\n\
         2001:db8::9,00:03:00:01:02,4000,4102444800,1,3000,0,7,128,0,0,,,0,\
         { \"ISC\": { \"relays\": [ { \"link\": \"::\"&#x2c \"options\": \"0x00350001BB\" } ] } }\
         ,,,0\n",
        &|folder| configuration6(folder, "\"lo/::1\"", "", subnet),
    );
    let agent = json!({ "link": "::", "options": "0x00350001BB", "relay-id": "BB" });
    assert_eq!(v6, json!({ "ISC": { "relay-info": [ agent ] } }));
}

/// Returns the names of the threads of process `pid`, each with its nice value.
fn threads(pid: u32) -> Vec<(String, Option<i32>)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let told = |task: fs::DirEntry| {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let (name, stat) = (read("comm"), read("stat"));
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let nice: Option<i32> =
            fields.split_whitespace().nth(16).and_then(|nice| nice.parse().ok());
        (name.trim_end().to_owned(), nice)
    };
    tasks.flatten().map(told).collect()
}

#[test]
fn what_answers_questions_gives_way_to_what_serves() {
    let (_folder, server, _, socket) = start("priorities");
    let answer = command(
        &socket,
        &json!({ "command": "statistic-get", "arguments": {
        "name": "pkt4-received" } }),
    );
    assert_eq!(answer["result"], 0, "its thread is there: {answer}");
    let lowest = Some(19);
    // A thread lowers its priority some time after it has started.
    let mut seen = threads(server.pid());
    common::waited_until(|| {
        seen = threads(server.pid());
        let gives =
            |wanted: &str| seen.iter().any(|(name, nice)| name == wanted && *nice == lowest);
        ["checks", "control", "statistics"].into_iter().all(gives)
            && seen.iter().any(|(name, _)| name == "dhcp4-0")
    });
    let own = seen.iter().find(|(name, _)| name == "dhcp4-0").expect("there is a shard").1;
    let giving: Vec<&str> =
        seen.iter().filter(|(_, nice)| *nice == lowest).map(|(name, _)| name.as_str()).collect();
    assert!(own < lowest, "{seen:?}");
    assert!(
        giving.len() == 3
            && ["checks", "control", "statistics"].iter().all(|it| giving.contains(it)),
        "{seen:?}"
    );
}
