//! Target of DHCPv6 load: the server, the leases that clients request, and the path of messages to
//! the server (relayed or direct).

use std::net::{Ipv6Addr, SocketAddrV6};

use netio::{NetError, SendSource, UdpSocket, interface};
use serde_json::{Value, json};

use super::protocol::Dhcp6ClientMessages;
use crate::protocol::{DhcpThreadSetup, Expect, Stages};
use crate::run::socket_options;

/// Largest number of identity associations of each kind in one message of a client.
const IAS_MAX: u8 = 8;

/// Identity associations that every DHCPv6 client requests in one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedAssociations {
    /// True to request addresses (IA_NA).
    pub na: bool,
    /// True to request delegated prefixes (IA_PD).
    pub pd: bool,
    /// Number of identity associations of each kind, with IAIDs from 1 on; 1 to 8.
    pub ias: u8,
    /// True to request Rapid Commit: a REPLY to the SOLICIT is a grant (RFC 9915 §18.2.1).
    pub rapid_commit: bool,
}

impl RequestedAssociations {
    /// Request for one address in one identity association.
    pub const ADDRESS: Self = Self { na: true, pd: false, ias: 1, rapid_commit: false };

    /// Returns the number of requested identity associations for addresses.
    pub const fn addresses(self) -> u8 {
        if self.na { self.ias } else { 0 }
    }

    /// Returns the number of requested identity associations for prefixes.
    pub const fn prefixes(self) -> u8 {
        if self.pd { self.ias } else { 0 }
    }
}

/// Path of the clients' messages to the DHCPv6 server: through relay agents or directly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Messages go through relay agents, which this generator plays.
    Relayed {
        /// Source addresses of the relay agents, which must exist on the machine. One address:
        /// thread t is a relay at the address t higher. One per thread: each thread has its own.
        /// Otherwise one thread sends from all of them in turn, and their port must be the same and
        /// free on all addresses.
        relays: Vec<SocketAddrV6>,
        /// Link addresses of relayed messages, by which a server recognizes the client's link;
        /// clients use them in turn. Empty: the relay's own address.
        links: Vec<Ipv6Addr>,
    },
    /// Messages come from clients on the server's link, which send to a group from one link-local
    /// address.
    Direct {
        /// Name of the interface on the server's link.
        interface: String,
        /// UDP port of the clients.
        port: u16,
    },
}

/// DHCPv6 server that the load goes to, and the path to it (relayed or direct).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dhcp6LoadTarget {
    /// Address and port of the server.
    pub server: SocketAddrV6,
    /// Path of the clients' messages to the server: through relay agents or directly.
    pub access: Access,
    /// Identity associations that clients request.
    pub requested: RequestedAssociations,
    /// True if clients renew their leases at once, by a RENEW.
    pub renews: bool,
}

fn higher(relay: SocketAddrV6, by: u32) -> SocketAddrV6 {
    let ip = Ipv6Addr::from(u128::from(*relay.ip()).wrapping_add(by.into()));
    SocketAddrV6::new(ip, relay.port(), 0, relay.scope_id())
}

impl Dhcp6LoadTarget {
    /// Returns the relay addresses of generator thread `thread` of `threads`.
    pub fn relays_of(&self, thread: u32, threads: u32) -> Vec<SocketAddrV6> {
        match &self.access {
            Access::Direct { .. } => Vec::new(),
            Access::Relayed { relays, .. } => match relays[..] {
                [relay] => vec![higher(relay, thread)],
                _ if threads as usize == relays.len() => vec![relays[thread as usize]],
                _ => relays.clone(),
            },
        }
    }

    fn open_relays(
        &self,
        relays: &[SocketAddrV6],
        links: &[Ipv6Addr],
        expect: Expect,
    ) -> Result<DhcpThreadSetup<Dhcp6ClientMessages>, NetError> {
        let own: Vec<Ipv6Addr> = relays.iter().map(|relay| *relay.ip()).collect();
        let links = if links.is_empty() { &own } else { links };
        let (bind, sources) = match relays {
            [relay] => (*relay, Vec::new()),
            _ => (
                SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, relays[0].port(), 0, 0),
                own.iter().map(|&ip| SendSource { address: ip.into(), interface: 0 }).collect(),
            ),
        };
        Ok(DhcpThreadSetup {
            socket: UdpSocket::open(&socket_options(bind))?,
            protocol: Dhcp6ClientMessages::new(self.requested, expect, links, relays.len())
                .renewing(self.renews),
            destination: self.server.into(),
            sources,
        })
    }

    fn open_direct(
        &self,
        name: &str,
        port: u16,
        expect: Expect,
    ) -> Result<DhcpThreadSetup<Dhcp6ClientMessages>, NetError> {
        let interface = interface::named(name).map_err(NetError::on("use interface", name))?;
        let link_local = interface.link_local().ok_or_else(|| {
            let cause = std::io::ErrorKind::AddrNotAvailable.into();
            NetError::new("find a link-local address on", name, cause)
        })?;
        let bind = SocketAddrV6::new(link_local, port, 0, interface.index);
        let socket = UdpSocket::open(&socket_options(bind))?;
        socket
            .set_multicast_route(interface.index, 1)
            .map_err(NetError::on("send multicast through", name))?;
        let (ip, port) = (*self.server.ip(), self.server.port());
        let is_scoped = ip.is_multicast() || ip.is_unicast_link_local();
        let scope = if is_scoped { interface.index } else { 0 };
        Ok(DhcpThreadSetup {
            socket,
            protocol: Dhcp6ClientMessages::new(self.requested, expect, &[], 1)
                .renewing(self.renews),
            destination: SocketAddrV6::new(ip, port, 0, scope).into(),
            sources: Vec::new(),
        })
    }
}

impl crate::DhcpLoadTarget for Dhcp6LoadTarget {
    type Protocol = Dhcp6ClientMessages;
    const TOOL: &'static str = "godwit load dhcp6";
    const STAGES: Stages = Stages {
        offers: "advertises",
        grants: "replies",
        lost_before_offer: "lost_before_advertise",
        lost_before_grant: "lost_before_reply",
        refused_offers: "refused_advertises",
        refused_grants: "refused_replies",
    };

    fn problems(&self, threads: u32) -> Vec<String> {
        let mut problems = Vec::new();
        if !(1..=IAS_MAX).contains(&self.requested.ias) || !(self.requested.na || self.requested.pd)
        {
            problems.push(format!("--ias {}: must be 1 to {IAS_MAX}", self.requested.ias));
        }
        match &self.access {
            Access::Direct { .. } if threads > 1 => {
                problems
                    .push("--direct: all clients share one socket, so --threads must be 1".into());
            }
            Access::Direct { .. } => {}
            Access::Relayed { relays, .. } => {
                if relays.is_empty() || relays.iter().any(|relay| relay.ip().is_unspecified()) {
                    problems
                        .push("--relay: must be addresses that the server can answer to".into());
                }
                let (count, port) = (relays.len(), relays.first().map(SocketAddrV6::port));
                let is_shared = count > 1 && count != threads as usize;
                if is_shared && threads > 1 {
                    problems.push(format!(
                        "--relay: {count} addresses for {threads} threads; give one, as many as \
                         threads, or use one thread"
                    ));
                }
                if is_shared && relays.iter().any(|relay| Some(relay.port()) != port) {
                    problems.push("--relay: relays of one thread must have the same port".into());
                }
            }
        }
        problems
    }

    fn open(
        &self,
        thread: u32,
        threads: u32,
        expect: Expect,
    ) -> Result<DhcpThreadSetup<Dhcp6ClientMessages>, NetError> {
        match &self.access {
            Access::Direct { interface, port } => self.open_direct(interface, *port, expect),
            Access::Relayed { links, .. } => {
                self.open_relays(&self.relays_of(thread, threads), links, expect)
            }
        }
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        let ia = match (self.requested.na, self.requested.pd) {
            (true, true) => "na+pd",
            (false, true) => "pd",
            _ => "na",
        };
        let mut settings = vec![
            ("server", json!(self.server.to_string())),
            ("ia", json!(ia)),
            ("ias", json!(self.requested.ias)),
            ("rapid_commit", json!(self.requested.rapid_commit)),
            ("renew", json!(self.renews)),
        ];
        let texts = |all: &[String]| json!(all.join(","));
        match &self.access {
            Access::Direct { interface, .. } => settings.push(("direct", json!(interface))),
            Access::Relayed { relays, links } => {
                let relays: Vec<_> = relays.iter().map(ToString::to_string).collect();
                let links: Vec<_> = links.iter().map(ToString::to_string).collect();
                settings.push(("relay", texts(&relays)));
                settings.push(("link_address", texts(&links)));
            }
        }
        settings
    }
}
