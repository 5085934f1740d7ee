//! Reader of the elements of `subnet4` and `subnet6`, with the check that they do not repeat ids,
//! prefixes and pools.

use std::collections::BTreeMap;

use super::class_list::Classified;
use super::config::{ConfigTypes, NetworkConfig, SubnetConfig};
use super::ddns_tuning::SubnetHostname;
use super::hosts::{self, HostScope, ReservationFamily};
use super::networks::LinkSelectors;
use super::pools::{self, EnclosingSubnet, PlacedRange};
use super::terms::{Bounded, InheritableTerms};
use super::types::Lifetime;
use super::{ddns_tuning, godwit, ha_subnets, legal_log, other_keys};
use crate::address::{Address, first_of, prefix};
use crate::context::ParseContext;
use crate::document::DocumentSchema;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::source::{PositionedValue, SourcePosition};

/// Highest number (`id`) of a subnet; Kea reserves the next one for itself.
const MAX_SUBNET_ID: i64 = 0xffff_fffe;

/// Family whose scopes, subnets and networks the readers can read.
pub(crate) trait Scoped:
    ReservationFamily<Reserved = <Self as ConfigTypes>::OwnReserved> + Classified
{
    /// Inheritable settings that only this family's scopes have.
    type OwnScope;
    /// Settings among [`Scoped::OwnScope`] that are checked after inheritance.
    type OwnKeys: Copy;
    /// Type of a subnet's pools of delegated prefixes.
    type Delegated: Default;
    /// Kea's defaults, as control commands show them.
    const SCHEMA: &'static DocumentSchema;

    /// Reads the inheritable settings of a network or a subnet that only this family has.
    fn read_scope(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self::OwnScope;

    /// Reads the inheritable settings of the global scope that only this family has.
    fn read_global_scope(
        fields: &mut MapReader<'_>,
        findings: &mut ParseContext,
    ) -> Self::OwnScope {
        Self::read_scope(fields, findings)
    }

    /// Reads the settings that only the global scope of this family has; `scope` are those that
    /// inner scopes inherit.
    fn read_global(
        fields: &mut MapReader<'_>,
        scope: &Self::OwnScope,
        findings: &mut ParseContext,
    ) -> Self::OwnGlobal;

    /// Reads the settings of `interfaces-config` that only this family has.
    fn read_sockets(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self::OwnSockets;

    /// Returns the settings of a scope that are checked after inheritance.
    fn own_keys(scope: &Self::OwnScope) -> Self::OwnKeys;

    /// Returns the settings of a scope with unset values taken from `outer`.
    fn inside(scope: Self::OwnScope, outer: &Self::OwnScope) -> Self::OwnScope;

    /// Reports lifetimes of a scope apart from `valid`, the valid one, that are wrong.
    fn check_lifetimes(
        _scope: &Self::OwnScope,
        _valid: Lifetime,
        _own_keys: OwnScopeKeys<Self>,
        _findings: &mut ParseContext,
    ) {
    }

    /// Reads the key that assigns relayed clients to a network or subnet by interface-id.
    fn read_interface_id(
        _fields: &mut MapReader<'_>,
        _findings: &mut ParseContext,
    ) -> Option<PositionedValue<Vec<u8>>> {
        None
    }

    /// Checks the keys of a subnet that no other scope and no other family has.
    fn check_own_keys(_fields: &mut MapReader<'_>, _findings: &mut ParseContext) {}

    /// Reads a subnet's pools of delegated prefixes; adds their addresses to `ranges`.
    fn read_delegated(
        _items: &[JsonValue],
        _enclosing: &EnclosingSubnet<Self>,
        _ranges: &mut Vec<PlacedRange<Self::Address>>,
        _findings: &mut ParseContext,
    ) -> Self::Delegated {
        Self::Delegated::default()
    }

    /// Returns the list of a subnet's pools of delegated prefixes, empty without such a key.
    fn delegated_items<'v>(
        _fields: &mut MapReader<'v>,
        _findings: &mut ParseContext,
    ) -> &'v [JsonValue] {
        &[]
    }

    /// Checks the setting that all subnets of a shared network, with the settings `members`, must
    /// agree on; returns the settings that only this family's networks have.
    fn agree(
        network: &Self::OwnScope,
        members: &[OwnScopeKeys<Self>],
        findings: &mut ParseContext,
    ) -> Self::OwnNetwork;

    /// Returns the checked settings that only this family's subnets have. `valid` is the valid
    /// lifetime that holds in the subnet.
    fn own_subnet(
        scope: Self::OwnScope,
        valid: Lifetime,
        own_keys: OwnScopeKeys<Self>,
        delegated: Self::Delegated,
        findings: &mut ParseContext,
    ) -> Self::OwnSubnet;
}

/// Inheritable settings that one scope sets, or after [`Scope::inside`] all that hold in it.
pub(crate) struct Scope<F: Scoped> {
    pub(crate) terms: InheritableTerms<F::Code>,
    pub(crate) own: F::OwnScope,
}

/// Keys of a scope, set by the scope itself, that are checked after inheritance.
#[derive(Clone, Copy)]
pub(crate) struct OwnScopeKeys<F: Scoped> {
    pub(crate) valid: Bounded,
    pub(crate) own: F::OwnKeys,
}

impl<F: Scoped> Scope<F> {
    /// Reads the inheritable settings of a network or a subnet.
    pub(super) fn read(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self {
        let own = F::read_scope(fields, findings);
        Self { terms: InheritableTerms::read::<F>(fields, findings), own }
    }

    /// Reads the inheritable settings of the global scope.
    pub(super) fn read_global(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self {
        let own = F::read_global_scope(fields, findings);
        Self { terms: InheritableTerms::read::<F>(fields, findings), own }
    }

    /// Returns the checked settings that the scope itself sets.
    pub(super) fn own_keys(&self) -> OwnScopeKeys<F> {
        OwnScopeKeys { valid: self.terms.valid, own: F::own_keys(&self.own) }
    }

    /// Returns the settings of this scope with unset values taken from `outer`.
    pub(super) fn inside(self, outer: &Self) -> Self {
        let terms = self.terms.inside(&outer.terms);
        Self { terms, own: F::inside(self.own, &outer.own) }
    }

    /// Reports lifetimes of the scope that exclude each other.
    pub(super) fn check_lifetimes(&self, own_keys: OwnScopeKeys<F>, findings: &mut ParseContext) {
        let valid = self.terms.valid.valid_lifetime(own_keys.valid, findings);
        F::check_lifetimes(&self.own, valid, own_keys, findings);
    }
}

/// Reader of subnets and shared networks: those read so far, and values that later ones must not
/// repeat.
pub(crate) struct Subnets<'f, F: Scoped> {
    pub(super) findings: &'f mut ParseContext,
    pub(super) list: Vec<SubnetConfig<F>>,
    pub(super) networks: Vec<NetworkConfig<F>>,
    pub(super) names: BTreeMap<String, SourcePosition>,
    ids: BTreeMap<u32, SourcePosition>,
    prefixes: BTreeMap<(F::Address, u8), SourcePosition>,
    ranges: Vec<PlacedRange<F::Address>>,
    delegated: Vec<PlacedRange<F::Address>>,
    /// Next number for a subnet without `id`: Kea counts only subnets without `id`.
    next_id: u32,
    /// True if an address may be reserved for one host only (`ip-reservations-unique`).
    is_address_unique: bool,
    /// Position of the first subnet without `id`, and the number of subnets without `id`.
    unnumbered: Option<(SourcePosition, u32)>,
}

/// Shared network around a subnet that is being read, or the global scope.
pub(super) struct EnclosingNetwork<'s, F: Scoped> {
    pub(super) scope: &'s Scope<F>,
    pub(super) network: Option<usize>,
    pub(super) link: &'s LinkSelectors<F::Address>,
    /// Value of `ha-server-name` of the network.
    pub(super) server_name: Option<&'s JsonValue>,
}

impl<'f, F: Scoped> Subnets<'f, F> {
    /// Reads the shared networks and the subnets of a configuration. Shared networks come first, as
    /// in Kea, which matters for the automatic `id`s of subnets. The result is ordered by `id`, as
    /// in Kea: of the subnets that fit a client, the server selects the one with the lowest.
    pub(crate) fn read_all(
        networks: &[JsonValue],
        subnets: &[JsonValue],
        global: &Scope<F>,
        is_address_unique: bool,
        findings: &'f mut ParseContext,
    ) -> (Vec<SubnetConfig<F>>, Vec<NetworkConfig<F>>) {
        let mut reader = Self::new(is_address_unique, findings);
        networks.iter().for_each(|item| reader.read_network(item, global));
        let link = LinkSelectors::default();
        let outer =
            EnclosingNetwork { scope: global, network: None, link: &link, server_name: None };
        for item in subnets {
            reader.read_subnet(item, &outer);
        }
        let (mut subnets, mut networks) = reader.finish();
        subnets.sort_by_key(|subnet| subnet.id);
        for (at, subnet) in subnets.iter().enumerate() {
            if let Some(network) = subnet.network.and_then(|network| networks.get_mut(network)) {
                network.subnets.push(at);
            }
        }
        (subnets, networks)
    }

    fn new(is_address_unique: bool, findings: &'f mut ParseContext) -> Self {
        Self {
            findings,
            list: Vec::new(),
            networks: Vec::new(),
            names: BTreeMap::new(),
            ids: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            ranges: Vec::new(),
            delegated: Vec::new(),
            next_id: 1,
            is_address_unique,
            unnumbered: None,
        }
    }

    /// Reads one element of a list of subnets and adds the subnet. Returns `None` when there is
    /// nothing to add, otherwise the subnet's own interface and the settings that its scope itself
    /// sets.
    pub(super) fn read_subnet(
        &mut self,
        item: &JsonValue,
        outer: &EnclosingNetwork<'_, F>,
    ) -> Option<(Option<PositionedValue<String>>, OwnScopeKeys<F>)> {
        let mut fields = MapReader::from_value(item, "a subnet", self.findings)?;
        let prefix = self.prefix(&mut fields);
        let id = self.id(&mut fields);
        let scope = Scope::<F>::read(&mut fields, self.findings);
        let link = LinkSelectors::read::<F>(&mut fields, self.findings);
        let pool_items = fields.list("pools", self.findings);
        let host_items = fields.list("reservations", self.findings);
        let delegated_items = F::delegated_items(&mut fields, self.findings);
        F::check_own_keys(&mut fields, self.findings);
        let context = fields.context(self.findings);
        let hostname = self.read_context(context, id, prefix.map(|prefix| prefix.value));
        let relationship = self.read_relationship(context, item.at, outer);
        other_keys::finish(fields, F::ELSEWHERE, self.findings);

        let own_keys = scope.own_keys();
        let own_interface = link.interface.clone();
        let scope = scope.inside(outer.scope);
        let enclosing = prefix.map(|prefix| EnclosingSubnet { prefix, subnet: self.list.len() });
        let host_scope = HostScope {
            prefix: prefix.map(|prefix| prefix.value),
            is_address_unique: self.is_address_unique,
        };
        let reservations = hosts::read::<F>(host_items, &host_scope, self.findings);
        let (mut pools, mut delegated) = (Vec::new(), F::Delegated::default());
        if let Some(enclosing) = enclosing {
            pools = pools::read(pool_items, &enclosing, &mut self.ranges, self.findings);
            delegated =
                F::read_delegated(delegated_items, &enclosing, &mut self.delegated, self.findings);
        }
        // Checked without a prefix, too.
        let valid_lifetime = scope.terms.valid.valid_lifetime(own_keys.valid, self.findings);
        let own = F::own_subnet(scope.own, valid_lifetime, own_keys, delegated, self.findings);
        let times = scope.terms.times::<F>(valid_lifetime, self.findings);
        let link = link.or(outer.link);
        let policy = scope.terms.policy;
        self.list.push(SubnetConfig {
            id,
            prefix: prefix?.value,
            network: outer.network,
            pools,
            relay_addresses: link.relay_addresses,
            interface: link.interface.map(|setting| setting.value),
            interface_id: link.interface_id.map(|setting| setting.value),
            valid_lifetime,
            renew_timer_s: times.renew_timer_s,
            rebind_timer_s: times.rebind_timer_s,
            calculate_tee_times: times.calculate_tee_times,
            t1_percent: times.t1_percent,
            t2_percent: times.t2_percent,
            cache_threshold: times.cache_threshold,
            cache_max_age_s: times.cache_max_age_s,
            options: scope.terms.options,
            guards: link.guards,
            reservations,
            reservation_modes: policy.reservation_modes(),
            allocator: policy.allocator(),
            adaptive_lease_time_threshold: policy.adaptive_threshold(),
            store_extended_info: policy.store_extended_info(),
            names: scope.terms.names.settled(),
            hostname,
            relationship,
            own,
        });
        Some((own_interface, own_keys))
    }

    /// Returns the relationship of high availability that the subnet at `at`, which has the user
    /// context `context`, belongs to.
    fn read_relationship(
        &mut self,
        context: Option<&JsonValue>,
        at: SourcePosition,
        outer: &EnclosingNetwork<'_, F>,
    ) -> Option<usize> {
        let server_name = ha_subnets::server_name(context).or(outer.server_name);
        self.findings.relationship_of_subnet(at, server_name)
    }

    /// Reads `context`, the `user-context` of the subnet `id`: if the legal log leaves its leases
    /// out, and the expression that computes the names of its clients, which is returned.
    fn read_context(
        &mut self,
        context: Option<&JsonValue>,
        id: u32,
        prefix: Option<(F::Address, u8)>,
    ) -> SubnetHostname {
        godwit::refuse_inside::<F>(context, self.findings);
        if legal_log::is_switched_off(context) {
            self.findings.silent_subnets.push(id);
        }
        if !self.findings.tunes_names {
            return SubnetHostname::default();
        }
        let prefix = prefix.map(|(address, length)| format!("{address}/{length}"));
        ddns_tuning::of_subnet::<F>(context, &prefix.unwrap_or_default(), self.findings)
    }

    fn prefix(&mut self, fields: &mut MapReader<'_>) -> Option<PositionedValue<(F::Address, u8)>> {
        let help = format!("write it as `\"subnet\": \"{}\"`", F::PREFIX_EXAMPLE);
        let Some(text) = fields.text("subnet", self.findings) else {
            if fields.take("subnet").is_none() {
                self.findings.error_help(fields.at, "a subnet lacks `subnet`", help);
            }
            return None;
        };
        let Some((address, length)) = prefix::<F::Address>(text.value) else {
            let message = format!("`{}` is not a prefix", text.value);
            self.findings.error_help(text.at, message, help);
            return None;
        };
        let network = clear_host_bits(
            PositionedValue { value: (address, length), at: text.at },
            self.findings,
        );
        let prefix = (network, length);
        if let Some(&other) = self.prefixes.get(&prefix) {
            let message = format!("prefix {network}/{length} has a subnet already");
            self.findings.error_with_second_position(text.at, message, "the other is at", other);
        } else {
            self.prefixes.insert(prefix, text.at);
        }
        Some(PositionedValue { value: prefix, at: text.at })
    }

    /// Reads the number (`id`) of a subnet; without one, or with 0, Kea 2 counts from 1.
    fn id(&mut self, fields: &mut MapReader<'_>) -> u32 {
        let setting = fields.integer("id", i64::MIN..=i64::MAX, self.findings);
        if setting.is_none() && fields.take("id").is_some() {
            // Of the wrong kind: reported, and not to be counted.
            return 0;
        }
        if let Some(setting) = setting.filter(|id| !(0..=MAX_SUBNET_ID).contains(&id.value)) {
            let message = format!("subnet id {} is not from 1 to {MAX_SUBNET_ID}", setting.value);
            self.findings.error(setting.at, message);
            return 0;
        }
        let (id, at) = match setting {
            Some(PositionedValue { value: id @ 1.., at }) => (id as u32, at),
            _ => {
                let at = setting.map_or(fields.at, |setting| setting.at);
                let (first, count) = self.unnumbered.unwrap_or((at, 0));
                self.unnumbered = Some((first, count + 1));
                self.next_id += 1;
                (self.next_id - 1, at)
            }
        };
        if let Some(&other) = self.ids.get(&id) {
            let message = format!("subnet id {id} is used already");
            self.findings.error_with_second_position(at, message, "the other is at", other);
        } else {
            self.ids.insert(id, at);
        }
        id
    }

    /// Runs the checks that need all subnets, and returns the subnets and networks.
    fn finish(self) -> (Vec<SubnetConfig<F>>, Vec<NetworkConfig<F>>) {
        if let Some((at, count)) = self.unnumbered {
            let message = match count {
                1 => "this subnet has no `id`: it is numbered automatically".to_owned(),
                _ => format!("{count} subnets have no `id`, this one first: they are numbered"),
            };
            let help = "leases are stored with the `id`, and automatic ones change when subnets \
                        are added; Kea 3 requires an `id`";
            self.findings.warn_help(at, message, help);
        }
        pools::refuse_overlaps(&self.ranges, &self.delegated, self.findings);
        (self.list, self.networks)
    }
}

/// Returns the first address of a prefix; warns when the configuration has host bits set.
pub(crate) fn clear_host_bits<A: Address>(
    prefix: PositionedValue<(A, u8)>,
    findings: &mut ParseContext,
) -> A {
    let (address, length) = prefix.value;
    let network = first_of(address, length);
    if network != address {
        let message = format!("prefix {address}/{length} has host bits");
        findings.warn_help(prefix.at, message, format!("{network}/{length} is used"));
    }
    network
}
