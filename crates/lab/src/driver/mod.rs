//! Drivers: configuration and start of each kind of measured server. A driver turns a deployment
//! (address, folder, pool) into a command line and the path of the server's lease file.

mod command;
mod deployment;
mod dns;
mod dnsmasq;
pub(crate) mod features;
mod godwit;
mod isc_dhcpd;
mod kea;
pub(crate) mod perfdhcp;
mod store;

use std::path::Path;

use measure::plan::{MeasuredProtocol, ServerFeature};
use testbed::CommandLine;
use testbed::command::require_program;

use crate::error::{LabError, LabResult};
use crate::family::ProtocolAddressing;
use crate::subject::{KeaVersion, MeasurementSubject, SubjectKind};
use deployment::CONFIGURATION;
pub use deployment::{PairPlace, PreparedServer, ServerDeployment};
pub(crate) use dns::ANSWER;
pub use dns::DnsServer;
pub(crate) use store::LEASE_FILE;
pub use store::{StoreLocation, engine};

/// Writes the files of the measured server `subject` into its folder in `deployment`.
///
/// # Errors
/// The server is not installed, its template is wrong, or a file cannot be written.
pub fn prepare(
    subject: &MeasurementSubject,
    deployment: &ServerDeployment,
) -> LabResult<PreparedServer> {
    match &subject.kind {
        SubjectKind::Godwit(durability) => godwit::prepare(*durability, deployment),
        SubjectKind::Kea { version, multi_threaded } => {
            kea::prepare(*version, *multi_threaded, deployment)
        }
        SubjectKind::IscDhcpd => isc_dhcpd::prepare(deployment),
        SubjectKind::Dnsmasq => dnsmasq::prepare(deployment),
        SubjectKind::Command(template) => command::prepare(template, deployment),
        SubjectKind::Dns(server) => dns::prepare(*server, deployment),
        SubjectKind::Running(_) => {
            Err(LabError::Failed("a server that runs already is not to be started".to_owned()))
        }
        SubjectKind::Limit if !deployment.family.protocol.is_dhcp() => {
            dns::prepare(DnsServer::Echo, deployment)
        }
        SubjectKind::Limit => Ok(PreparedServer {
            command: CommandLine::new(deployment.godwit.to_string_lossy()).args([
                "lab",
                "limit",
                "--listen",
                &deployment.address.to_string(),
            ]),
            lease_file: None,
            version: String::new(),
            reads_frames: false,
        }),
    }
}

/// Returns true for a server that takes the messages of a whole interface or of every address of
/// the machine, so that it must have both to itself. Such a server answers relay agents on port 67
/// only.
pub fn needs_own_link(subject: &MeasurementSubject) -> bool {
    matches!(subject.kind, SubjectKind::IscDhcpd | SubjectKind::Dnsmasq)
}

/// Returns true if the server `subject` is known to have leases or a zone to answer from, so that
/// the lab can check this. A responder that returns every message has neither, and the command of a
/// user may start one.
pub fn has_data(subject: &MeasurementSubject, protocol: MeasuredProtocol) -> bool {
    match subject.kind {
        SubjectKind::Limit | SubjectKind::Dns(DnsServer::Echo | DnsServer::Dumresp) => false,
        SubjectKind::Command(_) | SubjectKind::Running(_) => protocol.is_dhcp(),
        _ => true,
    }
}

/// Returns the name of the configuration file of the measured server `subject`; `None` when the
/// command line contains all settings.
pub fn configuration_name(
    subject: &MeasurementSubject,
    protocol: MeasuredProtocol,
) -> Option<&'static str> {
    match subject.kind {
        SubjectKind::Command(_) if !protocol.is_dhcp() => Some(dns::ZONE_FILE),
        SubjectKind::Godwit(_) | SubjectKind::Kea { .. } | SubjectKind::Command(_) => {
            Some(CONFIGURATION)
        }
        SubjectKind::IscDhcpd => Some(isc_dhcpd::CONFIGURATION),
        SubjectKind::Dns(server) => server.configuration_name(),
        SubjectKind::Dnsmasq | SubjectKind::Limit | SubjectKind::Running(_) => None,
    }
}

/// Refuses a measured server (`subject`) that is not installed, or whose generator is not, before
/// anything has been built.
///
/// # Errors
/// The missing program and the package that holds it.
pub fn require(subject: &MeasurementSubject, family: ProtocolAddressing) -> LabResult<()> {
    if subject.feature == ServerFeature::Perfdhcp {
        let (program, package) = perfdhcp::PERFDHCP;
        require_program(program, package)?;
    }
    match &subject.kind {
        SubjectKind::Godwit(_) | SubjectKind::Limit | SubjectKind::Running(_) => Ok(()),
        SubjectKind::Kea { version: KeaVersion::Installed, .. } => {
            kea::program(family.version()).map(drop)
        }
        SubjectKind::Kea { version: KeaVersion::Debian13, .. } => {
            kea::debian_13(family.version()).map(drop)
        }
        SubjectKind::IscDhcpd => isc_dhcpd::program().map(drop),
        SubjectKind::Dnsmasq => dnsmasq::program().map(drop),
        SubjectKind::Dns(server) => server.program(Path::new("")).map(drop),
        SubjectKind::Command(template) => command::program(template, family.protocol).map(drop),
    }
}

#[cfg(test)]
mod tests;
