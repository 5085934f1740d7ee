//! Debian's ISC DHCP server (`dhcpd`) as the lab runs it: in the foreground, with its own files,
//! never as a service of the system.
//!
//! For DHCPv4 it reads every frame of its interface from a raw socket, whatever address it is for,
//! and for DHCPv6 it takes every address of its interface, so it has an interface of its own. It
//! answers DHCPv4 relays from a UDP socket, which `local-address` binds. It writes leases before it
//! acknowledges them but does not flush, like Kea. It logs every message to syslog, and there is no
//! setting against it, so it runs without access to the system's log.

use std::path::{Path, PathBuf};

use testbed::CommandLine;
use testbed::command::require_program;

use super::deployment::{PreparedServer, ServerDeployment, netmask, reported_version, write};
use crate::error::LabResult;
use crate::family::AddressFamily;
use crate::leases::LeaseFile;

/// Name of the file with ISC dhcpd's configuration.
pub(super) const CONFIGURATION: &str = "dhcpd.conf";

/// Command that runs another one in a mount namespace whose `/dev/log` leads nowhere: lines per
/// message would fill the system's log, and wait for it.
const WITHOUT_SYSLOG: [&str; 6] = [
    "unshare",
    "-m",
    "sh",
    "-ec",
    "if [ -e /dev/log ]; then mount --bind /dev/null /dev/log; fi; exec \"$@\"",
    "sh",
];

pub(super) fn program() -> LabResult<PathBuf> {
    Ok(PathBuf::from(require_program("dhcpd", "isc-dhcp-server")?))
}

pub(super) fn prepare(deployment: &ServerDeployment) -> LabResult<PreparedServer> {
    let program = program()?.to_string_lossy().into_owned();
    let path = |name: &str| deployment.folder.join(name);
    let word = |name: &str| path(name).to_string_lossy().into_owned();
    write(&path(CONFIGURATION), &configuration(deployment))?;
    let leases = path("dhcpd.leases");
    // dhcpd does not start without the file.
    write(&leases, "")?;
    let command = CommandLine::new(program.clone())
        .args([&format!("-{}", deployment.digit()), "-f", "-cf", &word(CONFIGURATION)])
        .args(["-lf", &word("dhcpd.leases"), "-pf", &word("dhcpd.pid"), &deployment.interface]);
    Ok(PreparedServer {
        command: command.with_prefix(&WITHOUT_SYSLOG),
        lease_file: Some(LeaseFile::dhcpd(leases, deployment.family.version())),
        version: reported_version(Path::new(&program), "--version"),
        reads_frames: deployment.family.version() == AddressFamily::V4,
    })
}

/// Returns the text of dhcpd.conf(5) for a measured server with one subnet and one pool.
pub(super) fn configuration(deployment: &ServerDeployment) -> String {
    let ((first, last), lifetime_s) = (deployment.pool, deployment.lease_time_s);
    let (network, length) = deployment.family.subnet;
    let common = format!(
        "ddns-update-style none;\n\
         dont-use-fsync true;\n\
         dhcp-cache-threshold 0;\n\
         default-lease-time {lifetime_s};\n\
         min-lease-time {lifetime_s};\n\
         max-lease-time {lifetime_s};\n"
    );
    match deployment.family.version() {
        AddressFamily::V4 => format!(
            "local-address {};\nping-check false;\n{common}\
             subnet {network} netmask {} {{\n    range {first} {last};\n}}\n",
            deployment.address.ip(),
            netmask(length)
        ),
        AddressFamily::V6 => format!(
            "preferred-lifetime {lifetime_s};\n{common}\
             subnet6 {network}/{length} {{\n    range6 {first} {last};\n}}\n"
        ),
    }
}
