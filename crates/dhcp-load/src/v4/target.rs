//! Target of DHCPv4 load: the server's address, and the relay that the load seems to come from.

use std::net::{Ipv4Addr, SocketAddrV4};

use netio::{NetError, UdpSocket};
use serde_json::{Value, json};

use super::protocol::{ClientLinks, RelayedMessages};
use crate::protocol::{DhcpThreadSetup, Expect, Stages};
use crate::run::socket_options;

/// DHCPv4 server that the load goes to, and the relay that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp4LoadTarget {
    /// Address and port of the server.
    pub server: SocketAddrV4,
    /// Address and port of thread 0, which is the relay (`giaddr`) of its exchanges. Thread t is a
    /// relay of its own at the address t higher, on the same port, because a server replies to
    /// `giaddr`; the addresses must exist on the machine.
    pub relay: SocketAddrV4,
    /// Server for the requests of odd threads: the other of two servers that share a database;
    /// `None` sends all to the first.
    pub second: Option<SocketAddrV4>,
    /// Links of clients that are not on the relay's own link.
    pub links: Option<ClientLinks>,
    /// True if clients release their leases at once, with a DHCPRELEASE through the relay.
    pub releases: bool,
    /// True if clients renew their leases at once, with a DHCPREQUEST through the relay.
    pub renews: bool,
}

impl Dhcp4LoadTarget {
    /// Creates a target for the DHCPv4 server `server`, through `relay`.
    pub const fn new(server: SocketAddrV4, relay: SocketAddrV4) -> Self {
        Self { server, relay, second: None, links: None, releases: false, renews: false }
    }

    /// Returns the relay address and port of generator thread `thread`.
    pub fn relay_of(&self, thread: u32) -> SocketAddrV4 {
        let first = u32::from(*self.relay.ip());
        SocketAddrV4::new(Ipv4Addr::from(first.wrapping_add(thread)), self.relay.port())
    }

    /// Returns the address and port of the server of generator thread `thread`.
    pub fn server_of(&self, thread: u32) -> SocketAddrV4 {
        match self.second {
            Some(second) if thread % 2 == 1 => second,
            _ => self.server,
        }
    }
}

impl crate::DhcpLoadTarget for Dhcp4LoadTarget {
    type Protocol = RelayedMessages;
    const TOOL: &'static str = "godwit load dhcp4";
    const STAGES: Stages = Stages {
        offers: "offers",
        grants: "acks",
        lost_before_offer: "lost_before_offer",
        lost_before_grant: "lost_before_ack",
        refused_offers: "refused_offers",
        refused_grants: "refused_acks",
    };

    fn problems(&self, threads: u32) -> Vec<String> {
        let mut problems = Vec::new();
        if self.relay.ip().is_unspecified() {
            problems.push("--relay: must be an address that the server can answer to".into());
        }
        if self.second.is_some() && !threads.is_multiple_of(2) {
            problems.push(
                "--second-server: takes the load of every other thread; --threads must be even"
                    .into(),
            );
        }
        problems
    }

    fn open(
        &self,
        thread: u32,
        _threads: u32,
        expect: Expect,
    ) -> Result<DhcpThreadSetup<RelayedMessages>, NetError> {
        let relay = self.relay_of(thread);
        Ok(DhcpThreadSetup {
            socket: UdpSocket::open(&socket_options(relay))?,
            protocol: RelayedMessages::new(*relay.ip(), expect)
                .on_links(self.links)
                .releasing(self.releases)
                .renewing(self.renews),
            destination: self.server_of(thread).into(),
            sources: Vec::new(),
        })
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        let mut settings = vec![
            ("server", json!(self.server.to_string())),
            ("relay", json!(self.relay.to_string())),
        ];
        if let Some(ClientLinks { first, count, step }) = self.links {
            settings
                .push(("link_selection", json!(format!("{first}, {count} links, {step} apart"))));
        }
        settings.push(("release", json!(self.releases)));
        settings.push(("renew", json!(self.renews)));
        settings.extend(self.second.map(|second| ("second_server", json!(second.to_string()))));
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DhcpLoadTarget as _;

    #[test]
    fn odd_threads_speak_to_the_second_server() {
        let at = |text: &str| text.parse().unwrap();
        let mut target = Dhcp4LoadTarget::new(at("10.0.0.1:67"), at("10.0.255.254:67"));
        assert_eq!((target.server_of(0), target.server_of(1)), (target.server, target.server));
        assert_eq!(target.problems(3), Vec::<String>::new());
        target.second = Some(at("10.0.0.2:67"));
        let servers = [0, 1, 2, 3].map(|thread| target.server_of(thread).ip().octets()[3]);
        assert_eq!(servers, [1, 2, 1, 2]);
        assert_eq!(target.relay_of(1), at("10.0.255.255:67"));
        assert_eq!((target.problems(2).len(), target.problems(3).len()), (0, 1));
    }
}
