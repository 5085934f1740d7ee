//! Network interfaces of the system as control commands show them.

use core::net::IpAddr;

use serde_json::{Value, json};

use crate::text::colon_hex;

/// Network interface of the system, with the facts that `interface-list` shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceFacts {
    /// Name of the network interface.
    pub name: String,
    /// Index of the interface in the system.
    pub index: u32,
    /// Hardware address of the interface, possibly empty.
    pub hardware: Vec<u8>,
    /// Hardware type of the interface (1 = Ethernet).
    pub hardware_type: u16,
    /// True for the loopback interface.
    pub is_loopback: bool,
    /// True if the interface was switched on.
    pub is_up: bool,
    /// True if the interface has a carrier.
    pub is_running: bool,
    /// True if the interface supports multicast.
    pub has_multicast: bool,
    /// True if the interface supports broadcast.
    pub has_broadcast: bool,
    /// True if the server receives messages on the interface.
    pub is_used: bool,
    /// IP addresses of the interface, of both families.
    pub addresses: Vec<IpAddr>,
}

impl InterfaceFacts {
    /// Returns the interface as the map that `interface-list` shows.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "index": self.index,
            "mac": colon_hex(&self.hardware),
            "type": self.hardware_type,
            "flag-loopback": self.is_loopback,
            "flag-up": self.is_up,
            "flag-running": self.is_running,
            "flag-multicast": self.has_multicast,
            "flag-broadcast": self.has_broadcast,
            "in-use": self.is_used,
            "addresses": self.addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>(),
        })
    }
}
