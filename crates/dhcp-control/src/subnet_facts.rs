//! Properties of subnets that commands about leases use.

use base::address_bits::prefix_bounds;
use core::net::IpAddr;

/// Properties of a subnet that commands about leases use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubnetFacts {
    /// Number (`id`) of the subnet.
    pub id: u32,
    /// Address of the subnet's prefix.
    pub prefix: IpAddr,
    /// Length of the subnet's prefix, in bits.
    pub length: u8,
    /// Valid lifetime (`valid-lifetime`) of the subnet's leases, in seconds.
    pub valid_lifetime_s: u32,
}

impl SubnetFacts {
    /// Returns true if the subnet's prefix contains `address`.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let bounds = prefix_bounds(self.prefix, self.length);
        bounds.is_some_and(|(first, last)| {
            first.is_ipv4() == address.is_ipv4() && (first..=last).contains(&address)
        })
    }

    /// Returns the subnet's prefix as text, `address/length`.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}/{}", self.prefix, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_holds_the_addresses_of_its_prefix() {
        let facts = |prefix: &str, length| SubnetFacts {
            id: 1,
            prefix: prefix.parse().unwrap(),
            length,
            valid_lifetime_s: 0,
        };
        for (prefix, length, address, holds) in [
            ("192.0.2.0", 24, "192.0.2.255", true),
            ("192.0.2.0", 24, "192.0.3.0", false),
            ("0.0.0.0", 0, "255.1.2.3", true),
            ("192.0.2.1", 32, "192.0.2.2", false),
            ("192.0.2.0", 24, "::1", false),
            ("2001:db8::", 32, "2001:db8:ffff::", true),
            ("2001:db8::", 32, "2001:db9::", false),
            ("::", 0, "ffff::", true),
            ("::1", 128, "::2", false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(facts(prefix, length).contains(address), holds, "{address}");
        }
    }
}
