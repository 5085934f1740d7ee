//! IP addresses with their interface (RFC 4007 §11): `fe80::1%eth0`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use crate::interface;

/// IP address, with its interface if it is link-local or a multicast group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopedAddress {
    /// IP address, without the interface.
    pub address: IpAddr,
    /// Index of the address's interface; 0 if none is named.
    pub scope: u32,
}

/// Returns true if `address` belongs to a single link, so that it needs an interface.
pub const fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// Returns true if `address` may have an interface: a link-local address, or an IPv6 multicast
/// group.
const fn takes_scope(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_multicast()) || is_link_local(address)
}

/// Returns the socket address of `address` and `port`, with the interface `scope` if the address
/// takes one.
pub fn socket_address(address: IpAddr, port: u16, scope: u32) -> SocketAddr {
    let mut socket_address = SocketAddr::new(address, port);
    if let SocketAddr::V6(v6) = &mut socket_address
        && takes_scope(address)
    {
        v6.set_scope_id(scope);
    }
    socket_address
}

impl ScopedAddress {
    /// Returns the socket address with the port `port`, and with the interface if the address is
    /// link-local or a group.
    pub fn with_port(self, port: u16) -> SocketAddr {
        socket_address(self.address, port, self.scope)
    }
}

impl From<IpAddr> for ScopedAddress {
    fn from(address: IpAddr) -> Self {
        Self { address, scope: 0 }
    }
}

/// Parses an IP address with its interface, such as `fe80::1%eth0` or `fe80::1%2`, or an address
/// without an interface.
impl FromStr for ScopedAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, zone) = match text.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (text, None),
        };
        let address: IpAddr =
            address.parse().map_err(|error| format!("{address} is not an address: {error}"))?;
        let Some(zone) = zone else { return Ok(address.into()) };
        if !takes_scope(address) {
            return Err(format!("{address} is not link-local, so it takes no interface ({zone})"));
        }
        let scope = match zone.parse() {
            Ok(index) => index,
            Err(_) => interface::named(zone).map_err(|error| format!("{zone}: {error}"))?.index,
        };
        Ok(Self { address, scope })
    }
}

impl fmt::Display for ScopedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, scope } = self;
        write!(f, "{address}")?;
        if *scope > 0 { write!(f, "%{scope}") } else { Ok(()) }
    }
}

/// Returns the endpoint of a server with its interface: a link-local address without one gets the
/// interface with index `scope`.
///
/// # Errors
///
/// A text, if a link-local address has no interface at all.
pub fn with_scope(server: SocketAddr, scope: u32) -> Result<SocketAddr, String> {
    match server {
        SocketAddr::V6(v6) if is_link_local(server.ip()) && v6.scope_id() == 0 => {
            if scope == 0 {
                let ip = v6.ip();
                return Err(format!("{ip} is link-local: its interface is missing, {ip}%eth0"));
            }
            Ok(socket_address(server.ip(), server.port(), scope))
        }
        _ => Ok(server),
    }
}

/// Returns the own endpoint with the address `local` and the port 0 from which `peer` can be
/// reached: a link-local address gets the interface of `peer`.
pub fn own_endpoint(local: IpAddr, peer: SocketAddr) -> SocketAddr {
    let scope = match peer {
        SocketAddr::V6(peer) => peer.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    socket_address(local, 0, scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_goes_with_a_link_local_address_only() {
        let read = |text: &str| text.parse::<ScopedAddress>();
        let address: IpAddr = "fe80::1".parse().unwrap();
        assert_eq!(read("fe80::1%lo").unwrap(), ScopedAddress { address, scope: 1 });
        assert_eq!(read("fe80::1%77").unwrap().to_string(), "fe80::1%77");
        assert_eq!(read("fe80::1").unwrap(), address.into());
        assert_eq!(read("192.0.2.1").unwrap().scope, 0);
        assert_eq!(
            read("ff02::1:2%lo").unwrap().with_port(547),
            "[ff02::1:2%1]:547".parse().unwrap()
        );
        assert!(read("2001:db8::1%lo").unwrap_err().contains("not link-local"));
        assert!(read("fe80::1%no-such-if0").unwrap_err().contains("no-such-if0"));
        assert!(read("nonsense%lo").unwrap_err().contains("nonsense"));
    }

    #[test]
    fn the_scope_stands_where_the_kernel_looks_for_it() {
        let local = ScopedAddress { address: "fe80::1".parse().unwrap(), scope: 3 };
        assert_eq!(local.with_port(7), "[fe80::1%3]:7".parse().unwrap());
        let global = socket_address("2001:db8::1".parse().unwrap(), 7, 3);
        assert_eq!(global, "[2001:db8::1]:7".parse().unwrap());
    }
}
