//! Compilation of a DHCPv4 configuration, and the settings that only DHCPv4 has.

use base::AddressBits as _;
use core::net::Ipv4Addr;
use std::sync::Arc;

use dhcp_config::v4::{ClientClass4, Dhcp4, Subnet4};
use dhcp_config::{AllocatorKind, Hook, LeaseQuery};
use dhcp_lease::v4::{PoolIndex, PoolSet, PoolSpec, V4};
use dhcp_wire::v4::option;

use super::hosts::BootTerms;
use super::scopes::{self, CompiledClassTerms4};
use crate::classify::Classes;
use crate::compile::{self, CompiledFamily, Pools};
use crate::links::PoolLocation;
use crate::prefixes::SubnetIndex;
use crate::snapshot::ScopedProtocol;

/// Compiled DHCPv4 configuration.
pub type Snapshot = crate::snapshot::Snapshot<V4>;
/// Subnet of a compiled DHCPv4 configuration.
pub type Subnet = crate::snapshot::Subnet<V4>;

/// Settings that only DHCPv4 configurations have, compiled.
#[derive(Debug)]
pub struct Dhcp4SnapshotTerms {
    /// Settings for lease queries; `None` when the server does not answer them (Kea's hook library
    /// `libdhcp_lease_query.so`).
    pub lease_query: Option<LeaseQuery>,
    /// True if the server serves BOOTP clients (Kea's hook library `libdhcp_bootp.so`).
    pub serves_bootp: bool,
    /// True if replies repeat the client identifier of the request (RFC 6842; `echo-client-id`).
    pub echo_client_id: bool,
    /// True if the server refuses clients that no subnet serves (global `authoritative`).
    pub is_authoritative: bool,
    /// True if the server ignores the link selection of relay agents (RFC 3527;
    /// `ignore-rai-link-selection`).
    pub ignores_link_selection: bool,
    /// True if messages of clients that renew past their relay agent count as if the agent had
    /// forwarded them (`stash-agent-options`).
    pub stashes_agent_options: bool,
    /// True if clients that chose another server (option 54) are served like those that chose this
    /// one (`ignore-dhcp-server-identifier`).
    ignores_server_id: bool,
    /// Server identifiers (option 54) that the operator configured in any scope, ascending.
    server_ids: Vec<Ipv4Addr>,
}

/// Settings that only DHCPv4 subnets have, compiled.
#[derive(Debug)]
pub struct Dhcp4SubnetTerms {
    /// True if any pool, subnet or network on the subnet's link is for clients of some classes
    /// only.
    is_link_guarded: bool,
    /// Mask of the subnet's prefix.
    pub mask: Ipv4Addr,
    /// True if the server may refuse clients of the subnet whose leases it does not know (RFC 2131
    /// §4.3.2; `authoritative`).
    pub is_authoritative: bool,
    /// True if client identifiers distinguish the subnet's clients (`match-client-id`).
    pub match_client_id: bool,
    /// Numbers of the subnets of the link that have `match-client-id` false, if the subnet is in a
    /// shared network.
    pub hardware_only_on_link: Box<[u32]>,
    /// Boot fields of replies in the subnet: `siaddr`, `sname` and `file`.
    pub boot: BootTerms,
    /// Lifetime of the leases that DHCPOFFERs in the subnet make, in seconds (`offer-lifetime`); 0
    /// = offers make none.
    pub offer_lifetime_s: u32,
    /// True if leases of any subnet on the link store relay agent information
    /// (`store-extended-info`).
    pub is_link_storing: bool,
}

impl ScopedProtocol for V4 {
    type Bits = u32;
    type SnapshotTerms = Dhcp4SnapshotTerms;
    type SubnetTerms = Dhcp4SubnetTerms;
    type ClassTerms = CompiledClassTerms4;

    const SELECTED_SUBNET_DECIDES: bool = true;
}

impl Snapshot {
    /// Compiles the configuration `config` to a snapshot. `configure` gets the pools and makes the
    /// pool set (the lease table does so).
    pub fn compile(
        config: &Dhcp4,
        configure: impl FnOnce(&[PoolSpec], &[Ipv4Addr]) -> Arc<PoolSet>,
    ) -> Self {
        let classes = compile::classes(config);
        let hosts = compile::hosts(config, &classes);
        let Pools { specs, terms, links, .. } = Pools::compile(config, &classes);
        let aside = scopes::set_aside(config, &specs);
        let own = Dhcp4SnapshotTerms {
            lease_query: config.global.lease_query.clone(),
            serves_bootp: config.global.hooks.contains(&Hook::Bootp),
            echo_client_id: config.own.echo_client_id,
            is_authoritative: config.own.authoritative,
            stashes_agent_options: config.own.stash_agent_options,
            ignores_link_selection: config.compatibility.ignore_rai_link_selection,
            ignores_server_id: config.compatibility.ignore_dhcp_server_identifier,
            server_ids: server_ids_of(config),
        };
        compile::snapshot(config, classes, hosts, own, links, terms, configure(&specs, &aside))
    }

    /// Returns the pools of the link that `first` is on, in the order of a search that begins
    /// there.
    #[must_use]
    pub fn pool_order(&self, first: SubnetIndex) -> &[PoolIndex] {
        self.links.pool_order_from(first)
    }

    /// Returns the pools of `subnet` itself.
    pub fn pools_of(&self, subnet: SubnetIndex) -> impl Iterator<Item = PoolIndex> {
        let order = self.pool_order(subnet).iter().copied();
        order.take_while(move |&pool| self.pool_terms(pool).subnet == subnet)
    }

    /// Returns true if every client may use every pool of the link that `subnet` is on, and so
    /// [`Self::pool_order`] as it is.
    #[must_use]
    pub fn is_open(&self, subnet: SubnetIndex) -> bool {
        !self.subnet(subnet).own.is_link_guarded
    }

    /// Returns true if a client that names the server identifier `address` means this server.
    #[must_use]
    pub fn is_server_id(&self, address: Ipv4Addr) -> bool {
        self.own.ignores_server_id || self.own.server_ids.binary_search(&address).is_ok()
    }

    /// Returns the pool that contains `address`, among the pools of the subnets that share a link
    /// with `subnet`.
    #[must_use]
    pub fn find_pool(&self, subnet: SubnetIndex, address: Ipv4Addr) -> Option<PoolLocation> {
        self.links.find_pool(subnet, u32::from(address))
    }
}

/// Returns every server identifier (option 54) that the configuration sets in any scope but pools
/// and reservations, which Kea does not consider.
fn server_ids_of(config: &Dhcp4) -> Vec<Ipv4Addr> {
    let subnets = config.subnets.iter().map(|subnet| &subnet.options);
    let networks = config.networks.iter().map(|network| &network.options);
    let classes = config.client_classes.iter().map(|class| &class.options);
    let mut server_ids: Vec<Ipv4Addr> = subnets
        .chain(networks)
        .chain(classes)
        .chain([&config.options])
        .flatten()
        .filter(|option| option.code == option::SERVER_IDENTIFIER)
        .filter_map(|option| Some(<[u8; 4]>::try_from(&*option.octets).ok()?.into()))
        .collect();
    server_ids.sort_unstable();
    server_ids
}

/// Returns true if a subnet, its network or one of its pools is for clients of some classes only.
fn is_guarded(config: &Dhcp4, subnet: &Subnet4) -> bool {
    let network = subnet.network.map(|network| &config.networks[network].guards);
    let scopes = compile::subnet_scopes(subnet).map(|(guards, _)| guards);
    scopes.chain(network).any(|guards| !guards.required.is_empty())
}

impl CompiledFamily for V4 {
    type OwnPools = ();

    fn own_pools(_: &Dhcp4) {}

    fn leased(ip: Ipv4Addr) -> Ipv4Addr {
        ip
    }

    fn counting_allocator(subnet: &Subnet4) -> AllocatorKind {
        subnet.allocator
    }

    fn class_terms(class: &ClientClass4, classes: &Classes) -> CompiledClassTerms4 {
        CompiledClassTerms4::compile(class, classes)
    }

    fn subnet_terms(config: &Dhcp4, subnet: &Subnet4) -> Dhcp4SubnetTerms {
        let network_subnets = subnet.network.map(|at| &config.networks[at].subnets[..]);
        let network_subnets =
            || network_subnets.unwrap_or_default().iter().map(|&at| &config.subnets[at]);
        let is_any_on_link =
            |is_it: &dyn Fn(&Subnet4) -> bool| is_it(subnet) || network_subnets().any(is_it);
        Dhcp4SubnetTerms {
            is_link_guarded: is_any_on_link(&|subnet| is_guarded(config, subnet)),
            mask: Ipv4Addr::from(!u32::host_mask(subnet.prefix.1)),
            is_authoritative: subnet.own.authoritative,
            match_client_id: subnet.own.match_client_id,
            hardware_only_on_link: network_subnets()
                .filter(|subnet| !subnet.own.match_client_id)
                .map(|subnet| subnet.id)
                .collect(),
            offer_lifetime_s: subnet.own.offer_lifetime_s,
            is_link_storing: is_any_on_link(&|subnet| subnet.store_extended_info),
            boot: BootTerms {
                next_server: Some(subnet.own.next_server),
                server_hostname: subnet.own.server_hostname.as_str().into(),
                boot_file_name: subnet.own.boot_file_name.as_str().into(),
            },
        }
    }
}
