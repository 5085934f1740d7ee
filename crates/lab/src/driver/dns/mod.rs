//! DNS servers as the lab runs them: one zone with the name of the query, no recursion, no logging,
//! no limits on rates, the plan's number of threads; in the foreground, in a folder of their own,
//! without privilege.
//!
//! All send an equal answer: NOERROR, one AAAA record, nothing in the other sections but EDNS.
//! Servers that answer without a zone ([`DnsServer::Echo`], [`DnsServer::Dumresp`]) show the most
//! that kernel and generator can do.

mod bind;
mod knot;
mod nsd;
#[cfg(test)]
mod tests;
mod unbound;

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use testbed::CommandLine;
use testbed::command::require_program;
use testbed::nobody::{can_reach, give_away, unprivileged};

use super::deployment::{PreparedServer, ServerDeployment, reported_version, write};
use crate::error::{LabError, LabResult};

base::named! {
    /// DNS server that the lab can configure and start. Names are those of the command line and of
    /// results.
    pub enum DnsServer {
        /// Responder `godwit dns echo`, which sends each query back.
        Echo = "echo",
        /// Authoritative server BIND of ISC.
        Bind = "bind",
        /// Authoritative server Knot DNS.
        Knot = "knot",
        /// Resolver Unbound of NLnet Labs, which answers from local data (`local-data`).
        Unbound = "unbound",
        /// Authoritative server NSD of NLnet Labs.
        Nsd = "nsd",
        /// Responder `dumresp` of PowerDNS, which sends each query back.
        Dumresp = "dumresp",
    }
}

impl DnsServer {
    /// Returns the DNS server called `name`; `None` when the lab knows none.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|server| server.name() == name)
    }

    /// Returns the DNS server's program and Debian package; `None` for Godwit's own.
    const fn program_and_package(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Echo => return None,
            Self::Bind => ("named", "bind9"),
            Self::Knot => ("knotd", "knot"),
            Self::Unbound => ("unbound", "unbound"),
            Self::Nsd => ("nsd", "nsd"),
            Self::Dumresp => ("dumresp", "pdns-tools"),
        })
    }

    /// Returns the path of the DNS server's program.
    ///
    /// # Errors
    /// The program is not installed; the message names the package.
    pub(super) fn program(self, godwit: &Path) -> LabResult<PathBuf> {
        Ok(match self.program_and_package() {
            None => godwit.to_owned(),
            Some((program, package)) => PathBuf::from(require_program(program, package)?),
        })
    }

    /// Returns the name of the DNS server's configuration file; `None` when the command line
    /// contains all settings.
    pub(crate) const fn configuration_name(self) -> Option<&'static str> {
        match self {
            Self::Echo | Self::Dumresp => None,
            Self::Bind => Some(bind::CONFIGURATION),
            Self::Knot => Some(knot::CONFIGURATION),
            Self::Unbound => Some(unbound::CONFIGURATION),
            Self::Nsd => Some(nsd::CONFIGURATION),
        }
    }

    /// Returns the content of the DNS server's configuration file; `None` when it needs none.
    fn configuration(self, deployment: &ServerDeployment) -> Option<String> {
        match self {
            Self::Echo | Self::Dumresp => None,
            Self::Bind => Some(bind::configuration(deployment)),
            Self::Knot => Some(knot::configuration(deployment)),
            Self::Unbound => Some(unbound::configuration(deployment)),
            Self::Nsd => Some(nsd::configuration(deployment)),
        }
    }

    fn arguments(self, deployment: &ServerDeployment, configuration: &str) -> Vec<String> {
        let (threads, address) = (deployment.threads.to_string(), deployment.address);
        let words: Vec<&str> = match self {
            Self::Echo => vec!["dns", "echo", "--threads", &threads],
            Self::Bind => vec!["-g", "-n", &threads, "-c", configuration],
            Self::Knot => vec!["-c", configuration],
            Self::Unbound => vec!["-d", "-p", "-c", configuration],
            Self::Nsd => vec!["-d", "-c", configuration],
            Self::Dumresp => Vec::new(),
        };
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        match self {
            Self::Echo => words.extend(["--listen".to_owned(), address.to_string()]),
            Self::Dumresp => {
                words.extend([address.ip().to_string(), address.port().to_string(), threads]);
            }
            Self::Bind | Self::Knot | Self::Unbound | Self::Nsd => {}
        }
        words
    }

    fn version(self, program: &Path) -> String {
        match self {
            Self::Echo | Self::Knot => reported_version(program, "--version"),
            Self::Bind | Self::Unbound => reported_version(program, "-V"),
            Self::Nsd => reported_version(program, "-v"),
            // dumresp reports no version.
            Self::Dumresp => String::new(),
        }
    }
}

/// Name of the DNS zone that the measured servers serve.
const ZONE: &str = "google.com";
/// Name of the file with the DNS zone.
pub(super) const ZONE_FILE: &str = "google.com.zone";
/// Domain name of the DNS zone's records, as in [`measure::plan::QUERY`].
const NAME: &str = "www.google.com";
/// IPv6 address in the answer of the DNS servers, from the prefix for documentation (RFC 3849).
pub(crate) const ANSWER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Returns the DNS zone as a file (RFC 1035 section 5).
fn zone() -> String {
    format!(
        "$ORIGIN {ZONE}.\n$TTL 300\n\
         @ IN SOA ns1 hostmaster 1 3600 600 86400 300\n\
         @ IN NS ns1\n\
         ns1 IN A 192.0.2.53\n\
         www IN A 192.0.2.1\n\
         www IN AAAA {ANSWER}\n"
    )
}

/// Writes the DNS zone into the measured server's folder and returns the file's path.
pub(super) fn write_zone(deployment: &ServerDeployment) -> LabResult<PathBuf> {
    let path = deployment.folder.join(ZONE_FILE);
    write(&path, &zone())?;
    Ok(path)
}

pub(super) fn prepare(
    server: DnsServer,
    deployment: &ServerDeployment,
) -> LabResult<PreparedServer> {
    let program = server.program(&deployment.godwit)?;
    let mut path = String::new();
    if let Some((name, text)) = server.configuration_name().zip(server.configuration(deployment)) {
        write_zone(deployment)?;
        let file = deployment.folder.join(name);
        write(&file, &text)?;
        path = file.to_string_lossy().into_owned();
    }
    let arguments = server.arguments(deployment, &path);
    let command =
        CommandLine::new(program.to_string_lossy()).args(arguments.iter().map(String::as_str));
    let command =
        if server == DnsServer::Echo { command } else { without_privilege(command, deployment)? };
    Ok(PreparedServer {
        command,
        lease_file: None,
        version: server.version(&program),
        reads_frames: false,
    })
}

/// Returns `command` for a user without privileges, to whom it gives the measured server's folder.
fn without_privilege(
    command: CommandLine,
    deployment: &ServerDeployment,
) -> LabResult<CommandLine> {
    // The folder itself is given to that user, so only its parent must be accessible.
    if !deployment.folder.parent().is_none_or(can_reach) {
        return Err(LabError::Failed(format!(
            "{} cannot be reached by the user nobody, as whom DNS servers run; put results elsewhere, \
             e.g. --results /var/tmp/results",
            deployment.folder.display()
        )));
    }
    give_away(&deployment.folder)?;
    let entries = std::fs::read_dir(&deployment.folder).into_iter().flatten().flatten();
    for entry in entries {
        give_away(&entry.path())?;
    }
    Ok(unprivileged(command))
}
