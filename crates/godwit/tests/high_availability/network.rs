//! Network of a pair: a switch, to which each server is connected from a network namespace of its
//! own, and the clients from that of the switch. A server can be taken from the switch, which it
//! does not see at its interface.

use std::path::Path;
use std::process::Command;

use scenario::ScenarioFamily;

use crate::common::capture::TcpdumpProcess;
use crate::common::link::{inside, ip};
use crate::common::namespaces::Namespaces;
use crate::common::{is_root, require};

/// Interface of each server in its namespace.
pub(super) const SERVER_INTERFACE: &str = "eth0";
/// Interface of the clients: the switch itself.
const SWITCH: &str = "br0";
/// Addresses of the clients.
const CLIENT_4: &str = "10.0.0.9/8";
const CLIENT_6: &str = "fe80::9/64";

/// Namespaces of a network. Dropping the value removes them with all their processes.
pub(super) struct PairNetwork {
    /// Namespaces of the two servers, and of the switch.
    namespaces: Namespaces<3>,
}

impl PairNetwork {
    /// Makes the network. Returns `None`, with a message, if that is not possible.
    pub(super) fn new() -> Option<Self> {
        if !require(&["ip", "tcpdump", "tshark", "perfdhcp"]) || !is_root() {
            return None;
        }
        let network = Self { namespaces: Namespaces::make() };
        let switch = network.switch();
        ip(&format!("-n {switch} link add {SWITCH} type bridge forward_delay 0 mcast_snooping 0"));
        ip(&format!("-n {switch} link set {SWITCH} addrgenmode none up"));
        ip(&format!("-n {switch} addr add {CLIENT_4} dev {SWITCH}"));
        ip(&format!("-n {switch} addr add {CLIENT_6} dev {SWITCH} nodad"));
        for server in [0, 1] {
            let (namespace, port) = (network.namespace(server), port(server));
            ip(&format!(
                "link add {port} netns {switch} type veth peer name {SERVER_INTERFACE} netns \
                 {namespace}"
            ));
            ip(&format!("-n {switch} link set {port} master {SWITCH} up"));
            ip(&format!("-n {namespace} link set {SERVER_INTERFACE} addrgenmode none up"));
            ip(&format!("-n {namespace} link set lo up"));
            let [v4, v6, link_local] = [
                format!("{}/8", Self::address(ScenarioFamily::V4, server)),
                format!("{}/64", Self::address(ScenarioFamily::V6, server)),
                format!("fe80::{}/64", server + 1),
            ];
            ip(&format!("-n {namespace} addr add {v4} dev {SERVER_INTERFACE}"));
            for address in [v6, link_local] {
                ip(&format!("-n {namespace} addr add {address} dev {SERVER_INTERFACE} nodad"));
            }
        }
        Some(network)
    }

    /// Returns the namespace of a server.
    pub(super) fn namespace(&self, server: usize) -> &str {
        &self.namespaces[server]
    }

    fn switch(&self) -> &str {
        &self.namespaces[2]
    }

    /// Returns the address of a server.
    pub(super) fn address(family: ScenarioFamily, server: usize) -> String {
        match family {
            ScenarioFamily::V4 => format!("10.0.0.{}", server + 1),
            ScenarioFamily::V6 => format!("2001:db8::{}", server + 1),
        }
    }

    /// Loses all frames of a server from now on.
    pub(super) fn cut(&self, server: usize) {
        ip(&format!("-n {} link set {} nomaster", self.switch(), port(server)));
    }

    /// Passes on the frames of a server again.
    pub(super) fn mend(&self, server: usize) {
        ip(&format!("-n {} link set {} master {SWITCH}", self.switch(), port(server)));
    }

    /// Returns a command that runs its arguments beside the clients.
    pub(super) fn at_clients(&self) -> Command {
        inside(self.switch())
    }

    /// Captures the replies of all servers to `file`.
    pub(super) fn capture(&self, file: &Path) -> TcpdumpProcess {
        let mut tcpdump = self.at_clients();
        tcpdump.arg("tcpdump");
        TcpdumpProcess::start(tcpdump, SWITCH, "udp port 67 or udp port 546", file)
    }

    /// Returns a command of perfdhcp of Kea whose clients broadcast on the network.
    pub(super) fn perfdhcp(&self, family: ScenarioFamily) -> Command {
        let mut command = self.at_clients();
        command.arg("perfdhcp");
        match family {
            ScenarioFamily::V4 => command.arg("-4"),
            ScenarioFamily::V6 => command.args(["-6", "-e", "address-and-prefix"]),
        };
        command.args(["-l", SWITCH]);
        command
    }
}

/// Returns the name of the port of a server at the switch.
fn port(server: usize) -> String {
    format!("p{server}")
}
