//! Link with a server and a third-party client that starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::capture::{CaptureFile, TcpdumpProcess};
use super::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use super::{ServerProcess, TempFolder, require, run_bounded, waited_at_most, waited_until};

/// Differences between the families.
pub(crate) struct LinkTestFamily {
    /// Name of the server, `dhcp4` or `dhcp6`.
    pub(crate) server: &'static str,
    /// Function that joins the ends of the link.
    pub(crate) join: fn(&LinkNamespaces),
    /// Function that writes the server's configuration into the folder and returns its path.
    pub(crate) configuration: fn(&Path) -> PathBuf,
    /// tcpdump's filter for the family's messages.
    pub(crate) messages: &'static str,
    /// Index of `state` in a row of the lease file.
    pub(crate) state_column: usize,
    /// Hook script of a client: it configures the interface and nothing else on the machine.
    pub(crate) hook: &'static str,
}

/// Client process that ends with the value.
pub(crate) struct ClientProcess(Child);

impl ClientProcess {
    /// Starts the program and arguments `words` on the client's side, with its output in `log`.
    pub(crate) fn start(link: &LinkNamespaces, words: &[&str], log: &Path) -> Self {
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

/// Link with a server and a client.
pub(crate) struct ClientServerLink {
    // Dropped before their namespaces and folder.
    client: Option<ClientProcess>,
    server: ServerProcess,
    capture: TcpdumpProcess,
    pub(crate) link: LinkNamespaces,
    folder: TempFolder,
    state_column: usize,
}

impl ClientServerLink {
    /// Sets up the link, and starts a capture and the server on it. Returns `None`, with a message,
    /// if `tools` or the right to make namespaces is missing.
    pub(crate) fn set(family: &LinkTestFamily, label: &str, tools: &[&str]) -> Option<Self> {
        if !require(tools) || !require(&["tcpdump", "tshark"]) {
            return None;
        }
        let link = LinkNamespaces::new()?;
        let folder = TempFolder::new(label);
        (family.join)(&link);
        write_hook(&folder.path().join("hook"), family.hook);
        let config = (family.configuration)(folder.path());
        let mut tcpdump = link.at_server();
        tcpdump.arg("tcpdump");
        let file = folder.path().join("link.pcap");
        let capture = TcpdumpProcess::start(tcpdump, SERVER_END, family.messages, &file);
        let server = ServerProcess::start_on_standard_ports(
            link.at_server(),
            family.server,
            &config,
            folder.path(),
        );
        let state_column = family.state_column;
        Some(Self { client: None, server, capture, link, folder, state_column })
    }

    /// Ends the server of `family`, calls `meanwhile`, and starts the server again.
    pub(crate) fn restart_server(
        &mut self,
        family: &LinkTestFamily,
        meanwhile: impl FnOnce(&LinkNamespaces),
    ) {
        self.server.end();
        meanwhile(&self.link);
        let config = self.folder.path().join(format!("{}.conf", family.server));
        self.server = ServerProcess::start_on_standard_ports(
            self.link.at_server(),
            family.server,
            &config,
            self.folder.path(),
        );
    }

    /// Makes the server read its configuration again.
    pub(crate) fn reload_server(&self) {
        self.server.signal("HUP");
    }

    /// Returns the path of the file `name` in the test's folder.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Returns the contents of the file `name` in the test's folder.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Starts a client on its side of the link, in place of the previous one.
    pub(crate) fn start(&mut self, words: &[&str]) {
        let log = self.folder.path().join("client.log");
        // The next client needs the port of the one before it.
        self.client = None;
        self.client = Some(ClientProcess::start(&self.link, words, &log));
    }

    /// Returns the client started last.
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

    /// Makes dhcpcd, which has mounts of its own, release its leases. Another dhcpcd requests that
    /// over the socket that those mounts hide, and repeats it until a lease is released: the dhcpcd
    /// process that passes commands on drops those of a process that has ended meanwhile.
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

    /// Ends everything once a message that passes `last`, a filter of tshark, has been captured.
    pub(crate) fn end(mut self, last: &str) -> LinkTestResults {
        self.client = None;
        self.capture.wait_for(last);
        self.server.wait_until_all_is_read();
        let log = self.server.stop();
        LinkTestResults { log, captured: self.capture.end(), _folder: self.folder }
    }
}

/// Results of a run of clients on the link.
pub(crate) struct LinkTestResults {
    /// Log of the server.
    pub(crate) log: String,
    /// Packets on the link.
    pub(crate) captured: CaptureFile,
    /// Folder that contains the capture.
    _folder: TempFolder,
}

/// Writes the script `text` to `path` and makes it executable.
pub(crate) fn write_hook(path: &Path, text: &str) {
    fs::write(path, text).expect("the test's folder can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it was made here");
}
