//! Flags that every DCCP command has: the carrier and the settings of connections.

use std::net::{IpAddr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::time::Duration;

use base::{ToolError, ToolResult};
use clap::{Args as _, FromArgMatches as _, ValueEnum};
use dccp_link::{
    CarrierKind, CarrierOptions, ConnectOptions, ConnectionConfig, DccpError, Peer, ScopedAddress,
    ServiceCode, UDP_PORT,
};

use crate::debug::DebugTopic;
use crate::units::parse_seconds;

/// Length of a command's receive queue in datagrams; it bridges times in which the machine holds
/// the command up, and more datagrams are dropped and reported.
const RECEIVE_QUEUE_LEN: usize = 4_096;

/// Default DCCP port, the one that iperf uses for TCP and UDP.
pub const PORT: u16 = 5_001;
/// Length of a send queue that is configured as unlimited (`tx_qlen` 0), in packets.
const QUEUE_LEN_MAX: usize = 1 << 16;

/// Value of the flag `--carrier`: what carries DCCP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CarrierArg {
    /// UDP (RFC 6773); no privilege needed
    Udp,
    /// IP protocol 33, as kernels with DCCP speak it; needs root or `CAP_NET_RAW`
    Raw,
    /// The kernel's own DCCP instead of this program's (Linux up to 6.15)
    Kernel,
}

impl CarrierArg {
    /// Returns the carrier's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => CarrierName::Udp.name(),
            Self::Raw => CarrierName::Raw.name(),
            Self::Kernel => "kernel",
        }
    }
}

base::named! {
    /// Carrier of the packets of Godwit's own DCCP stack: UDP or IP.
    pub enum CarrierName {
        /// DCCP inside of UDP (RFC 6773).
        Udp = "udp",
        /// DCCP as IP protocol 33.
        Raw = "raw",
    }
}

/// Address and ports of a server, and the network interface that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DccpDestination {
    /// Address, DCCP port and UDP port of the server.
    pub peer: Peer,
    /// Index of the network interface of a link-local address; 0 for other addresses.
    pub scope: u32,
}

impl DccpDestination {
    /// Returns the server's address with its network interface.
    pub const fn address(self) -> ScopedAddress {
        ScopedAddress { address: self.peer.address, scope: self.scope }
    }

    /// Returns the server's address and DCCP port for a socket of the kernel.
    pub fn socket_address(self) -> SocketAddr {
        match self.peer.address {
            IpAddr::V4(v4) => SocketAddr::from((v4, self.peer.port)),
            IpAddr::V6(v6) => SocketAddrV6::new(v6, self.peer.port, 0, self.scope).into(),
        }
    }

    /// Returns the options with which connections to the server are made.
    pub fn options(self) -> ConnectOptions {
        ConnectOptions { scope: self.scope, ..ConnectOptions::default() }
    }
}

/// Flags for connections, which all DCCP commands have.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub struct LinkArgs {
    /// DCCP port of the server
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// Protocol that carries DCCP packets [default: udp; raw for regression and fairness]
    #[arg(long, value_enum, value_name = "CARRIER")]
    pub carrier: Option<CarrierArg>,
    /// UDP port of the server, with --carrier udp
    #[arg(long, value_name = "PORT", default_value_t = UDP_PORT)]
    pub udp_port: u16,
    /// Use IPv4 only
    #[arg(short = '4', conflicts_with = "v6")]
    pub v4: bool,
    /// Use IPv6 only
    #[arg(short = '6')]
    pub v6: bool,
    /// CCID, the congestion control, of both directions: 2 (TCP-like) or 3 (TFRC) [default: 2, or 3
    /// if the other end wants it]
    #[arg(long, value_name = "2|3", value_parser = ccid, conflicts_with_all = ["tx_ccid", "rx_ccid"])]
    pub ccid: Option<u8>,
    /// CCID of the data that this end sends: 2 or 3 [default: as for --ccid]
    #[arg(long, value_name = "2|3", value_parser = ccid)]
    pub tx_ccid: Option<u8>,
    /// CCID of the data that this end receives: 2 or 3 [default: as for --ccid]
    #[arg(long, value_name = "2|3", value_parser = ccid)]
    pub rx_ccid: Option<u8>,
    /// Service code, the purpose of the connection: a number, or SC: and up to four characters
    #[arg(long, value_name = "N|SC:TEXT", default_value = "0")]
    pub service_code: ServiceCode,
    /// Checksum coverage of sent data: 0 all, 1 none, n the first 4(n-1) bytes. The receiver must
    /// also set a value above 0; any such value accepts reduced coverage. No effect over UDP
    #[arg(long, value_name = "0..15", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=15))]
    pub cscov: u8,
    /// Seconds to wait for the server's Response, and then for any other packet [default: 10]
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub connect_timeout: Option<Duration>,
    /// Print events of connections to standard error; separate several topics with commas
    #[arg(long, value_enum, value_name = "TOPIC", value_delimiter = ',')]
    pub debug: Vec<DebugTopic>,
    /// Set a DCCP parameter by its name in Linux's /proc/sys/net/dccp/default: `seq_window`,
    /// `rx_ccid`, `tx_ccid`, `request_retries`, `tx_qlen`, `sync_ratelimit`
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,
}

/// Flags of a command line that gives none.
impl Default for LinkArgs {
    fn default() -> Self {
        let matches = Self::augment_args(clap::Command::new("link")).get_matches_from(["link"]);
        Self::from_arg_matches(&matches).expect("every flag has a default or may be left out")
    }
}

fn ccid(word: &str) -> Result<u8, String> {
    match word {
        "2" => Ok(2),
        "3" => Ok(3),
        _ => Err("must be 2 or 3".to_owned()),
    }
}

impl LinkArgs {
    /// Returns the settings of connections that the flags request, with a connect timeout of 10 s
    /// by default.
    ///
    /// # Errors
    ///
    /// Returns the reason why a parameter is wrong.
    pub fn config(&self) -> ToolResult<ConnectionConfig> {
        let mut config = ConnectionConfig {
            service_code: self.service_code,
            send_coverage: self.cscov,
            minimum_coverage: u8::from(self.cscov > 0),
            connect_timeout_ns: 10_000_000_000,
            receive_queue_len: RECEIVE_QUEUE_LEN,
            ..ConnectionConfig::default()
        };
        for parameter in &self.parameters {
            set(&mut config, parameter)?;
        }
        if let Some(timeout) = self.connect_timeout {
            config.connect_timeout_ns = timeout.as_nanos() as u64;
        }
        if let Some(ccid) = self.tx_ccid.or(self.ccid) {
            config.tx_ccids = vec![ccid];
        }
        if let Some(ccid) = self.rx_ccid.or(self.ccid) {
            config.rx_ccids = vec![ccid];
        }
        if config.service_code == ServiceCode::INVALID {
            return Err(ToolError::Usage("the service code 4294967295 means no service".into()));
        }
        Ok(config)
    }

    /// Checks the connection flags of a command that starts other programs, which make the
    /// connections.
    ///
    /// # Errors
    ///
    /// Returns an error when `--debug` is given, or a parameter is wrong.
    pub fn check_handed_on(&self) -> ToolResult<()> {
        if !self.debug.is_empty() {
            let text = "--debug: other programs that this command starts have the connections; use \
                        --debug with perf";
            return Err(ToolError::Usage(text.to_owned()));
        }
        self.config().map(drop)
    }

    /// Returns true if `--set` names the parameter `name`.
    pub fn sets(&self, name: &str) -> bool {
        let names = |parameter: &String| parameter.split_once('=').is_some_and(|(n, _)| n == name);
        self.parameters.iter().any(names)
    }

    /// Returns the carrier that the flags request, UDP by default.
    pub fn carrier(&self) -> CarrierArg {
        self.carrier.unwrap_or(CarrierArg::Udp)
    }

    /// Returns the carrier of Godwit's own DCCP stack, `default` if no flag names one.
    ///
    /// # Errors
    ///
    /// Returns an error when the flags request the kernel's DCCP, which the command cannot use.
    pub fn own_carrier(&self, default: CarrierName) -> ToolResult<CarrierName> {
        match self.carrier {
            None => Ok(default),
            Some(CarrierArg::Udp) => Ok(CarrierName::Udp),
            Some(CarrierArg::Raw) => Ok(CarrierName::Raw),
            Some(CarrierArg::Kernel) => Err(no_kernel()),
        }
    }

    /// Returns the CCIDs of the congestion controls of the data that this end sends and receives.
    /// Without flags, the first CCID is `default`, and the second is equal to the first.
    pub fn ccids(&self, default: u8) -> (u8, u8) {
        let tx = self.tx_ccid.or(self.ccid).unwrap_or(default);
        (tx, self.rx_ccid.or(self.ccid).unwrap_or(tx))
    }

    /// Returns the connection flags that both ends have in common, for programs that this one
    /// starts: all but the carrier and congestion control.
    pub fn shared_flags(&self) -> String {
        let mut words = format!(
            "--port {} --udp-port {} --service-code {} --cscov {}",
            self.port, self.udp_port, self.service_code, self.cscov
        );
        for parameter in &self.parameters {
            words += &format!(" --set {parameter}");
        }
        words
    }

    /// Returns the carrier options of a server's sockets.
    ///
    /// # Errors
    ///
    /// Returns an error when the carrier is the kernel, whose sockets the caller does not use.
    pub fn server_carrier(&self) -> ToolResult<CarrierOptions> {
        let mut options = CarrierOptions::new(self.kind(self.udp_port)?);
        options.addresses.retain(|address| self.takes(*address));
        Ok(options)
    }

    /// Returns the carrier options of a client's socket for connections to `peer`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LinkArgs::server_carrier`].
    pub fn client_carrier(&self, peer: Peer) -> ToolResult<CarrierOptions> {
        Ok(CarrierOptions::towards(self.kind(0)?, peer.address))
    }

    fn kind(&self, udp_port: u16) -> ToolResult<CarrierKind> {
        Ok(match self.own_carrier(CarrierName::Udp)? {
            CarrierName::Udp => CarrierKind::Udp { port: udp_port },
            CarrierName::Raw => CarrierKind::Raw { answers_all_ports: false },
        })
    }

    /// Returns the error for a client that got no answer from its server within `timeout`.
    pub(crate) fn no_answer_error(&self, to: DccpDestination, timeout: Duration) -> ToolError {
        let (address, ports, seconds) =
            (to.address(), self.describe_ports(), timeout.as_secs_f64());
        ToolError::Failed(format!("no answer from {address}, {ports}, within {seconds} s"))
    }

    const fn takes(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(_) => !self.v6,
            IpAddr::V6(_) => !self.v4,
        }
    }

    /// Returns the server with this host name or address; a link-local address needs its interface:
    /// `fe80::1%eth0`.
    ///
    /// # Errors
    ///
    /// Returns an error when the server has no address of the requested family, or the interface is
    /// missing or does not exist.
    pub fn destination(&self, host: &str) -> ToolResult<DccpDestination> {
        let ScopedAddress { address, scope } = peer_address(host, self.port, self.v4, self.v6)?;
        let peer = Peer { address, port: self.port, udp_port: self.udp_port };
        let is_link_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        if is_link_local && scope == 0 {
            return Err(ToolError::Usage(DccpError::NoScope(peer).to_string()));
        }
        Ok(DccpDestination { peer, scope })
    }

    /// Returns a description of the ports at which a server listens, for users.
    pub fn describe_ports(&self) -> String {
        match self.carrier() {
            CarrierArg::Udp => format!("DCCP port {} in UDP port {}", self.port, self.udp_port),
            CarrierArg::Raw => format!("DCCP port {} over IP", self.port),
            CarrierArg::Kernel => format!("DCCP port {} of the kernel", self.port),
        }
    }
}

/// Returns the error for `--carrier kernel` with a command that needs Godwit's own DCCP stack.
fn no_kernel() -> ToolError {
    let text = "--carrier kernel: this command needs Godwit's own stack; use udp or raw. Only \
                send, recv, ttcp, perf and conformance --listen can use the kernel's DCCP";
    ToolError::Usage(text.to_owned())
}

/// Returns the first address of a host that belongs to a requested version of IP.
fn peer_address(
    host: &str,
    port: u16,
    is_v4_only: bool,
    is_v6_only: bool,
) -> ToolResult<ScopedAddress> {
    let addresses = if host.contains('%') {
        let address: ScopedAddress =
            host.parse().map_err(|why| ToolError::Usage(format!("{host}: {why}")))?;
        vec![address]
    } else {
        let addresses = (host, port)
            .to_socket_addrs()
            .map_err(|error| ToolError::Failed(format!("cannot resolve {host}: {error}")))?;
        addresses.map(scoped).collect()
    };
    let is_wanted = |candidate: &ScopedAddress| match candidate.address {
        IpAddr::V4(_) => !is_v6_only,
        IpAddr::V6(_) => !is_v4_only,
    };
    let address = addresses.into_iter().find(is_wanted);
    let family = if is_v6_only { "IPv6" } else { "IPv4" };
    address.ok_or_else(|| ToolError::Failed(format!("{host} has no {family} address")))
}

/// Returns an address that the resolver found, with its scope.
const fn scoped(resolved: SocketAddr) -> ScopedAddress {
    let scope = match resolved {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(v6) => v6.scope_id(),
    };
    ScopedAddress { address: resolved.ip(), scope }
}

/// Sets a connection parameter that `--set` gives by its name in Linux.
fn set(config: &mut ConnectionConfig, parameter: &str) -> ToolResult<()> {
    let wrong = |text: String| Err(ToolError::Usage(format!("--set {parameter}: {text}")));
    let Some((name, value)) = parameter.split_once('=') else {
        return wrong("must be NAME=VALUE".into());
    };
    let Ok(value) = value.parse::<u64>() else { return wrong("the value is not a number".into()) };
    match (name, value) {
        ("seq_window", 32..=0xffff_ffff) => config.sequence_window = value,
        ("tx_ccid", 2 | 3) => config.tx_ccids = preferring(value as u8),
        ("rx_ccid", 2 | 3) => config.rx_ccids = preferring(value as u8),
        ("request_retries", 0..=255) => {
            // Requests wait for 1, 2, 4 ... seconds, 64 at most.
            let seconds: u64 = (0..=value).map(|retry| 1 << retry.min(6)).sum();
            config.connect_timeout_ns = seconds * 1_000_000_000;
        }
        ("tx_qlen", 0) => config.send_queue_len = QUEUE_LEN_MAX,
        ("tx_qlen", 1..=0xffff) => config.send_queue_len = value as usize,
        ("sync_ratelimit", 0..=60_000) => config.sync_period_ns = value * 1_000_000,
        ("retries1" | "retries2", _) => return wrong("Godwit has no such parameter".into()),
        (
            "seq_window" | "tx_ccid" | "rx_ccid" | "request_retries" | "tx_qlen" | "sync_ratelimit",
            _,
        ) => {
            return wrong("the value is out of range".into());
        }
        _ => return wrong("Linux has no DCCP parameter of this name".into()),
    }
    Ok(())
}

fn preferring(ccid: u8) -> Vec<u8> {
    vec![ccid, 5 - ccid]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coverage_out_of_range_is_refused_with_the_range() {
        let command = LinkArgs::augment_args(clap::Command::new("link"));
        let parsed = |value| command.clone().try_get_matches_from(["link", "--cscov", value]);
        assert!(parsed("15").is_ok());
        let message = parsed("16").expect_err("15 is the most").to_string();
        assert!(message.contains("16 is not in 0..=15"), "{message}");
    }

    #[test]
    fn link_local_addresses_come_with_their_interface() {
        let flags = LinkArgs::default();
        for host in ["fe80::1%lo", "fe80::1%1"] {
            let destination = flags.destination(host).unwrap();
            assert_eq!(destination.address().to_string(), "fe80::1%1");
            assert_eq!(destination.options().scope, 1);
        }
        assert_eq!(flags.destination("::1").unwrap().scope, 0);
        let refused = |flags: &LinkArgs, host: &str| match flags.destination(host) {
            Err(ToolError::Usage(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(refused(&flags, "fe80::1").contains("fe80::1%eth0"));
        assert!(refused(&flags, "fe80::1%no-such-if0").contains("no-such-if0"));
        assert!(refused(&flags, "::1%lo").contains("not link-local"));
        let v4 = LinkArgs { v4: true, ..LinkArgs::default() };
        assert!(matches!(v4.destination("fe80::1%lo"), Err(ToolError::Failed(_))));
    }
}
