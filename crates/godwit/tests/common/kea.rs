//! Debian's Kea as a process of a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::waited_until;

/// Running Kea that writes its log to `kea.log` in the test's folder.
pub(crate) struct KeaProcess {
    child: Child,
    log: PathBuf,
}

impl KeaProcess {
    /// Starts `program` with `config`, its port, and the port for its replies.
    pub(crate) fn start(program: &str, config: &Path, folder: &Path, ports: [u16; 2]) -> Self {
        Self::start_by(Command::new(program), config, folder, ports)
    }

    /// Starts Kea by a command that becomes the program, with its arguments.
    pub(crate) fn start_by(
        mut command: Command,
        config: &Path,
        folder: &Path,
        ports: [u16; 2],
    ) -> Self {
        let log = folder.join("kea.log");
        fs::remove_file(&log).ok();
        let [port, relay_port] = ports.map(|port| port.to_string());
        command.arg("-c").arg(config).args(["-p", &port, "-P", &relay_port]);
        command.env("KEA_PIDFILE_DIR", folder).env("KEA_LOCKFILE_DIR", folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let kea = Self { child: command.spawn().expect("Kea can be started"), log };
        assert!(waited_until(|| kea.log().contains("_STARTED ")), "{}", kea.log());
        kea
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends Kea with SIGTERM.
    pub(crate) fn stop(mut self) {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        self.child.wait().expect("it was started here");
        let log = self.log();
        // Kea's raw socket gets every frame of the link until its filter is active.
        let is_fault = |line: &str| {
            (line.contains(" ERROR ") && !line.contains("DHCP4_BUFFER_RECEIVE_FAIL"))
                || line.contains("ROW_ERROR")
        };
        assert!(!log.lines().any(is_fault), "{log}");
    }
}

impl Drop for KeaProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}
