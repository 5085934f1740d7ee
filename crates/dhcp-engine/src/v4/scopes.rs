//! Terms of DHCPv4 classes, hosts and the operator's rules for pools, compiled.

use base::AddressBits as _;
use core::net::Ipv4Addr;

use dhcp_config::v4::{ClientClass4, Dhcp4, Lifetime};
use dhcp_lease::v4::PoolSpec;

use super::hosts::BootTerms;
use crate::classify::Classes;
use crate::options::ScopeOptions;

/// Terms that a DHCPv4 client class sets for its members, compiled.
#[derive(Debug)]
pub struct CompiledClassTerms4 {
    /// Options that the class sets for its members.
    pub options: ScopeOptions<u8>,
    /// Limits of the lifetimes of the class members' leases (`valid-lifetime`), with precedence
    /// over those of the subnet.
    pub valid_lifetime: Option<Lifetime>,
    /// Lifetime of the leases that DHCPOFFERs to the class's members make, in seconds
    /// (`offer-lifetime`).
    pub offer_lifetime_s: Option<u32>,
    /// Boot fields of replies to the class members (`siaddr`, `sname`, `file`), with precedence
    /// over those of the subnet.
    pub boot: BootTerms,
}

impl CompiledClassTerms4 {
    pub(super) fn compile(class: &ClientClass4, classes: &Classes) -> Self {
        let own = &class.own;
        Self {
            options: ScopeOptions::compile(&class.options, |name| classes.index(name)),
            valid_lifetime: class.valid_lifetime,
            offer_lifetime_s: own.offer_lifetime_s,
            boot: BootTerms {
                next_server: own.next_server,
                server_hostname: own.server_hostname.as_deref().unwrap_or_default().into(),
                boot_file_name: own.boot_file_name.as_deref().unwrap_or_default().into(),
            },
        }
    }
}

/// Returns the addresses that clients only get by naming them: those reserved for a client, those
/// that `exclude-first-last-24` keeps out of use, and reserved addresses outside of pools, so that
/// they can be leased at all.
pub(super) fn set_aside(config: &Dhcp4, specs: &[PoolSpec]) -> Vec<Ipv4Addr> {
    let mut addresses = Vec::new();
    for subnet in &config.subnets {
        let modes = subnet.reservation_modes;
        let hosts: &[_] = if modes.in_subnet { &subnet.reservations } else { &[] };
        let in_subnet_pool =
            |a: Ipv4Addr| subnet.pools.iter().any(|pool| pool.first <= a && a <= pool.last);
        addresses.extend(
            hosts
                .iter()
                .filter_map(|host| host.reserved.address)
                .filter(|&address| !modes.out_of_pool || !in_subnet_pool(address)),
        );
        if config.compatibility.exclude_first_last_24 && subnet.prefix.1 <= 24 {
            for pool in &subnet.pools {
                addresses.extend(ends_of_24(pool.first.into(), pool.last.into()));
            }
        }
    }
    if config.subnets.iter().any(|subnet| subnet.reservation_modes.global) {
        // Kea protects only addresses reserved in a subnet.
        let is_pooled = |address| specs.iter().any(|spec| spec.contains(address));
        let global = config.reservations.iter().filter_map(|host| host.reserved.address);
        addresses.extend(global.filter(|&address| !is_pooled(address)));
    }
    addresses
}

/// Returns the addresses from `first` to `last` that end in 0 or 255.
fn ends_of_24(first: u32, last: u32) -> impl Iterator<Item = Ipv4Addr> {
    let blocks = (first >> 8)..=(last >> 8);
    blocks
        .flat_map(|block| <[u32; 2]>::from((block << 8).bounds(24)))
        .filter(move |&address| first <= address && address <= last)
        .map(Ipv4Addr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_of_every_24_are_found() {
        let ends = |first: [u8; 4], last: [u8; 4]| {
            ends_of_24(u32::from_be_bytes(first), u32::from_be_bytes(last))
                .map(|address| address.octets())
                .collect::<Vec<_>>()
        };
        assert_eq!(ends([10, 0, 0, 1], [10, 0, 0, 254]), [[0_u8; 4]; 0]);
        assert_eq!(ends([10, 0, 0, 1], [10, 0, 1, 9]), [[10, 0, 0, 255], [10, 0, 1, 0]]);
        assert_eq!(ends([255, 255, 255, 0], [255; 4]), [[255, 255, 255, 0], [255; 4]]);
    }
}
