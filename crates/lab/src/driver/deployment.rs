//! Deployment of a measured server: its addresses, folder and pool, and the configuration in Kea's
//! form for every server that takes one.

use base::AddressBits as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use measure::plan::ServerFeature;
use serde_json::{Value, json};
use testbed::CommandLine;

use super::features;
use super::store::{LEASE_FILE, StoreLocation};
use crate::error::{LabError, LabResult};
use crate::family::{AddressFamily, ProtocolAddressing};
use crate::leases::LeaseFile;

/// Deployment of a measured server: its addresses and folder, and the leases or zone that it
/// serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDeployment {
    /// Absolute path of the server's folder.
    pub folder: PathBuf,
    /// Addresses, ports and protocol of the server and its clients.
    pub family: ProtocolAddressing,
    /// Address at which the server receives messages.
    pub address: SocketAddr,
    /// Address of the relay agent from which messages come and to which answers go.
    pub relay: SocketAddr,
    /// Number of relay agents that send to the server, at `relay` and the addresses that follow it.
    pub relays: u32,
    /// Addresses of relay agents that do not follow `relay`.
    pub further_relays: Vec<IpAddr>,
    /// Name of the server's interface that has `address`.
    pub interface: String,
    /// First and last address of the server's pool.
    pub pool: (IpAddr, IpAddr),
    /// Lifetime of the server's leases, in seconds.
    pub lease_time_s: u32,
    /// Number of threads of a DNS server.
    pub threads: u32,
    /// Absolute path of this program, `godwit`.
    pub godwit: PathBuf,
    /// Store of the server's leases.
    pub store: StoreLocation,
    /// Feature of the server's configuration beyond one subnet with one pool.
    pub feature: ServerFeature,
    /// Number of clients that have a reservation, if the server's feature gives them reservations.
    pub reservations: u32,
    /// Place of the server in a pair, if its feature is one.
    pub pair: Option<PairPlace>,
}

/// Place of a server in a hot-standby pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairPlace {
    /// Addresses at which the primary server and the standby receive messages. The same ports of
    /// TCP take the commands of the partner.
    pub addresses: [SocketAddr; 2],
    /// Position of the server among them.
    pub own: usize,
}

/// Server whose files are written and that is ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedServer {
    /// Command that starts the server, without namespace and processor.
    pub command: CommandLine,
    /// Lease file that the server writes; rotated ones have further suffixes. `None` when unknown.
    pub lease_file: Option<LeaseFile>,
    /// Version that the server's program reports.
    pub version: String,
    /// True if the server reads frames from a raw socket, where a group of datagrams appears as
    /// one: datagrams must be sent to it one by one.
    pub reads_frames: bool,
}

/// Name of the configuration file in Kea's form, in the server's folder.
pub(super) const CONFIGURATION: &str = "config.json";

impl ServerDeployment {
    /// Returns the last character of a key such as `subnet4` in Kea's configuration, or of a word
    /// on a command line: `4` or `6`.
    pub(super) const fn digit(&self) -> char {
        match self.family.version() {
            AddressFamily::V4 => '4',
            AddressFamily::V6 => '6',
        }
    }

    /// Returns the number of addresses in the server's pool.
    pub(super) fn pool_size(&self) -> u32 {
        match self.pool {
            (IpAddr::V4(first), IpAddr::V4(last)) => u32::from(last) - u32::from(first) + 1,
            (IpAddr::V6(first), IpAddr::V6(last)) => {
                (u128::from(last) - u128::from(first)) as u32 + 1
            }
            _ => unreachable!("a pool is of one family"),
        }
    }
}

/// Returns the configuration in Kea's form for a measured server, equal for every server that takes
/// it: one subnet, one pool, relayed messages only, leases in a file or a database, and only errors
/// in the log.
pub(super) fn common_configuration(deployment: &ServerDeployment) -> Value {
    let (first, last) = deployment.pool;
    let file = |name: &str| deployment.folder.join(name).to_string_lossy().into_owned();
    let (network, length) = deployment.family.subnet;
    let relays = deployment.family.relays(deployment.relay.ip(), deployment.relays);
    let relays = relays.into_iter().chain(deployment.further_relays.iter().copied());
    let mut links: Vec<IpAddr> = relays.map(|relay| deployment.family.link(relay)).collect();
    links.dedup();
    let mut configuration = json!({
        "interfaces-config": {
            "interfaces": [format!("{}/{}", deployment.interface, deployment.address.ip())],
            "re-detect": false
        },
        "lease-database": deployment.store.lease_database(file(LEASE_FILE)),
        "valid-lifetime": deployment.lease_time_s,
        "loggers": [{
            "name": format!("kea-dhcp{}", deployment.digit()),
            "severity": "ERROR",
            "output_options": [{ "output": file("server.log") }]
        }]
    });
    configuration[format!("subnet{}", deployment.digit())] = json!([{
        "id": 1,
        "subnet": format!("{network}/{length}"),
        "relay": { "ip-addresses": links },
        "pools": [{ "pool": format!("{first} - {last}") }]
    }]);
    match deployment.family.version() {
        AddressFamily::V4 => configuration["interfaces-config"]["dhcp-socket-type"] = json!("udp"),
        AddressFamily::V6 => {
            configuration["preferred-lifetime"] = json!(deployment.lease_time_s);
            // The folder in which it keeps its identifier.
            configuration["data-directory"] = json!(deployment.folder.to_string_lossy());
        }
    }
    features::apply(deployment, &mut configuration);
    configuration
}

/// Returns `command` with the environment variables that confine the files of Kea's servers to
/// `folder`.
pub(super) fn confined(mut command: CommandLine, folder: &Path) -> CommandLine {
    for name in [
        "KEA_PIDFILE_DIR",
        "KEA_LOCKFILE_DIR",
        "KEA_DHCP_DATA_DIR",
        "KEA_LOG_FILE_DIR",
        "KEA_CONTROL_SOCKET_DIR",
        "KEA_LEGAL_LOG_DIR",
    ] {
        command = command.env(name, folder.to_string_lossy());
    }
    let scripts = folder.join(features::SCRIPT_FILE);
    let scripts = scripts.parent().unwrap_or(folder).to_string_lossy().into_owned();
    command.env("KEA_HOOK_SCRIPTS_PATH", scripts)
}

/// Returns the lease file that Kea's configuration names; `None` if the configuration writes none.
pub(super) fn lease_file(deployment: &ServerDeployment) -> Option<LeaseFile> {
    let path = deployment.folder.join(LEASE_FILE);
    (deployment.feature != ServerFeature::NotPersisted)
        .then(|| LeaseFile::kea(path, deployment.family.version()))
}

/// Writes `configuration`, in Kea's form, into the measured server's folder and returns the file's
/// path.
pub(super) fn write_configuration(
    deployment: &ServerDeployment,
    configuration: &Value,
) -> LabResult<String> {
    write_configuration_for_folder(&deployment.folder, deployment, configuration)
}

/// Writes `configuration`, in Kea's form, for a server that sees its folder at `server_folder`;
/// returns the path of the file for that server.
pub(super) fn write_configuration_for_folder(
    server_folder: &Path,
    deployment: &ServerDeployment,
    configuration: &Value,
) -> LabResult<String> {
    let path = deployment.folder.join(CONFIGURATION);
    let whole = json!({ format!("Dhcp{}", deployment.digit()): configuration });
    let text = serde_json::to_string_pretty(&whole).expect("values are JSON");
    write(&path, &(features::with_includes(server_folder, &text) + "\n"))?;
    features::write_files(deployment)?;
    Ok(path.to_string_lossy().into_owned())
}

pub(super) fn write(path: &Path, text: &str) -> LabResult<()> {
    std::fs::write(path, text).map_err(|e| LabError::cannot(format!("write {}", path.display()), e))
}

/// Converts the prefix length `length` of an IPv4 network to a netmask.
pub(super) fn netmask(length: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(!u32::host_mask(length))
}

/// Adds the server's port (`-p`) to its `command` and, if answers go to a relay agent on another
/// port than the default, that port (`-P`).
pub(super) fn with_ports(command: CommandLine, deployment: &ServerDeployment) -> CommandLine {
    let (port, relay_port) = (deployment.address.port(), deployment.relay.port());
    if (port, relay_port) == (deployment.family.port, deployment.family.port) {
        return command;
    }
    command.args(["-p", &port.to_string(), "-P", &relay_port.to_string()])
}

/// Returns the version that `program` reports: the first line that `program ARGUMENT` prints, from
/// standard error if standard output is empty.
pub(super) fn reported_version(program: &Path, argument: &str) -> String {
    let output = CommandLine::new(program.to_string_lossy()).arg(argument).to_command().output();
    let printed = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    String::from_utf8_lossy(&printed).lines().next().unwrap_or("").trim().to_owned()
}
