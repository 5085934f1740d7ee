//! DHCPv6 identities of the simulated clients, and their leases.

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

use crate::identities::{colon_hex, mac_of};
use crate::leases::LeasedResource;

/// Length of a simulated client's DUID, in bytes.
pub const DUID_LEN: usize = 14;
/// Offset of the hardware address in a simulated client's DUID, in bytes.
pub const DUID_MAC: usize = 8;

/// Returns the DUID of client `client`: a DUID-LLT (RFC 9915 §11.2) over Ethernet with a fixed
/// time.
pub const fn duid_of(client: u32) -> [u8; DUID_LEN] {
    let [a, b, c, d, e, f] = mac_of(client);
    [0, 1, 0, 1, 0x2a, 0, 0, 0, a, b, c, d, e, f]
}

/// Returns the link-local address of the client with hardware address `mac`, with the interface
/// identifier that RFC 4291 appendix A derives from it.
pub const fn link_local_of(mac: [u8; 6]) -> [u8; 16] {
    let [a, b, c, d, e, f] = mac;
    [0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f]
}

/// Returns the link-local address of client `client`.
pub const fn peer_of(client: u32) -> [u8; 16] {
    link_local_of(mac_of(client))
}

/// Identity of one DHCPv6 client: the values in its messages, which replies to it must name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageIdentity<'a> {
    /// DUID of the client.
    pub duid: &'a [u8],
    /// Link-local address of the client, the peer address of relayed messages.
    pub peer: [u8; 16],
    /// Link address of the client's relay.
    pub link: [u8; 16],
}

/// Address or delegated prefix that a DHCPv6 server leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Dhcp6LeasedResource {
    /// Leased address, or the first address of the prefix.
    pub address: Ipv6Addr,
    /// Length of the prefix in bits; 128 for an address.
    pub prefix_len: u8,
    /// True for a delegated prefix, false for an address.
    pub is_prefix: bool,
}

/// Identity association of a client, which a lease belongs to (RFC 9915 §12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClientIa {
    /// Number of the client.
    pub client: u32,
    /// Number of the client's identity association (IAID).
    pub iaid: u32,
}

impl LeasedResource for Dhcp6LeasedResource {
    type Owner = ClientIa;
    const COLUMNS: &'static str = "address,prefix_len,lease_type,duid,iaid";

    fn text(self) -> String {
        if self.is_prefix {
            format!("{}/{}", self.address, self.prefix_len)
        } else {
            self.address.to_string()
        }
    }

    fn owner_text(owner: ClientIa) -> String {
        format!("{} IAID {}", colon_hex(&duid_of(owner.client)), owner.iaid)
    }

    fn row(self, owner: ClientIa) -> String {
        // Kea's lease types.
        let lease_type = if self.is_prefix { 2 } else { 0 };
        let duid = colon_hex(&duid_of(owner.client));
        format!("{},{},{lease_type},{duid},{}", self.address, self.prefix_len, owner.iaid)
    }

    fn blank() -> (Self, ClientIa) {
        let address = Ipv6Addr::LOCALHOST;
        (Self { address, prefix_len: 128, is_prefix: true }, ClientIa { client: 1, iaid: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_follow_from_the_number() {
        let peer = Ipv6Addr::from(peer_of(0x0102_0304));
        assert_eq!(peer.to_string(), "fe80::67:1ff:fe02:304");
        assert_eq!(duid_of(5)[DUID_MAC..], mac_of(5));
        let leased = Dhcp6LeasedResource {
            address: "2001:db8:1::".parse().unwrap(),
            prefix_len: 56,
            is_prefix: true,
        };
        let owner = ClientIa { client: 5, iaid: 2 };
        assert_eq!(
            leased.row(owner),
            "2001:db8:1::,56,2,00:01:00:01:2a:00:00:00:02:67:00:00:00:05,2"
        );
        assert_eq!(leased.text(), "2001:db8:1::/56");
        assert_eq!(
            Dhcp6LeasedResource::owner_text(owner),
            "00:01:00:01:2a:00:00:00:02:67:00:00:00:05 IAID 2"
        );
    }
}
