//! Debian's dnsmasq as the lab runs it: DHCPv4 only, in the foreground, with its own lease file,
//! never as a service of the system.
//!
//! Its DHCP socket is open on every address of its interface, so it has one of its own, and answers
//! to relays leave from the address that the kernel chooses there. A lifetime below two minutes
//! becomes two minutes.

use std::path::PathBuf;

use testbed::CommandLine;
use testbed::command::require_program;

use super::{Place, Prepared, netmask, version_of};
use crate::error::LabError;
use crate::leases::LeaseFile;

/// The file with its leases.
const LEASES: &str = "dnsmasq.leases";

pub(super) fn program() -> Result<PathBuf, LabError> {
    Ok(PathBuf::from(require_program("dnsmasq", "dnsmasq-base")?))
}

pub(super) fn prepare(place: &Place) -> Result<Prepared, LabError> {
    let program = program()?;
    let arguments = arguments(place);
    let command = CommandLine::new(program.to_string_lossy());
    Ok(Prepared {
        command: command.args(arguments.iter().map(String::as_str)),
        lease_file: Some(LeaseFile::dnsmasq(place.folder.join(LEASES))),
        version: version_of(&program, "--version"),
        reads_frames: false,
    })
}

/// What dnsmasq(8) says, for one range.
pub(super) fn arguments(place: &Place) -> Vec<String> {
    let (first, last) = place.pool;
    let size = u32::from(last) - u32::from(first) + 1;
    let fixed = ["--keep-in-foreground", "--conf-file=/dev/null", "--log-facility=-"]
        .into_iter()
        // It keeps the rights to its files, and the system's process id file is not its own.
        .chain(["--quiet-dhcp", "--user=root", "--group=root", "--pid-file="])
        .chain(["--port=0", "--no-ping"]);
    let mut arguments: Vec<String> = fixed.map(str::to_owned).collect();
    arguments.extend([
        format!("--interface={}", place.interface),
        "--bind-interfaces".to_owned(),
        format!("--dhcp-range={first},{last},{},{}", netmask(), place.lease_time_s),
        format!("--dhcp-lease-max={size}"),
        format!("--dhcp-leasefile={}", place.folder.join(LEASES).display()),
    ]);
    arguments
}
