//! Tests of the names for local resolvers: Unbound and dnsmasq answer with the names of leases and
//! reservations, forward and reverse, as the leases change.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::common::ports::free_port;
use crate::common::{ServerProcess, TempFolder, require, waited_until};

/// Resolver that ends with the value.
struct Resolver {
    child: Child,
    port: u16,
}

impl Resolver {
    fn start(command: &mut Command, port: u16) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: child.spawn().expect("the resolver starts"), port }
    }

    /// Starts Unbound with its control socket in `folder`.
    fn unbound(folder: &Path, port: u16) -> Self {
        let socket = folder.join("unbound.ctl");
        fs::remove_file(&socket).ok();
        let config = folder.join("unbound.conf");
        let text = format!(
            "server:\n  interface: 127.0.0.1@{port}\n  do-daemonize: no\n  use-syslog: no\n  \
             chroot: \"\"\n  username: \"\"\n  pidfile: \"\"\n  directory: \"{}\"\n  \
             local-zone: \"lan.example.\" static\n  local-zone: \"127.in-addr.arpa.\" static\n  \
             local-zone: \"8.b.d.0.1.0.0.2.ip6.arpa.\" static\n\
             remote-control:\n  control-enable: yes\n  control-interface: \"{}\"\n  \
             control-use-cert: no\n",
            folder.display(),
            socket.display()
        );
        fs::write(&config, text).expect("the test's folder can be written");
        let mut command = Command::new("unbound");
        let resolver = Self::start(command.arg("-d").arg("-c").arg(&config), port);
        assert!(waited_until(|| UnixStream::connect(&socket).is_ok()), "unbound serves");
        // The server does not run as root; operators add its user to Unbound's group.
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).expect("it is ours");
        resolver
    }

    fn dnsmasq(folders: &[PathBuf], port: u16) -> Self {
        let mut command = Command::new("dnsmasq");
        command.args(["--no-daemon", "--no-resolv", "--no-hosts", "--user=root", "--pid-file="]);
        command.args(["--conf-file=/dev/null", "--listen-address=127.0.0.1", "--bind-interfaces"]);
        command.args(folders.iter().map(|folder| format!("--hostsdir={}", folder.display())));
        Self::start(command.arg(format!("--port={port}")), port)
    }

    /// Returns the data of the answer to a query, sorted.
    fn answer(&self, query: &[&str]) -> Vec<String> {
        let output = Command::new("dig")
            .args(["+short", "+tries=1", "+time=2", "@127.0.0.1", "-p", &self.port.to_string()])
            .args(query)
            .output()
            .expect("dig runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    /// Waits until the answer to `query` is `expected`.
    fn expect(&self, query: &[&str], expected: &[&str]) {
        let is_expected = || self.answer(query) == expected;
        assert!(waited_until(is_expected), "{query:?}: {:?}, not {expected:?}", self.answer(query));
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Server with a control socket.
struct NamingServer {
    server: ServerProcess,
    config: PathBuf,
    folder: TempFolder,
}

impl NamingServer {
    fn start(name: &str, rest: &str, unbound: &Path) -> Self {
        let folder = TempFolder::new(&format!("names-{name}"));
        let config = folder.path().join(format!("{name}.conf"));
        let context = format!(
            r#""user-context": {{ "godwit": {{ "local-names": {{
                "domain": "lan.example", "unbound-control-socket": "{}" }} }} }},"#,
            unbound.display()
        );
        fs::write(&config, Self::text(name, folder.path(), rest, &context)).expect("it is ours");
        let server = ServerProcess::start_under(Command::new("env"), name, &config, folder.path());
        Self { server, config, folder }
    }

    fn text(name: &str, folder: &Path, rest: &str, context: &str) -> String {
        let (top, name) = if name == "dhcp4" { ("Dhcp4", "leases4") } else { ("Dhcp6", "leases6") };
        let folder = folder.display();
        format!(
            r#"{{ "{top}": {{ {context}
            "lease-database": {{ "type": "memfile", "name": "{folder}/{name}.csv" }},
            "control-socket": {{ "socket-type": "unix", "socket-name": "{folder}/control" }},
            "hooks-libraries": [ {{ "library": "libdhcp_lease_cmds.so" }} ], {rest} }} }}"#
        )
    }

    fn command(&self, command: &str, arguments: &Value) {
        let mut stream = UnixStream::connect(self.folder.path().join("control")).unwrap();
        let request = json!({ "command": command, "arguments": arguments });
        stream.write_all(request.to_string().as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["result"], 0, "{answer}");
    }
}

const SUBNET4: &str = r#""interfaces-config": { "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" },
    "subnet4": [ { "id": 1, "subnet": "127.0.0.0/8",
                   "pools": [ { "pool": "127.1.0.1 - 127.1.0.99" } ],
                   "reservations": [ { "hw-address": "02:00:00:00:00:07", "hostname": "NAS",
                                       "ip-address": "127.0.0.7" } ] } ]"#;
const SUBNET6: &str = r#""interfaces-config": { "interfaces": [ "lo/::1" ] },
    "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64",
                   "pools": [ { "pool": "2001:db8:1::/112" } ] } ]"#;

fn lease4(hostname: &str) -> Value {
    json!({ "ip-address": "127.1.0.5", "hw-address": "02:00:00:00:00:01", "hostname": hostname })
}

#[test]
fn resolvers_answer_with_the_names_of_leases_and_reservations() {
    if !require(&["unbound", "dnsmasq", "dig"]) {
        return;
    }
    let folder = TempFolder::new("names-unbound");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let port = free_port();
    let unbound = Resolver::unbound(folder.path(), port);
    let socket = folder.path().join("unbound.ctl");
    let four = NamingServer::start("dhcp4", SUBNET4, &socket);
    let six = NamingServer::start("dhcp6", SUBNET6, &socket);
    let folders = [&four, &six].map(|server| server.folder.path().join("local-names"));
    let dnsmasq = Resolver::dnsmasq(&folders, free_port());

    four.command("lease4-add", &lease4("printer"));
    let lease6 = json!({ "ip-address": "2001:db8:1::5", "duid": "00:03:00:01:02:00:00:00:00:01",
                         "iaid": 1, "hostname": "Printer.lan.example." });
    six.command("lease6-add", &lease6);
    for resolver in [&unbound, &dnsmasq] {
        resolver.expect(&["nas.lan.example", "A"], &["127.0.0.7"]);
        resolver.expect(&["printer.lan.example", "A"], &["127.1.0.5"]);
        resolver.expect(&["printer.lan.example", "AAAA"], &["2001:db8:1::5"]);
        resolver.expect(&["-x", "127.1.0.5"], &["printer.lan.example."]);
        resolver.expect(&["-x", "2001:db8:1::5"], &["printer.lan.example."]);
    }

    // The name's other address stays when one gets another name.
    four.command("lease4-update", &lease4("scanner"));
    for resolver in [&unbound, &dnsmasq] {
        resolver.expect(&["scanner.lan.example", "A"], &["127.1.0.5"]);
        resolver.expect(&["printer.lan.example", "A"], &[]);
        resolver.expect(&["-x", "127.1.0.5"], &["scanner.lan.example."]);
        resolver.expect(&["printer.lan.example", "AAAA"], &["2001:db8:1::5"]);
    }

    // Unbound has no local data after a start.
    drop(unbound);
    let unbound = Resolver::unbound(folder.path(), port);
    unbound.expect(&["scanner.lan.example", "A"], &["127.1.0.5"]);
    unbound.expect(&["printer.lan.example", "AAAA"], &["2001:db8:1::5"]);

    four.command("lease4-del", &json!({ "ip-address": "127.1.0.5" }));
    for resolver in [&unbound, &dnsmasq] {
        resolver.expect(&["scanner.lan.example", "A"], &[]);
        resolver.expect(&["-x", "127.1.0.5"], &[]);
    }

    // Without the setting, the names of this server go.
    let text = NamingServer::text("dhcp4", four.folder.path(), SUBNET4, "");
    fs::write(&four.config, text).expect("it is ours");
    four.server.signal("HUP");
    unbound.expect(&["nas.lan.example", "A"], &[]);
    unbound.expect(&["printer.lan.example", "AAAA"], &["2001:db8:1::5"]);
    assert!(waited_until(|| !folders[0].join("dhcp4.hosts").exists()), "{}", four.server.log());
    four.server.stop();
    six.server.stop();
}
