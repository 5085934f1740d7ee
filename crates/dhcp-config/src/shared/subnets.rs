//! Reader of the elements of `subnet4` and `subnet6`, with the check that they do not repeat ids,
//! prefixes and pools.

use std::collections::BTreeMap;

use super::hosts::{self, HostScope, ReservationFamily, ReservationOf};
use super::networks::LinkSelectors;
use super::pools::{self, EnclosingSubnet, PlacedRange, PoolOf};
use super::{godwit, other_keys};
use crate::address::{Address, first_of, prefix};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::source::{PositionedValue, SourcePosition};

/// Highest number (`id`) of a subnet; Kea reserves the next one for itself.
const MAX_SUBNET_ID: i64 = 0xffff_fffe;

/// Family whose scopes, subnets and networks the readers can read.
pub(crate) trait Scoped: ReservationFamily {
    /// Settings that a scope itself sets, or after [`Scoped::inside`] all that hold in it.
    type Scope;
    /// Settings of a scope that are needed after inheritance: the keys that the scope itself sets,
    /// with their positions, for checks.
    type Own: Copy;
    /// Type of a subnet's pools of delegated prefixes.
    type Delegated: Default;
    /// Type of a subnet in the checked configuration.
    type Subnet;
    /// Type of a shared network in the checked configuration.
    type Network;

    /// Reads the inheritable settings of a scope: global, shared network or subnet.
    fn read_scope(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self::Scope;

    /// Returns the checked settings that the scope itself sets.
    fn own_keys(scope: &Self::Scope) -> Self::Own;

    /// Returns the settings of a scope with unset values taken from `outer`.
    fn inside(scope: Self::Scope, outer: &Self::Scope) -> Self::Scope;

    /// Reports lifetimes of a scope that exclude each other.
    fn check_lifetimes(scope: &Self::Scope, own_keys: Self::Own, findings: &mut ParseContext);

    /// Reads the key that assigns relayed clients to a network or subnet by interface-id.
    fn read_interface_id(
        fields: &mut MapReader<'_>,
        findings: &mut ParseContext,
    ) -> Option<PositionedValue<Vec<u8>>>;

    /// Checks the keys of a subnet that no other scope and no other family has.
    fn check_own_keys(fields: &mut MapReader<'_>, findings: &mut ParseContext);

    /// Reads a subnet's pools of delegated prefixes; adds their addresses to `ranges`.
    fn read_delegated(
        items: &[JsonValue],
        enclosing: &EnclosingSubnet<Self>,
        ranges: &mut Vec<PlacedRange<Self::Address>>,
        findings: &mut ParseContext,
    ) -> Self::Delegated;

    /// Returns the list of a subnet's pools of delegated prefixes, empty without such a key.
    fn delegated_items<'v>(
        fields: &mut MapReader<'v>,
        findings: &mut ParseContext,
    ) -> &'v [JsonValue];

    /// Checks the setting that all subnets of a shared network must agree on; returns its value.
    fn agree(network: &Self::Scope, members: &[Self::Own], findings: &mut ParseContext) -> bool;

    /// Creates a subnet of the checked configuration from its properties and its scope.
    fn subnet(
        properties: SubnetProperties<Self>,
        scope: Self::Scope,
        own_keys: Self::Own,
        findings: &mut ParseContext,
    ) -> Self::Subnet;

    /// Creates a shared network of the checked configuration from its parts; `agreed` is the result
    /// of [`Scoped::agree`].
    fn network(
        name: String,
        link: LinkSelectors<Self::Address>,
        subnets: Vec<usize>,
        scope: Self::Scope,
        agreed: bool,
    ) -> Self::Network;
}

/// Properties of a subnet apart from the terms of its leases.
pub(crate) struct SubnetProperties<F: Scoped> {
    pub(crate) id: u32,
    pub(crate) prefix: (F::Address, u8),
    pub(crate) network: Option<usize>,
    pub(crate) pools: Vec<PoolOf<F>>,
    pub(crate) delegated: F::Delegated,
    pub(crate) reservations: Vec<ReservationOf<F>>,
    pub(crate) link: LinkSelectors<F::Address>,
}

/// Reader of subnets and shared networks: those read so far, and values that later ones must not
/// repeat.
pub(crate) struct Subnets<'f, F: Scoped> {
    pub(super) findings: &'f mut ParseContext,
    pub(super) list: Vec<F::Subnet>,
    pub(super) networks: Vec<F::Network>,
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
    pub(super) scope: &'s F::Scope,
    pub(super) network: Option<usize>,
    pub(super) link: &'s LinkSelectors<F::Address>,
}

impl<'f, F: Scoped> Subnets<'f, F> {
    /// Reads the shared networks and the subnets of a configuration. Shared networks come first, as
    /// in Kea, which matters for the automatic `id`s of subnets.
    pub(crate) fn read_all(
        networks: &[JsonValue],
        subnets: &[JsonValue],
        global: &F::Scope,
        is_address_unique: bool,
        findings: &'f mut ParseContext,
    ) -> (Vec<F::Subnet>, Vec<F::Network>) {
        let mut reader = Self::new(is_address_unique, findings);
        networks.iter().for_each(|item| reader.read_network(item, global));
        let link = LinkSelectors::default();
        let outer = EnclosingNetwork { scope: global, network: None, link: &link };
        for item in subnets {
            reader.read_subnet(item, &outer);
        }
        reader.finish()
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
    ) -> Option<(Option<PositionedValue<String>>, F::Own)> {
        let mut fields = MapReader::from_value(item, "a subnet", self.findings)?;
        let prefix = self.prefix(&mut fields);
        let id = self.id(&mut fields);
        let scope = F::read_scope(&mut fields, self.findings);
        let link = LinkSelectors::read::<F>(&mut fields, self.findings);
        let pool_items = fields.list("pools", self.findings);
        let host_items = fields.list("reservations", self.findings);
        let delegated_items = F::delegated_items(&mut fields, self.findings);
        F::check_own_keys(&mut fields, self.findings);
        godwit::refuse_inside::<F>(fields.context(self.findings), self.findings);
        other_keys::finish(fields, F::ELSEWHERE, self.findings);

        let own_keys = F::own_keys(&scope);
        let own_interface = link.interface.clone();
        let scope = F::inside(scope, outer.scope);
        let enclosing = prefix.map(|prefix| EnclosingSubnet { prefix, subnet: self.list.len() });
        let mut properties = SubnetProperties {
            id,
            prefix: prefix.map_or_else(|| (F::Address::from_bits(0), 0), |prefix| prefix.value),
            network: outer.network,
            pools: Vec::new(),
            delegated: F::Delegated::default(),
            reservations: hosts::read::<F>(
                host_items,
                &HostScope {
                    prefix: prefix.map(|prefix| prefix.value),
                    is_address_unique: self.is_address_unique,
                },
                self.findings,
            ),
            link: link.or(outer.link),
        };
        if let Some(enclosing) = enclosing {
            properties.pools = pools::read(pool_items, &enclosing, &mut self.ranges, self.findings);
            properties.delegated =
                F::read_delegated(delegated_items, &enclosing, &mut self.delegated, self.findings);
        }
        // Built without a prefix, too, for its checks.
        let subnet = F::subnet(properties, scope, own_keys, self.findings);
        prefix?;
        self.list.push(subnet);
        Some((own_interface, own_keys))
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
    fn finish(self) -> (Vec<F::Subnet>, Vec<F::Network>) {
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
