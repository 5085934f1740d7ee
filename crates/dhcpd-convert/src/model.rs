//! Declarations of a dhcpd.conf: networks, subnets, pools, hosts and classes with their settings.

use core::net::IpAddr;

use crate::lexer::FilePosition;
use crate::settings::ScopeSettings;

/// Declarations of a configuration.
#[derive(Debug, Default)]
pub(crate) struct DhcpdModel {
    pub(crate) global: ScopeSettings,
    pub(crate) networks: Vec<SharedNetwork>,
    pub(crate) subnets: Vec<DeclaredSubnet>,
    pub(crate) hosts: Vec<DeclaredHost>,
    pub(crate) classes: Vec<DeclaredClass>,
    /// DUID of the server (`server-duid`), as Kea's `server-id` has it.
    pub(crate) server_duid: Option<ServerDuid>,
}

/// DUID of a DHCPv6 server.
#[derive(Clone, Debug)]
pub(crate) struct ServerDuid {
    /// Kind of the DUID: `LLT`, `EN` or `LL`.
    pub(crate) kind: &'static str,
    /// Members of Kea's `server-id`: numbers and hexadecimal digits.
    pub(crate) hardware_type: Option<u32>,
    pub(crate) enterprise: Option<u32>,
    pub(crate) time: Option<u32>,
    pub(crate) identifier: Option<String>,
}

/// Declaration `shared-network`.
#[derive(Debug)]
pub(crate) struct SharedNetwork {
    pub(crate) name: String,
    pub(crate) settings: ScopeSettings,
}

/// Declaration `subnet` or `subnet6`.
#[derive(Debug)]
pub(crate) struct DeclaredSubnet {
    /// Index of the shared network that contains the subnet.
    pub(crate) network: Option<usize>,
    pub(crate) address: IpAddr,
    pub(crate) prefix_len: u8,
    pub(crate) settings: ScopeSettings,
    pub(crate) pools: Vec<DeclaredPool>,
}

impl DeclaredSubnet {
    /// Returns true if `address` is in the subnet.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        contains(self.address, self.prefix_len, address)
    }
}

/// Returns true if `address` has the same first `prefix_len` bits as `network`.
pub(crate) fn contains(network: IpAddr, prefix_len: u8, address: IpAddr) -> bool {
    let shifted = |bits: u128, width: u32| {
        bits.checked_shr(width.saturating_sub(prefix_len.into())).unwrap_or_default()
    };
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            shifted(network.to_bits().into(), 32) == shifted(address.to_bits().into(), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            shifted(network.to_bits(), 128) == shifted(address.to_bits(), 128)
        }
        _ => false,
    }
}

/// Declaration `pool`, or the ranges of a subnet outside of pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeclaredPool {
    pub(crate) at: FilePosition,
    pub(crate) settings: ScopeSettings,
    pub(crate) ranges: Vec<(IpAddr, IpAddr)>,
    pub(crate) prefixes: Vec<PrefixRange>,
}

/// Statement `prefix6`: delegated prefixes from `first` to `last`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrefixRange {
    pub(crate) first: core::net::Ipv6Addr,
    pub(crate) last: core::net::Ipv6Addr,
    pub(crate) delegated_len: u8,
}

/// Identifier of a host, by the name that reservations of Kea have for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredIdentifier {
    pub(crate) kind: &'static str,
    pub(crate) value: String,
    /// Expression of the hook `flex_id` if the kind is `flex-id`.
    pub(crate) flexible: Option<String>,
}

/// Declaration `host`.
#[derive(Debug)]
pub(crate) struct DeclaredHost {
    pub(crate) at: FilePosition,
    pub(crate) name: String,
    pub(crate) identifiers: Vec<DeclaredIdentifier>,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) prefixes: Vec<(core::net::Ipv6Addr, u8)>,
    pub(crate) settings: ScopeSettings,
}

/// Declaration `class`, with its subclasses.
#[derive(Debug)]
pub(crate) struct DeclaredClass {
    pub(crate) name: String,
    /// Condition in Kea's language (`match if`).
    pub(crate) test: Option<String>,
    /// Value that subclasses are compared with (`match`).
    pub(crate) matched: Option<crate::expression::DataExpression>,
    /// Value that makes classes (`spawn with`).
    pub(crate) template: Option<String>,
    pub(crate) subclasses: Vec<DeclaredSubclass>,
    pub(crate) settings: ScopeSettings,
}

/// Declaration `subclass`.
#[derive(Debug)]
pub(crate) struct DeclaredSubclass {
    pub(crate) at: FilePosition,
    /// Condition in Kea's language.
    pub(crate) test: String,
    pub(crate) settings: ScopeSettings,
}
