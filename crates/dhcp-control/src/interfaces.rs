//! What commands tell of the system's interfaces.

use core::net::IpAddr;

use serde_json::{Value, json};

use crate::text::colon_hex;

/// One interface of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The system's number of it.
    pub index: u32,
    /// Its hardware address, possibly empty.
    pub hardware: Vec<u8>,
    /// The hardware type (1 = Ethernet).
    pub hardware_type: u16,
    /// It is the loopback interface.
    pub is_loopback: bool,
    /// It was switched on.
    pub is_up: bool,
    /// It has a carrier.
    pub is_running: bool,
    /// It knows multicast.
    pub has_multicast: bool,
    /// It knows broadcast.
    pub has_broadcast: bool,
    /// The server serves on it.
    pub is_used: bool,
    /// Its addresses of both families.
    pub addresses: Vec<IpAddr>,
}

impl Interface {
    /// The map that `interface-list` shows of it.
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
