//! Addresses and interface of a run's messages, from the command line and the machine's
//! configuration.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;
use std::{io, thread};

use base::time::NS_PER_S;
use netio::interface::{self, Interface};
use netio::scoped::{ScopedAddress, own_endpoint, socket_address, with_scope};
use netio::{
    Clock, MessageOutbox, MessageRoute, NetError, SendSource, UdpSocket, neighbor, resolve, route,
    silence,
};

use super::args::{GROUP_ALL, GROUP_SERVERS, PerfdhcpArgs};
use super::plan::{PerfdhcpFailure, PerfdhcpResult, usage};
use super::relay_addresses::RelayAddresses;
use crate::frames::Frames;
use crate::link::FrameLink;
use crate::run::socket_options;
use crate::wire::GeneratorSocket;

/// Longest wait, in nanoseconds, for the kernel to report a link on an interface that was just set
/// up.
const LINK_NS: u64 = 2 * NS_PER_S;
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Address of the server, and the address and interface that a run's messages come from.
#[derive(Clone, Debug)]
pub(crate) struct RunAddresses {
    pub(crate) server: SocketAddr,
    pub(crate) local: SocketAddr,
    /// Relay addresses of the switch `-J`.
    relays: RelayAddresses,
    interface: Option<Interface>,
    is_broadcast: bool,
    /// True if clients are on the link of the interface (`--direct`).
    is_direct: bool,
}

impl RunAddresses {
    pub(crate) fn from_args(args: &PerfdhcpArgs) -> PerfdhcpResult<Self> {
        if args.direct {
            return Self::on_link(args);
        }
        let mut interface = None;
        let mut local = None;
        if let Some(name) = &args.local {
            match (interface::named(name), name.parse::<ScopedAddress>()) {
                (Ok(named), _) => interface = Some(named),
                (_, Ok(address)) => local = Some(address),
                (Err(_), _) => {
                    let address = named_host(name, args.is_v6());
                    let missing = |_| usage(format!("-l {name}: no interface, address or host"));
                    local = Some(address.map_err(missing)?);
                }
            }
        }
        let server = server_of(args)?;
        let is_v6 = args.is_v6();
        if local.is_some_and(|local| local.address.is_ipv6() != is_v6) {
            return Err(other_family(args));
        }
        let default_port = match (is_v6, args.relay) {
            (false, _) => 67,
            (true, None) => 546,
            (true, Some(_)) => 547,
        };
        let own_port = if args.local_port == 0 { default_port } else { args.local_port };
        let port = server_port(args);
        // The interface that an address names, or that of -l.
        let of_interface = interface.as_ref().map_or(0, |interface| interface.index);
        let of_local = local.map_or(0, |local| local.scope);
        let scopes = [server.scope, of_interface, of_local];
        let scope = scopes.into_iter().find(|&scope| scope > 0).unwrap_or(0);
        let is_broadcast = server.address == IpAddr::V4(Ipv4Addr::BROADCAST);
        let server = socket_address(server.address, port, scope);
        let server = with_scope(server, scope).map_err(|why| usage(format!("SERVER {why}")))?;
        let own = match (local, &interface) {
            (Some(ScopedAddress { address, .. }), _) => address,
            (None, Some(interface)) => own_address(interface, &server)?,
            (None, None) if is_broadcast => {
                return Err(usage(
                    "SERVER `all` needs -l: an interface or address of this machine",
                ));
            }
            (None, None) => route::to(server)?.local,
        };
        let local = socket_address(own, own_port, scope);
        let relays = RelayAddresses::from_args(args, own)?;
        Ok(Self { server, local, relays, interface, is_broadcast, is_direct: false })
    }

    /// Returns the addresses of a run whose clients are on the link of the interface `-l`
    /// (`--direct`).
    fn on_link(args: &PerfdhcpArgs) -> PerfdhcpResult<Self> {
        let name = args.local.as_deref().unwrap_or_default();
        let interface =
            with_link(name).map_err(|error| usage(format!("-l {name}: no interface ({error})")))?;
        if interface.is_loopback || interface.mac.is_none() {
            return Err(usage(format!("-l {name}: --direct needs an Ethernet interface")));
        }
        if !interface.is_up {
            let problem = format!("interface {name} is down, or has no link");
            return Err(PerfdhcpFailure::Environment(problem));
        }
        let [own_port, server_port] = direct_ports(args);
        Ok(Self {
            server: SocketAddrV4::new(Ipv4Addr::BROADCAST, server_port).into(),
            local: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, own_port).into(),
            relays: RelayAddresses::default(),
            interface: Some(interface),
            is_broadcast: true,
            is_direct: true,
        })
    }

    /// Returns the reason why no server has sent a reply, as far as the network says, and what to
    /// check.
    pub(crate) fn no_reply_reason(&self, args: &PerfdhcpArgs) -> String {
        let server = self.server;
        let is_one = self.is_one();
        let cause = if is_one { silence::cause(server, None) } else { None };
        cause.unwrap_or_else(|| {
            let from = self.text();
            let relay = match self.relays.list_text() {
                Some(relays) => format!("relays {relays} (-J)"),
                None => format!("relay {from}"),
            };
            let is_client = args.is_v6() && args.relay.is_none();
            let subnet = match (is_one, self.is_direct) {
                (true, _) if is_client => format!(
                    "is {server} up? A server drops what a client sends to its address (RFC 9915, \
                     section 16): write -A 1 to be a relay, or `all -l INTERFACE` for the link"
                ),
                (true, _) => format!("is {server} up, and does it have a subnet for the {relay}?"),
                (false, true) => {
                    format!("is a server on the link of {from}, with a subnet for it?")
                }
                (false, false) => format!("is a server on the link of {from}?"),
            };
            format!("no answer at all: {subnet}")
        })
    }

    /// Returns a sentence about a run in which the kernel refused all of `count` messages.
    pub(crate) fn refusal_reason(&self, count: u64) -> String {
        let (from, to) = (self.text(), self.server);
        let cause = self.refusal().err().map_or_else(String::new, |error| format!(": {error}"));
        format!("the kernel refused all {count} messages from {from} to {to}{cause}")
    }

    /// Sends an empty datagram to the server, unless the server is a group or a link; fails with
    /// the kernel's refusal.
    fn refusal(&self) -> io::Result<()> {
        if self.is_one() {
            let socket = std::net::UdpSocket::bind(own_endpoint(self.local.ip(), self.server))?;
            socket.send_to(&[], self.server)?;
        }
        Ok(())
    }

    /// Returns true if messages go to the address of one server, not to a group or by broadcast.
    fn is_one(&self) -> bool {
        !self.is_broadcast && !self.server.ip().is_multicast()
    }

    /// Fails when the kernel sends nothing from the local address to the server. Frames go past the
    /// kernel's routes.
    fn check_route(&self, args: &PerfdhcpArgs) -> PerfdhcpResult<()> {
        if !self.is_one() || args.frames.interface.is_some() {
            return Ok(());
        }
        let (own, server) = (self.local.ip(), self.server.ip());
        let connect = || {
            let socket = std::net::UdpSocket::bind(own_endpoint(own, self.server))?;
            socket.set_broadcast(args.broadcast)?;
            socket.connect(self.server)
        };
        connect().map_err(|error: io::Error| {
            PerfdhcpFailure::Environment(format!(
                "cannot send from {own} to {server}: {error}; {}",
                if error.kind() == io::ErrorKind::PermissionDenied {
                    "broadcast addresses need -B"
                } else {
                    "-l must be an address or interface that leads to SERVER"
                }
            ))
        })
    }

    /// Returns the source of the run's messages, for people: the interface of clients on its link,
    /// else an address.
    pub(crate) fn text(&self) -> String {
        match &self.interface {
            Some(interface) if self.is_direct => interface.name.clone(),
            _ => self.local.to_string(),
        }
    }

    /// Opens the socket or link of the run for messages of up to `message_bytes` bytes.
    pub(crate) fn open(
        &self,
        args: &PerfdhcpArgs,
        message_bytes: usize,
    ) -> PerfdhcpResult<GeneratorSocket> {
        if self.is_direct
            && let Some(interface) = self.interface.as_ref()
        {
            let port = self.local.port();
            let link = FrameLink::open(interface, port, message_bytes, args.answer_arp)?;
            return Ok(GeneratorSocket::on_link(link));
        }
        self.check_route(args)?;
        let socket = self.open_socket(args)?;
        let outbox = self.outbox(args, &socket, message_bytes)?;
        Ok(GeneratorSocket::new(socket, outbox, false))
    }

    /// Creates the output queue of `socket` for messages of up to `message_bytes` bytes.
    fn outbox(
        &self,
        args: &PerfdhcpArgs,
        socket: &UdpSocket,
        message_bytes: usize,
    ) -> PerfdhcpResult<MessageOutbox> {
        let sources = if self.listens_at_all_addresses() {
            vec![SendSource { address: self.local.ip(), interface: 0 }]
        } else {
            Vec::new()
        };
        let route = MessageRoute { destination: self.server, sources, segmentation: false };
        let Some(frames) = args.frames.frames() else {
            return Ok(MessageOutbox::new(route, message_bytes));
        };
        if let Some(problem) = Frames::problem(self.server) {
            return Err(PerfdhcpFailure::Usage(vec![problem]));
        }
        let outbox = frames.outbox(route, socket, 0, message_bytes)?;
        outbox.ok_or_else(|| PerfdhcpFailure::Usage(vec![neighbor::unknown(self.server.ip())]))
    }

    /// Returns true if the socket receives messages to any address of the machine, because replies
    /// go to other relay addresses than the one that messages leave from.
    fn listens_at_all_addresses(&self) -> bool {
        self.relays.needs_other_than(self.local.ip()) && !self.local.ip().is_unspecified()
    }

    /// Returns the address and port that the run's socket is bound to.
    fn bound(&self) -> SocketAddr {
        if self.listens_at_all_addresses() {
            SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, self.local.port()).into()
        } else {
            self.local
        }
    }

    /// Returns a warning to print before the run, when replies cannot arrive at this machine.
    pub(crate) fn warning(&self) -> Option<String> {
        self.relays.warning()
    }

    fn open_socket(&self, args: &PerfdhcpArgs) -> PerfdhcpResult<UdpSocket> {
        let mut options = socket_options(self.bound());
        options.broadcast = args.broadcast || self.is_broadcast;
        if self.is_broadcast {
            options.device = self.interface.as_ref().map(|interface| interface.name.clone());
        }
        let socket = UdpSocket::open(&options)?;
        if let (true, Some(interface)) = (self.server.ip().is_multicast(), &self.interface) {
            socket
                .set_multicast_route(interface.index, 1)
                .map_err(NetError::on("send multicast through", interface.name.as_str()))?;
        }
        Ok(socket)
    }
}

/// Returns the interface called `name` once it has a link, or without one after the longest wait.
fn with_link(name: &str) -> io::Result<Interface> {
    let until_ns = Clock::mono_ns() + LINK_NS;
    loop {
        let interface = interface::named(name)?;
        if interface.is_up || Clock::mono_ns() >= until_ns {
            return Ok(interface);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn other_family(args: &PerfdhcpArgs) -> PerfdhcpFailure {
    let family = if args.is_v6() { "IPv6 (-6)" } else { "IPv4 (-4, the default)" };
    usage(format!("-l and SERVER must be addresses of {family}"))
}

fn server_of(args: &PerfdhcpArgs) -> PerfdhcpResult<ScopedAddress> {
    let server: IpAddr = match (args.server.as_deref(), args.is_v6()) {
        (None | Some("all"), false) => Ipv4Addr::BROADCAST.into(),
        (None | Some("all"), true) => GROUP_ALL.into(),
        (Some("servers"), true) => GROUP_SERVERS.into(),
        (Some(text), is_v6) => {
            return match text.parse::<ScopedAddress>() {
                Ok(address) if address.address.is_ipv6() == is_v6 => Ok(address),
                Ok(_) => Err(other_family(args)),
                Err(_) => named_host(text, is_v6).map_err(|why| usage(format!("SERVER {why}"))),
            };
        }
    };
    Ok(server.into())
}

/// Returns the address of the host called `name`, of IPv6 if `is_v6`, else of IPv4.
fn named_host(name: &str, is_v6: bool) -> Result<ScopedAddress, String> {
    let endpoint = resolve::endpoint(name, Some(0), |ip| ip.is_ipv6() == is_v6)?;
    let scope = match endpoint {
        SocketAddr::V6(endpoint) => endpoint.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    Ok(ScopedAddress { address: endpoint.ip(), scope })
}

const fn server_port(args: &PerfdhcpArgs) -> u16 {
    match (args.server_port, args.v6) {
        (0, false) => 67,
        (0, true) => 547,
        (port, _) => port,
    }
}

/// Returns the UDP ports of clients on the generator's link and of their servers.
pub(crate) const fn direct_ports(args: &PerfdhcpArgs) -> [u16; 2] {
    let own_port = if args.local_port == 0 { 68 } else { args.local_port };
    [own_port, server_port(args)]
}

/// Returns the address and port of the server, for a machine that sends no messages itself.
pub(crate) fn server(args: &PerfdhcpArgs) -> PerfdhcpResult<SocketAddr> {
    Ok(server_of(args)?.with_port(server_port(args)))
}

fn own_address(interface: &Interface, server: &SocketAddr) -> PerfdhcpResult<IpAddr> {
    let wants_link_local = match server.ip() {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => ip.is_multicast() || ip.is_unicast_link_local(),
    };
    let address = if wants_link_local {
        interface.link_local().map(IpAddr::V6)
    } else {
        interface.addresses.iter().copied().find(|own| {
            let is_near = matches!(own, IpAddr::V6(own) if own.is_unicast_link_local());
            own.is_ipv4() == server.is_ipv4() && !is_near
        })
    };
    address.ok_or_else(|| {
        PerfdhcpFailure::Environment(format!(
            "interface {} has no address to send from",
            interface.name
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use clap::Parser;
    use testkit::TempFolder;

    use super::*;

    fn addresses(words: &str) -> (PerfdhcpArgs, RunAddresses) {
        let args = PerfdhcpArgs::try_parse_from(words.split(' ')).unwrap();
        let addresses = RunAddresses::from_args(&args).unwrap();
        (args, addresses)
    }

    #[test]
    fn an_own_address_that_does_not_lead_to_the_server_is_refused_before_the_run() {
        let (args, addresses) = addresses("perfdhcp -r 50 -n 20 -l 127.0.0.1 192.0.2.1");
        let Err(PerfdhcpFailure::Environment(problem)) = addresses.open(&args, 500) else {
            panic!("the generator opened a socket that sends nothing")
        };
        assert!(problem.contains("cannot send from 127.0.0.1 to 192.0.2.1: "), "{problem}");
        assert!(problem.contains("-l must be an address or interface"), "{problem}");
        let reason = addresses.refusal_reason(20);
        let expected = "refused all 20 messages from 127.0.0.1:67 to 192.0.2.1:67: ";
        assert!(reason.contains(expected) && reason.contains("os error"), "{reason}");
    }

    #[test]
    fn answers_to_every_relay_address_of_the_machine_arrive_and_others_are_named() {
        let folder = TempFolder::new("relays");
        let file = folder.path().join("relays");
        fs::write(&file, "127.0.0.1\n127.0.3.61\n192.0.2.9\n").unwrap();
        let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        server.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
        let port = server.local_addr().unwrap().port();
        // The number of a port that was free a moment ago.
        let own_port = std::net::UdpSocket::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port();
        let (args, addresses) = addresses(&format!(
            "perfdhcp -J {} -l 127.0.0.1 -L {own_port} -N {port} 127.0.0.1",
            file.display()
        ));
        let warning = addresses.warning().unwrap();
        assert!(
            warning.starts_with("-J: 192.0.2.9 is not an address of this machine"),
            "{warning}"
        );
        let reason = addresses.no_reply_reason(&args);
        assert!(reason.contains("relays 127.0.0.1, 127.0.3.61, 192.0.2.9 (-J)"), "{reason}");
        let socket = addresses.open_socket(&args).unwrap();
        let mut outbox = addresses.outbox(&args, &socket, 500).unwrap();
        outbox.slot().unwrap()[..5].copy_from_slice(b"hello");
        outbox.push(0, 5, 0);
        outbox.flush(&socket, |_, _| {}).unwrap();
        // Messages still leave from the address of -l; an empty datagram is the probe above.
        let mut buffer = [0; 16];
        let (len, source) = loop {
            let (len, source) = server.recv_from(&mut buffer).unwrap();
            if len > 0 {
                break (len, source);
            }
        };
        assert_eq!((&buffer[..len], source), (&b"hello"[..], addresses.local));
        server.send_to(b"answer", ("127.0.3.61", own_port)).unwrap();
        let mut input = netio::RecvBatch::default();
        let mut readable = [netio::PollFd::readable(&socket)];
        netio::poll(&mut readable, Some(60 * NS_PER_S)).unwrap();
        assert_eq!(input.receive(&socket).unwrap(), 1, "the answer to the second relay arrives");
        assert_eq!(input.get(0).octets, b"answer");
    }
}
