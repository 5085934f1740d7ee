//! How each kind of server is configured and started. A driver turns a place (address, folder,
//! pool) into a command line and says where the server keeps its leases.

mod command;
mod dnsmasq;
mod godwit;
mod isc_dhcpd;
mod kea;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testbed::CommandLine;

use crate::error::LabError;
use crate::leases::LeaseFile;
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
    pub lease_file: Option<LeaseFile>,
    /// What the server says of its version.
    pub version: String,
    /// It reads frames from a raw socket, where a group of datagrams appears as one: they must be
    /// sent to it one by one.
    pub reads_frames: bool,
}

/// The subnet that holds every pool and, in namespaces, both ends of the link.
pub const SUBNET: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 0), 8);

/// The file with a configuration in Kea's form.
const CONFIGURATION: &str = "config.json";

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
        Kind::IscDhcpd => isc_dhcpd::prepare(place),
        Kind::Dnsmasq => dnsmasq::prepare(place),
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
            reads_frames: false,
        }),
    }
}

/// True for a server that takes the messages of a whole interface or of every address of the
/// machine, so that it must have both to itself. It answers relays on port 67 only.
#[must_use]
pub fn needs_own_link(subject: &Subject) -> bool {
    matches!(subject.kind, Kind::IscDhcpd | Kind::Dnsmasq)
}

/// The name of the file with the server's configuration; `None` when the command line says all.
#[must_use]
pub fn configuration_name(subject: &Subject) -> Option<&'static str> {
    match subject.kind {
        Kind::Godwit(_) | Kind::Kea { .. } | Kind::Command(_) => Some(CONFIGURATION),
        Kind::IscDhcpd => Some(isc_dhcpd::CONFIGURATION),
        Kind::Dnsmasq | Kind::Limit => None,
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
        Kind::IscDhcpd => isc_dhcpd::program().map(drop),
        Kind::Dnsmasq => dnsmasq::program().map(drop),
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
    let path = place.folder.join(CONFIGURATION);
    let text = serde_json::to_string_pretty(&json!({ "Dhcp4": dhcp4 })).expect("values are JSON");
    write(&path, &(text + "\n"))?;
    Ok(path.to_string_lossy().into_owned())
}

fn write(path: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(path, text).map_err(|e| LabError::cannot(format!("write {}", path.display()), e))
}

/// The netmask of [`SUBNET`].
fn netmask() -> Ipv4Addr {
    Ipv4Addr::from(u32::MAX << (32 - u32::from(SUBNET.1)))
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

    /// A place as it is in namespaces.
    fn own_place(name: &str) -> Place {
        Place {
            address: "10.0.0.3:67".parse().unwrap(),
            relay: "10.0.255.254:67".parse().unwrap(),
            interface: "gw0".to_owned(),
            ..place(name)
        }
    }

    /// True when `program` is there; says why not otherwise.
    fn is_installed(program: &Result<PathBuf, LabError>) -> bool {
        if let Err(e) = program {
            assert!(std::env::var_os("GODWIT_REQUIRE_TOOLS").is_none_or(|v| v != "1"));
            eprintln!("skipped: {e}");
        }
        program.is_ok()
    }

    fn subject(kind: Kind) -> Subject {
        Subject { server: "x".to_owned(), variant: String::new(), kind }
    }

    #[test]
    fn a_pool_that_would_take_the_machine_is_refused() {
        let big = Place { pool: pool(4_000_000), ..own_place("big") };
        let refused = isc_dhcpd::prepare(&big).err().map(|error| error.to_string());
        std::fs::remove_dir_all(&big.folder).unwrap();
        assert!(refused.is_some_and(|words| words.contains("19 GiB")));
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
        if !is_installed(&kea::program()) {
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
    fn dhcpd_gets_one_subnet_and_its_own_check_accepts_it() {
        let place = own_place("dhcpd");
        let text = isc_dhcpd::configuration(&place);
        assert_eq!(
            text,
            "local-address 10.0.0.3;\nddns-update-style none;\nping-check false;\n\
             dont-use-fsync true;\ndhcp-cache-threshold 0;\ndefault-lease-time 3600;\n\
             min-lease-time 3600;\nmax-lease-time 3600;\n\
             subnet 10.0.0.0 netmask 255.0.0.0 {\n    range 10.1.0.0 10.1.3.231;\n}\n"
        );
        if is_installed(&isc_dhcpd::program()) {
            let prepared = prepare(&subject(Kind::IscDhcpd), &place).unwrap();
            assert!(prepared.reads_frames);
            assert!(prepared.version.starts_with("isc-dhcpd-"), "{prepared:?}");
            let words = prepared.command.words();
            let program = words.iter().position(|word| word.ends_with("/dhcpd")).unwrap();
            assert_eq!(words[program + 1..program + 4], ["-4", "-f", "-cf"]);
            assert_eq!(words.last().unwrap(), "gw0");
            let check = ["-t", "-cf", &words[program + 4]];
            CommandLine::new(words[program].clone()).args(check).run().unwrap();
        }
        std::fs::remove_dir_all(place.folder).unwrap();
    }

    #[test]
    fn dnsmasq_gets_everything_as_arguments() {
        let place = own_place("dnsmasq");
        let folder = place.folder.to_string_lossy();
        let arguments = dnsmasq::arguments(&place);
        assert_eq!(
            arguments,
            [
                "--keep-in-foreground",
                "--conf-file=/dev/null",
                "--log-facility=-",
                "--quiet-dhcp",
                "--user=root",
                "--group=root",
                "--pid-file=",
                "--port=0",
                "--no-ping",
                "--interface=gw0",
                "--bind-interfaces",
                "--dhcp-range=10.1.0.0,10.1.3.231,255.0.0.0,3600",
                "--dhcp-lease-max=1000",
                &format!("--dhcp-leasefile={folder}/dnsmasq.leases"),
            ]
        );
        if is_installed(&dnsmasq::program()) {
            let prepared = prepare(&subject(Kind::Dnsmasq), &place).unwrap();
            assert!(prepared.version.starts_with("Dnsmasq version "), "{prepared:?}");
            prepared.command.arg("--test").run().unwrap();
        }
        std::fs::remove_dir_all(&place.folder).unwrap();
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
