//! Network between the measured server and the generator: two namespaces joined by a veth pair, or
//! loopback.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::command::{CommandLine, require_program};
use crate::error::{TestbedError, TestbedResult};
use crate::namespace;
use crate::proc;
use crate::registry::{RegisteredRun, ip};

/// Side of a measurement's network: that of the servers or that of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopologySide {
    /// Side of the measured services (servers).
    Server,
    /// Side of the load generator.
    Client,
}

/// Name of the veth end in each namespace. In the generator's namespace, the ends towards further
/// servers have this name with a number.
pub const INTERFACE: &str = "gw0";

/// Hardware address of the server's end of a run's first veth pair.
const FIRST_SERVER_MAC: &str = "02:67:77:00:00:01";

/// Number of packets that a processor's receive backlog must take before the kernel drops further
/// ones (`net.core.netdev_max_backlog`).
const BACKLOG_PACKETS: u32 = 65_536;

/// Niceness of the processes of both servers and generators in namespaces.
const NICENESS: &str = "-15";
/// Range of the ports that the lab gives to servers. The kernel gives none of them to a socket that
/// requests any port, so that they are still free when a server binds them, and after a crash.
const PORTS: Range<u16> = 12_000..30_000;

/// Settings of the two network namespaces to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceSettings {
    /// Addresses of the server's veth end, one per measured service.
    pub server_addresses: Vec<IpAddr>,
    /// Addresses of the generator's veth end, of the same family; at least one.
    pub client_addresses: Vec<IpAddr>,
    /// Length of the prefix that both veth ends share, in bits.
    pub prefix_length: u8,
    /// Processor that handles the packets received by the server.
    pub server_cpu: usize,
    /// Processor that handles the packets received by the generator.
    pub client_cpu: usize,
}

/// Network of a measurement. The register of the run that built it removes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasurementTopology {
    /// Loopback: server and generator on 127.0.0.1 or ::1, distinguished by ports.
    Loopback,
    /// Network namespaces of the server and of the generator, joined by a veth pair.
    Namespaces {
        /// Name of the server's namespace.
        server: String,
        /// Name of the generator's namespace.
        client: String,
        /// Name of the veth end in the generator's namespace.
        client_interface: String,
        /// Hardware address of the server's veth end.
        server_mac: String,
    },
    /// Network of this machine, unchanged, with a server somewhere on the network that the lab did
    /// not start.
    Network {
        /// Name of the interface that has the generator's address.
        interface: String,
    },
}

impl MeasurementTopology {
    /// Builds the server's and the generator's network namespaces and the veth pair between them,
    /// with receive steering and raised backlog, and registers the namespaces in `run` beforehand.
    ///
    /// # Errors
    /// `ip` is missing or refuses (usually: no permission).
    pub fn namespaces(
        run: &mut RegisteredRun,
        settings: &NamespaceSettings,
    ) -> TestbedResult<Self> {
        require_program("ip", "iproute2")?;
        let pid = std::process::id();
        let (server, client) =
            (namespace::namespace_name(pid, 's'), namespace::namespace_name(pid, 'c'));
        for name in [&server, &client] {
            run.register_namespace(name)?;
            namespace::create(name)?;
        }
        ip().args(["link", "add", INTERFACE, "netns", &server, "type", "veth"])
            .args(["peer", "name", INTERFACE, "netns", &client])
            .run()?;
        let (server_end, client_end) = (
            VethEnd {
                name: &server,
                interface: INTERFACE,
                mac: FIRST_SERVER_MAC,
                addresses: &settings.server_addresses,
            },
            VethEnd {
                name: &client,
                interface: INTERFACE,
                mac: "02:67:77:00:00:02",
                addresses: &settings.client_addresses,
            },
        );
        server_end.set_up(settings.prefix_length, settings.server_cpu, &client_end)?;
        client_end.set_up(settings.prefix_length, settings.client_cpu, &server_end)?;
        run.registry().raise_backlog(BACKLOG_PACKETS)?;
        Ok(Self::Namespaces {
            server,
            client,
            client_interface: INTERFACE.to_owned(),
            server_mac: FIRST_SERVER_MAC.to_owned(),
        })
    }

    /// Returns a topology with the same generator and another server in a namespace of its own, at
    /// the end of a veth pair of its own: for a program that cannot be bound to one address, or
    /// that reads every frame of an interface and would answer messages for other servers. `number`
    /// counts the further servers of a run, from 0.
    ///
    /// # Errors
    /// The topology has no namespaces, a run has more further servers than there are letters, or
    /// `ip` refuses.
    pub fn with_further_server(
        &self,
        run: &mut RegisteredRun,
        number: usize,
        settings: &NamespaceSettings,
    ) -> TestbedResult<Self> {
        let wanted = "no network namespace for another server";
        let Self::Namespaces { client, .. } = self else {
            return Err(TestbedError::new(wanted, "servers on loopback have no namespaces"));
        };
        let Some(&letter) = namespace::FURTHER_SIDES.get(number) else {
            return Err(TestbedError::new(wanted, "too many servers"));
        };
        let server = namespace::namespace_name(std::process::id(), letter);
        run.register_namespace(&server)?;
        namespace::create(&server)?;
        let client_interface = format!("gw{}", number + 1);
        ip().args(["link", "add", INTERFACE, "netns", &server, "type", "veth"])
            .args(["peer", "name", &client_interface, "netns", client])
            .run()?;
        let [server_mac, client_mac] =
            ["01", "02"].map(|end| format!("02:67:77:00:{:02x}:{end}", number + 1));
        let (server_end, client_end) = (
            VethEnd {
                name: &server,
                interface: INTERFACE,
                mac: &server_mac,
                addresses: &settings.server_addresses,
            },
            VethEnd {
                name: client,
                interface: &client_interface,
                mac: &client_mac,
                addresses: &settings.client_addresses,
            },
        );
        server_end.set_up(settings.prefix_length, settings.server_cpu, &client_end)?;
        // The prefix leads to the first pair; only this server's addresses lead here.
        let one = whole_length(settings.client_addresses[0]);
        client_end.set_up(one, settings.client_cpu, &server_end)?;
        for address in &settings.server_addresses {
            ip().args(["-n", client, "route", "replace", &format!("{address}/{one}")])
                .args(["dev", &client_interface])
                .run()?;
        }
        Ok(Self::Namespaces { server, client: client.clone(), client_interface, server_mac })
    }

    /// Returns `command` for `side`, pinned to processor `cpu` if given. In namespaces, which need
    /// root, it has a higher priority than other programs of the machine, which would otherwise be
    /// measured too.
    #[must_use]
    pub fn command(
        &self,
        side: TopologySide,
        cpu: Option<usize>,
        command: CommandLine,
    ) -> CommandLine {
        let pinned = match cpu {
            Some(cpu) => command.with_prefix(&["taskset", "-c", &cpu.to_string()]),
            None => command,
        };
        match self.namespace(side) {
            Some(name) => pinned
                .with_prefix(&["nice", "-n", NICENESS])
                .with_prefix(&["ip", "netns", "exec", name]),
            None => pinned,
        }
    }

    /// Returns the name of the network namespace of `side`; `None` on loopback and on the machine's
    /// own network.
    pub fn namespace(&self, side: TopologySide) -> Option<&str> {
        match (self, side) {
            (Self::Loopback | Self::Network { .. }, _) => None,
            (Self::Namespaces { server, .. }, TopologySide::Server) => Some(server),
            (Self::Namespaces { client, .. }, TopologySide::Client) => Some(client),
        }
    }

    /// Returns the name of the interface that carries the packets on `side`.
    pub fn interface(&self, side: TopologySide) -> &str {
        match (self, side) {
            (Self::Loopback, _) => "lo",
            (Self::Network { interface }, _) => interface,
            (Self::Namespaces { .. }, TopologySide::Server) => INTERFACE,
            (Self::Namespaces { client_interface, .. }, TopologySide::Client) => client_interface,
        }
    }
}

/// End of a veth pair, with its namespace, addresses and hardware address.
struct VethEnd<'a> {
    name: &'a str,
    interface: &'a str,
    mac: &'a str,
    addresses: &'a [IpAddr],
}

impl VethEnd<'_> {
    fn set_up(&self, prefix: u8, cpu: usize, peer: &VethEnd<'_>) -> TestbedResult<()> {
        let interface = self.interface;
        let ip_in = |words: &[&str]| ip().args(["-n", self.name]).args(words.iter().copied()).run();
        let is_v6 = self.addresses.iter().chain(peer.addresses).any(IpAddr::is_ipv6);
        // Written inside the namespace, whose own /sys `ip netns exec` shows. A measurement of IPv4
        // has no IPv6. In one of IPv6 the kernel looks neither for routers nor for duplicate
        // addresses: that traffic would be in the counters, and addresses would be late. Servers
        // need no privilege for their ports in the namespace.
        let script = format!(
            "echo {} >/sys/class/net/{interface}/queues/rx-0/rps_cpus; \
             echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start; \
             cd /proc/sys/net/ipv6/conf 2>/dev/null || exit 0; {}",
            cpu_mask(cpu),
            if is_v6 {
                format!(
                    "for c in all {interface}; do echo 0 >$c/accept_dad; done; \
                         echo 0 >{interface}/accept_ra; echo 0 >{interface}/router_solicitations"
                )
            } else {
                "echo 1 >all/disable_ipv6".to_owned()
            }
        );
        ip().args(["netns", "exec", self.name, "sh", "-ec", &script]).run()?;
        for address in self.addresses {
            let with_length = format!("{address}/{prefix}");
            let words = ["addr", "add", &with_length, "dev", interface, "nodad"];
            // The last word is for IPv6 only.
            ip_in(&words[..if is_v6 { 6 } else { 5 }])?;
        }
        ip_in(&["link", "set", interface, "address", self.mac, "txqueuelen", "10000", "up"])?;
        ip_in(&["link", "set", "lo", "up"])?;
        // Permanent neighbours: address resolution is not part of the measurement.
        for address in peer.addresses {
            let address = address.to_string();
            ip_in(&["neigh", "replace", &address, "lladdr", peer.mac, "dev", interface])?;
        }
        Ok(())
    }
}

/// Returns the set that contains only processor `cpu`, in the kernel's format: words of 32 bits in
/// hexadecimal digits, the highest first.
fn cpu_mask(cpu: usize) -> String {
    format!("{:x}{}", 1_u32 << (cpu % 32), ",00000000".repeat(cpu / 32))
}

/// Returns the length in bits of a prefix that contains only `address`.
const fn whole_length(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns a port for `address` that no UDP or TCP socket of the calling thread's network namespace
/// has (DNS servers use both). Each call in a process returns another port.
///
/// # Errors
///
/// Fails when all ports were returned before.
pub fn free_port(address: IpAddr) -> TestbedResult<u16> {
    static CHECKED_PORTS: AtomicU32 = AtomicU32::new(0);
    let count = u32::from(PORTS.end - PORTS.start);
    // Processes that run side by side begin elsewhere.
    let start = std::process::id().wrapping_mul(97);
    loop {
        let next = CHECKED_PORTS.fetch_add(1, Ordering::Relaxed);
        if next >= count {
            let what = format!("cannot find a free port on {address}");
            return Err(TestbedError::new(what, "all ports of the range are taken"));
        }
        let port = PORTS.start + (start.wrapping_add(next) % count) as u16;
        if !proc::is_port_taken(port) {
            return Ok(port);
        }
    }
}

/// Returns the numbers of the processors that this process may run on, from `/proc/self/status`.
pub fn allowed_cpus() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    parse_cpu_list(list.unwrap_or("0"))
}

/// Parses a list of processors such as `0-2,5` into their numbers (cpuset(7), list format).
fn parse_cpu_list(text: &str) -> Vec<usize> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_lists_are_read() {
        assert_eq!(parse_cpu_list(" 0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(parse_cpu_list("7"), [7]);
        assert!(!allowed_cpus().is_empty());
        assert_eq!((cpu_mask(1), cpu_mask(33)), ("2".to_owned(), "2,00000000".to_owned()));
    }

    #[test]
    fn commands_are_led_into_their_side() {
        let topology = MeasurementTopology::Namespaces {
            server: "gwt1s".to_owned(),
            client: "gwt1c".to_owned(),
            client_interface: "gw2".to_owned(),
            server_mac: FIRST_SERVER_MAC.to_owned(),
        };
        assert_eq!(topology.interface(TopologySide::Client), "gw2");
        assert_eq!(topology.interface(TopologySide::Server), "gw0");
        let line = topology.command(TopologySide::Client, Some(0), CommandLine::new("true"));
        assert_eq!(line.to_string(), "ip netns exec gwt1c nice -n -15 taskset -c 0 true");
        let line = MeasurementTopology::Loopback.command(
            TopologySide::Server,
            None,
            CommandLine::new("true"),
        );
        assert_eq!(line.to_string(), "true");
    }
}
