//! Compiled configuration of either family, as the packet path reads it: tables built once at load,
//! never changed. A transaction keeps the snapshot that it began with.

use core::fmt::Debug;
use std::sync::Arc;

use base::AddressBits;
use dhcp_config::{ConfigTypes, IdentifierKind, Lifetime, ReservationModes};
use dhcp_lease::PoolIndex;
use dhcp_wire::OptionParsing;

use crate::classify::{ClassIndex, ClassSet, Classes, StringProgram};
use crate::client_name::NameTerms;
use crate::hosts::{HostTerms, Hosts, ReservationProtocol};
use crate::links::Links;
use crate::options::{OptionCode, ScopeOptions};
use crate::preference::Preference;
use crate::prefixes::{PrefixTable, SubnetIndex};
use crate::repeat::RepeatPolicy;
use crate::scope_terms::ScopeTerms;
use crate::subnet_keys::SubnetKeys;

/// Address family with its own settings of a configuration: DHCPv4 or DHCPv6.
pub trait ScopedProtocol:
    ConfigTypes<OptionCode: OptionCode>
    + ReservationProtocol<
        Place = <Self as ConfigTypes>::IpAddress,
        Code = <Self as ConfigTypes>::OptionCode,
        Configured = <Self as ConfigTypes>::OwnReserved,
    >
{
    /// Type of an address as a number.
    type Bits: AddressBits + From<Self::Place> + Into<u128> + Debug + Send + Sync + 'static;
    /// Type of the settings that only this family's configurations have.
    type SnapshotTerms: Debug + Send + Sync + 'static;
    /// Type of the settings that only this family's subnets have.
    type SubnetTerms: Debug + Send + Sync + 'static;
    /// Type of the terms that a client class sets for its members.
    type ClassTerms: Debug + Send + Sync + 'static;

    /// True if no hosts in the other subnets of a shared network count for a client whose selected
    /// subnet counts no reservations, as in Kea's DHCPv4 server.
    const SELECTED_SUBNET_DECIDES: bool;
}

/// Compiled configuration of DHCPv4 or DHCPv6.
#[derive(Debug)]
pub struct Snapshot<F: ScopedProtocol> {
    /// Settings that only this family has.
    pub own: F::SnapshotTerms,
    /// Settings of Kea's flex-id hook for identifiers of clients.
    pub flex_id: FlexIdTerms,
    /// True if Kea's hook library ddns_tuning is loaded: expressions compute names of clients, and
    /// clients of the class `SKIP_DDNS` get no DNS updates.
    pub(crate) tunes_names: bool,
    /// Options that the global scope sets.
    pub options: ScopeOptions<F::Code>,
    /// Client classes of the configuration, compiled.
    pub classes: Classes,
    /// Hosts with reservations, of all scopes of the configuration.
    pub hosts: Hosts<F, HostTerms<F>>,
    /// Kinds of identifiers by which clients' hosts are looked up, in order
    /// (`host-reservation-identifiers`).
    pub host_identifiers: Vec<IdentifierKind>,
    /// True if the client's global host is looked up before the subnet is selected
    /// (`early-global-reservations-lookup`).
    pub looks_up_global_host_early: bool,
    /// Mode in which options that do not match their definitions are parsed
    /// (`lenient-option-parsing`).
    pub parsing: OptionParsing,
    /// Time for which an offer holds its address or prefix in memory, in nanoseconds.
    pub hold_ns: u64,
    /// Time for which a declined address stays out of use, in seconds (`decline-probation-period`).
    pub decline_probation_s: u32,
    /// Subnets at which allocation of addresses begins in shared networks.
    pub preference: Preference,
    pub(crate) subnets: Vec<Subnet<F>>,
    pub(crate) networks: Vec<ScopeTerms<F::Code>>,
    /// Classes of the only scope of each relationship of high availability, if there are several
    /// relationships; `None` for a class that the configuration does not refer to.
    pub(crate) scope_classes: Vec<Option<ClassIndex>>,
    /// Terms of the client classes, in the order of `client-classes`.
    pub(crate) class_terms: Vec<F::ClassTerms>,
    /// True if any pool, subnet or shared network of the configuration is for clients of some
    /// classes only (`client-classes`).
    pub(crate) has_guards: bool,
    pub(crate) by_prefix: PrefixTable<F::Bits>,
    pub(crate) by_relay: SubnetKeys<F::Place>,
    pub(crate) by_interface: SubnetKeys<Box<str>>,
    pub(crate) by_interface_id: SubnetKeys<Box<[u8]>>,
    /// Links with their pools of addresses.
    pub(crate) links: Links<F::Bits>,
    pub(crate) pools: Arc<F::PoolSet>,
    pub(crate) pool_terms: Vec<PoolTerms<F::Code>>,
}

/// Settings of Kea's flex-id hook, compiled.
#[derive(Debug, Default)]
pub struct FlexIdTerms {
    /// Expression that makes the flexible identifier of a message (`identifier-expression`); `None`
    /// when the hook is not active.
    pub program: Option<StringProgram>,
    /// True if the flexible identifier replaces the client identifier, in DHCPv6 the DUID, under
    /// which leases are stored (`replace-client-id`).
    pub replaces_client_id: bool,
    /// True if DHCPv4 client identifiers that the hook makes look like those that hold a DUID
    /// (`cid-as-rfc4361-duid`).
    pub is_like_a_duid: bool,
    /// True if an identity association of DHCPv6 that is the only one of its kind counts as IAID 0
    /// (`ignore-iaid`).
    pub ignores_iaid: bool,
}

/// Subnet of the configuration with all data that replies in it need.
#[derive(Debug)]
pub struct Subnet<F: ScopedProtocol> {
    /// Settings that only this family has.
    pub own: F::SubnetTerms,
    /// `id` of the subnet in the configuration.
    pub id: u32,
    /// First and last address of the subnet's prefix, as numbers.
    pub bounds: (F::Bits, F::Bits),
    /// Limits of the valid lifetimes of the subnet's leases (`valid-lifetime`).
    pub valid_lifetime: Lifetime,
    /// Used part of the subnet's pools, in DHCPv6 of its prefix pools, 0 to 1, from which on leases
    /// are short (`adaptive-lease-time-threshold`); `None` when they never are.
    pub adaptive_threshold: Option<f64>,
    /// Configured T1 of the subnet's leases, in seconds (`renew-timer`).
    pub renew_timer_s: Option<u32>,
    /// Configured T2 of the subnet's leases, in seconds (`rebind-timer`).
    pub rebind_timer_s: Option<u32>,
    /// T1 and T2 as parts of the lease's lifetime, in DHCPv6 the preferred one, 0 to 1, when they
    /// are calculated (`calculate-tee-times`).
    pub tee_parts: Option<(f64, f64)>,
    /// Policy for repeating the subnet's leases instead of renewing them (`cache-threshold`).
    pub repeat: RepeatPolicy,
    /// True if the subnet's leases store relay agent information (`store-extended-info`).
    pub stores_relay_info: bool,
    /// Position of the subnet's shared network among those of the configuration; `None` outside of
    /// shared networks.
    pub network: Option<usize>,
    /// Position of the subnet's relationship of high availability; `None` if the subnet names none.
    pub relationship: Option<usize>,
    /// Reservation modes of the subnet (`reservations-global` and others).
    pub reservation_modes: ReservationModes,
    /// Required client classes, additional classes and options of the subnet.
    pub scope: ScopeTerms<F::Code>,
    /// Expression that computes the names of the subnet's clients (Kea's hook library ddns_tuning).
    pub(crate) hostname: Option<Arc<StringProgram>>,
    /// Settings for the names of the subnet's clients.
    pub(crate) names: NameTerms,
}

/// Terms that a pool adds to its subnet; `C` is the type of an option code.
#[derive(Debug)]
pub struct PoolTerms<C> {
    /// `pool-id` of the pool in the configuration.
    pub id: u32,
    /// Subnet that the pool belongs to.
    pub subnet: SubnetIndex,
    /// Required client classes, additional classes and options of the pool.
    pub scope: ScopeTerms<C>,
    /// Settings for the names of clients with the pool's addresses, where they differ from the
    /// subnet's.
    pub names: Option<Box<NameTerms>>,
}

impl<F: ScopedProtocol> Snapshot<F> {
    /// Returns the subnet at `index`.
    #[must_use]
    pub fn subnet(&self, index: SubnetIndex) -> &Subnet<F> {
        &self.subnets[index as usize]
    }

    /// Returns the subnets of the configuration, in the order of their indexes.
    #[must_use]
    pub fn subnets(&self) -> &[Subnet<F>] {
        &self.subnets
    }

    /// Returns the lease pools of the configuration.
    #[must_use]
    pub fn pools(&self) -> &F::PoolSet {
        &self.pools
    }

    /// Returns the terms that a pool adds to its subnet.
    #[must_use]
    pub fn pool_terms(&self, pool: PoolIndex) -> &PoolTerms<F::Code> {
        &self.pool_terms[pool.0 as usize]
    }

    /// Returns the settings for the names of clients with an address of `subnet`, from `pool`.
    #[must_use]
    pub fn names(&self, subnet: SubnetIndex, pool: Option<PoolIndex>) -> &NameTerms {
        let of_pool = pool.and_then(|pool| self.pool_terms(pool).names.as_deref());
        of_pool.unwrap_or_else(|| &self.subnet(subnet).names)
    }

    /// Returns the terms of the shared network that a subnet is in; `None` outside of shared
    /// networks.
    #[must_use]
    pub fn network(&self, subnet: &Subnet<F>) -> Option<&ScopeTerms<F::Code>> {
        subnet.network.map(|network| &self.networks[network])
    }

    /// Returns the terms of a client class; `None` for a class that is not configured.
    #[must_use]
    pub fn class(&self, class: ClassIndex) -> Option<&F::ClassTerms> {
        self.classes.position(class).map(|position| &self.class_terms[position])
    }

    /// Returns true if clients in these classes may be served from a subnet.
    #[must_use]
    pub fn admits(&self, subnet: SubnetIndex, classes: &ClassSet) -> bool {
        if !self.has_guards {
            return true;
        }
        let subnet = self.subnet(subnet);
        let network = self.network(subnet);
        subnet.scope.guard.admits(classes)
            && network.is_none_or(|network| network.guard.admits(classes))
    }

    /// Returns true if clients in these classes may be served from a pool.
    #[must_use]
    pub fn admits_to_pool(&self, pool: PoolIndex, classes: &ClassSet) -> bool {
        if !self.has_guards {
            return true;
        }
        let terms = self.pool_terms(pool);
        terms.scope.guard.admits(classes) && self.admits(terms.subnet, classes)
    }

    /// Returns the first subnet, of those that `admits` accepts, whose prefix contains `address`.
    pub fn subnet_by_prefix(
        &self,
        address: F::Place,
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.by_prefix.find_where(address.into(), admits)
    }

    /// Returns the first subnet, of those that `admits` accepts, that has `relay` among its relay
    /// addresses.
    pub fn subnet_by_relay(
        &self,
        relay: F::Place,
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.by_relay.find_where(&relay, admits)
    }

    /// Returns the first subnet, of those that `admits` accepts, whose direct clients are on the
    /// interface `name`.
    pub fn subnet_by_interface(
        &self,
        name: &str,
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.by_interface.find_where(name, admits)
    }

    /// Returns the first subnet, of those that `admits` accepts, whose configured `interface-id` is
    /// `id`, by which DHCPv6 relay agents name the interface towards the client.
    pub fn subnet_by_interface_id(
        &self,
        id: &[u8],
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.by_interface_id.find_where(id, admits)
    }

    /// Returns the subnets that share a link with `first`, beginning with `first` itself.
    #[must_use]
    pub fn link_subnets(&self, first: SubnetIndex) -> &[SubnetIndex] {
        self.links.subnets_from(first)
    }

    /// Returns true if `address` lies in the prefix of `subnet`.
    #[must_use]
    pub fn contains(&self, subnet: SubnetIndex, address: F::Place) -> bool {
        let (first, last) = self.subnet(subnet).bounds;
        (first..=last).contains(&address.into())
    }

    /// Returns true if `address` lies in a prefix of the link that `subnet` is on.
    #[must_use]
    pub fn is_on_link(&self, subnet: SubnetIndex, address: F::Place) -> bool {
        self.subnet_by_prefix(address, |other| self.links.is_shared(subnet, other)).is_some()
    }
}
