//! Proof of durability by the kernel: a trace of the running server's system calls shows that it
//! sends no acknowledgement before a flush that covers its row has returned. The same check finds
//! fault with a server that does not flush, so it can fail.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::perfdhcp::{PATIENT, is_exact};
use crate::common::trace::{TraceVerdict, granted_by_ack, granted_by_reply, under_strace};
use crate::common::{ServerProcess, TempFolder, configuration, require, run_bounded};

/// Number of exchanges through a relay, and of direct ones by perfdhcp.
const EXCHANGES: usize = 60;
/// Number of direct DHCPv4 exchanges, each by a client of its own.
const DIRECT_EXCHANGES: usize = 8;
/// Maximum of attempts, of which the clients must do as requested in one.
const RUNS_MAX: usize = 50;

/// Server with the way in which clients reach it.
struct DurabilityCase {
    /// Name of the server: `dhcp4` or `dhcp6`.
    server: &'static str,
    /// Function that reads the addresses in data that the server sends.
    granted: fn(&[u8]) -> Vec<IpAddr>,
    /// Function that writes the configuration, for this durability, into the folder.
    configuration: fn(&Path, &str) -> PathBuf,
    client_location: ClientLocation,
    /// Number of addresses and prefixes that the clients get.
    leases: usize,
}

/// Location of the clients, with the function that runs them.
enum ClientLocation {
    Loopback(Clients<ServerProcess>),
    /// Clients on the server's own link.
    Link(Clients<LinkNamespaces>),
}

/// Function that runs the clients, and returns false if they did not do as requested, so that the
/// trace proves nothing.
type Clients<Where> = fn(&Where) -> bool;

/// Serves the clients under strace, and returns the verdict on the trace.
fn traced(case: &DurabilityCase, durability: &str) -> Option<TraceVerdict> {
    for _ in 0..RUNS_MAX {
        if let (verdict, true) = traced_once(case, durability)? {
            return Some(verdict);
        }
    }
    panic!("the clients never did what they were told to");
}

fn traced_once(case: &DurabilityCase, durability: &str) -> Option<(TraceVerdict, bool)> {
    let label = format!("trace-{}-{}-{durability}", case.server, case.leases);
    let folder = TempFolder::new(&label);
    let trace = folder.path().join("trace");
    let config = (case.configuration)(folder.path(), durability);
    let is_exact = match case.client_location {
        ClientLocation::Loopback(clients) => {
            let strace = under_strace(Command::new("env"), &trace);
            let server = ServerProcess::start_under(strace, case.server, &config, folder.path());
            let is_exact = clients(&server);
            server.stop();
            is_exact
        }
        ClientLocation::Link(clients) => {
            let link = LinkNamespaces::new()?;
            join(case.server, &link);
            let strace = under_strace(link.at_server(), &trace);
            let server =
                ServerProcess::start_on_standard_ports(strace, case.server, &config, folder.path());
            let is_exact = clients(&link);
            server.stop();
            is_exact
        }
    };
    let trace = fs::read_to_string(trace).expect("strace wrote its output");
    Some((TraceVerdict::of(&trace, case.granted), is_exact))
}

fn join(server: &str, link: &LinkNamespaces) {
    if server == "dhcp4" {
        link.join(SERVER_END, CLIENT_END, "10.77.0.1/24");
    } else {
        link.join_by_ipv6(SERVER_END, CLIENT_END);
    }
}

/// Checks that no acknowledgement leaves before its row is flushed, and that the check finds every
/// one if nothing is flushed.
fn prove(case: &DurabilityCase) {
    let Some(verdict) = traced(case, "always") else { return };
    assert_eq!(verdict.acknowledged.len(), case.leases, "{verdict:?}");
    assert_eq!(verdict.too_early, BTreeSet::new(), "acknowledged before the flush");
    assert!(verdict.flushes > 0);
    let Some(verdict) = traced(case, "none") else { return };
    assert_eq!(verdict.acknowledged.len(), case.leases, "{verdict:?}");
    assert_eq!(verdict.too_early.len(), case.leases, "{verdict:?}");
}

#[test]
fn dhcpv4_through_a_relay() {
    if require(&["strace", "perfdhcp"]) {
        prove(&DurabilityCase {
            server: "dhcp4",
            granted: granted_by_ack,
            configuration: |folder, durability| configuration(folder, durability, 1),
            client_location: ClientLocation::Loopback(|server| {
                perfdhcp(Command::new("env"), &["-4", "-l", "127.0.0.1"], Some(server))
            }),
            leases: EXCHANGES,
        });
    }
}

#[test]
fn dhcpv6_through_a_relay() {
    if require(&["strace", "perfdhcp"]) {
        prove(&DurabilityCase {
            server: "dhcp6",
            granted: granted_by_reply,
            configuration: |folder, durability| {
                let relay = r#""relay": { "ip-addresses": [ "::1" ] }"#;
                configuration_of_dhcp6(folder, durability, "lo/::1", relay)
            },
            client_location: ClientLocation::Loopback(|server| {
                let arguments = ["-6", "-A", "1", "-e", "address-and-prefix", "-l", "::1"];
                perfdhcp(Command::new("env"), &arguments, Some(server))
            }),
            leases: 2 * EXCHANGES,
        });
    }
}

#[test]
fn dhcpv4_on_the_servers_link() {
    if require(&["strace", "udhcpc"]) {
        prove(&DurabilityCase {
            server: "dhcp4",
            granted: granted_by_ack,
            configuration: configuration_of_a_link,
            client_location: ClientLocation::Link(|link| {
                (0..DIRECT_EXCHANGES).for_each(|number| udhcpc(link, number));
                true
            }),
            leases: DIRECT_EXCHANGES,
        });
    }
}

#[test]
fn dhcpv6_on_the_servers_link() {
    if require(&["strace", "perfdhcp"]) {
        prove(&DurabilityCase {
            server: "dhcp6",
            granted: granted_by_reply,
            configuration: |folder, durability| {
                let interface = format!(r#""interface": "{SERVER_END}""#);
                configuration_of_dhcp6(folder, durability, SERVER_END, &interface)
            },
            client_location: ClientLocation::Link(|link| {
                perfdhcp(link.at_client(), &["-6", "-e", "prefix-only", "-l", CLIENT_END], None)
            }),
            leases: EXCHANGES,
        });
    }
}

/// Runs [`EXCHANGES`] exchanges, with a server on loopback or one found by multicast. Returns false
/// if perfdhcp began more.
fn perfdhcp(mut command: Command, arguments: &[&str], server: Option<&ServerProcess>) -> bool {
    let count = EXCHANGES.to_string();
    command
        .arg("perfdhcp")
        .args(arguments)
        .args(["-r", "200", "-R", "100000"])
        .args(PATIENT)
        .args(["-n", &count, "-n", &count]);
    if let Some(server) = server {
        let address = arguments.last().expect("the clients' address, which is the server's too");
        command.args(["-L", &server.relay_port.to_string()]);
        command.args(["-N", &server.port.to_string(), address]);
    }
    let report = run_bounded(&mut command).stdout;
    let report = String::from_utf8_lossy(&report);
    if !is_exact(&report, EXCHANGES as u64) {
        return false;
    }
    // A reply that waits too long for its row is dropped, which says nothing either.
    report.matches("received packets: 60").count() == 2
}

/// Runs one exchange by a client of its own, which does not configure the address.
fn udhcpc(link: &LinkNamespaces, number: usize) {
    let client_id = format!("0x3d:0001{number:02x}");
    let mut command = link.at_client();
    command.args(["udhcpc", "-f", "-q", "-n", "-t", "300", "-T", "1", "-s", "/bin/true"]);
    let output = run_bounded(command.args(["-i", CLIENT_END, "-C", "-x", &client_id]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn configuration_of_a_link(folder: &Path, durability: &str) -> PathBuf {
    let subnet = r#""subnet4": [ { "id": 1, "subnet": "10.77.0.0/24",
                                   "pools": [ { "pool": "10.77.0.10 - 10.77.0.99" } ] } ]"#;
    write(folder, "Dhcp4", SERVER_END, durability, subnet)
}

fn configuration_of_dhcp6(
    folder: &Path,
    durability: &str,
    interface: &str,
    selection: &str,
) -> PathBuf {
    let subnet = format!(
        r#""server-id": {{ "type": "LL", "identifier": "020000000099", "persist": false }},
           "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64", {selection},
                           "pools": [ {{ "pool": "2001:db8:1::/112" }} ],
                           "pd-pools": [ {{ "prefix": "2001:db8:8000::", "prefix-len": 40,
                                            "delegated-len": 56 }} ] }} ]"#
    );
    write(folder, "Dhcp6", interface, durability, &subnet)
}

/// Writes the configuration of a server that listens on `interface`, and returns its path.
fn write(folder: &Path, family: &str, interface: &str, durability: &str, rest: &str) -> PathBuf {
    let path = folder.join("server.conf");
    let leases = folder.join("leases.csv");
    let text = format!(
        r#"{{ "{family}": {{
            "interfaces-config": {{ "interfaces": [ "{interface}" ] }},
            "lease-database": {{ "type": "memfile", "name": "{}", "lfc-interval": 0 }},
            "user-context": {{ "godwit": {{ "durability": "{durability}", "shards": 1 }} }},
            {rest}
        }} }}"#,
        leases.display()
    );
    fs::write(&path, text).expect("the test's folder can be written");
    path
}
