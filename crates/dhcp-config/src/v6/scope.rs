//! Reader of the parameters that only DHCPv6 scopes have (global, shared network, subnet), and of
//! those of classes.

use core::net::Ipv6Addr;

use base::V6;

use super::types::{ClassTerms6, GlobalTerms6, NetworkTerms6, PdPool, SubnetTerms6};
use super::{global, pd_pools};
use crate::context::ParseContext;
use crate::document::{DocumentSchema, SHAPE6};
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::shared::class_list::{self, Classified};
use crate::shared::policy::allocator;
use crate::shared::pools::{EnclosingSubnet, PlacedRange};
use crate::shared::subnets::{OwnScopeKeys, Scoped};
use crate::shared::terms::{Bounded, BoundedKeys};
use crate::shared::{AllocatorKind, Lifetime};
use crate::source::PositionedValue;

const PREFERRED: BoundedKeys = BoundedKeys {
    value: "preferred-lifetime",
    min: "min-preferred-lifetime",
    max: "max-preferred-lifetime",
};

/// Inheritable parameters that only DHCPv6 scopes set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dhcp6Scope {
    preferred: Bounded,
    rapid_commit: Option<PositionedValue<bool>>,
    pd_allocator: Option<AllocatorKind>,
}

/// Keys of a DHCPv6 scope, set by the scope itself, that are checked after inheritance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dhcp6OwnKeys {
    preferred: Bounded,
    rapid_commit: Option<PositionedValue<bool>>,
}

/// Returns the preferred lifetime that holds in the scope, checked. One that is above the valid
/// lifetime stays so: a class may set a longer valid one.
fn preferred_lifetime(
    scope: Dhcp6Scope,
    valid: Lifetime,
    own_keys: OwnScopeKeys<V6>,
    findings: &mut ParseContext,
) -> Lifetime {
    let part_s = five_eighths(valid.default_s);
    let own = own_keys.own.preferred;
    let preferred = scope.preferred.lifetime(own, PREFERRED, part_s, findings);
    if scope.preferred.is_unset() {
        // Kea 3 takes the part of the valid lifetime that a client is granted.
        return Lifetime { default_s: 0, min_s: 0, max_s: 0 };
    }
    if !(1..=valid.default_s).contains(&preferred.default_s)
        && let (Some(_), Some(setting)) =
            (scope.preferred.value, own.value.or(own_keys.valid.value))
    {
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
    preferred
}

/// Returns the preferred lifetime, in seconds, that Kea uses instead of 0 or of a preferred
/// lifetime above the valid one: five eighths of `valid_s`.
fn five_eighths(valid_s: u32) -> u32 {
    (u64::from(valid_s) * 5 / 8) as u32
}

impl Scoped for V6 {
    type OwnScope = Dhcp6Scope;
    type OwnKeys = Dhcp6OwnKeys;
    type Delegated = Vec<PdPool>;
    const SCHEMA: &'static DocumentSchema = &SHAPE6;

    fn read_scope(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Dhcp6Scope {
        let rapid_commit = fields.boolean("rapid-commit", findings);
        Dhcp6Scope { rapid_commit, ..Self::read_global_scope(fields, findings) }
    }

    /// Reads the inheritable parameters of the global scope, which has no `rapid-commit`.
    fn read_global_scope(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Dhcp6Scope {
        Dhcp6Scope {
            preferred: Bounded::read(fields, PREFERRED, findings),
            rapid_commit: None,
            pd_allocator: allocator(fields, "pd-allocator", findings),
        }
    }

    fn read_global(
        fields: &mut MapReader<'_>,
        _scope: &Dhcp6Scope,
        findings: &mut ParseContext,
    ) -> GlobalTerms6 {
        global::read(fields, findings)
    }

    fn read_sockets(_fields: &mut MapReader<'_>, _findings: &mut ParseContext) {}

    fn own_keys(scope: &Dhcp6Scope) -> Dhcp6OwnKeys {
        let Dhcp6Scope { preferred, rapid_commit, .. } = *scope;
        Dhcp6OwnKeys { preferred, rapid_commit }
    }

    fn inside(scope: Dhcp6Scope, outer: &Dhcp6Scope) -> Dhcp6Scope {
        Dhcp6Scope {
            preferred: scope.preferred.inside(outer.preferred),
            rapid_commit: scope.rapid_commit.or(outer.rapid_commit),
            pd_allocator: scope.pd_allocator.or(outer.pd_allocator),
        }
    }

    fn check_lifetimes(
        scope: &Dhcp6Scope,
        valid: Lifetime,
        own_keys: OwnScopeKeys<Self>,
        findings: &mut ParseContext,
    ) {
        preferred_lifetime(*scope, valid, own_keys, findings);
    }

    fn read_interface_id(
        fields: &mut MapReader<'_>,
        findings: &mut ParseContext,
    ) -> Option<PositionedValue<Vec<u8>>> {
        let id = fields.octets("interface-id", findings).filter(|id| !id.value.is_empty());
        id.map(|id| PositionedValue { value: id.value.to_vec(), at: id.at })
    }

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
    fn agree(
        network: &Dhcp6Scope,
        members: &[OwnScopeKeys<Self>],
        findings: &mut ParseContext,
    ) -> NetworkTerms6 {
        let effective = |rapid_commit: Option<PositionedValue<bool>>| {
            rapid_commit.or(network.rapid_commit).is_some_and(|setting| setting.value)
        };
        let first = members.first().and_then(|member| member.own.rapid_commit);
        for rapid_commit in members.iter().map(|member| member.own.rapid_commit) {
            if effective(rapid_commit) != effective(first) {
                let setting = rapid_commit.or(first).expect("inherited ones do not differ");
                let message = "subnets of a shared network differ in `rapid-commit`";
                findings.error_help(setting.at, message, "all of them have to agree");
            }
        }
        NetworkTerms6 { rapid_commit: effective(first) }
    }

    fn own_subnet(
        scope: Dhcp6Scope,
        valid: Lifetime,
        own_keys: OwnScopeKeys<Self>,
        delegated: Vec<PdPool>,
        findings: &mut ParseContext,
    ) -> SubnetTerms6 {
        SubnetTerms6 {
            pd_pools: delegated,
            preferred_lifetime: preferred_lifetime(scope, valid, own_keys, findings),
            rapid_commit: scope.rapid_commit.is_some_and(|setting| setting.value),
            pd_allocator: scope.pd_allocator.unwrap_or_default(),
        }
    }
}

impl Classified for V6 {
    const IS_V6: bool = true;

    fn read_class_terms(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> ClassTerms6 {
        ClassTerms6 { preferred_lifetime: class_list::lifetime(fields, PREFERRED, findings) }
    }

    fn shapes_leases(terms: &ClassTerms6) -> bool {
        terms.preferred_lifetime.is_some()
    }
}
