//! Third-party servers (peers): whether each is installed, and the Debian package of those that are
//! not.

use std::path::PathBuf;

use testbed::Debian13;
use testbed::command::find_program;

/// Third-party server that the lab looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerServer {
    /// Name of the server; a server with a program for each protocol has several entries.
    pub name: &'static str,
    /// Protocols that the server serves, for people.
    pub serves: &'static str,
    /// Name of the server's program.
    pub program: &'static str,
    /// Name of the Debian package that contains the program.
    pub package: &'static str,
    /// True if the server is in the root folder of Debian 13, not in the machine's own.
    pub is_in_debian_13: bool,
    /// True if the lab configures and starts the server by itself (`--server NAME`); others need
    /// `--server-command`.
    pub is_driven: bool,
}

/// Third-party servers that the lab looks for.
pub const PEERS: [PeerServer; 11] = [
    peer("kea", "DHCPv4", "kea-dhcp4", "kea-dhcp4-server", true),
    peer("kea", "DHCPv6", "kea-dhcp6", "kea-dhcp6-server", true),
    peer_of_debian_13("kea3", "DHCPv4", "kea-dhcp4", "kea-dhcp4-server"),
    peer_of_debian_13("kea3", "DHCPv6", "kea-dhcp6", "kea-dhcp6-server"),
    peer("isc-dhcpd", "DHCPv4, DHCPv6", "dhcpd", "isc-dhcp-server", true),
    peer("dnsmasq", "DHCPv4, DHCPv6, DNS", "dnsmasq", "dnsmasq-base", true),
    peer("bind", "DNS", "named", "bind9", true),
    peer("knot", "DNS", "knotd", "knot", true),
    peer("nsd", "DNS", "nsd", "nsd", true),
    peer("unbound", "DNS", "unbound", "unbound", true),
    peer("dumresp", "DNS", "dumresp", "pdns-tools", true),
];

const fn peer(
    name: &'static str,
    serves: &'static str,
    program: &'static str,
    package: &'static str,
    is_driven: bool,
) -> PeerServer {
    PeerServer { name, serves, program, package, is_in_debian_13: false, is_driven }
}

const fn peer_of_debian_13(
    name: &'static str,
    serves: &'static str,
    program: &'static str,
    package: &'static str,
) -> PeerServer {
    PeerServer { is_in_debian_13: true, ..peer(name, serves, program, package, true) }
}

impl PeerServer {
    /// Returns the path of the server's program; `None` if it is not installed.
    pub fn path(&self) -> Option<PathBuf> {
        if self.is_in_debian_13 {
            return Debian13::find()?.program(self.program);
        }
        find_program(self.program)
    }

    /// Returns the command that installs the server.
    pub fn installation(&self) -> String {
        if self.is_in_debian_13 {
            return "cargo xtask test setup".to_owned();
        }
        format!("apt install {}", self.package)
    }
}

/// Formats the list of third-party servers, one line each, for the terminal.
pub fn table() -> String {
    let mut text = format!("{:<9} {:<20} {}\n", "SERVER", "SERVES", "INSTALLED");
    for peer in PEERS {
        let state = match peer.path() {
            Some(path) => path.display().to_string(),
            None => format!("no; {}", peer.installation()),
        };
        text += &format!("{:<9} {:<20} {state}\n", peer.name, peer.serves);
    }
    text
}

/// Returns the third-party servers as JSON, `godwit.peers.v1`.
pub fn json() -> serde_json::Value {
    let peers: Vec<serde_json::Value> = PEERS
        .iter()
        .map(|peer| {
            serde_json::json!({
                "name": peer.name,
                "serves": peer.serves,
                "package": peer.package,
                "driven": peer.is_driven,
                "path": peer.path().map(|path| path.display().to_string()),
            })
        })
        .collect();
    serde_json::json!({ "schema": "godwit.peers.v1", "peers": peers })
}

#[cfg(test)]
mod tests {
    use measure::plan::MeasuredProtocol;

    use super::*;

    #[test]
    fn what_the_lab_drives_has_the_names_that_it_takes() {
        let dhcp = ["kea", "kea3", "isc-dhcpd", "dnsmasq"];
        for (protocol, expected) in [
            (MeasuredProtocol::Dhcp4, &dhcp[..]),
            (MeasuredProtocol::Dns, &["bind", "knot", "nsd", "unbound", "dumresp"]),
        ] {
            let is_of = |peer: &&PeerServer| dhcp.contains(&peer.name) == protocol.is_dhcp();
            let driven = PEERS.iter().filter(|peer| peer.is_driven).filter(is_of);
            let mut names: Vec<String> = driven.map(|peer| peer.name.to_owned()).collect();
            names.dedup();
            assert_eq!(names, expected);
            let plan = measure::Plan { protocol, ..measure::Plan::default() };
            assert!(crate::subject::subjects(&plan, &names, None).is_ok());
        }
    }

    #[test]
    fn every_peer_has_a_path_or_a_package() {
        let table = table();
        for peer in PEERS {
            let own = format!("{} ", peer.name);
            let mut lines = table.lines().filter(|line| line.starts_with(&own));
            let line = lines.find(|line| line.contains(peer.serves)).unwrap();
            let path = peer.path();
            let expected = path.map_or_else(|| peer.installation(), |p| p.display().to_string());
            assert!(line.ends_with(&expected), "{line}");
        }
    }
}
