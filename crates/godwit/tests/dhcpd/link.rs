//! Link on which dhcpd and Godwit serve the same clients, one after the other.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::relay_addresses;
use super::replies::RecordedReply;
use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::{PATIENCE, ServerProcess, waited_until};
use scenario::{Scenario, ScenarioFamily, ScenarioServer, ScenarioServerError};

/// Address of the server on the link.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Address of the client's end of the link, over which relay agents are reached.
const CLIENT: &str = "10.77.0.2";
/// Address to which clients and relay agents of DHCPv6 send.
const ALL_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// Statements of the tested dhcpd that its conversion has not: they would delay offers, and make
/// lifetimes depend on the clock.
const FOR_TESTS: &str = "\nping-check false;\ndhcp-cache-threshold 0;\n";
/// Members of the tested Godwit that the conversion has not.
const MEMBERS: &str =
    "\"cache-threshold\": 0.0, \"user-context\": { \"godwit\": { \"shards\": 1 } },";

/// Link with addresses for a server, clients and relay agents.
pub(super) struct ComparedLink {
    link: LinkNamespaces,
}

/// Running dhcpd or Godwit.
pub(super) enum LinkServer {
    Dhcpd { child: Child, log: PathBuf },
    Godwit(ServerProcess),
}

impl LinkServer {
    /// Ends the server and returns its log.
    pub(super) fn end(self) -> String {
        match self {
            Self::Dhcpd { mut child, log } => {
                child.kill().ok();
                child.wait().ok();
                fs::read_to_string(log).unwrap_or_default()
            }
            Self::Godwit(server) => {
                server.wait_until_all_is_read();
                server.stop()
            }
        }
    }
}

impl ComparedLink {
    /// Makes the link of `scenario`. Returns `None` if namespaces cannot be made.
    pub(super) fn new(scenario: &Scenario) -> Option<Self> {
        let link = LinkNamespaces::new()?;
        link.join_by_ipv6(SERVER_END, CLIENT_END);
        link.ip_at_server(&format!("addr add {SERVER}/24 dev {SERVER_END}"));
        link.ip_at_server(&format!("addr add 2001:db8:77::1/64 dev {SERVER_END} nodad"));
        link.ip_at_client(&format!("addr add {CLIENT}/24 dev {CLIENT_END}"));
        link.ip_at_client(&format!("addr add 2001:db8:77::2/64 dev {CLIENT_END} nodad"));
        link.ip_at_client(&format!("route add default dev {CLIENT_END}"));
        link.ip_at_server(&format!("route add default via {CLIENT}"));
        for address in relay_addresses(scenario) {
            link.ip_at_client(&format!("addr add {address}/32 dev {CLIENT_END}"));
        }
        Some(Self { link })
    }

    /// Starts dhcpd with the configuration `text`.
    pub(super) fn start_dhcpd(
        &self,
        family: ScenarioFamily,
        text: &str,
        folder: &Path,
    ) -> Result<LinkServer, String> {
        let path = |name: &str| folder.join(name).display().to_string();
        let written = |error: std::io::Error| error.to_string();
        fs::write(path("tested.conf"), format!("{text}{FOR_TESTS}")).map_err(written)?;
        fs::write(path("dhcpd.leases"), "").map_err(written)?;
        let log = folder.join("dhcpd.log");
        let file = fs::File::create(&log).map_err(written)?;
        let flag = if family == ScenarioFamily::V4 { "-4" } else { "-6" };
        let mut command = self.link.at_server();
        command.args(["dhcpd", "-d", "-f", flag, "--no-pid", "-cf", &path("tested.conf")]);
        command.args(["-lf", &path("dhcpd.leases"), SERVER_END]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let mut child = command.spawn().map_err(written)?;
        let text = || fs::read_to_string(&log).unwrap_or_default();
        let has_started = waited_until(|| {
            matches!(child.try_wait(), Ok(Some(_))) || text().contains("Server starting service")
        });
        let runs = matches!(child.try_wait(), Ok(None));
        let server = LinkServer::Dhcpd { child, log: log.clone() };
        if has_started && runs {
            return Ok(server);
        }
        Err(format!("it does not start: {}", server.end()))
    }

    /// Starts Godwit with the configuration `text`.
    pub(super) fn start_godwit(
        &self,
        family: ScenarioFamily,
        text: &str,
        folder: &Path,
    ) -> Result<LinkServer, String> {
        let name = if family == ScenarioFamily::V4 { "dhcp4" } else { "dhcp6" };
        let config = folder.join("godwit.conf");
        let text =
            text.replacen("\"interfaces-config\"", &format!("{MEMBERS} \"interfaces-config\""), 1);
        fs::write(&config, text).map_err(|error| error.to_string())?;
        let mut check = Command::new(env!("CARGO_BIN_EXE_godwit"));
        let checked = check.args([name, "-t"]).arg(&config).output();
        let checked = checked.map_err(|error| error.to_string())?;
        if !checked.status.success() {
            return Err(String::from_utf8_lossy(&checked.stderr).into_owned());
        }
        let at = self.link.at_server();
        Ok(LinkServer::Godwit(ServerProcess::start_on_standard_ports(at, name, &config, folder)))
    }

    /// Opens the sockets of clients and relay agents.
    pub(super) fn clients(&self, family: ScenarioFamily) -> LinkClients {
        LinkClients::open(&self.link, family, Some(SERVER))
    }
}

/// Clients and relay agents on the link; the server under test of a scenario is behind them.
pub(crate) struct LinkClients {
    family: ScenarioFamily,
    /// Socket of clients, and that of relay agents.
    sockets: [UdpSocket; 2],
    /// Index of the interface.
    index: u32,
    /// Address of the server, for relay agents of DHCPv4.
    server: Ipv4Addr,
    pub(crate) replies: Vec<RecordedReply>,
}

impl LinkClients {
    /// Opens the sockets at the client's end of `link`.
    pub(crate) fn open(
        link: &LinkNamespaces,
        family: ScenarioFamily,
        server: Option<Ipv4Addr>,
    ) -> Self {
        let ports = if family == ScenarioFamily::V4 { [68, 67] } else { [546, 547] };
        let (sockets, index) = link.opened_at_client(|| {
            let sockets = ports.map(|port| {
                let any: SocketAddr = match family {
                    ScenarioFamily::V4 => (Ipv4Addr::UNSPECIFIED, port).into(),
                    ScenarioFamily::V6 => (Ipv6Addr::UNSPECIFIED, port).into(),
                };
                let socket = UdpSocket::bind(any).expect("the port is free");
                if family == ScenarioFamily::V4 {
                    socket.set_broadcast(true).expect("any socket may");
                }
                socket
            });
            let index = netio::interface::named(CLIENT_END).expect("it was made here").index;
            (sockets, index)
        });
        let server = server.unwrap_or(Ipv4Addr::UNSPECIFIED);
        Self { family, sockets, index, server, replies: Vec::new() }
    }

    /// Returns the socket from which `octets` leave, their destination, and the octets as sent.
    fn routed(&self, octets: &[u8]) -> (&UdpSocket, SocketAddr, Vec<u8>) {
        let [direct, relay] = &self.sockets;
        let mut sent = octets.to_vec();
        if self.family == ScenarioFamily::V6 {
            let is_relayed = octets.first() == Some(&12);
            let to = SocketAddrV6::new(ALL_SERVERS, 547, 0, self.index).into();
            return (if is_relayed { relay } else { direct }, to, sent);
        }
        let is_relayed = octets.get(24..28).is_some_and(|giaddr| giaddr != [0; 4]);
        if is_relayed {
            return (relay, SocketAddrV4::new(self.server, 67).into(), sent);
        }
        // Without an address the client takes broadcasts only.
        if let Some(flags) = sent.get_mut(10) {
            *flags |= 0x80;
        }
        (direct, SocketAddrV4::new(Ipv4Addr::BROADCAST, 67).into(), sent)
    }

    /// Records replies that came to requests that expected none.
    pub(crate) fn collect_late(&mut self) {
        for socket in &self.sockets {
            socket.set_nonblocking(true).expect("any socket may");
            let mut buffer = vec![0; 65_536];
            while let Ok(len) = socket.recv(&mut buffer) {
                let reply = buffer.get(..len).unwrap_or_default().to_vec();
                // The relay agent's socket gets the clients' broadcasts, too.
                let is_request = self.family == ScenarioFamily::V4 && reply.first() == Some(&1);
                if !is_request {
                    self.replies.push(RecordedReply { request: Vec::new(), reply: Some(reply) });
                }
            }
        }
    }
}

impl ScenarioServer for LinkClients {
    /// Sends a message. A server replies in the order of requests, so a reply to a message that
    /// expects none would come before the reply to the next one, or be there at the end.
    fn exchange(
        &mut self,
        octets: &[u8],
        expects_none: bool,
        is_answer: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, ScenarioServerError> {
        let (socket, to, sent) = self.routed(octets);
        let error_text = |error: std::io::Error| error.to_string();
        socket.send_to(&sent, to).map_err(error_text)?;
        let request = sent.clone();
        if expects_none {
            self.replies.push(RecordedReply { request, reply: None });
            return Ok(Vec::new());
        }
        let deadline = Instant::now() + PATIENCE;
        let mut buffer = vec![0; 65_536];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("no reply".to_owned());
            }
            socket
                .set_read_timeout(Some(left.max(Duration::from_millis(1))))
                .map_err(error_text)?;
            let len = socket.recv(&mut buffer).map_err(|error| format!("no reply: {error}"))?;
            let reply = buffer.get(..len).unwrap_or_default().to_vec();
            if self.family == ScenarioFamily::V4 && reply.first() == Some(&1) {
                continue;
            }
            if !is_answer(&reply) {
                return Err("a reply to an earlier message, which expected none".to_owned());
            }
            self.replies.push(RecordedReply { request, reply: Some(reply.clone()) });
            return Ok(vec![reply]);
        }
    }

    fn wait_s(&mut self, _seconds: u64) -> Result<(), ScenarioServerError> {
        Err("these scenarios do not wait".to_owned())
    }

    fn reload(&mut self, _config: &str) -> Result<(), ScenarioServerError> {
        Err("these scenarios have one configuration".to_owned())
    }

    fn command(&mut self, _command: &str) -> Result<String, ScenarioServerError> {
        Err("dhcpd has no commands".to_owned())
    }
}
