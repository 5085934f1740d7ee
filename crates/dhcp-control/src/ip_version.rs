//! Versions of IP, with Kea's keys and names for the DHCP servers of each.

/// Version of IP that a server leases addresses of, with the names that Kea uses for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpVersion {
    /// IPv4, which DHCPv4 serves.
    V4,
    /// IPv6, which DHCPv6 serves.
    V6,
}

impl IpVersion {
    /// Returns the number of the IP version, 4 or 6.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::V4 => 4,
            Self::V6 => 6,
        }
    }

    /// Returns the key at the top of the server's configuration: `Dhcp4` or `Dhcp6`.
    #[must_use]
    pub const fn root(self) -> &'static str {
        match self {
            Self::V4 => "Dhcp4",
            Self::V6 => "Dhcp6",
        }
    }

    /// Returns the configuration key of a list of subnets: `subnet4` or `subnet6`.
    #[must_use]
    pub const fn subnets(self) -> &'static str {
        match self {
            Self::V4 => "subnet4",
            Self::V6 => "subnet6",
        }
    }

    /// Returns Kea's name of the DHCP service: `dhcp4` or `dhcp6`.
    #[must_use]
    pub const fn service(self) -> &'static str {
        match self {
            Self::V4 => "dhcp4",
            Self::V6 => "dhcp6",
        }
    }

    /// Returns the name of the IP version in texts: `IPv4` or `IPv6`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}
