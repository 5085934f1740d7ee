//! Privileges of the user of a test run: root, root through `sudo`, or those of any user.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Privilege of the user of a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privilege {
    /// User root itself.
    Root,
    /// User who may use `sudo` without a password.
    Sudo,
    /// User without root privilege, neither root nor with `sudo`.
    None,
}

impl Privilege {
    /// Determines the user's privilege, once.
    pub(crate) fn detect() -> Self {
        static PRIVILEGE: OnceLock<Privilege> = OnceLock::new();
        *PRIVILEGE.get_or_init(|| {
            let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
            let effective_user = status
                .lines()
                .find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1));
            if effective_user == Some("0") {
                return Self::Root;
            }
            let sudo = Command::new("sudo")
                .args(["-n", "true"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            match sudo {
                Ok(status) if status.success() => Self::Sudo,
                _ => Self::None,
            }
        })
    }

    /// Returns true if commands can run as root.
    pub(crate) fn is_root(self) -> bool {
        self != Self::None
    }

    /// Returns a command for `program` with the environment variables `environment`, as root if
    /// possible.
    pub(crate) fn command(self, program: &str, environment: &[(String, String)]) -> Command {
        match self {
            Self::Sudo => {
                let mut command = Command::new("sudo");
                command.args(["-n", "env"]);
                command.args(environment.iter().map(|(name, value)| format!("{name}={value}")));
                command.arg(program);
                command
            }
            Self::Root | Self::None => {
                let mut command = Command::new(program);
                command.envs(environment.iter().map(|(name, value)| (name, value)));
                command
            }
        }
    }

    /// Returns a command for the shell script `script`, as root if possible.
    pub(crate) fn shell(self, script: &str) -> Command {
        let mut command = self.command("sh", &[]);
        command.args(["-c", script]);
        command
    }
}
