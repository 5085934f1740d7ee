//! Terms of DHCPv4 classes, hosts and the operator's rules for pools, compiled.

use base::AddressBits as _;
use core::net::Ipv4Addr;

use dhcp_config::Hook;
use dhcp_config::v4::{ClientClass4, Dhcp4, Lifetime};
use dhcp_lease::v4::{PoolSpec, V4};

use super::hosts::BootTerms;
use crate::classify::{Classes, StringProgram};
use crate::hosts::{HostTerms, Hosts, ReservationScope};
use crate::options::ScopeOptions;
use crate::scope_terms::referred_class_names;

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

/// Returns the compiled client classes of `config`.
pub(super) fn classes_of(config: &Dhcp4) -> Classes {
    let of_networks = config
        .networks
        .iter()
        .flat_map(|network| referred_class_names(&network.guards, &network.options));
    let of_subnets = config
        .subnets
        .iter()
        .flat_map(|subnet| referred_class_names(&subnet.guards, &subnet.options));
    let pools = config.subnets.iter().flat_map(|subnet| &subnet.pools);
    let of_pools = pools.flat_map(|pool| referred_class_names(&pool.guards, &pool.options));
    let hosts = config.subnets.iter().flat_map(|subnet| &subnet.reservations);
    let of_hosts = hosts.chain(&config.reservations).map(|host| &host.options);
    let of_classes = config.client_classes.iter().map(|class| &class.options);
    let tags = of_classes
        .chain(of_hosts)
        .chain([&config.options])
        .flatten()
        .flat_map(|option| &option.client_classes)
        .map(String::as_str);
    let names = of_networks.chain(of_subnets).chain(of_pools).chain(tags);
    Classes::compile(&config.client_classes, names)
}

/// Returns the compiled expression that makes the identifiers of Kea's flex-id hook
/// (`identifier-expression`), when the hook is active.
pub(super) fn flex_id_of(config: &Dhcp4, classes: &Classes) -> Option<StringProgram> {
    if !config.global.hooks.contains(&Hook::FlexId) {
        return None;
    }
    config.global.flex_id.expression.as_ref().map(|text| StringProgram::compile(text, classes))
}

/// Returns the tables of the hosts that `config` reserves for.
pub(super) fn hosts_of(config: &Dhcp4, classes: &Classes) -> Hosts<V4, HostTerms<V4>> {
    let in_subnets = config
        .subnets
        .iter()
        .map(|subnet| (ReservationScope::Subnet(subnet.id), subnet.reservations.as_slice()));
    let global = [(ReservationScope::Global, config.reservations.as_slice())];
    Hosts::<V4, _>::compile(global.into_iter().chain(in_subnets), classes)
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
