//! Addresses, ports and prefixes that a measurement of DHCPv4, DHCPv6 or DNS uses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use measure::plan::MeasuredProtocol;

/// Version of IP, and of DHCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFamily {
    /// IP version 4, and DHCPv4.
    V4,
    /// IP version 6, and DHCPv6.
    V6,
}

/// Addresses and ports that a plan's protocol uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolAddressing {
    /// Protocol that the plan measures.
    pub protocol: MeasuredProtocol,
    /// Subnet that contains every pool and, in namespaces, both ends of the link.
    pub subnet: (IpAddr, u8),
    /// Address of the generator in network namespaces. For DHCP it is a relay agent's: as giaddr
    /// (RFC 2131) or link-address (RFC 9915) it also selects the subnet.
    pub relay: IpAddr,
    /// Loopback address of this machine, used without namespaces.
    pub loopback: IpAddr,
    /// UDP port at which servers receive messages.
    pub port: u16,
    /// UDP port of the generator in network namespaces; 0 for any port.
    pub relay_port: u16,
    /// First address of address pools; the addresses below it belong to machines of the link.
    pool: IpAddr,
    /// Largest number of addresses in a pool.
    pub largest_pool: u32,
}

const V4: ProtocolAddressing = ProtocolAddressing {
    protocol: MeasuredProtocol::Dhcp4,
    subnet: (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
    relay: IpAddr::V4(Ipv4Addr::new(10, 0, 255, 254)),
    loopback: IpAddr::V4(Ipv4Addr::LOCALHOST),
    port: 67,
    relay_port: 67,
    pool: IpAddr::V4(Ipv4Addr::new(10, 1, 0, 0)),
    // Up to the end of the subnet, without its broadcast address.
    largest_pool: 0x00fe_ffff,
};

const V6: ProtocolAddressing = ProtocolAddressing {
    protocol: MeasuredProtocol::Dhcp6,
    // The prefix for documentation (RFC 3849); 64 bits because dnsmasq takes no shorter one.
    subnet: (IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0)), 64),
    relay: IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xffff)),
    loopback: IpAddr::V6(Ipv6Addr::LOCALHOST),
    port: 547,
    relay_port: 547,
    pool: IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 1, 0, 0)),
    largest_pool: u32::MAX,
};

/// Addresses and ports of DNS, which uses the addresses of DHCPv4 and has no pools.
const DNS: ProtocolAddressing =
    ProtocolAddressing { protocol: MeasuredProtocol::Dns, port: 53, relay_port: 0, ..V4 };

impl ProtocolAddressing {
    /// Returns the addresses and ports of `protocol`.
    pub const fn for_protocol(protocol: MeasuredProtocol) -> Self {
        match protocol {
            MeasuredProtocol::Dhcp4 => V4,
            MeasuredProtocol::Dhcp6 => V6,
            MeasuredProtocol::Dns => DNS,
        }
    }

    /// Returns the address of the server at `position` of the plan in network namespaces.
    pub fn server(self, position: usize) -> IpAddr {
        plus(self.subnet.0, position as u32 + 1)
    }

    /// Returns the addresses of `count` relay agents, the first of which has `first`.
    pub fn relays(self, first: IpAddr, count: u32) -> Vec<IpAddr> {
        (0..count).map(|further| plus(first, further)).collect()
    }

    /// Returns first and last address of a pool of `size` addresses; at most
    /// [`ProtocolAddressing::largest_pool`].
    pub fn pool(self, size: u32) -> (IpAddr, IpAddr) {
        (self.pool, plus(self.pool, size.clamp(1, self.largest_pool) - 1))
    }

    /// Returns the address by which servers choose the subnet of messages from the relay agent
    /// `relay`: in DHCPv4 its own (giaddr), in DHCPv6 the link-address of the Relay-forward
    /// message, which need not be the relay's own.
    pub const fn link(self, relay: IpAddr) -> IpAddr {
        match self.version() {
            AddressFamily::V4 => relay,
            AddressFamily::V6 => self.relay,
        }
    }

    /// Returns the version of IP that the protocol uses, which is also that of DHCP.
    pub const fn version(self) -> AddressFamily {
        if self.relay.is_ipv4() { AddressFamily::V4 } else { AddressFamily::V6 }
    }
}

fn plus(address: IpAddr, more: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from(u32::from(address) + more).into(),
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) + u128::from(more)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_stay_inside_the_subnet_and_off_the_link() {
        assert_eq!(V4.pool(1).0, V4.pool(1).1);
        assert_eq!(V4.pool(256).1, Ipv4Addr::new(10, 1, 0, 255));
        assert_eq!(V4.pool(u32::MAX).1, Ipv4Addr::new(10, 255, 255, 254));
        let (first, last) = V6.pool(u32::MAX);
        assert_eq!(first.to_string(), "2001:db8::1:0:0");
        assert_eq!(last.to_string(), "2001:db8::1:ffff:fffe");
        for family in [V4, V6, DNS] {
            assert!(family.server(200) < family.relay && family.relay < family.pool(1).0);
        }
    }
}
