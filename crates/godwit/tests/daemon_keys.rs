//! Keys of the server that scenarios cannot show, because they concern files and sockets.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{
    ServerProcess, TempFolder, configuration, configuration6, free_port, run_bounded, waited_until,
};
use serde_json::{Value, json};

/// Header of Kea's lease file.
const HEAD: &str = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
                    hostname,state,user_context,pool_id\n";

/// Returns a row of the lease file for a lease that does not end soon.
fn row(address: &str, subnet: u32) -> String {
    format!("{address},02:00:00:00:00:01,,4000,4102444800,{subnet},0,0,,0,,0\n")
}

/// Writes a configuration whose `lease-database` has the keys `database` instead of the usual ones,
/// with `further` next to it, and returns its path.
fn written(folder: &Path, database: &Value, further: &str) -> std::path::PathBuf {
    let path = configuration(folder, "always", 1);
    let text = fs::read_to_string(&path).expect("it was just written");
    let (before, rest) = text.split_once("\"lease-database\":").expect("it is there");
    let (_, after) = rest.split_once("},").expect("it ends");
    let text = format!("{before}{further} \"lease-database\": {database},{after}");
    fs::write(&path, text).expect("the test's folder can be written");
    path
}

/// Sends `command` to the socket `socket` and returns the answer.
fn asked(socket: &Path, command: &Value) -> Value {
    let mut stream = UnixStream::connect(socket).expect("the server takes commands");
    stream.write_all(command.to_string().as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    serde_json::from_str(&answer).expect("an answer is JSON")
}

#[test]
fn leases_are_in_the_file_that_is_named_or_in_none() {
    for persist in [true, false] {
        let folder = TempFolder::new(&format!("named-{persist}"));
        let file = folder.path().join("other.csv");
        let database = json!({ "type": "memfile", "name": file, "persist": persist });
        let config = written(folder.path(), &database, "");
        let server = ServerProcess::start(&config, folder.path());
        assert_eq!(file.exists(), persist);
        server.stop();
    }
}

/// Checks that `multi-threading` or `shards` sets the number of serving threads, and that
/// `status-get` returns it.
#[test]
fn as_many_threads_serve_as_are_configured() {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = |text: &str| format!(r#""multi-threading": {{ {text} }},"#);
    let shards = r#""user-context": { "godwit": { "shards": 4 } },"#;
    for (number, (further, count, is_threaded)) in [
        (String::new(), processors, true),
        (threads(r#""enable-multi-threading": false"#), 1, false),
        (threads(r#""thread-pool-size": 3"#), 3, true),
        (threads(r#""enable-multi-threading": false"#) + shards, 4, true),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = TempFolder::new(&format!("threads-{number}"));
        let socket = folder.path().join("control");
        let text = format!(
            r#"{{ "Dhcp4": {{ {further}
                "interfaces-config": {{ "interfaces": [ "lo/127.0.0.1" ],
                                       "dhcp-socket-type": "udp" }},
                "control-socket": {{ "socket-type": "unix", "socket-name": "{}" }},
                "lease-database": {{ "type": "memfile", "persist": false }} }} }}"#,
            socket.display()
        );
        let config = folder.path().join("dhcp4.conf");
        fs::write(&config, text).expect("the test's folder can be written");
        let server = ServerProcess::start(&config, folder.path());
        let serving = || {
            let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).expect("it runs");
            let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
            let names = tasks.filter_map(|task| name(task.ok()?));
            names.filter(|name| name.starts_with("dhcp4-")).count()
        };
        // A thread sets its name some time after its start.
        assert!(waited_until(|| serving() >= count), "{further}: {}", server.log());
        assert_eq!(serving(), count, "{further}");
        let status = &asked(&socket, &json!({ "command": "status-get" }))["arguments"];
        assert_eq!(status["multi-threading-enabled"], is_threaded, "{further}: {status}");
        let shown = status.get("thread-pool-size").map(|size| size.as_u64());
        assert_eq!(shown, is_threaded.then_some(Some(count as u64)), "{further}: {status}");
        server.stop();
    }
}

#[test]
fn the_lease_file_is_cleaned_up_as_often_as_that_is_set() {
    let folder = TempFolder::new("cleaned");
    let file = folder.path().join("leases.csv");
    fs::write(&file, HEAD.to_owned() + &row("127.1.0.9", 1).repeat(3)).expect("the folder is ours");
    let database = json!({ "type": "memfile", "name": file, "lfc-interval": 1 });
    let config = written(folder.path(), &database, "");
    let server = ServerProcess::start(&config, folder.path());
    let cleaned = folder.path().join("leases.csv.2");
    let count = || fs::read_to_string(&cleaned).unwrap_or_default().matches("127.1.0.9").count();
    assert!(waited_until(|| count() == 1), "{}", server.log());
    server.stop();
}

#[test]
fn so_many_bad_rows_are_borne_and_no_more() {
    for (max, is_borne) in [(1, false), (2, true), (0, true)] {
        let folder = TempFolder::new(&format!("bad-rows-{max}"));
        let file = folder.path().join("leases.csv");
        let rows = HEAD.to_owned() + "nonsense\nmore,of,it\n" + &row("127.1.0.9", 1);
        fs::write(&file, rows).expect("the folder is ours");
        let database = json!({
            "type": "memfile", "name": file, "max-row-errors": max, "lfc-interval": 0
        });
        let config = written(folder.path(), &database, "");
        if is_borne {
            ServerProcess::start(&config, folder.path()).stop();
            continue;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        crate::common::confine(&mut command, folder.path());
        command.args(["dhcp4", "-p", &free_port().to_string(), "-c"]).arg(&config);
        let output = run_bounded(command.stdin(Stdio::null()));
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Checks two leases that name a subnet that does not exist; the address of one is in another
/// subnet.
#[test]
fn leases_of_wrong_subnets_are_treated_as_that_is_set() {
    for (checks, of_inside, of_outside) in [
        ("none", json!(99), json!(99)),
        ("warn", json!(99), json!(99)),
        ("fix", json!(1), json!(99)),
        ("fix-del", json!(1), Value::Null),
        ("del", Value::Null, Value::Null),
    ] {
        let folder = TempFolder::new(&format!("checks-{checks}"));
        let file = folder.path().join("leases.csv");
        let rows = HEAD.to_owned() + &row("127.1.0.9", 99) + &row("10.9.9.9", 99);
        fs::write(&file, rows).expect("the folder is ours");
        let database = json!({ "type": "memfile", "name": file, "lfc-interval": 0 });
        let socket = folder.path().join("control");
        let further = format!(
            r#""sanity-checks": {{ "lease-checks": "{checks}" }},
               "hooks-libraries": [ {{ "library": "libdhcp_lease_cmds.so" }} ],
               "control-socket": {{ "socket-type": "unix", "socket-name": "{}" }},"#,
            socket.display()
        );
        let config = written(folder.path(), &database, &further);
        let server = ServerProcess::start(&config, folder.path());
        for (address, subnet) in [("127.1.0.9", of_inside), ("10.9.9.9", of_outside)] {
            let arguments = json!({ "ip-address": address });
            let command = json!({ "command": "lease4-get", "arguments": arguments });
            let answer = asked(&socket, &command);
            assert_eq!(answer["arguments"]["subnet-id"], subnet, "{checks}: {answer}");
        }
        server.stop();
    }
}

#[test]
fn commands_are_taken_at_the_socket_that_is_named() {
    for key in ["control-socket", "control-sockets"] {
        let folder = TempFolder::new(key);
        let socket = folder.path().join("here");
        let named = json!({ "socket-type": "unix", "socket-name": socket });
        let value = if key == "control-socket" { named } else { json!([named]) };
        let database = json!({ "type": "memfile", "persist": false });
        let config = written(folder.path(), &database, &format!("\"{key}\": {value},"));
        let server = ServerProcess::start(&config, folder.path());
        let answer = asked(&socket, &json!({ "command": "version-get" }));
        assert_eq!(answer["result"], 0, "{answer}");
        server.stop();
    }
}

#[test]
fn the_identifier_is_in_its_folder_if_it_is_to_stay() {
    for persist in [true, false] {
        let folder = TempFolder::new(&format!("identifier-{persist}"));
        let further = format!(r#""server-id": {{ "type": "EN", "persist": {persist} }},"#);
        let subnet = r#"{ "id": 1, "subnet": "2001:db8::/64" }"#;
        let config = configuration6(folder.path(), "\"lo/::1\"", &further, subnet);
        let env = Command::new("env");
        let server = ServerProcess::start_under(env, "dhcp6", &config, folder.path());
        assert_eq!(folder.path().join("kea-dhcp6-serverid").exists(), persist);
        server.stop();
    }
}

#[test]
fn leases_of_dhcpv6_are_written_where_a_command_says() {
    let folder = TempFolder::new("written");
    let (socket, copy) = (folder.path().join("control"), folder.path().join("copy.csv"));
    let named = json!([{ "socket-type": "unix", "socket-name": socket }]);
    let hooks = json!([{ "library": "libdhcp_lease_cmds.so" }]);
    let further = format!("\"control-sockets\": {named}, \"hooks-libraries\": {hooks},");
    let subnet = r#"{ "id": 1, "subnet": "2001:db8::/64" }"#;
    let config = configuration6(folder.path(), "\"lo/::1\"", &further, subnet);
    let env = Command::new("env");
    let server = ServerProcess::start_under(env, "dhcp6", &config, folder.path());
    let lease = json!({ "ip-address": "2001:db8::9", "duid": "00:03:00:01:02", "iaid": 1 });
    for (command, arguments) in
        [("lease6-add", lease), ("lease6-write", json!({ "filename": copy }))]
    {
        let answer = asked(&socket, &json!({ "command": command, "arguments": arguments }));
        assert_eq!(answer["result"], 0, "{command}: {answer}");
    }
    assert!(fs::read_to_string(&copy).expect("it was written").contains("\n2001:db8::9,"));
    server.stop();
}

#[test]
fn leases_in_memory_may_be_written_to_the_lease_file_that_is_named() {
    for persist in [true, false] {
        let folder = TempFolder::new(&format!("written-{persist}"));
        let (socket, file) = (folder.path().join("control"), folder.path().join("named.csv"));
        fs::write(&file, format!("{HEAD}{}", row("127.1.0.9", 1))).expect("the folder is there");
        let named = json!([{ "socket-type": "unix", "socket-name": socket }]);
        let hooks = json!([{ "library": "libdhcp_lease_cmds.so" }]);
        let further = format!("\"control-sockets\": {named}, \"hooks-libraries\": {hooks},");
        let database = json!({ "type": "memfile", "name": file, "persist": persist });
        let server =
            ServerProcess::start(&written(folder.path(), &database, &further), folder.path());
        let write = json!({ "command": "lease4-write", "arguments": { "filename": file } });
        let answer = asked(&socket, &write);
        assert_eq!(answer["result"] == 0, !persist, "{answer}");
        server.stop();
        // Memory has no lease, and the server keeps the file's rows in a backup, as Kea does.
        let is_backup = |name: &str| name.starts_with("named.csv.bak");
        let names = fs::read_dir(folder.path()).expect("the folder is there");
        let mut names = names.map(|entry| entry.expect("it can be read").file_name());
        let backup = names.find(|name| is_backup(&name.to_string_lossy()));
        assert_eq!(backup.is_some(), !persist);
        if let Some(backup) = backup {
            let text = fs::read_to_string(&file).expect("the file is there");
            assert_eq!(text.lines().count(), 1, "{text}");
            let kept = fs::read_to_string(folder.path().join(backup)).expect("it was kept");
            assert!(kept.contains("127.1.0.9"), "{kept}");
        }
    }
}
