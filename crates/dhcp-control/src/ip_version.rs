//! Versions of IP.

/// Version of IP, with the names that Kea uses for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpVersion {
    /// DHCPv4.
    V4,
    /// DHCPv6.
    V6,
}

impl IpVersion {
    /// Returns 4 or 6.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::V4 => 4,
            Self::V6 => 6,
        }
    }

    /// Returns the key of the whole configuration.
    #[must_use]
    pub const fn root(self) -> &'static str {
        match self {
            Self::V4 => "Dhcp4",
            Self::V6 => "Dhcp6",
        }
    }

    /// Returns the key of a list of subnets.
    #[must_use]
    pub const fn subnets(self) -> &'static str {
        match self {
            Self::V4 => "subnet4",
            Self::V6 => "subnet6",
        }
    }

    /// Returns Kea's name of the service: `dhcp4`.
    #[must_use]
    pub const fn service(self) -> &'static str {
        match self {
            Self::V4 => "dhcp4",
            Self::V6 => "dhcp6",
        }
    }

    /// Returns the name in texts: `IPv4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}
