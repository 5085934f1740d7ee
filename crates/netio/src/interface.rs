//! Network interfaces of the machine with name, index and addresses, as `getifaddrs(3)` lists them
//! for the calling thread's network namespace.
#![allow(unsafe_code, reason = "getifaddrs")]

use std::ffi::CStr;
use std::io;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::check;

/// Largest length of a hardware address that `getifaddrs` reports, in bytes.
const LINK_LAYER_MAX: usize = 24;

/// Network interface of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// Index of the interface, which is also the scope of its link-local addresses.
    pub index: u32,
    /// True if the interface is up and running, so that frames can pass.
    pub is_up: bool,
    /// True if the operator has set the interface up, whether frames can pass or not.
    pub is_set_up: bool,
    /// True if the interface is a loopback interface.
    pub is_loopback: bool,
    /// True if the interface can carry multicast.
    pub is_multicast: bool,
    /// Hardware address of the interface; `None` unless it has six bytes.
    pub mac: Option<[u8; 6]>,
    /// Hardware address of the interface, of any length, with its type (`ARPHRD_...`, which IANA's
    /// hardware types are a part of); `None` without one.
    pub link_layer: Option<(u16, Vec<u8>)>,
    /// Addresses of the interface of both families, in the kernel's order. An IPv6 address may
    /// still be tentative (RFC 4862 §5.4); a socket cannot bind to it then.
    pub addresses: Vec<IpAddr>,
}

impl Interface {
    /// Returns the first link-local IPv6 address of the interface (RFC 4291 §2.5.6).
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        self.addresses.iter().find_map(|address| match address {
            IpAddr::V6(address) if address.is_unicast_link_local() => Some(*address),
            _ => None,
        })
    }
}

/// List of interfaces from `getifaddrs`, freed when dropped.
struct InterfaceAddressList(*mut libc::ifaddrs);

impl Drop for InterfaceAddressList {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `getifaddrs` and is freed once.
        unsafe { libc::freeifaddrs(self.0) };
    }
}

/// Returns all interfaces of the calling thread's network namespace, in ascending order of index.
///
/// # Errors
///
/// The error of `getifaddrs(3)`.
pub fn list() -> io::Result<Vec<Interface>> {
    let mut first = std::ptr::null_mut();
    // SAFETY: `first` is writable; on success it leads to a list that `InterfaceAddressList` frees.
    check(unsafe { libc::getifaddrs(&raw mut first) })?;
    let owned = InterfaceAddressList(first);
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut next = owned.0;
    // SAFETY: `next` is null or leads to an entry of the list that `owned` keeps alive.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: every entry has a name that ends in a zero.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        // SAFETY: as for the name.
        let index = unsafe { libc::if_nametoindex(entry.ifa_name) };
        if index == 0 {
            // The interface was removed since the list was made.
            continue;
        }
        let position = interfaces.iter().position(|known| known.index == index);
        let position = position.unwrap_or_else(|| {
            interfaces.push(blank(&name.to_string_lossy(), index, entry.ifa_flags));
            interfaces.len() - 1
        });
        note_address(&mut interfaces[position], entry);
    }
    interfaces.sort_by_key(|interface| interface.index);
    Ok(interfaces)
}

/// Returns the interface called `name` in the calling thread's network namespace.
///
/// # Errors
///
/// The errors of [`list`], and ENODEV if there is none.
pub fn named(name: &str) -> io::Result<Interface> {
    let interface = list()?.into_iter().find(|interface| interface.name == name);
    interface.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
}

fn blank(name: &str, index: u32, flags: u32) -> Interface {
    let has = |flag: libc::c_int| flags & flag.cast_unsigned() != 0;
    Interface {
        name: name.to_owned(),
        index,
        is_up: has(libc::IFF_UP) && has(libc::IFF_RUNNING),
        is_set_up: has(libc::IFF_UP),
        is_loopback: has(libc::IFF_LOOPBACK),
        is_multicast: has(libc::IFF_MULTICAST),
        mac: None,
        link_layer: None,
        addresses: Vec::new(),
    }
}

fn note_address(interface: &mut Interface, entry: &libc::ifaddrs) {
    // SAFETY: null, or a socket address whose first member is its family.
    let Some(address) = (unsafe { entry.ifa_addr.as_ref() }) else { return };
    match i32::from(address.sa_family) {
        libc::AF_INET => {
            // SAFETY: an address of this family is a sockaddr_in; the C library aligns entries.
            let v4 = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            let octets = v4.sin_addr.s_addr.to_ne_bytes();
            interface.addresses.push(Ipv4Addr::from(octets).into());
        }
        libc::AF_INET6 => {
            // SAFETY: an address of this family is a sockaddr_in6.
            let v6 = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            interface.addresses.push(Ipv6Addr::from(v6.sin6_addr.s6_addr).into());
        }
        libc::AF_PACKET => {
            // SAFETY: an address of this family is a sockaddr_ll.
            let link = unsafe { entry.ifa_addr.cast::<libc::sockaddr_ll>().read_unaligned() };
            let len = usize::from(link.sll_halen);
            if len == 0 || len > LINK_LAYER_MAX {
                return;
            }
            // SAFETY: behind the header of a sockaddr_ll, glibc and musl keep LINK_LAYER_MAX bytes
            // for the address, as addresses may be longer than the 8 bytes of the structure.
            let octets = unsafe {
                let at = entry.ifa_addr.cast::<u8>().add(offset_of!(libc::sockaddr_ll, sll_addr));
                std::slice::from_raw_parts(at, len)
            };
            interface.mac = octets.try_into().ok();
            interface.link_layer = Some((link.sll_hatype, octets.to_vec()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_the_first_interface_and_found_by_name() {
        let loopback = named("lo").unwrap();
        assert_eq!((loopback.index, loopback.is_up, loopback.is_loopback), (1, true, true));
        assert!(loopback.addresses.contains(&Ipv4Addr::LOCALHOST.into()));
        assert!(loopback.addresses.contains(&Ipv6Addr::LOCALHOST.into()));
        assert_eq!((loopback.mac, loopback.link_local()), (Some([0; 6]), None));
        assert_eq!(loopback.link_layer, Some((libc::ARPHRD_LOOPBACK, vec![0; 6])));
        assert_eq!(list().unwrap()[0], loopback);
        assert_eq!(named("no-such-if0").unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
