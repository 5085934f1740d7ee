//! Where DHCPv4 load goes and which relay it seems to come from.

use std::net::{Ipv4Addr, SocketAddrV4};

use netio::{NetError, UdpSocket};
use serde_json::{Value, json};

use super::protocol::Relayed;
use crate::protocol::{Door, Expect, Stages};
use crate::run::socket_options;

/// The server, and the relay that speaks to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where requests go.
    pub server: SocketAddrV4,
    /// The address and port of thread 0, which is the relay (`giaddr`) of its exchanges. Thread t
    /// is a relay of its own at the address t higher, same port, because a server answers to
    /// `giaddr`; the addresses must exist on the machine.
    pub relay: SocketAddrV4,
}

impl Target {
    /// The relay address and port of thread `thread`.
    #[must_use]
    pub fn relay_of(&self, thread: u32) -> SocketAddrV4 {
        let first = u32::from(*self.relay.ip());
        SocketAddrV4::new(Ipv4Addr::from(first.wrapping_add(thread)), self.relay.port())
    }
}

impl crate::Target for Target {
    type Protocol = Relayed;
    const TOOL: &'static str = "godwit load dhcp4";
    const STAGES: Stages = Stages {
        offers: "offers",
        grants: "acks",
        lost_before_offer: "lost_before_offer",
        lost_before_grant: "lost_before_ack",
    };

    fn problems(&self, _threads: u32) -> Vec<String> {
        if self.relay.ip().is_unspecified() {
            return vec!["--relay: must be an address that the server can answer to".into()];
        }
        Vec::new()
    }

    fn open(&self, thread: u32, _threads: u32, expect: Expect) -> Result<Door<Relayed>, NetError> {
        let relay = self.relay_of(thread);
        Ok(Door {
            socket: UdpSocket::open(&socket_options(relay))?,
            protocol: Relayed::new(*relay.ip(), expect),
            destination: self.server.into(),
            sources: Vec::new(),
        })
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        vec![("server", json!(self.server.to_string())), ("relay", json!(self.relay.to_string()))]
    }
}
