//! Debian's dnsmasq as the lab runs it: DHCP only, in the foreground, with its own lease file,
//! never as a service of the system.
//!
//! Its DHCP socket is open on every address of its interface, so it has an interface of its own,
//! and answers to relays leave from the address that the kernel chooses there. Dnsmasq extends a
//! lease time below two minutes to two minutes.

use std::path::PathBuf;

use testbed::CommandLine;
use testbed::command::require_program;

use super::deployment::{PreparedServer, ServerDeployment, netmask, reported_version};
use crate::error::LabResult;
use crate::family::AddressFamily;
use crate::leases::LeaseFile;

/// Name of the file with dnsmasq's leases.
const LEASES: &str = "dnsmasq.leases";

pub(super) fn program() -> LabResult<PathBuf> {
    Ok(PathBuf::from(require_program("dnsmasq", "dnsmasq-base")?))
}

pub(super) fn prepare(deployment: &ServerDeployment) -> LabResult<PreparedServer> {
    let program = program()?;
    let arguments = arguments(deployment);
    let command = CommandLine::new(program.to_string_lossy());
    Ok(PreparedServer {
        command: command.args(arguments.iter().map(String::as_str)),
        lease_file: Some(LeaseFile::dnsmasq(
            deployment.folder.join(LEASES),
            deployment.family.version(),
        )),
        version: reported_version(&program, "--version"),
        reads_frames: false,
    })
}

/// Returns the arguments of dnsmasq(8) for a measured server with one address range.
pub(super) fn arguments(deployment: &ServerDeployment) -> Vec<String> {
    let (first, last) = deployment.pool;
    let (_, length) = deployment.family.subnet;
    let prefix = match deployment.family.version() {
        AddressFamily::V4 => netmask(length).to_string(),
        AddressFamily::V6 => length.to_string(),
    };
    let quiet = match deployment.family.version() {
        AddressFamily::V4 => "--quiet-dhcp",
        AddressFamily::V6 => "--quiet-dhcp6",
    };
    let fixed = ["--keep-in-foreground", "--conf-file=/dev/null", "--log-facility=-"]
        .into_iter()
        // dnsmasq keeps the rights to its files, and does not write the system's PID file.
        .chain([quiet, "--user=root", "--group=root", "--pid-file="])
        .chain(["--port=0", "--no-ping"]);
    let mut arguments: Vec<String> = fixed.map(str::to_owned).collect();
    arguments.extend([
        format!("--interface={}", deployment.interface),
        "--bind-interfaces".to_owned(),
        format!("--dhcp-range={first},{last},{prefix},{}", deployment.lease_time_s),
        format!("--dhcp-lease-max={}", deployment.pool_size()),
        format!("--dhcp-leasefile={}", deployment.folder.join(LEASES).display()),
    ]);
    arguments
}
