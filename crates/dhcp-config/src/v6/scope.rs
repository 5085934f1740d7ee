//! Reader of DHCPv6 parameters that inner scopes inherit: global, shared network, subnet.

use core::net::Ipv6Addr;

use super::types::{ClassTerms6, Network6, PdPool, Subnet6};
use super::{Dhcp6Family, pd_pools};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::shared::class_list::{self, Classified};
use crate::shared::networks::LinkSelectors;
use crate::shared::policy::allocator;
use crate::shared::pools::{EnclosingSubnet, PlacedRange};
use crate::shared::subnets::{Scoped, SubnetProperties};
use crate::shared::terms::{Bounded, BoundedKeys, InheritableTerms};
use crate::shared::{AllocatorKind, Lifetime};
use crate::source::PositionedValue;

const PREFERRED: BoundedKeys = BoundedKeys {
    value: "preferred-lifetime",
    min: "min-preferred-lifetime",
    max: "max-preferred-lifetime",
};

/// Inheritable DHCPv6 parameters that one scope sets, or after [`Scoped::inside`] all that hold in
/// it.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(super) terms: InheritableTerms<u16>,
    preferred: Bounded,
    rapid_commit: Option<PositionedValue<bool>>,
    pd_allocator: Option<AllocatorKind>,
}

/// Keys of a DHCPv6 scope, set by the scope itself, that are checked after inheritance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnScopeKeys6 {
    valid: Bounded,
    preferred: Bounded,
    rapid_commit: Option<PositionedValue<bool>>,
}

impl Scope {
    /// Reads the inheritable parameters of the global scope, which has no `rapid-commit`.
    pub(super) fn read_global(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self {
        Self {
            terms: InheritableTerms::read::<Dhcp6Family>(fields, findings),
            preferred: Bounded::read(fields, PREFERRED, findings),
            rapid_commit: None,
            pd_allocator: allocator(fields, "pd-allocator", findings),
        }
    }

    /// Returns the preferred and the valid lifetime that hold in the scope, checked. A preferred
    /// lifetime that is above the valid one stays so: a class may set a longer valid one.
    fn lifetimes(
        &self,
        own_keys: OwnScopeKeys6,
        findings: &mut ParseContext,
    ) -> (Lifetime, Lifetime) {
        let valid = self.terms.valid.valid_lifetime(own_keys.valid, findings);
        let part_s = five_eighths(valid.default_s);
        let preferred = self.preferred.lifetime(own_keys.preferred, PREFERRED, part_s, findings);
        if self.preferred.is_unset() {
            // Kea 3 takes the part of the valid lifetime that a client is granted.
            return (Lifetime { default_s: 0, min_s: 0, max_s: 0 }, valid);
        }
        if !(1..=valid.default_s).contains(&preferred.default_s) {
            let own_setting = own_keys.preferred.value.or(own_keys.valid.value);
            if let (Some(_), Some(setting)) = (self.preferred.value, own_setting) {
                let message = match preferred.default_s {
                    0 => "`preferred-lifetime` is 0 s".to_owned(),
                    above_s => format!(
                        "`preferred-lifetime` ({above_s} s) is above `valid-lifetime` ({} s)",
                        valid.default_s
                    ),
                };
                let help = format!("five eighths of `valid-lifetime`, {part_s} s, are used");
                findings.warn_help(setting.at, message, help);
            }
        }
        (preferred, valid)
    }
}

/// Returns the preferred lifetime, in seconds, that Kea uses instead of 0 or of a preferred
/// lifetime above the valid one: five eighths of `valid_s`.
fn five_eighths(valid_s: u32) -> u32 {
    (u64::from(valid_s) * 5 / 8) as u32
}

impl Scoped for Dhcp6Family {
    type Scope = Scope;
    type Own = OwnScopeKeys6;
    type Delegated = Vec<PdPool>;
    type Subnet = Subnet6;
    type Network = Network6;

    fn read_scope(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Scope {
        let rapid_commit = fields.boolean("rapid-commit", findings);
        Scope { rapid_commit, ..Scope::read_global(fields, findings) }
    }

    fn own_keys(scope: &Scope) -> OwnScopeKeys6 {
        let Scope { preferred, rapid_commit, .. } = *scope;
        OwnScopeKeys6 { valid: scope.terms.valid, preferred, rapid_commit }
    }

    fn inside(scope: Scope, outer: &Scope) -> Scope {
        Scope {
            terms: scope.terms.inside(&outer.terms),
            preferred: scope.preferred.inside(outer.preferred),
            rapid_commit: scope.rapid_commit.or(outer.rapid_commit),
            pd_allocator: scope.pd_allocator.or(outer.pd_allocator),
        }
    }

    fn check_lifetimes(scope: &Scope, own_keys: OwnScopeKeys6, findings: &mut ParseContext) {
        scope.lifetimes(own_keys, findings);
    }

    fn read_interface_id(
        fields: &mut MapReader<'_>,
        findings: &mut ParseContext,
    ) -> Option<PositionedValue<Vec<u8>>> {
        let id = fields.octets("interface-id", findings).filter(|id| !id.value.is_empty());
        id.map(|id| PositionedValue { value: id.value.to_vec(), at: id.at })
    }

    fn check_own_keys(_: &mut MapReader<'_>, _: &mut ParseContext) {}

    fn read_delegated(
        items: &[JsonValue],
        enclosing: &EnclosingSubnet<Self>,
        ranges: &mut Vec<PlacedRange<Ipv6Addr>>,
        findings: &mut ParseContext,
    ) -> Vec<PdPool> {
        pd_pools::read(items, enclosing, ranges, findings)
    }

    fn delegated_items<'v>(
        fields: &mut MapReader<'v>,
        findings: &mut ParseContext,
    ) -> &'v [JsonValue] {
        fields.list("pd-pools", findings)
    }

    /// Checks that all subnets of a shared network agree on `rapid-commit`. The first subnet
    /// decides, as in Kea.
    fn agree(network: &Scope, members: &[OwnScopeKeys6], findings: &mut ParseContext) -> bool {
        let effective = |rapid_commit: Option<PositionedValue<bool>>| {
            rapid_commit.or(network.rapid_commit).is_some_and(|setting| setting.value)
        };
        let Some(first) = members.first().map(|member| member.rapid_commit) else {
            return effective(None);
        };
        for rapid_commit in members.iter().map(|member| member.rapid_commit) {
            if effective(rapid_commit) != effective(first) {
                let setting = rapid_commit.or(first).expect("inherited ones do not differ");
                let message = "subnets of a shared network differ in `rapid-commit`";
                findings.error_help(setting.at, message, "all of them have to agree");
            }
        }
        effective(first)
    }

    fn subnet(
        properties: SubnetProperties<Self>,
        scope: Scope,
        own_keys: OwnScopeKeys6,
        findings: &mut ParseContext,
    ) -> Subnet6 {
        let (preferred_lifetime, valid_lifetime) = scope.lifetimes(own_keys, findings);
        let times = scope.terms.times::<Self>(valid_lifetime, findings);
        let policy = scope.terms.policy;
        Subnet6 {
            id: properties.id,
            prefix: properties.prefix,
            network: properties.network,
            pools: properties.pools,
            pd_pools: properties.delegated,
            relay_addresses: properties.link.relay_addresses,
            interface: properties.link.interface.map(|setting| setting.value),
            interface_id: properties.link.interface_id.map(|setting| setting.value),
            preferred_lifetime,
            valid_lifetime,
            renew_timer_s: times.renew_timer_s,
            rebind_timer_s: times.rebind_timer_s,
            calculate_tee_times: times.calculate_tee_times,
            t1_percent: times.t1_percent,
            t2_percent: times.t2_percent,
            cache_threshold: times.cache_threshold,
            cache_max_age_s: times.cache_max_age_s,
            rapid_commit: scope.rapid_commit.is_some_and(|setting| setting.value),
            names: scope.terms.names.settled(),
            options: scope.terms.options,
            guards: properties.link.guards,
            reservations: properties.reservations,
            reservation_modes: policy.reservation_modes(),
            allocator: policy.allocator(),
            pd_allocator: scope.pd_allocator.unwrap_or_default(),
            adaptive_lease_time_threshold: policy.adaptive_threshold(),
            store_extended_info: policy.store_extended_info(),
        }
    }

    fn network(
        name: String,
        link: LinkSelectors<Ipv6Addr>,
        subnets: Vec<usize>,
        scope: Scope,
        rapid_commit: bool,
    ) -> Network6 {
        Network6 {
            name,
            subnets,
            interface: link.interface.map(|setting| setting.value),
            interface_id: link.interface_id.map(|setting| setting.value),
            relay_addresses: link.relay_addresses,
            rapid_commit,
            options: scope.terms.options,
            guards: link.guards,
        }
    }
}

impl Classified for Dhcp6Family {
    type ClassTerms = ClassTerms6;
    const IS_V6: bool = true;

    fn read_class_terms(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> ClassTerms6 {
        ClassTerms6 { preferred_lifetime: class_list::lifetime(fields, PREFERRED, findings) }
    }

    fn shapes_leases(terms: &ClassTerms6) -> bool {
        terms.preferred_lifetime.is_some()
    }
}
