//! Socket addresses of both families in the kernel's layout (`ip(7)`, `ipv6(7)`). The addresses are
//! written and read byte by byte, so one array serves as either structure and no unsafe code is
//! needed.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Bytes of a [`SocketAddressBuffer`]: `struct sockaddr_in6`. The kernel accepts this length for
/// both families.
pub(crate) const NAME_BYTES: libc::socklen_t = size_of::<SocketAddressBuffer>() as libc::socklen_t;

/// Memory for a `sockaddr_in` or a `sockaddr_in6`, aligned as both.
#[derive(Clone, Copy)]
#[repr(C, align(4))]
pub(crate) struct SocketAddressBuffer([u8; 28]);

const _: () = assert!(size_of::<SocketAddressBuffer>() == size_of::<libc::sockaddr_in6>());
const _: () = assert!(size_of::<SocketAddressBuffer>() >= size_of::<libc::sockaddr_in>());
const _: () = assert!(align_of::<SocketAddressBuffer>() == align_of::<libc::sockaddr_in6>());

impl SocketAddressBuffer {
    /// Buffer of zeros for the kernel to write a socket address into.
    pub(crate) const EMPTY: Self = Self([0; 28]);

    #[inline]
    pub(crate) fn from_address(address: SocketAddr) -> Self {
        let mut name = Self::EMPTY;
        let octets = &mut name.0;
        octets[2..4].copy_from_slice(&address.port().to_be_bytes());
        match address {
            SocketAddr::V4(v4) => {
                octets[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
                octets[4..8].copy_from_slice(&v4.ip().octets());
            }
            SocketAddr::V6(v6) => {
                octets[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
                octets[4..8].copy_from_slice(&v6.flowinfo().to_ne_bytes());
                octets[8..24].copy_from_slice(&v6.ip().octets());
                octets[24..].copy_from_slice(&v6.scope_id().to_ne_bytes());
            }
        }
        name
    }

    /// Returns the socket address in the buffer; a family other than IPv6 is read as IPv4, since a
    /// socket has no third.
    #[inline]
    pub(crate) fn address(&self) -> SocketAddr {
        let [f0, f1, p0, p1, a, b, c, d, rest @ ..] = self.0;
        let port = u16::from_be_bytes([p0, p1]);
        if u16::from_ne_bytes([f0, f1]) != libc::AF_INET6 as u16 {
            return SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port));
        }
        let (ip, scope) = rest.split_first_chunk::<16>().expect("20 octets are left");
        let scope = u32::from_ne_bytes(scope.try_into().expect("4 octets are left"));
        let flow = u32::from_ne_bytes([a, b, c, d]);
        SocketAddr::V6(SocketAddrV6::new(Ipv6Addr::from(*ip), port, flow, scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_survive_and_lie_as_the_headers_say() {
        let v4: SocketAddr = "10.1.2.3:67".parse().unwrap();
        let name = SocketAddressBuffer::from_address(v4);
        assert_eq!(name.0[2..8], [0, 67, 10, 1, 2, 3]);
        assert_eq!(name.address(), v4);
        let v6 = SocketAddrV6::new("fe80::1:2".parse().unwrap(), 547, 9, 77);
        let name = SocketAddressBuffer::from_address(v6.into());
        assert_eq!((name.0[2..4].to_vec(), &name.0[8..10]), (vec![2, 35], &[0xfe, 0x80][..]));
        assert_eq!(name.0[24..], 77_u32.to_ne_bytes());
        assert_eq!(name.address(), v6.into());
    }
}
