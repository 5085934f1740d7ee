//! Where a run's messages go and come from, by the command line and by what the machine has.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use netio::interface::{self, Interface};
use netio::{NetError, UdpSocket, route};

use super::args::{Args, GROUP_ALL, GROUP_SERVERS};
use super::plan::{Failure, usage};
use crate::run::socket_options;

/// Where messages go and where they come from.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) server: SocketAddr,
    pub(crate) local: SocketAddr,
    interface: Option<Interface>,
    is_broadcast: bool,
}

impl Place {
    pub(crate) fn of(args: &Args) -> Result<Self, Failure> {
        let mut interface = None;
        let mut local = None;
        if let Some(name) = &args.local {
            match (interface::named(name), name.parse::<IpAddr>()) {
                (Ok(found), _) => interface = Some(found),
                (_, Ok(address)) => local = Some(address),
                (Err(error), _) => {
                    return Err(usage(format!("-l {name}: no interface ({error}) and no address")));
                }
            }
        }
        let server = server_of(args)?;
        let is_v6 = args.is_v6();
        if local.is_some_and(|local| local.is_ipv6() != is_v6) {
            return Err(other_family(args));
        }
        let default_port = match (is_v6, args.relay) {
            (false, _) => 67,
            (true, None) => 546,
            (true, Some(_)) => 547,
        };
        let own_port = if args.local_port == 0 { default_port } else { args.local_port };
        let port = server_port(args);
        let scope = interface.as_ref().map_or(0, |interface| interface.index);
        let is_broadcast = server == IpAddr::V4(Ipv4Addr::BROADCAST);
        let server = at(server, port, scope);
        let own = match (local, &interface) {
            (Some(address), _) => address,
            (None, Some(interface)) => own_address(interface, &server)?,
            (None, None) if is_broadcast => {
                return Err(usage("SERVER `all` needs -l: an interface or an own address"));
            }
            (None, None) => route::to(server)?.local,
        };
        Ok(Self { server, local: at(own, own_port, scope), interface, is_broadcast })
    }

    /// Opens the socket.
    pub(crate) fn open(&self, args: &Args) -> Result<UdpSocket, Failure> {
        let mut options = socket_options(self.local);
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

/// A socket address; link-local ones and groups take `scope`.
fn at(address: IpAddr, port: u16, scope: u32) -> SocketAddr {
    match address {
        IpAddr::V4(address) => SocketAddrV4::new(address, port).into(),
        IpAddr::V6(address) => {
            let is_scoped = address.is_multicast() || address.is_unicast_link_local();
            SocketAddrV6::new(address, port, 0, if is_scoped { scope } else { 0 }).into()
        }
    }
}

fn other_family(args: &Args) -> Failure {
    let family = if args.is_v6() { "IPv6 (-6)" } else { "IPv4 (-4, the default)" };
    usage(format!("-l and SERVER must be addresses of {family}"))
}

fn server_of(args: &Args) -> Result<IpAddr, Failure> {
    let server: IpAddr = match (args.server.as_deref(), args.is_v6()) {
        (None | Some("all"), false) => Ipv4Addr::BROADCAST.into(),
        (None | Some("all"), true) => GROUP_ALL.into(),
        (Some("servers"), true) => GROUP_SERVERS.into(),
        (Some(text), _) => {
            text.parse().map_err(|_| usage(format!("SERVER {text}: not an address")))?
        }
    };
    if server.is_ipv6() == args.is_v6() { Ok(server) } else { Err(other_family(args)) }
}

const fn server_port(args: &Args) -> u16 {
    match (args.server_port, args.v6) {
        (0, false) => 67,
        (0, true) => 547,
        (port, _) => port,
    }
}

/// Where messages go, seen from a machine that sends none.
pub(crate) fn server(args: &Args) -> Result<SocketAddr, Failure> {
    Ok(SocketAddr::new(server_of(args)?, server_port(args)))
}

fn own_address(interface: &Interface, server: &SocketAddr) -> Result<IpAddr, Failure> {
    let wants_link_local = match server.ip() {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => ip.is_multicast() || ip.is_unicast_link_local(),
    };
    let found = if wants_link_local {
        interface.link_local().map(IpAddr::V6)
    } else {
        interface.addresses.iter().copied().find(|own| {
            let is_near = matches!(own, IpAddr::V6(own) if own.is_unicast_link_local());
            own.is_ipv4() == server.is_ipv4() && !is_near
        })
    };
    found.ok_or_else(|| {
        Failure::Environment(format!("interface {} has no address to send from", interface.name))
    })
}
