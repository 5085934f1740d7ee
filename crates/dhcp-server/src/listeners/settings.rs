//! Settings of the listeners that `interfaces-config` of either family requires.

use std::net::IpAddr;

use base::{V4, V6};
use dhcp_config::{
    ConfigTypes, InterfaceSelection, InterfacesConfig, OutboundInterface, SocketType,
};

/// Settings of a server's listeners: addresses to listen at, and the handling of sockets that
/// cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenerSettings {
    /// Kinds of sockets that the server opens at each interface.
    pub(super) mode: ListenerMode,
    /// True if the configuration's `interfaces` contain `"*"`.
    pub(super) everywhere: bool,
    /// Other entries of `interfaces`: the name of an interface, and an address when one is given.
    pub(super) entries: Vec<(String, Option<IpAddr>)>,
    /// True if the server follows changes of the machine's interfaces (`re-detect`).
    pub(super) re_detect: bool,
    /// True if the server does not start without all listener sockets
    /// (`service-sockets-require-all`).
    pub(super) require_all: bool,
    /// Number of further tries to open sockets (`service-sockets-max-retries`), `retry_wait_ms`
    /// milliseconds apart.
    pub(super) max_retries: u32,
    pub(super) retry_wait_ms: u32,
}

/// Kind of sockets at which a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListenerMode {
    /// IPv4 with packet sockets, for clients on the link (`dhcp-socket-type` `raw`).
    Raw4,
    /// IPv4 without packet sockets, with UDP sockets bound to interfaces (`dhcp-socket-type`
    /// `udp`).
    Udp4,
    /// IPv4 without packet sockets, at addresses instead of interfaces, so that the routing table
    /// can choose another interface for replies to relay agents.
    Routed4,
    /// IPv6 with UDP sockets at the link-local address, the multicast groups, and the addresses
    /// that are named.
    Udp6,
}

impl ListenerSettings {
    /// Returns the listener settings that a DHCPv4 server's configuration requires.
    pub(crate) fn v4(config: &InterfacesConfig<V4>) -> Self {
        let mode = match (config.own.socket_type, config.own.outbound) {
            // As in Kea, whose frames for packet sockets name the interface.
            (SocketType::Raw, _) => ListenerMode::Raw4,
            (SocketType::Udp, OutboundInterface::SameAsInbound) => ListenerMode::Udp4,
            (SocketType::Udp, OutboundInterface::UseRouting) => ListenerMode::Routed4,
        };
        Self::new(mode, config)
    }

    /// Returns the listener settings that a DHCPv6 server's configuration requires.
    pub(crate) fn v6(config: &InterfacesConfig<V6>) -> Self {
        Self::new(ListenerMode::Udp6, config)
    }

    fn new<F: ConfigTypes<IpAddress: Into<IpAddr>>>(
        mode: ListenerMode,
        config: &InterfacesConfig<F>,
    ) -> Self {
        let mut entries = Vec::new();
        let mut everywhere = false;
        for selection in &config.interfaces {
            match selection {
                InterfaceSelection::All => everywhere = true,
                InterfaceSelection::Named { name, address } => {
                    entries.push((name.clone(), address.map(Into::into)));
                }
            }
        }
        Self {
            mode,
            everywhere,
            entries,
            re_detect: config.re_detect,
            require_all: config.require_all_sockets,
            max_retries: config.socket_max_retries,
            retry_wait_ms: config.socket_retry_wait_ms,
        }
    }

    /// Returns true if the settings have no interface to listen at.
    pub(crate) const fn is_empty(&self) -> bool {
        !self.everywhere && self.entries.is_empty()
    }
}
