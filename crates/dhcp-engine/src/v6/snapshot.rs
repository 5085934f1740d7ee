//! Compilation of a DHCPv6 configuration, and the settings that only DHCPv6 has.

use core::net::Ipv6Addr;
use std::sync::Arc;

use dhcp_config::v6::{ClientClass6, Dhcp6, Lifetime, Subnet6};
use dhcp_config::{AllocatorKind, LeaseQuery, MacSource};
use dhcp_lease::v6::{PoolIndex, PoolSet, PoolSpec, Resource, ResourceKind, Spans, V6};

use super::pools::{self, PrefixPools};
use super::prefix_order::{self, PrefixOrder};
use super::reserved;
use crate::classify::{ClassSet, Classes};
use crate::client_name::NameTerms;
use crate::compile::{self, CompiledFamily, Pools, ScopeSettings};
use crate::links::{Links, PoolLocation};
use crate::options::ScopeOptions;
use crate::preference::Preference;
use crate::prefixes::SubnetIndex;
use crate::snapshot::ScopedProtocol;

/// Compiled DHCPv6 configuration.
pub type Snapshot = crate::snapshot::Snapshot<V6>;
/// Subnet of a compiled DHCPv6 configuration.
pub type Subnet = crate::snapshot::Subnet<V6>;

/// Settings that only DHCPv6 configurations have, compiled.
#[derive(Debug)]
pub struct Dhcp6SnapshotTerms {
    /// DUID of the server, which replies carry as Server Identifier (option 2).
    pub server_duid: Box<[u8]>,
    /// Codes of the options that relay agents may supply (RFC 6422, `relay-supplied-options`),
    /// ascending.
    pub relay_supplied: Vec<u16>,
    /// Sources from which clients' hardware addresses are derived, in order (`mac-sources`).
    pub mac_sources: Vec<MacSource>,
    /// Settings for lease queries; `None` when the server does not answer them (Kea's hook library
    /// `libdhcp_lease_query.so`).
    pub lease_query: Option<LeaseQuery>,
    /// True if clients may register addresses of their own (RFC 9686).
    pub allows_registration: bool,
    /// Settings for the names of clients that belong to no subnet.
    pub default_names: NameTerms,
    /// Subnets at which allocation of prefixes begins in shared networks.
    pub prefix_preference: Preference,
    /// Links with their pools of prefixes.
    prefixes: Links<u128>,
    prefix_orders: Vec<PrefixOrder>,
    /// Spans of the reserved addresses and prefixes that overlap pools of the other kind (addresses
    /// or prefixes) or of another prefix length.
    reserved_across: Spans<()>,
    /// Prefix that is excluded from those that each pool delegates (RFC 6603), as configured:
    /// address and length in bits.
    pub excluded: Vec<Option<(Ipv6Addr, u8)>>,
}

/// Settings that only DHCPv6 subnets have, compiled.
#[derive(Debug)]
pub struct Dhcp6SubnetTerms {
    /// Limits of the preferred lifetimes of the subnet's leases (`preferred-lifetime`).
    pub preferred_lifetime: Lifetime,
    /// True if clients of the subnet may get their leases in two messages (`rapid-commit`; RFC 9915
    /// §21.14).
    pub allows_rapid_commit: bool,
}

impl ScopedProtocol for V6 {
    type Bits = u128;
    type SnapshotTerms = Dhcp6SnapshotTerms;
    type SubnetTerms = Dhcp6SubnetTerms;
    type ClassTerms = CompiledClassTerms6;

    const SELECTED_SUBNET_DECIDES: bool = false;
}

/// Terms that a DHCPv6 client class sets for its members, compiled.
#[derive(Debug)]
pub struct CompiledClassTerms6 {
    /// Options that the class sets for its members.
    pub options: ScopeOptions<u16>,
    /// Limits of the preferred lifetimes of the members' leases, with precedence over those of
    /// subnets.
    pub preferred_lifetime: Option<Lifetime>,
    /// Limits of the valid lifetimes of the members' leases, with precedence over those of subnets.
    pub valid_lifetime: Option<Lifetime>,
}

impl Snapshot {
    /// Compiles the configuration `config` to a snapshot. `configure` gets the pools and the
    /// reserved addresses and prefixes, and makes the pool set (the lease table does so).
    pub fn compile(
        config: &Dhcp6,
        server_duid: &[u8],
        configure: impl FnOnce(&[PoolSpec], &[Resource]) -> Arc<PoolSet>,
    ) -> Self {
        let classes = compile::classes(config);
        let hosts = compile::hosts(config, &classes);
        let pools = Pools::compile(config, &classes);
        let reserved = reserved::reserved(config, &hosts, &pools);
        let own = Dhcp6SnapshotTerms {
            server_duid: server_duid.into(),
            relay_supplied: config.own.relay_supplied_options.clone(),
            mac_sources: config.own.mac_sources.clone(),
            lease_query: config.global.lease_query.clone(),
            allows_registration: config.own.allow_address_registration,
            default_names: NameTerms::default(),
            prefix_preference: compile::preference(config),
            reserved_across: pools::reserved_across(&pools.specs, &reserved),
            prefix_orders: pools::prefix_orders(&pools),
            prefixes: pools.own.links,
            excluded: pools.own.excluded,
        };
        let pool_set = configure(&pools.specs, &reserved);
        compile::snapshot(config, classes, hosts, own, pools.links, pools.terms, pool_set)
    }

    /// Returns the pools that allocation may use for a message, those of `first` first, in the
    /// order for the prefix length that the client requests, if it requests one. Pools that are not
    /// for clients in `classes` are left out; `buffer` then has the list.
    pub fn pool_order<'p>(
        &'p self,
        first: SubnetIndex,
        kind: ResourceKind,
        requested_len: Option<u8>,
        classes: &ClassSet,
        buffer: &'p mut Vec<PoolIndex>,
    ) -> &'p [PoolIndex] {
        let order = match kind {
            ResourceKind::Address => self.links.pool_order_from(first),
            ResourceKind::Prefix => {
                let orders = &self.own.prefix_orders[self.own.prefixes.link_of(first)];
                requested_len
                    .and_then(|len| orders.for_len(len))
                    .unwrap_or_else(|| self.own.prefixes.pool_order_from(first))
            }
        };
        if !self.has_guards {
            return order;
        }
        buffer.clear();
        buffer.extend(order.iter().copied().filter(|&pool| self.admits_to_pool(pool, classes)));
        buffer
    }

    /// Returns the pools of one kind on the link of `subnet`, in order.
    #[must_use]
    pub fn pools_of_link(&self, subnet: SubnetIndex, kind: ResourceKind) -> &[PoolIndex] {
        match kind {
            ResourceKind::Address => self.links.pool_order(subnet),
            ResourceKind::Prefix => self.own.prefixes.pool_order(subnet),
        }
    }

    /// Returns the prefix pools of `subnet` itself that delegate prefixes of at most `len_max`
    /// bits.
    pub fn prefix_pools_of(
        &self,
        subnet: SubnetIndex,
        len_max: u8,
    ) -> impl Iterator<Item = PoolIndex> {
        let order = self.own.prefixes.pool_order_from(subnet).iter().copied();
        let own = order.take_while(move |&pool| self.pool_terms(pool).subnet == subnet);
        own.filter(move |pool| self.pools.specs()[pool.0 as usize].first.len <= len_max)
    }

    /// Returns true if a reserved address or prefix of another kind or length overlaps `resource`.
    #[must_use]
    pub fn overlaps_reserved(&self, resource: Resource) -> bool {
        !self.own.reserved_across.is_empty()
            && self.own.reserved_across.overlapping(resource).next().is_some()
    }

    /// Returns the pool that contains the address or prefix `resource`, among the pools of the
    /// subnets that share a link with `subnet`.
    #[must_use]
    pub fn find_pool(&self, subnet: SubnetIndex, resource: Resource) -> Option<PoolLocation> {
        let location = self.pool_around(subnet, resource)?;
        let has_its_len = self.pools.specs()[location.pool.0 as usize].first.len == resource.len;
        has_its_len.then_some(location)
    }

    /// Returns the preference for the subnet of a shared network at which allocation of addresses
    /// or of prefixes begins.
    #[must_use]
    pub const fn preference_of(&self, kind: ResourceKind) -> &Preference {
        match kind {
            ResourceKind::Address => &self.preference,
            ResourceKind::Prefix => &self.own.prefix_preference,
        }
    }

    /// Returns the pool on the link of `subnet` that contains `resource`, whatever prefix length
    /// the pool delegates.
    #[must_use]
    pub fn pool_around(&self, subnet: SubnetIndex, resource: Resource) -> Option<PoolLocation> {
        let links = match resource.kind {
            ResourceKind::Address => &self.links,
            ResourceKind::Prefix => &self.own.prefixes,
        };
        links.find_pool(subnet, u128::from(resource.address))
    }

    /// Returns the address or prefix that a client in these classes can have when it requests
    /// `requested`: the prefix of the pool's length around a requested prefix, unless another pool
    /// of the link delegates a length that has precedence for the requested length (RFC 8168 §3.2:
    /// the length counts more than the address).
    #[must_use]
    pub fn grantable(
        &self,
        subnet: SubnetIndex,
        requested: Resource,
        classes: &ClassSet,
    ) -> Resource {
        if requested.kind != ResourceKind::Prefix {
            return requested;
        }
        let Some(location) = self.pool_around(subnet, requested) else { return requested };
        let specs = self.pools.specs();
        let len = |pool: PoolIndex| specs[pool.0 as usize].first.len;
        let names_len = !matches!(requested.len, 0 | 128);
        let all = self.own.prefixes.pool_order(subnet).iter().copied();
        let lens = all.filter(|&pool| self.admits_to_pool(pool, classes)).map(len);
        let best = lens.min_by_key(|&len| prefix_order::rank(len, requested.len));
        if names_len && best.is_some_and(|best| best != len(location.pool)) {
            return requested;
        }
        Resource::prefix(requested.address, len(location.pool))
    }

    /// Returns the first subnet of the link of `subnet`, beginning with `subnet` itself, whose
    /// prefix contains `address`.
    #[must_use]
    pub fn subnet_on_link(&self, subnet: SubnetIndex, address: Ipv6Addr) -> Option<SubnetIndex> {
        let mut link = self.link_subnets(subnet).iter().copied();
        link.find(|&member| self.contains(member, address))
    }
}

impl CompiledFamily for V6 {
    type OwnPools = PrefixPools;

    fn own_pools(config: &Dhcp6) -> PrefixPools {
        PrefixPools { links: compile::empty_links(config), excluded: Vec::new() }
    }

    fn leased(ip: Ipv6Addr) -> Resource {
        Resource::address(ip)
    }

    fn add_other_pools(
        pools: &mut Pools<Self>,
        at: SubnetIndex,
        subnet: &Subnet6,
        classes: &Classes,
    ) {
        // Pools of addresses exclude no prefix.
        pools.own.excluded.resize(pools.specs.len(), None);
        for pool in &subnet.own.pd_pools {
            pools::add_prefixes(pools, at, subnet, pool, classes);
        }
    }

    fn other_pool_scopes(subnet: &Subnet6) -> impl Iterator<Item = ScopeSettings<'_, Self>> {
        subnet.own.pd_pools.iter().map(|pool| (&pool.guards, &*pool.options))
    }

    fn counting_allocator(subnet: &Subnet6) -> AllocatorKind {
        subnet.own.pd_allocator
    }

    fn class_terms(class: &ClientClass6, classes: &Classes) -> CompiledClassTerms6 {
        CompiledClassTerms6 {
            options: ScopeOptions::compile(&class.options, |name| classes.index(name)),
            preferred_lifetime: class.own.preferred_lifetime,
            valid_lifetime: class.valid_lifetime,
        }
    }

    fn subnet_terms(_: &Dhcp6, subnet: &Subnet6) -> Dhcp6SubnetTerms {
        Dhcp6SubnetTerms {
            preferred_lifetime: subnet.own.preferred_lifetime,
            allows_rapid_commit: subnet.own.rapid_commit,
        }
    }
}
