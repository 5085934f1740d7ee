//! Private server for the tests of the binary: with a folder of its own, ended by the process id
//! that the test started, on loopback with ports of its own, or on a link of its own.

pub(crate) mod capture;
pub(crate) mod client_link;
pub(crate) mod kea;
pub(crate) mod link;
pub(crate) mod manual;
pub(crate) mod namespaces;
pub(crate) mod perfdhcp;
pub(crate) mod ports;
pub(crate) mod recorder;
pub(crate) mod small_disk;
pub(crate) mod trace;
pub(crate) mod unprivileged;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(crate) use ports::free_port;
pub(crate) use testkit::{
    PATIENCE, TempFolder, is_root, is_user_root, require, skip, wait_until, waited_at_most,
    waited_until,
};

/// Name of a log in the server's folder that a configuration may use.
pub(crate) const DEBUG_LOG: &str = "debug.log";

/// Makes a server keep its PID file, logs, control sockets and leases in `folder`, except those
/// that `command` sets already.
pub(crate) fn confine(command: &mut Command, folder: &Path) {
    for name in [
        "KEA_PIDFILE_DIR",
        "KEA_LOCKFILE_DIR",
        "KEA_LOG_FILE_DIR",
        "KEA_LEGAL_LOG_DIR",
        "KEA_CONTROL_SOCKET_DIR",
        "KEA_DHCP_DATA_DIR",
    ] {
        if !command.get_envs().any(|(known, _)| known == name) {
            command.env(name, folder);
        }
    }
    command.env("KEA_HOOK_SCRIPTS_PATH", folder.join("scripts"));
}

/// Writes a configuration for `shards` shards and a pool of 65,534 addresses, and returns its path.
pub(crate) fn configuration(folder: &Path, durability: &str, shards: u16) -> PathBuf {
    let path = folder.join("dhcp4.conf");
    let text = format!(
        r#"{{ "Dhcp4": {{
            "interfaces-config": {{ "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" }},
            "lease-database": {{ "type": "memfile", "name": "{}", "lfc-interval": 0 }},
            "valid-lifetime": 4000,
            "user-context": {{ "godwit": {{ "durability": "{durability}", "shards": {shards} }} }},
            "subnet4": [ {{ "id": 1, "subnet": "127.0.0.0/8",
                            "pools": [ {{ "pool": "127.1.0.1 - 127.1.255.254" }} ] }} ]
        }} }}"#,
        folder.join("leases.csv").display()
    );
    fs::write(&path, text).expect("the test's folder can be written");
    path
}

/// Writes a DHCPv6 configuration for two shards that listen at `interfaces` (JSON), with the
/// globals `further` and the subnets `subnets`, and returns its path.
pub(crate) fn configuration6(
    folder: &Path,
    interfaces: &str,
    further: &str,
    subnets: &str,
) -> PathBuf {
    let path = folder.join("dhcp6.conf");
    let text = format!(
        r#"{{ "Dhcp6": {{
            "interfaces-config": {{ "interfaces": [ {interfaces} ] }},
            "data-directory": "{}",
            "lease-database": {{ "type": "memfile", "name": "leases.csv", "lfc-interval": 0 }},
            "user-context": {{ "godwit": {{ "durability": "always", "shards": 2 }} }},
            "valid-lifetime": 3600, {further}
            "subnet6": [ {subnets} ]
        }} }}"#,
        folder.display()
    );
    fs::write(&path, text).expect("the test's folder can be written");
    path
}

/// Running server.
pub(crate) struct ServerProcess {
    child: Child,
    /// Process id of the server itself, also if it runs under another program.
    server_pid: u32,
    pub(crate) port: u16,
    pub(crate) relay_port: u16,
    /// Path of the log: a file for its standard error, or [`DEBUG_LOG`].
    log: PathBuf,
}

impl ServerProcess {
    pub(crate) fn start(config: &Path, folder: &Path) -> Self {
        Self::start_under(Command::new("env"), "dhcp4", config, folder)
    }

    /// Starts the server called `name` (`dhcp4` or `dhcp6`) by `wrapper` (strace, which stays its
    /// parent).
    pub(crate) fn start_under(wrapper: Command, name: &str, config: &Path, folder: &Path) -> Self {
        Self::launch_on(wrapper, name, [free_port(), free_port()], config, folder)
    }

    /// Starts the server on given ports, which it may share with others.
    pub(crate) fn start_on_ports(ports: [u16; 2], config: &Path, folder: &Path) -> Self {
        Self::launch_on(Command::new("env"), "dhcp4", ports, config, folder)
    }

    /// Starts the server called `name` (`dhcp4` or `dhcp6`) by `wrapper` on the first of `ports`,
    /// with a relay agent on the other.
    pub(crate) fn launch_on(
        wrapper: Command,
        name: &str,
        ports: [u16; 2],
        config: &Path,
        folder: &Path,
    ) -> Self {
        let flags = ["-p", &ports[0].to_string(), "-P", &ports[1].to_string()];
        Self::launch(wrapper, name, &flags, ports, config, folder)
    }

    /// Starts the server called `name` (`dhcp4` or `dhcp6`) with further `flags`.
    pub(crate) fn start_with(flags: &[&str], name: &str, config: &Path, folder: &Path) -> Self {
        let ports = [free_port(), free_port()];
        let [port, relay_port] = ports.map(|port| port.to_string());
        let flags = [&["-p", &port, "-P", &relay_port], flags].concat();
        Self::launch(Command::new("env"), name, &flags, ports, config, folder)
    }

    /// Starts the server called `name` (`dhcp4` or `dhcp6`) by `wrapper` on its standard port.
    pub(crate) fn start_on_standard_ports(
        wrapper: Command,
        name: &str,
        config: &Path,
        folder: &Path,
    ) -> Self {
        let ports = if name == "dhcp4" { [67, 68] } else { [547, 546] };
        Self::launch(wrapper, name, &[], ports, config, folder)
    }

    fn launch(
        mut wrapper: Command,
        name: &str,
        flags: &[&str],
        [port, relay_port]: [u16; 2],
        config: &Path,
        folder: &Path,
    ) -> Self {
        let stderr = folder.join("server.log");
        let text = fs::read_to_string(config).unwrap_or_default();
        unprivileged::serve_without_privilege(&mut wrapper, folder, text.contains("prefix-routes"));
        wrapper.arg(name).args(flags).arg("-c").arg(config);
        if text.contains(r#""socket-type": "http"#) || text.contains(r#""socket-type":"http"#) {
            // The rules for HTTP sockets have tests of their own.
            wrapper.arg("-X");
        }
        confine(&mut wrapper, folder);
        wrapper
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&stderr).expect("the test's folder can be written"));
        let log = if text.contains(DEBUG_LOG) { folder.join(DEBUG_LOG) } else { stderr };
        if log.ends_with(DEBUG_LOG) {
            // It may have the line of an earlier server that it serves.
            fs::remove_file(&log).ok();
        }
        let child = wrapper.spawn().expect("the server can be started");
        let mut server = Self { server_pid: child.id(), child, port, relay_port, log };
        server.wait_until_serving();
        server
    }

    fn wait_until_serving(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.log().contains("serving") {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("the server ended with {status}: {}", self.log());
            }
            assert!(Instant::now() < deadline, "not serving: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        self.server_pid = child_of(self.child.id()).unwrap_or_else(|| self.child.id());
    }

    /// Waits until the log has `text`.
    pub(crate) fn wait_for(&self, text: &str) {
        assert!(waited_until(|| self.log().contains(text)), "no `{text}` in: {}", self.log());
    }

    /// Waits until the sockets of the server's own namespace hold no unread messages: a server that
    /// gets the signal to end serves the messages that it has read, and no more.
    pub(crate) fn wait_until_all_is_read(&self) {
        let is_read = || !ports::has_unread_in_namespace_of(self.server_pid);
        assert!(waited_until(is_read), "messages are not read: {}", self.log());
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.server_pid
    }

    pub(crate) fn signal(&self, name: &str) {
        Command::new("kill")
            .args([&format!("-{name}"), &self.server_pid.to_string()])
            .status()
            .expect("kill runs");
    }

    /// Ends the server with SIGTERM and returns its log.
    pub(crate) fn stop(mut self) -> String {
        self.end()
    }

    /// Ends the server as [`ServerProcess::stop`] does.
    pub(crate) fn end(&mut self) -> String {
        self.signal("TERM");
        let status = self.child.wait().expect("the server was started here");
        let log = self.log();
        assert!(status.success(), "{status}: {log}");
        let is_faultless = !log.contains("internal-error") && !log.contains("INTERNAL_ERROR");
        assert!(is_faultless, "internal error of the server: {log}");
        log
    }

    /// Returns true if the server has ended, by itself or by a signal.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Returns the server's exit code; `None` while it runs and after a signal.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.child.try_wait().ok()??.code()
    }

    /// Kills the server at once, with nothing in between unless it runs under another program.
    pub(crate) fn kill(mut self) {
        if self.server_pid == self.child.id() {
            self.child.kill().expect("the server was started here");
        } else {
            self.signal("KILL");
        }
        self.child.wait().expect("the server was started here");
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal("KILL");
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// Returns the sum of the numbers after `name` in a server's last lines, one per shard that has
/// one.
pub(crate) fn figure(log: &str, name: &str) -> usize {
    log.lines()
        .filter(|line| line.contains(" shard "))
        .flat_map(|line| line.split([',', ':']))
        .filter_map(|part| part.trim().strip_prefix(name)?.trim().parse::<usize>().ok())
        .sum()
}

/// Returns true if servers of Debian 13 can run here, in their root folder. With
/// GODWIT_REQUIRE_TOOLS a missing folder fails the test.
pub(crate) fn has_debian_13() -> bool {
    let is_there = testbed::Debian13::find().is_some();
    let reason = "there is no root folder of Debian 13; `cargo xtask test setup` makes it";
    (is_there || skip(reason)) && is_root()
}

/// Returns the single child of process `pid`.
fn child_of(pid: u32) -> Option<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}

/// Runs `command` to its end, or for at most ten minutes by `timeout`.
pub(crate) fn run_bounded(command: &mut Command) -> Output {
    let program = command.get_program().to_owned();
    let mut bounded = Command::new("timeout");
    bounded.args(["-k", "10", "600"]).arg(program).args(command.get_args());
    bounded.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bounded.output().expect("timeout(1) is there")
}
