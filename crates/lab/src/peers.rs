//! Third-party servers: which are installed, and the Debian package of those that are not.

use testbed::command::find_program;

/// A server by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name; one with a program for each thing that it serves is there several times.
    pub name: &'static str,
    /// What it serves.
    pub serves: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The Debian package that holds the program.
    pub package: &'static str,
    /// The lab configures and starts it by itself (`--server NAME`); others need
    /// `--server-command`.
    pub is_driven: bool,
}

/// The peers that are looked for.
pub const PEERS: [Peer; 9] = [
    peer("kea", "DHCPv4", "kea-dhcp4", "kea-dhcp4-server", true),
    peer("kea", "DHCPv6", "kea-dhcp6", "kea-dhcp6-server", true),
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
) -> Peer {
    Peer { name, serves, program, package, is_driven }
}

/// One line per peer for the terminal.
#[must_use]
pub fn table() -> String {
    let mut text = format!("{:<9} {:<20} {}\n", "SERVER", "SERVES", "INSTALLED");
    for peer in PEERS {
        let state = match find_program(peer.program) {
            Some(path) => path.display().to_string(),
            None => format!("no; apt install {}", peer.package),
        };
        text += &format!("{:<9} {:<20} {state}\n", peer.name, peer.serves);
    }
    text
}

/// The same as JSON, `godwit.peers.v1`.
#[must_use]
pub fn json() -> serde_json::Value {
    let peers: Vec<serde_json::Value> = PEERS
        .iter()
        .map(|peer| {
            serde_json::json!({
                "name": peer.name,
                "serves": peer.serves,
                "package": peer.package,
                "driven": peer.is_driven,
                "path": find_program(peer.program).map(|p| p.display().to_string()),
            })
        })
        .collect();
    serde_json::json!({ "schema": "godwit.peers.v1", "peers": peers })
}

#[cfg(test)]
mod tests {
    use measure::plan::Protocol;

    use super::*;

    #[test]
    fn what_the_lab_drives_has_the_names_that_it_takes() {
        let dhcp = ["kea", "isc-dhcpd", "dnsmasq"];
        for (protocol, expected) in [
            (Protocol::Dhcp4, &dhcp[..]),
            (Protocol::Dns, &["bind", "knot", "nsd", "unbound", "dumresp"]),
        ] {
            let is_of = |peer: &&Peer| dhcp.contains(&peer.name) == protocol.is_dhcp();
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
            let mut lines = table.lines().filter(|line| line.starts_with(peer.name));
            let line = lines.find(|line| line.contains(peer.serves)).unwrap();
            let path = find_program(peer.program);
            let expected = path.map_or_else(
                || format!("apt install {}", peer.package),
                |p| p.display().to_string(),
            );
            assert!(line.ends_with(&expected), "{line}");
        }
    }
}
