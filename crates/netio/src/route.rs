//! Routes of the kernel to an address: the own address on the route, and the longest packet.
//! Nothing is sent.
#![allow(unsafe_code, reason = "connect")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use crate::name::{NAME_BYTES, SocketAddressBuffer};
use crate::socket_option::SocketOptions;
use crate::{NetError, UdpOptions, UdpSocket, check};

/// Route of the kernel to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRoute {
    /// Own IP address that packets on the route are sent from.
    pub local: IpAddr,
    /// Length in bytes of the longest IP packet known to pass: that of the whole path, as far as it
    /// is known.
    pub mtu_bytes: u32,
}

/// Returns the kernel's route to `remote`, whose port does not matter (but must not be 0).
///
/// # Errors
///
/// There is no route (`ENETUNREACH`), or no socket can be opened.
pub fn to(remote: SocketAddr) -> Result<AddressRoute, NetError> {
    let any = match remote {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::open(&UdpOptions::at((any, 0)))?;
    let failed = |cause| NetError::new("find a route to", remote.ip().to_string(), cause);
    let fd = socket.as_fd().as_raw_fd();
    let name = SocketAddressBuffer::from_address(remote);
    // SAFETY: `name` has NAME_BYTES octets, laid out as its family's sockaddr, and outlives the
    // call.
    check(unsafe { libc::connect(fd, (&raw const name).cast(), NAME_BYTES) }).map_err(failed)?;
    let (level, option) = if remote.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU)
    };
    let [mtu_bytes] = socket.get(level, option).map_err(failed)?;
    Ok(AddressRoute { local: socket.local_address().map_err(failed)?.ip(), mtu_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_oneself_is_loopback() {
        for address in ["127.0.0.1:9", "[::1]:9"] {
            let remote: SocketAddr = address.parse().unwrap();
            let route = to(remote).unwrap();
            assert_eq!(route.local, remote.ip());
            assert!(route.mtu_bytes >= 1_280, "{route:?}");
        }
    }
}
