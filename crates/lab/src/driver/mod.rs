//! How each kind of server is configured and started. A driver turns a place (address, folder,
//! pool) into a command line and says where the server keeps its leases.

mod command;
mod godwit;
mod kea;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testbed::CommandLine;

use crate::error::LabError;
use crate::subject::{Kind, Subject};

/// Where a server is to run and what it is to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The server's own folder, absolute.
    pub folder: PathBuf,
    /// Where it takes messages.
    pub address: SocketAddrV4,
    /// The relay from which they come and to which answers go.
    pub relay: SocketAddrV4,
    /// The interface that has `address`.
    pub interface: String,
    /// First and last address of the pool.
    pub pool: (Ipv4Addr, Ipv4Addr),
    /// Lifetime of a lease, seconds.
    pub lease_time_s: u32,
    /// This binary, absolute.
    pub godwit: PathBuf,
}

/// A server that is ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The command, without namespace and processor.
    pub command: CommandLine,
    /// The lease file that it writes; rotated ones have further suffixes. `None` when unknown.
    pub lease_file: Option<PathBuf>,
    /// What the server says of its version.
    pub version: String,
}

/// The subnet that holds every pool and, in namespaces, both ends of the link.
pub const SUBNET: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 0), 8);

/// The first address of pools: everything below belongs to the link.
const FIRST: u32 = 0x0a01_0000;
/// Addresses from there to the end of the subnet, its broadcast address not counted.
pub const LARGEST_POOL: u32 = 0x0aff_ffff - FIRST;

/// First and last address of a pool of `size` addresses; at most [`LARGEST_POOL`].
#[must_use]
pub fn pool(size: u32) -> (Ipv4Addr, Ipv4Addr) {
    let size = size.clamp(1, LARGEST_POOL);
    (Ipv4Addr::from(FIRST), Ipv4Addr::from(FIRST + size - 1))
}

/// Writes what the server of `subject` needs into the place's folder.
///
/// # Errors
/// The server is not installed, its template is wrong, or a file cannot be written.
pub fn prepare(subject: &Subject, place: &Place) -> Result<Prepared, LabError> {
    match &subject.kind {
        Kind::Godwit(durability) => godwit::prepare(*durability, place),
        Kind::Kea { multi_threaded } => kea::prepare(*multi_threaded, place),
        Kind::Command(template) => command::prepare(template, place),
        Kind::Limit => Ok(Prepared {
            command: CommandLine::new(place.godwit.to_string_lossy()).args([
                "lab",
                "limit",
                "--listen",
                &place.address.to_string(),
            ]),
            lease_file: None,
            version: String::new(),
        }),
    }
}

/// Refuses a server that is not installed, before anything has been built.
///
/// # Errors
/// The missing program and the package that holds it.
pub fn require(subject: &Subject) -> Result<(), LabError> {
    match &subject.kind {
        Kind::Godwit(_) | Kind::Limit => Ok(()),
        Kind::Kea { .. } => kea::program().map(drop),
        Kind::Command(template) => command::program(template).map(drop),
    }
}

/// Kea's configuration for a place, the same for every server that takes it: one subnet, one pool,
/// relayed messages only, leases in a file, messages of errors alone.
fn common_configuration(place: &Place) -> Value {
    let (first, last) = place.pool;
    let file = |name: &str| place.folder.join(name).to_string_lossy().into_owned();
    let (network, length) = SUBNET;
    json!({
        "interfaces-config": {
            "interfaces": [format!("{}/{}", place.interface, place.address.ip())],
            "dhcp-socket-type": "udp",
            "re-detect": false
        },
        "lease-database": {
            "type": "memfile",
            "persist": true,
            "name": file("leases.csv"),
            "lfc-interval": 0
        },
        "valid-lifetime": place.lease_time_s,
        "subnet4": [{
            "id": 1,
            "subnet": format!("{network}/{length}"),
            "relay": { "ip-addresses": [place.relay.ip().to_string()] },
            "pools": [{ "pool": format!("{first} - {last}") }]
        }],
        "loggers": [{
            "name": "kea-dhcp4",
            "severity": "ERROR",
            "output_options": [{ "output": file("server.log") }]
        }]
    })
}

/// Writes a configuration into the place's folder and returns its path.
fn write_configuration(place: &Place, dhcp4: &Value) -> Result<String, LabError> {
    let path = place.folder.join("config.json");
    let text = serde_json::to_string_pretty(&json!({ "Dhcp4": dhcp4 })).expect("values are JSON");
    std::fs::write(&path, text + "\n")
        .map_err(|e| LabError::cannot(format!("write {}", path.display()), e))?;
    Ok(path.to_string_lossy().into_owned())
}

/// `-p` and, where answers go to a relay on another port than 67, `-P`.
fn with_ports(command: CommandLine, place: &Place) -> CommandLine {
    let (port, relay_port) = (place.address.port(), place.relay.port());
    if (port, relay_port) == (67, 67) {
        return command;
    }
    command.args(["-p", &port.to_string(), "-P", &relay_port.to_string()])
}

/// The first line that `program ARGUMENT` prints.
fn version_of(program: &Path, argument: &str) -> String {
    let printed = CommandLine::new(program.to_string_lossy()).arg(argument).run();
    printed.unwrap_or_default().lines().next().unwrap_or("").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use measure::plan::Durability;

    use super::*;

    fn place(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("godwit-drv-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Place {
            folder,
            address: "127.0.0.1:6767".parse().unwrap(),
            relay: "127.0.0.1:6768".parse().unwrap(),
            interface: "lo".to_owned(),
            pool: pool(1000),
            lease_time_s: 3600,
            godwit: PathBuf::from("/bin/true"),
        }
    }

    fn subject(kind: Kind) -> Subject {
        Subject { server: "x".to_owned(), variant: String::new(), kind }
    }

    #[test]
    fn pools_stay_inside_the_subnet() {
        assert_eq!(pool(1).0, pool(1).1);
        assert_eq!(pool(256).1, Ipv4Addr::new(10, 1, 0, 255));
        assert_eq!(pool(u32::MAX).1, Ipv4Addr::new(10, 255, 255, 254));
    }

    #[test]
    fn godwit_gets_its_durability_beside_keas_keys() {
        let place = place("godwit");
        let prepared = prepare(&subject(Kind::Godwit(Durability::Interval)), &place).unwrap();
        let words = prepared.command.words();
        assert_eq!(words[1..3], ["dhcp4", "-c"]);
        assert_eq!(words[4..], ["-p", "6767", "-P", "6768"]);
        let text = std::fs::read_to_string(&words[3]).unwrap();
        let dhcp4 = &serde_json::from_str::<Value>(&text).unwrap()["Dhcp4"];
        assert_eq!(dhcp4["user-context"]["godwit"]["durability"], "interval");
        assert_eq!(dhcp4["subnet4"][0]["pools"][0]["pool"], "10.1.0.0 - 10.1.3.231");
        assert_eq!(dhcp4["interfaces-config"]["interfaces"][0], "lo/127.0.0.1");
        std::fs::remove_dir_all(place.folder).unwrap();
    }

    #[test]
    fn kea_itself_accepts_both_configurations() {
        if kea::program().is_err() {
            assert!(std::env::var_os("GODWIT_REQUIRE_TOOLS").is_none_or(|v| v != "1"));
            eprintln!("skipped: kea-dhcp4 is not installed (package kea-dhcp4-server)");
            return;
        }
        for multi_threaded in [false, true] {
            let place = place(if multi_threaded { "kea-mt" } else { "kea-st" });
            let kind = Kind::Kea { multi_threaded };
            let prepared = prepare(&subject(kind), &place).unwrap();
            let words = prepared.command.words();
            let config = words.iter().position(|word| word == "-c").unwrap() + 1;
            // Kea's own check of a configuration.
            let check = CommandLine::new(words[0].clone()).args(["-t", &words[config]]);
            check.run().unwrap();
            assert!(prepared.version.starts_with(|c: char| c.is_ascii_digit()), "{prepared:?}");
            std::fs::remove_dir_all(place.folder).unwrap();
        }
    }

    #[test]
    fn templates_are_filled_in() {
        let place = place("command");
        let template = "sh -c 'echo {address} {port}' --config={config} {folder} {relay} {{x}}";
        let kind = Kind::Command(template.to_owned());
        let prepared = prepare(&subject(kind), &place).unwrap();
        let folder = place.folder.to_string_lossy();
        assert_eq!(
            prepared.command.words()[1..],
            [
                "-c",
                "echo 127.0.0.1 6767",
                &format!("--config={folder}/config.json"),
                &*folder,
                "127.0.0.1",
                "{x}"
            ]
        );
        std::fs::remove_dir_all(place.folder).unwrap();
    }

    #[test]
    fn bad_templates_are_refused_before_anything_starts() {
        for (template, said) in [
            ("", "is empty"),
            ("sh 'x", "not closed"),
            ("sh {prot}", "{prot}"),
            ("godwit-no-such-server {config}", "godwit-no-such-server: not found"),
        ] {
            let error = require(&subject(Kind::Command(template.to_owned()))).unwrap_err();
            assert!(error.to_string().contains(said), "{template}: {error}");
        }
    }
}
