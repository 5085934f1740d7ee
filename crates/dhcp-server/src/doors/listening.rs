//! What `interfaces-config` of either family says about doors.

use std::net::IpAddr;

use dhcp_config::{
    InterfaceSelection, InterfacesConfig, InterfacesConfig6, OutboundInterface, SocketType,
};

/// Where to listen, and what to do about sockets that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listening {
    /// What is listened to at each interface.
    pub(super) manner: Manner,
    /// `"*"` is among the entries.
    pub(super) everywhere: bool,
    /// The other entries: a name, and an address when one is given.
    pub(super) named: Vec<(String, Option<IpAddr>)>,
    /// Interfaces that come, go or change are noticed.
    pub(super) re_detect: bool,
    /// Without all sockets there is no server.
    pub(super) require_all: bool,
    /// Further tries to open sockets, and the time between them.
    pub(super) max_retries: u32,
    pub(super) retry_wait_ms: u32,
}

/// The ways of listening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// IPv4 with packet sockets, for clients on the link.
    Raw4,
    /// IPv4 without.
    Udp4,
    /// The same at addresses instead of interfaces, so that the routing table can choose another
    /// interface for what is sent to relay agents.
    Routed4,
    /// IPv6: the link-local address, the groups, and the addresses that are named.
    Udp6,
}

impl Listening {
    /// Of a DHCPv4 server.
    pub(crate) fn v4(config: &InterfacesConfig) -> Self {
        let (everywhere, named) = split(&config.interfaces);
        Self {
            manner: match (config.socket_type, config.outbound) {
                // As in Kea, whose frames for packet sockets name the interface.
                (SocketType::Raw, _) => Manner::Raw4,
                (SocketType::Udp, OutboundInterface::SameAsInbound) => Manner::Udp4,
                (SocketType::Udp, OutboundInterface::UseRouting) => Manner::Routed4,
            },
            everywhere,
            named,
            re_detect: config.re_detect,
            require_all: config.require_all_sockets,
            max_retries: config.socket_max_retries,
            retry_wait_ms: config.socket_retry_wait_ms,
        }
    }

    /// Of a DHCPv6 server.
    pub(crate) fn v6(config: &InterfacesConfig6) -> Self {
        let (everywhere, named) = split(&config.interfaces);
        Self {
            manner: Manner::Udp6,
            everywhere,
            named,
            re_detect: config.re_detect,
            require_all: config.require_all_sockets,
            max_retries: config.socket_max_retries,
            retry_wait_ms: config.socket_retry_wait_ms,
        }
    }

    /// True when there is nothing to listen at.
    pub(crate) const fn is_empty(&self) -> bool {
        !self.everywhere && self.named.is_empty()
    }
}

type Entries = (bool, Vec<(String, Option<IpAddr>)>);

fn split<A: Copy + Into<IpAddr>>(entries: &[InterfaceSelection<A>]) -> Entries {
    let mut named = Vec::new();
    let mut everywhere = false;
    for entry in entries {
        match entry {
            InterfaceSelection::All => everywhere = true,
            InterfaceSelection::Named { name, address } => {
                named.push((name.clone(), address.map(Into::into)));
            }
        }
    }
    (everywhere, named)
}
