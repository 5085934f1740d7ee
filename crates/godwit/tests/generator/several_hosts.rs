//! Tests of several generators that act as one over OpenSSH: each in a network namespace with an
//! SSH server of its own, the responder in a third one with the coordinator.

use std::fs;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::figures;
use super::responder::{ClientTreatment, DhcpResponder};
use super::several::{MISBEHAVED, check_misbehaved, misbehave};
use super::words;
use crate::common::link::{inside, ip, within};
use crate::common::namespaces::Namespaces;
use crate::common::{TempFolder, is_root, require, run_bounded, waited_until};

/// Port of the SSH servers; the namespaces have no other servers.
const PORT: u16 = 2_222;
/// Addresses of the responder.
const SERVER: [&str; 2] = ["10.77.0.1", "fd77::1"];

/// Bridge with the coordinator on it and two further hosts, each with an SSH server.
pub(super) struct SshHosts {
    daemons: Vec<Child>,
    /// Namespaces of the responder and of the generators.
    pub(super) namespaces: Namespaces<3>,
    folder: TempFolder,
}

impl SshHosts {
    /// Sets the hosts up. Returns `None`, with a message, if tools or rights are missing.
    pub(super) fn set() -> Option<Self> {
        if !require(&["ip", "ssh", "sshd", "ssh-keygen"]) || !is_root() {
            return None;
        }
        let (namespaces, folder) = (Namespaces::make(), TempFolder::new("several-hosts"));
        let mut hosts = Self { daemons: Vec::new(), namespaces, folder };
        hosts.join();
        hosts.write_keys();
        hosts.start_daemons();
        Some(hosts)
    }

    fn join(&self) {
        let [server, generators @ ..] = &*self.namespaces;
        ip(&format!("-n {server} link add br0 type bridge"));
        ip(&format!("-n {server} link set br0 up"));
        ip(&format!("-n {server} addr add {}/24 dev br0", SERVER[0]));
        ip(&format!("-n {server} addr add {}/64 dev br0 nodad", SERVER[1]));
        for (generator, number) in generators.iter().zip(2..) {
            let port = format!("p{number}");
            ip(&format!(
                "link add {port} netns {server} type veth peer name eth0 netns {generator}"
            ));
            ip(&format!("-n {server} link set {port} master br0 up"));
            ip(&format!("-n {generator} link set eth0 up"));
            ip(&format!("-n {generator} addr add 10.77.0.{number}/24 dev eth0"));
            ip(&format!("-n {generator} addr add fd77::{number}/64 dev eth0 nodad"));
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Writes keys and settings for both sides, which read nothing of the machine's own.
    fn write_keys(&self) {
        for name in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", &self.path(name)]);
            assert!(run_bounded(&mut keygen).status.success());
        }
        let host_key = fs::read_to_string(self.path("host.pub")).unwrap();
        fs::write(self.path("known"), format!("generator {host_key}")).unwrap();
        let client = format!(
            "Host one\n HostName 10.77.0.2\nHost two\n HostName 10.77.0.3\nHost *\n Port {PORT}\n \
             User root\n IdentityFile {}\n IdentitiesOnly yes\n UserKnownHostsFile {}\n \
             GlobalKnownHostsFile none\n HostKeyAlias generator\n StrictHostKeyChecking yes\n \
             BatchMode yes\n LogLevel ERROR\n KexAlgorithms ecdh-sha2-nistp256\n",
            self.path("user"),
            self.path("known")
        );
        fs::write(self.path("client"), client).unwrap();
        let daemon = format!(
            "Port {PORT}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nPidFile none\nLogLevel ERROR\n",
            self.path("host"),
            self.path("user.pub")
        );
        fs::write(self.path("daemon"), daemon).unwrap();
    }

    fn start_daemons(&mut self) {
        // Debian's SSH server needs a folder of the machine; this one is in mounts of its own.
        let script = format!(
            "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec /usr/sbin/sshd -D -e -f {}",
            self.path("daemon")
        );
        let [server, generators @ ..] = &*self.namespaces;
        for (generator, number) in generators.iter().zip(2..) {
            let log = fs::File::create(self.path(&format!("sshd{number}.log"))).unwrap();
            let mut daemon = inside(generator);
            daemon.args(["sh", "-c", &script]).stdin(Stdio::null()).stderr(log);
            self.daemons.push(daemon.spawn().expect("ip netns exec runs"));
            let address: SocketAddr = format!("10.77.0.{number}:{PORT}").parse().unwrap();
            let listens = || within(server, || TcpStream::connect(address).is_ok());
            let log = || fs::read_to_string(self.path(&format!("sshd{number}.log")));
            assert!(waited_until(listens), "sshd does not listen: {:?}", log());
        }
    }

    fn responder(&self, is_v6: bool, plan: fn(u32) -> ClientTreatment) -> DhcpResponder {
        let address = if is_v6 { "[fd77::1]:547" } else { "10.77.0.1:67" };
        let socket = within(&self.namespaces[0], || UdpSocket::bind(address));
        DhcpResponder::on(socket.expect("the namespace is ours"), is_v6, plan)
    }

    /// Runs the command and returns its document and its exit code.
    fn measured(&self, line: &str) -> (Value, i32) {
        let mut command = inside(&self.namespaces[0]);
        let godwit = env!("CARGO_BIN_EXE_godwit");
        command.args([godwit, "perfdhcp", "--generators", "one,two"]).args(words(line));
        command.args(["--remote-godwit", godwit, "--json", "-"]);
        command.args(["--ssh-command", &format!("ssh -F {}", self.path("client"))]);
        let output = run_bounded(&mut command);
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        let json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {error}"));
        (json, output.status.code().unwrap())
    }
}

impl Drop for SshHosts {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            daemon.kill().ok();
            daemon.wait().ok();
        }
    }
}

#[test]
fn two_generators_in_two_namespaces_have_the_ledger_of_the_responder() {
    let Some(hosts) = SshHosts::set() else { return };
    let responder = hosts.responder(false, misbehave);
    let (json, code) = hosts.measured(&format!("{MISBEHAVED} {}", SERVER[0]));
    assert_eq!(code, 3, "{json}");
    check_misbehaved(&json, &responder);
    let locals = json["generators"].as_array().unwrap().iter().map(|g| g["local"].as_str());
    assert!(locals.eq([Some("10.77.0.2:67"), Some("10.77.0.3:67")]), "{json}");
    drop(responder);

    let nak =
        |client: u32| if client % 10 == 3 { ClientTreatment::Nak } else { ClientTreatment::Good };
    let responder = hosts.responder(true, nak);
    let line = format!("-6 -A 1 -r 500 -n 201 -R 201 -d 20 -f 50 {}", SERVER[1]);
    let (json, code) = hosts.measured(&line);
    assert_eq!(code, 3, "{json}");
    let counts = responder.counts();
    let sent = [0, 1, 2].map(|exchange| figures(&json, exchange, ["sent"])[0]);
    assert_eq!((sent, sent[..2].to_vec()), ([counts[0], counts[1], counts[2]], vec![201, 201]));
    assert!(counts[2] > 0, "{json}");
    // Clients 3, 13 … 193.
    assert_eq!(json["exchanges"][1]["rejected"]["NoAddrsAvail"], 20, "{json}");
    let on_time = [0, 1, 2].map(|exchange| figures(&json, exchange, ["on_time"])[0]);
    assert_eq!(on_time, [201, 181, counts[2]], "{json}");
    assert_eq!((json["leases"].as_u64(), responder.clients().len()), (Some(181), 201));
}
