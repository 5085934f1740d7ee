//! Scripts of the hook library run_script that are missing, fail, hang or are slow: clients get
//! their leases all the same, and each call is counted.

use std::fs;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use dhcp_wire::v4::{BOOT_REQUEST, Dhcp4Header, Message, MessageType, MessageWriter, option};
use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use crate::common::{PATIENCE, TempFolder, confine, free_port, run_bounded, waited_until};
use crate::subjects::process::{Daemon, ServerMake, Setup};

/// Name of the script in the folder of scripts.
const SCRIPT: &str = "script.sh";
/// Members of the configuration with the library, a subnet and a pool of 65,000 addresses.
const CONFIG: &str = r#""valid-lifetime": 4000,
    "hooks-libraries": [ { "library": "libdhcp_run_script.so",
                           "parameters": { "name": "script.sh" } } ],
    "subnet4": [ { "id": 1, "subnet": "10.1.0.0/16",
                   "pools": [ { "pool": "10.1.0.10 - 10.1.255.250" } ] } ]"#;

/// Server with a script, and the folder that both write to.
struct ServerWithScript {
    daemon: Daemon,
    /// Identifier of the server, from its first reply.
    server: Ipv4Addr,
}

fn write_script(folder: &Path, name: &str, text: &str) {
    let path = folder.join("scripts").join(name);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is ours");
    fs::write(&path, text).expect("the folder is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

fn message(kind: MessageType, client: u16, options: &[(u8, Ipv4Addr)]) -> Vec<u8> {
    let [high, low] = client.to_be_bytes();
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&[2, 0, 0, 0, high, low]);
    let none = Ipv4Addr::UNSPECIFIED;
    let header = Dhcp4Header {
        op: BOOT_REQUEST,
        htype: 1,
        hlen: 6,
        hops: 1,
        xid: u32::from(client) << 8 | u32::from(kind.code()),
        secs: 0,
        flags: 0,
        ciaddr: none,
        yiaddr: none,
        siaddr: none,
        giaddr: Ipv4Addr::new(10, 1, 0, 1),
        chaddr,
    };
    let mut buffer = [0; 600];
    let mut writer = MessageWriter::new(&mut buffer, &header);
    writer.option(option::MESSAGE_TYPE, &[kind.code()]);
    for (code, address) in options {
        writer.option(*code, &address.octets());
    }
    let len = writer.finish(300).expect("it fits");
    buffer[..len].to_vec()
}

impl ServerWithScript {
    /// Starts a server that calls a script with the content `script`.
    fn start(name: &str, script: &str) -> Self {
        let folder = TempFolder::new(name);
        write_script(folder.path(), SCRIPT, script);
        let setup = Setup {
            family: ScenarioFamily::V4,
            config: CONFIG,
            has_commands: true,
            persists: true,
            link: None,
        };
        let daemon = Daemon::start_in(folder, ServerMake::Godwit, setup, PATIENCE);
        let daemon = daemon.unwrap_or_else(|why| panic!("it does not start: {why}"));
        Self { daemon, server: Ipv4Addr::LOCALHOST }
    }

    fn folder(&self) -> &Path {
        self.daemon.folder()
    }

    /// Sends a message and returns the type of the reply.
    fn exchange(&mut self, message: &[u8]) -> MessageType {
        let xid = Message::parse(message).expect("it is ours").xid();
        let is_answer = |reply: &[u8]| Message::parse(reply).is_ok_and(|reply| reply.xid() == xid);
        let replies = self.daemon.exchange(message, false, &is_answer).expect("the server replies");
        let reply = replies.last().expect("the server replies");
        Message::parse(reply).expect("it is well formed").message_type().expect("it has a type")
    }

    /// Leases an address to `client` by a REQUEST without a DISCOVER: one call of the script.
    fn lease(&mut self, client: u16) {
        let [high, low] = (client + 10).to_be_bytes();
        let address = Ipv4Addr::new(10, 1, high, low);
        let options =
            [(option::REQUESTED_IP_ADDRESS, address), (option::SERVER_IDENTIFIER, self.server)];
        let request = message(MessageType::Request, client, &options);
        assert_eq!(self.exchange(&request), MessageType::Ack, "client {client}");
    }

    fn command(&mut self, command: &Value) -> Value {
        let text = self.daemon.command(&command.to_string()).expect("the server takes commands");
        serde_json::from_str(&text).expect("an answer is JSON")
    }

    /// Sets the configuration with another list of libraries, and returns the answer.
    fn set_libraries(&mut self, libraries: &Value) -> Value {
        let answer = self.command(&json!({ "command": "config-get" }));
        let mut arguments = answer["arguments"].clone();
        arguments.as_object_mut().expect("it is a map").remove("hash");
        arguments["Dhcp4"]["hooks-libraries"] = libraries.clone();
        self.command(&json!({ "command": "config-set", "arguments": arguments }))
    }

    /// Returns the number of calls with this end.
    fn calls(&self, end: &str) -> u64 {
        let mut stream = UnixStream::connect(self.daemon.control_path()).expect("it listens");
        let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).expect("the server reads");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("the server answers");
        let name = format!("godwit_script_runs_total{{family=\"dhcp4\",reason=\"{end}\"}} ");
        let value = page.lines().find_map(|line| line.strip_prefix(&name));
        value.unwrap_or_else(|| panic!("no {name}in {page}")).parse().expect("it is a number")
    }

    fn wait_for_calls(&self, end: &str, count: u64) {
        assert!(waited_until(|| self.calls(end) >= count), "{}", self.daemon.log());
        assert_eq!(self.calls(end), count, "{}", self.daemon.log());
    }

    /// Ends the server by SIGTERM and waits for it.
    fn stop(&mut self) {
        self.daemon.end().expect("it ends");
    }
}

/// Returns a library list with the script `name`.
fn libraries(name: &str) -> Value {
    json!([{ "library": "libdhcp_run_script.so", "parameters": { "name": name } }])
}

#[test]
fn a_script_that_is_gone_costs_no_lease() {
    let mut server = ServerWithScript::start("script-gone", "#!/bin/sh\nexit 0\n");
    server.lease(1);
    server.wait_for_calls("succeeded", 1);
    fs::remove_file(server.folder().join("scripts").join(SCRIPT)).expect("it is ours");
    server.lease(2);
    server.wait_for_calls("not-started", 1);
    fs::remove_dir_all(server.folder().join("scripts")).expect("it is ours");
    server.lease(3);
    server.wait_for_calls("not-started", 2);
    write_script(server.folder(), SCRIPT, "#!/bin/sh\nexit 3\n");
    server.lease(4);
    server.wait_for_calls("failed", 1);
    assert!(waited_until(|| server.daemon.log().contains("RUN_SCRIPT_FAILED")));
    server.stop();
}

#[test]
fn a_script_that_is_missing_or_not_executable_is_refused_at_load() {
    let folder = TempFolder::new("script-refused");
    let config = folder.path().join("dhcp4.conf");
    let text = format!(
        r#"{{ "Dhcp4": {{ "interfaces-config": {{ "interfaces": [ "lo/127.0.0.1" ],
            "dhcp-socket-type": "udp" }}, "lease-database": {{ "type": "memfile", "persist": false }},
            {CONFIG} }} }}"#
    );
    fs::write(&config, text).expect("the folder is ours");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        confine(&mut command, folder.path());
        let port = free_port().to_string();
        let output = run_bounded(command.args(["dhcp4", "-p", &port, "-c"]).arg(&config));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, output_text) = start();
    assert_eq!(code, Some(2), "{output_text}");
    assert!(output_text.contains("Invalid 'name' parameter: File not found: "), "{output_text}");
    write_script(folder.path(), SCRIPT, "#!/bin/sh\n");
    let path = folder.path().join("scripts").join(SCRIPT);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let (code, output_text) = start();
    assert_eq!(code, Some(2), "{output_text}");
    let expected = "Invalid 'name' parameter: File not executable: ";
    assert!(output_text.contains(expected), "{output_text}");
}

#[test]
fn a_reload_changes_and_removes_the_script() {
    let note = |name: &str| format!("#!/bin/sh\necho \"$1\" >> \"${{0%/*}}/{name}.calls\"\n");
    let mut server = ServerWithScript::start("script-reload", &note("first"));
    write_script(server.folder(), "other.sh", &note("other"));
    let calls = |server: &ServerWithScript, name: &str| {
        let path = server.folder().join("scripts").join(format!("{name}.calls"));
        fs::read_to_string(path).unwrap_or_default().lines().count()
    };
    server.lease(1);
    server.wait_for_calls("succeeded", 1);
    assert_eq!(server.set_libraries(&libraries("missing.sh"))["result"], 1);
    server.lease(2);
    server.wait_for_calls("succeeded", 2);
    assert_eq!(server.set_libraries(&libraries("other.sh"))["result"], 0);
    server.lease(3);
    server.wait_for_calls("succeeded", 3);
    assert_eq!((calls(&server, "first"), calls(&server, "other")), (2, 1));
    assert_eq!(server.set_libraries(&json!([]))["result"], 0);
    server.lease(4);
    assert_eq!(server.set_libraries(&libraries(SCRIPT))["result"], 0);
    server.lease(5);
    server.wait_for_calls("succeeded", 4);
    assert_eq!((calls(&server, "first"), calls(&server, "other")), (3, 1));
    server.stop();
}

#[test]
fn scripts_that_hang_hold_no_reply_and_no_end_of_the_server() {
    let script = "#!/bin/sh\nwhile true; do /bin/sleep 600; done\n";
    let mut server = ServerWithScript::start("script-hangs", script);
    // More than run at a time.
    (1..=80).for_each(|client| server.lease(client));
    server.stop();
    let log = server.daemon.log();
    assert!(log.contains("_SHUTDOWN"), "{log}");
    // The scripts go on without the server, as with Kea: end them by their folder.
    end_processes(&server.folder().join("scripts").join(SCRIPT));
}

/// Ends the processes whose command line contains `path`, with their children.
fn end_processes(path: &Path) {
    let path = path.display().to_string();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&command).contains(&path) {
            let group = format!("-{}", entry.file_name().to_string_lossy());
            Command::new("kill").args(["-KILL", "--", &group]).status().expect("kill runs");
        }
    }
}

#[test]
fn a_thousand_events_reach_a_slow_script() {
    const EVENTS: u16 = 1_000;
    let script =
        "#!/bin/sh\n/bin/sleep 0.1\n/usr/bin/env > $(/usr/bin/mktemp \"${0%/*}/call-XXXXXXXX\")\n";
    let mut server = ServerWithScript::start("script-slow", script);
    (1..=EVENTS).for_each(|client| server.lease(client));
    server.wait_for_calls("succeeded", EVENTS.into());
    let entries = fs::read_dir(server.folder().join("scripts")).expect("the folder is ours");
    let mut clients: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("call-"))
        .filter_map(|entry| {
            let text = fs::read_to_string(entry.path()).expect("it is text");
            let hardware = text.lines().find_map(|line| line.strip_prefix("QUERY4_HWADDR="));
            hardware.map(str::to_owned)
        })
        .collect();
    clients.sort();
    clients.dedup();
    assert_eq!(clients.len(), usize::from(EVENTS));
    server.stop();
}

#[test]
fn scripts_have_no_descriptor_of_the_server_and_are_not_confined() {
    let script = "#!/bin/sh\nfor fd in /proc/self/fd/*; do /bin/readlink \"$fd\"; done \
                  > \"${0%/*}/descriptors\"\n\
                  /bin/grep -E '^(Seccomp|NoNewPrivs|SigBlk|SigIgn):' /proc/self/status \
                  > \"${0%/*}/status\"\n";
    let mut server = ServerWithScript::start("script-descriptors", script);
    server.lease(1);
    server.wait_for_calls("succeeded", 1);
    let read = |name: &str| fs::read_to_string(server.folder().join("scripts").join(name));
    let descriptors = read("descriptors").expect("the script has written it");
    assert!(
        !descriptors.contains("socket:") && !descriptors.contains("anon_inode"),
        "{descriptors}"
    );
    assert!(!descriptors.contains("leases.csv"), "{descriptors}");
    let status = read("status").expect("the script has written it");
    let mask = |status: &str, name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(line.unwrap_or_default().trim_start_matches(':').trim(), 16)
    };
    assert!(status.contains("Seccomp:\t0"), "{status}");
    // Signals from 32 on are the C library's own; those that the test ignores are inherited.
    let own = fs::read_to_string("/proc/self/status").expect("every process has it");
    let inherited = mask(&own, "SigIgn").expect("a number");
    let ignored = mask(&status, "SigIgn").map(|mask| mask & 0x7fff_ffff & !inherited);
    assert_eq!((mask(&status, "SigBlk"), ignored), (Ok(0), Ok(0)));
    server.stop();
}
