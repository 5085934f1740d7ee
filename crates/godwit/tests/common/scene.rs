//! A link with a server on it and a client that begins to ask, for tests with clients by others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::capture::{Capture, Captured};
use super::link::{CLIENT_END, Link, SERVER_END};
use super::{ServerProcess, TempFolder, require, run_bounded, waited_at_most, waited_until};

/// What differs between the families.
pub(crate) struct Family {
    /// The server's name, `dhcp4` or `dhcp6`.
    pub(crate) server: &'static str,
    /// Joins the ends of the link.
    pub(crate) join: fn(&Link),
    /// Writes the server's configuration into the folder; its path.
    pub(crate) configuration: fn(&Path) -> PathBuf,
    /// tcpdump's filter for the family's messages.
    pub(crate) messages: &'static str,
    /// Place of `state` in a row of the lease file.
    pub(crate) state_column: usize,
    /// What a client's hook script does: it configures the interface and nothing else of the machine.
    pub(crate) hook: &'static str,
}

/// A client's program, ended with the value.
pub(crate) struct ClientProcess(Child);

impl ClientProcess {
    /// Starts the program and arguments `words` at the client's end; what it says goes into `log`.
    pub(crate) fn start(link: &Link, words: &[&str], log: &Path) -> Self {
        let log = fs::File::create(log).expect("the test's folder can be written");
        let mut command = link.at_client();
        command.args(words).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a second handle")).stderr(log);
        Self(command.spawn().expect("ip netns exec runs"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A link with a server on it and a client that begins to ask.
pub(crate) struct Scene {
    // Ended before their namespaces and folder.
    client: Option<ClientProcess>,
    server: ServerProcess,
    capture: Capture,
    pub(crate) link: Link,
    folder: TempFolder,
    state_column: usize,
}

impl Scene {
    /// `None`, said, when `tools` or the right to make namespaces is missing.
    pub(crate) fn set(family: &Family, label: &str, tools: &[&str]) -> Option<Self> {
        if !require(tools) || !require(&["tcpdump", "tshark"]) {
            return None;
        }
        let link = Link::new()?;
        let folder = TempFolder::new(label);
        (family.join)(&link);
        write_hook(&folder.path().join("hook"), family.hook);
        let config = (family.configuration)(folder.path());
        let mut tcpdump = link.at_server();
        tcpdump.arg("tcpdump");
        let file = folder.path().join("link.pcap");
        let capture = Capture::start(tcpdump, SERVER_END, family.messages, &file);
        let server = ServerProcess::start_on_standard_ports(
            link.at_server(),
            family.server,
            &config,
            folder.path(),
        );
        let state_column = family.state_column;
        Some(Self { client: None, server, capture, link, folder, state_column })
    }

    /// The path of the file `name` in the test's folder.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What the file `name` in the test's folder holds.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Starts a client on its side of the link, instead of the one before.
    pub(crate) fn start(&mut self, words: &[&str]) {
        let log = self.folder.path().join("client.log");
        self.client = Some(ClientProcess::start(&self.link, words, &log));
    }

    /// The client that was started last.
    pub(crate) fn client(&self) -> &ClientProcess {
        self.client.as_ref().expect("it was started")
    }

    /// Waits until the lease file has at least `count` rows, the last with state `state` (Kea: 0 is
    /// assigned, 3 released).
    pub(crate) fn wait_for_rows(&self, count: usize, state: &str) {
        let has_come = waited_until(|| {
            let text = self.read("leases.csv");
            let rows: Vec<&str> = text.lines().skip(1).collect();
            let last_state = rows.last().and_then(|row| row.split(',').nth(self.state_column));
            rows.len() >= count && last_state == Some(state)
        });
        let [log, rows] = ["client.log", "leases.csv"].map(|name| self.read(name));
        assert!(has_come, "no {count} rows, the last in state {state}: {rows}\nclient: {log}");
    }

    /// Has dhcpcd, which was started with mounts of its own, give its leases back. Another dhcpcd
    /// tells it so, over the socket that those mounts hide, and again while no lease is given back:
    /// of the processes that dhcpcd consists of, the one that passes commands on drops what comes
    /// from a process that has ended meanwhile.
    pub(crate) fn have_dhcpcd_release(&self, family: &str) {
        let pid = self.client().pid().to_string();
        let released = || {
            let text = self.read("leases.csv");
            let last = text.lines().last().and_then(|row| row.split(',').nth(self.state_column));
            last == Some("3")
        };
        let mut answers = String::new();
        let has_released = (0..30).any(|_| {
            let mut nsenter = Command::new("nsenter");
            nsenter
                .args(["--target", &pid, "--mount", "--net", "dhcpcd", family, "-k", CLIENT_END]);
            let output = run_bounded(&mut nsenter);
            answers += &String::from_utf8_lossy(&output.stderr);
            waited_at_most(Duration::from_secs(10), released)
        });
        let log = self.read("client.log");
        assert!(has_released, "told, it answered: {answers}\nclient: {log}");
    }

    /// Ends everything once a message that passes `last`, a filter of tshark's, has been seen.
    pub(crate) fn end(mut self, last: &str) -> Ended {
        self.client = None;
        self.capture.wait_for(last);
        let log = self.server.stop();
        Ended { log, captured: self.capture.end(), _folder: self.folder }
    }
}

/// What is left of a scene.
pub(crate) struct Ended {
    /// What the server said.
    pub(crate) log: String,
    /// What went over the link.
    pub(crate) captured: Captured,
    /// The capture is in it.
    _folder: TempFolder,
}

/// Makes the script `text` at `path`.
pub(crate) fn write_hook(path: &Path, text: &str) {
    fs::write(path, text).expect("the test's folder can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it was made here");
}
