//! What classes, networks, pools and hosts say, compiled.

use core::net::Ipv4Addr;

use dhcp_config::OptionData;
use dhcp_config::v4::{ClientClass4, Dhcp4, Lifetime, Pool4, Reservation4};
use dhcp_lease::v4::{PoolSpec, V4};

use crate::classify::{ClassIndex, Classes};
use crate::gate::{self, Gate};
use crate::hosts::{Hosts, HostsBuilder, Scope};
use crate::options::ScopeOptions;
use crate::prefixes::{AddressBits, SubnetIndex};

/// `siaddr`, `sname` and `file`, as far as a scope sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootFields {
    /// `siaddr`; 0.0.0.0 when not set.
    pub next_server: Option<Ipv4Addr>,
    /// `sname`, empty when not set.
    pub server_hostname: Box<[u8]>,
    /// `file`, empty when not set.
    pub boot_file_name: Box<[u8]>,
}

impl BootFields {
    /// The fields as they are configured.
    pub(super) fn new(next_server: Option<Ipv4Addr>, server_hostname: &str, file: &str) -> Self {
        Self {
            next_server: next_server.filter(|address| !address.is_unspecified()),
            server_hostname: server_hostname.as_bytes().into(),
            boot_file_name: file.as_bytes().into(),
        }
    }
}

/// What a class says.
#[derive(Debug)]
pub struct ClassTerms {
    /// Options of its members.
    pub options: ScopeOptions<u8>,
    /// Their lifetimes, before those of the subnet.
    pub valid_lifetime: Option<Lifetime>,
    /// How long their offers are leases, seconds.
    pub offer_lifetime_s: Option<u32>,
    /// Their fields, before those of the subnet.
    pub boot: BootFields,
}

impl ClassTerms {
    pub(super) fn compile(class: &ClientClass4, classes: &Classes) -> Self {
        let own = &class.own;
        Self {
            options: options(&class.options, classes),
            valid_lifetime: class.valid_lifetime,
            offer_lifetime_s: own.offer_lifetime_s,
            boot: BootFields::new(
                own.next_server,
                own.server_hostname.as_deref().unwrap_or_default(),
                own.boot_file_name.as_deref().unwrap_or_default(),
            ),
        }
    }
}

/// What a shared network says.
#[derive(Debug)]
pub struct NetworkTerms {
    /// Its own options.
    pub options: ScopeOptions<u8>,
    /// Who may be served.
    pub gate: Gate,
    /// Its subnets, in the order of the file.
    pub subnets: Box<[SubnetIndex]>,
}

/// What a pool says.
#[derive(Debug)]
pub struct PoolTerms {
    /// The subnet that it belongs to.
    pub subnet: SubnetIndex,
    /// Its own options.
    pub options: ScopeOptions<u8>,
    /// Who may be served.
    pub gate: Gate,
}

impl PoolTerms {
    pub(super) fn compile(subnet: SubnetIndex, pool: &Pool4, classes: &Classes) -> Self {
        Self {
            subnet,
            options: options(&pool.options, classes),
            gate: Gate::compile(&pool.guards, classes),
        }
    }
}

/// What a host has beside its address.
#[derive(Debug)]
pub struct HostTerms {
    /// Its name, lower case; empty when none is reserved.
    pub hostname: Box<str>,
    /// Its options.
    pub options: ScopeOptions<u8>,
    /// Classes that it is put in.
    pub classes: Box<[ClassIndex]>,
    /// Its fields, before all others.
    pub boot: BootFields,
}

impl HostTerms {
    fn compile(host: &Reservation4, classes: &Classes) -> Option<Self> {
        let reserved = &host.reserved;
        let terms = Self {
            hostname: host.hostname.to_ascii_lowercase().into(),
            options: options(&host.options, classes),
            classes: host.client_classes.iter().filter_map(|name| classes.index(name)).collect(),
            boot: BootFields::new(
                reserved.next_server,
                &reserved.server_hostname,
                &reserved.boot_file_name,
            ),
        };
        let has_any = !terms.hostname.is_empty()
            || !host.options.is_empty()
            || !terms.classes.is_empty()
            || terms.boot != BootFields::default();
        has_any.then_some(terms)
    }
}

/// The options of a scope.
pub(super) fn options(options: &[OptionData<u8>], classes: &Classes) -> ScopeOptions<u8> {
    ScopeOptions::compile(options, |name| classes.index(name))
}

/// The classes of `config`.
pub(super) fn classes_of(config: &Dhcp4) -> Classes {
    let hosts = config.subnets.iter().flat_map(|subnet| &subnet.reservations);
    let of_hosts = hosts.chain(&config.reservations).flat_map(|host| {
        gate::names(None, &host.options).chain(host.client_classes.iter().map(String::as_str))
    });
    let of_subnets = config.subnets.iter().flat_map(|subnet| {
        let pools =
            subnet.pools.iter().flat_map(|pool| gate::names(Some(&pool.guards), &pool.options));
        gate::names(Some(&subnet.guards), &subnet.options).chain(pools)
    });
    let of_networks = config
        .networks
        .iter()
        .flat_map(|network| gate::names(Some(&network.guards), &network.options));
    let of_classes =
        config.client_classes.iter().flat_map(|class| gate::names(None, &class.options));
    let names = of_classes
        .chain(gate::names(None, &config.options))
        .chain(of_networks)
        .chain(of_subnets)
        .chain(of_hosts);
    Classes::compile(&config.client_classes, names)
}

/// The hosts of `config`, those of every scope whose reservations may count.
pub(super) fn hosts_of(config: &Dhcp4, classes: &Classes) -> Hosts<V4, HostTerms> {
    let count = config.subnets.iter().map(|subnet| subnet.reservations.len()).sum::<usize>();
    // Which identifiers there are is the operator's choice, so nobody can make them collide.
    let mut hosts = HostsBuilder::new(0, count + config.reservations.len());
    let mut add = |scope, host: &Reservation4| {
        hosts.add(scope, &host.identifier, &host.reserved, HostTerms::compile(host, classes));
    };
    config.reservations.iter().for_each(|host| add(Scope::Global, host));
    for subnet in &config.subnets {
        subnet.reservations.iter().for_each(|host| add(Scope::Subnet(subnet.id), host));
    }
    hosts.finish()
}

/// Addresses that nobody is given without asking for them: what is reserved for others to have, what
/// the operator keeps out of use, and, so that they can be leased at all, those outside of pools.
pub(super) fn set_aside(config: &Dhcp4, specs: &[PoolSpec]) -> Vec<Ipv4Addr> {
    let is_pooled = |address| specs.iter().any(|spec: &PoolSpec| spec.contains(address));
    let mut found = Vec::new();
    for subnet in &config.subnets {
        let modes = subnet.reservation_modes;
        let own = subnet.reservations.iter().filter(|_| modes.in_subnet);
        let in_own_pool =
            |a: Ipv4Addr| subnet.pools.iter().any(|pool| pool.first <= a && a <= pool.last);
        found.extend(
            own.filter_map(|host| host.reserved.address)
                .filter(|&address| !modes.out_of_pool || !in_own_pool(address)),
        );
        if config.compatibility.exclude_first_last_24 && subnet.prefix.1 <= 24 {
            for pool in &subnet.pools {
                found.extend(ends_of_24(pool.first.into(), pool.last.into()));
            }
        }
    }
    if config.subnets.iter().any(|subnet| subnet.reservation_modes.global) {
        let global = config.reservations.iter().filter_map(|host| host.reserved.address);
        found.extend(global.filter(|&address| !is_pooled(address)));
    }
    found
}

/// The addresses that end in 0 or 255.
fn ends_of_24(first: u32, last: u32) -> impl Iterator<Item = Ipv4Addr> {
    let blocks = (first >> 8)..=(last >> 8);
    blocks
        .flat_map(|block| {
            let (low, high) = (block << 8).bounds(24);
            [low, high]
        })
        .filter(move |&address| first <= address && address <= last)
        .map(Ipv4Addr::from)
}
