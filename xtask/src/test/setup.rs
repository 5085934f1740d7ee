//! Set-up of a fresh Debian 12: the packages that tests compare with, and the two components of the
//! Rust toolchain that tidy runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::TestSession;
use super::child;
use super::privilege::Privilege;
use super::tally::CheckTally;
use crate::{output, package};

/// Debian packages that the tests need, by name, each with the part that needs it.
pub(crate) const PACKAGES: [(&str, &str); 48] = [
    ("iproute2", "namespaces and virtual interfaces"),
    ("util-linux", "giving up privileges, placing processes"),
    ("procps", "looking at processes"),
    ("kea-dhcp4-server", "the server that ours is compared with"),
    ("kea-dhcp6-server", "the same for DHCPv6"),
    ("kea-doc", "its examples, which ours has to accept"),
    ("kea-ctrl-agent", "kea-shell, which talks to control sockets"),
    ("python3-venv", "clients of Kea by others, from PyPI"),
    ("python3-jsonschema", "a checker of JSON schemas by others"),
    ("curl", "the same over a path and over HTTPS"),
    ("openssl", "certificates for control sockets and databases"),
    ("prometheus", "promtool, which checks metrics"),
    ("isc-dhcp-server", "a server that ours is compared with"),
    ("dnsmasq-base", "a server that ours is compared with"),
    ("bind9", "named, a DNS server that the lab measures"),
    ("knot", "the same"),
    ("unbound", "the same"),
    ("nsd", "the same"),
    ("dnsperf", "a DNS client by others"),
    ("bind9-dnsutils", "dig, the same"),
    ("pdns-tools", "dumresp, a responder by others"),
    ("pdns-server", "PowerDNS, a DNS server that takes updates"),
    ("pdns-backend-sqlite3", "its zones"),
    ("kea-admin", "perfdhcp, a client by others"),
    ("mariadb-server", "a database that leases are kept in"),
    ("postgresql-15", "the same"),
    ("galera-4", "a cluster of those databases"),
    ("rsync", "how its nodes copy themselves"),
    ("isc-dhcp-client", "dhclient, a client by others"),
    ("udhcpc", "a client by others"),
    ("faketime", "clocks of servers that do not agree"),
    ("dhcpcd-base", "dhcpcd, a client by others"),
    ("wide-dhcpv6-client", "dhcp6c, a client by others"),
    ("openssh-client", "generators on other machines"),
    ("openssh-server", "those machines, as namespaces"),
    ("tshark", "a second opinion on our packets"),
    ("tcpdump", "captures"),
    ("netsniff-ng", "trafgen and ifpps, whose frames and columns ours are compared with"),
    ("sysstat", "mpstat and pidstat, whose figures ours are compared with"),
    ("strace", "the order of system calls"),
    ("valgrind", "instructions of an exchange"),
    ("linux-perf", "where the time of servers goes"),
    ("chromium", "the report as a browser shows it"),
    ("mmdebstrap", "a root folder of Debian 13, for Kea 3"),
    ("poppler-utils", "the report as it prints"),
    ("qemu-system-x86", "a virtual machine with Linux's DCCP"),
    ("kmod", "its modules"),
    ("cpio", "its root file system"),
];

/// Path of the script that packages call before they start a service; exit code 101 forbids it
/// (Debian policy, invoke-rc.d).
const POLICY_PATH: &str = "/usr/sbin/policy-rc.d";
/// Line that marks the policy script as written by xtask.
const POLICY_MARK: &str = "# Written by cargo xtask test while it installs packages.";

const UPDATE: &str = "apt-get -q update";
const INSTALL: &str =
    "apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 install --no-install-recommends";

/// Debian package by its name, with the part that needs it.
type NeededPackage = (&'static str, &'static str);

/// Installs missing packages and components, and counts one check for each of them.
pub(crate) fn run(session: &TestSession, may_install: bool) -> Result<CheckTally, String> {
    let mut tally = components(session)?;
    let packages: Vec<_> = PACKAGES.into_iter().chain(package::TOOLS).collect();
    tally += install(session, &packages, may_install)?;
    Ok(tally)
}

/// Installs those of `packages` that are missing, and counts one check for each package.
pub(crate) fn install(
    session: &TestSession,
    packages: &[NeededPackage],
    may_install: bool,
) -> Result<CheckTally, String> {
    let mut tally = CheckTally::default();
    let missing = missing_packages(packages);
    tally.passed += packages.len() - missing.len();
    if missing.is_empty() {
        output::print_line(format_args!("    all {} packages are installed", packages.len()));
        return Ok(tally);
    }
    let names = missing.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
    let reason = if !may_install {
        "installing is switched off"
    } else if !Path::new("/usr/bin/apt-get").exists() {
        "there is no apt-get here"
    } else if !session.privilege.is_root() {
        "that needs root or passwordless sudo"
    } else {
        output::print_line(format_args!("    installing {names}"));
        run_apt(session, &names)?;
        for (name, usage) in &missing {
            let is_there = !missing_packages(packages).iter().any(|(other, _)| other == name);
            tally.check(is_there, &format!("package {name} ({usage}) is installed"));
        }
        return Ok(tally);
    };
    output::print_line(format_args!("    not installed, {reason}:"));
    for (name, usage) in &missing {
        output::print_line(format_args!("      {name}: {usage}; tests that need it are left out"));
    }
    tally += CheckTally::left_out(missing.len());
    Ok(tally)
}

/// Returns those of `packages` that are not installed.
fn missing_packages(packages: &[NeededPackage]) -> Vec<NeededPackage> {
    let is_installed = |name: &str| {
        let query = Command::new("dpkg-query")
            .args(["-W", "-f", "${db:Status-Status}", name])
            .stdin(Stdio::null())
            .output();
        query.is_ok_and(|output| output.stdout == b"installed")
    };
    packages.iter().copied().filter(|(name, _)| !is_installed(name)).collect()
}

fn run_apt(session: &TestSession, names: &str) -> Result<(), String> {
    let _services_stay_down = ServicePolicy::forbid(session.privilege, Path::new(POLICY_PATH))?;
    let log = session.log("setup");
    let quiet = "export DEBIAN_FRONTEND=noninteractive";
    // Mirrors sometimes fail; a second try is worth it.
    let script = format!(
        "{quiet}\n{{ {UPDATE} || {{ sleep 5; {UPDATE}; }}; }} && \
         {{ {INSTALL} {names} || {{ sleep 5; {UPDATE}; {INSTALL} {names}; }}; }}"
    );
    let mut command = session.privilege.shell(&script);
    let end = child::run(&mut command, &session.marker, &log, Duration::from_secs(1800))?;
    if !end.is_success() {
        output::print_line(format_args!("    apt-get: {}; {}", end.describe(), log.display()));
        output::print(child::last_lines(&log, 20));
    }
    Ok(())
}

/// Policy that keeps packages from starting services until it is dropped.
struct ServicePolicy {
    privilege: Privilege,
    path: PathBuf,
    is_ours: bool,
}

impl ServicePolicy {
    /// Writes the policy script to `path`, unless the machine has one of its own.
    fn forbid(privilege: Privilege, path: &Path) -> Result<Self, String> {
        let path_text = path.display();
        // A leftover of a killed run is taken over, so that this run removes it.
        let is_ours = fs::read_to_string(path).map_or(true, |text| text.contains(POLICY_MARK));
        let policy = Self { privilege, path: path.to_owned(), is_ours };
        if is_ours {
            let script = format!(
                "printf '%s\\n' '#!/bin/sh' '{POLICY_MARK}' 'exit 101' > '{path_text}' && \
                 chmod 755 '{path_text}'"
            );
            let status = privilege.shell(&script).stdin(Stdio::null()).status();
            if !status.is_ok_and(|status| status.success()) {
                return Err(format!("cannot write {path_text}, so packages might start services"));
            }
        } else {
            output::print_line(format_args!("    {path_text} exists already and is not changed"));
        }
        Ok(policy)
    }
}

impl Drop for ServicePolicy {
    fn drop(&mut self) {
        if self.is_ours {
            let script = format!("rm -f '{}'", self.path.display());
            drop(self.privilege.shell(&script).stdin(Stdio::null()).status());
        }
    }
}

/// Installs `cargo fmt` and `cargo clippy`, which a minimal Rust toolchain lacks.
fn components(session: &TestSession) -> Result<CheckTally, String> {
    let has = |name: &str| {
        let mut command = session.cargo();
        command.args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !(has("fmt") && has("clippy")) {
        output::print_line("    adding rustfmt and clippy to the toolchain");
        let log = session.log("setup-components");
        let mut command = Command::new("rustup");
        command.args(["component", "add", "rustfmt", "clippy"]).current_dir(&session.root);
        match child::run(&mut command, &session.marker, &log, Duration::from_secs(600)) {
            Ok(end) if end.is_success() => {}
            Ok(_) => output::print(child::last_lines(&log, 10)),
            Err(reason) => output::print_line(format_args!("    {reason}")),
        }
    }
    let mut tally = CheckTally::default();
    tally.check(has("fmt"), "cargo fmt is installed");
    tally.check(has("clippy"), "cargo clippy is installed");
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use testkit::TempFolder;

    use super::*;

    #[test]
    fn services_are_forbidden_only_while_packages_are_installed() {
        let folder = TempFolder::new("policy-own");
        let path = folder.path().join("policy");
        for left_by_a_killed_run in [false, true] {
            if left_by_a_killed_run {
                fs::write(&path, format!("{POLICY_MARK}\n")).unwrap();
            }
            let policy = ServicePolicy::forbid(Privilege::None, &path).unwrap();
            // A program that another test starts has a copy of what is open here until it runs, and
            // a file that is open to be written is not run.
            let answer = loop {
                match Command::new(&path).status() {
                    Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                        std::thread::yield_now();
                    }
                    answer => break answer.unwrap(),
                }
            };
            assert_eq!(answer.code(), Some(101));
            drop(policy);
            assert!(!path.exists());
        }
    }

    #[test]
    fn the_policy_of_somebody_else_stays() {
        let folder = TempFolder::new("policy-other");
        let path = folder.path().join("policy");
        fs::write(&path, "#!/bin/sh\nexit 0\n").unwrap();
        drop(ServicePolicy::forbid(Privilege::None, &path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\nexit 0\n");
    }

    #[test]
    fn no_installation_without_the_policy() {
        let folder = TempFolder::new("policy-no-folder");
        let path = folder.path().join("none/policy");
        assert!(ServicePolicy::forbid(Privilege::None, &path).is_err());
    }
}
