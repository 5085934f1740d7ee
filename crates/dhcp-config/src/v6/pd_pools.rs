//! Reader of a subnet's pools of delegated prefixes (`pd-pools`).

use core::net::Ipv6Addr;

use base::V6;

use super::types::PdPool;
use crate::address::{first_of, last_of};
use crate::context::ParseContext;
use crate::fields::{MapReader, address_of};
use crate::json::JsonValue;
use crate::shared::class_list;
use crate::shared::family::ConfigFamily;
use crate::shared::pools::{EnclosingSubnet, PlacedRange};
use crate::shared::subnets::clear_host_bits;
use crate::shared::{godwit, options};
use crate::source::PositionedValue;

/// Reads a subnet's pools of delegated prefixes; adds their addresses to `ranges`.
pub(super) fn read(
    items: &[JsonValue],
    enclosing: &EnclosingSubnet<V6>,
    ranges: &mut Vec<PlacedRange<Ipv6Addr>>,
    findings: &mut ParseContext,
) -> Vec<PdPool> {
    let mut pools = Vec::new();
    for item in items {
        let Some(pool) = pd_pool(item, findings) else { continue };
        let (first, length) = pool.prefix;
        let last = last_of(first, length);
        let (length, subnet, at) = (Some(length), enclosing.subnet, item.at);
        ranges.push(PlacedRange { first, last, length, subnet, at });
        pools.push(pool);
    }
    pools
}

fn pd_pool(item: &JsonValue, findings: &mut ParseContext) -> Option<PdPool> {
    let mut fields = MapReader::from_value(item, "a prefix pool", findings)?;
    for key in ["prefix", "prefix-len", "delegated-len"] {
        if fields.take(key).is_none() {
            let help = "write `\"prefix\": \"2001:db8:8000::\", \"prefix-len\": 36, \
                        \"delegated-len\": 56`";
            findings.error_help(item.at, format!("a prefix pool lacks `{key}`"), help);
        }
    }
    let prefix = address(&mut fields, "prefix", findings);
    let length = length(&mut fields, "prefix-len", 1, findings);
    let delegated = self::length(&mut fields, "delegated-len", 1, findings);
    let excluded = excluded(&mut fields, findings);
    let pool_id = fields.u32("pool-id", findings).map_or(0, |id| id.value);
    let options = options::list::<V6>(&mut fields, findings);
    let guards = class_list::guards(&mut fields, findings);
    godwit::refuse_inside::<V6>(fields.context(findings), findings);
    crate::shared::other_keys::finish(fields, V6::ELSEWHERE, findings);

    let (prefix, length, delegated) = (prefix?, length?, delegated?);
    if delegated.value < length.value {
        let message = format!(
            "`delegated-len` ({}) is below `prefix-len` ({})",
            delegated.value, length.value
        );
        findings.error_with_second_position(delegated.at, message, "`prefix-len` is at", length.at);
        return None;
    }
    let prefix = PositionedValue { value: (prefix.value, length.value), at: prefix.at };
    let network = clear_host_bits(prefix, findings);
    let excluded = match excluded {
        Some(excluded) => Some(check_excluded(excluded, network, delegated.value, findings)?),
        None => None,
    };
    Some(PdPool {
        prefix: (network, length.value),
        delegated_len: delegated.value,
        excluded,
        pool_id,
        options,
        guards,
    })
}

/// Reads the address under `key` of a prefix pool; unlike elsewhere, an empty string is an error.
fn address(
    fields: &mut MapReader<'_>,
    key: &'static str,
    findings: &mut ParseContext,
) -> Option<PositionedValue<Ipv6Addr>> {
    let text = fields.text(key, findings)?;
    address_of(text, key, findings)
}

/// Reads the prefix length under `key` of a prefix pool, from `least` to 128.
fn length(
    fields: &mut MapReader<'_>,
    key: &'static str,
    least: i64,
    findings: &mut ParseContext,
) -> Option<PositionedValue<u8>> {
    let PositionedValue { value, at } = fields.integer(key, least..=128, findings)?;
    Some(PositionedValue { value: u8::try_from(value).expect("checked against the range"), at })
}

/// Reads the excluded prefix of a prefix pool, `excluded-prefix` and `excluded-prefix-len`, which
/// go together; `::` with 0 is none.
fn excluded(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<(Ipv6Addr, u8)>> {
    let prefix = address(fields, "excluded-prefix", findings);
    let length = length(fields, "excluded-prefix-len", 0, findings);
    let is_set = |fields: &mut MapReader<'_>, key| fields.take(key).is_some();
    let (has_prefix, has_length) =
        (is_set(fields, "excluded-prefix"), is_set(fields, "excluded-prefix-len"));
    if has_prefix && prefix.is_none() || has_length && length.is_none() {
        // Reported.
        return None;
    }
    let set_prefix = prefix.filter(|prefix| !prefix.value.is_unspecified());
    let set_length = length.filter(|length| length.value != 0);
    match (set_prefix, set_length) {
        (Some(prefix), Some(length)) => {
            Some(PositionedValue { value: (prefix.value, length.value), at: prefix.at })
        }
        (Some(prefix), None) => {
            findings.error(prefix.at, "`excluded-prefix` needs `excluded-prefix-len`");
            None
        }
        (None, Some(length)) => {
            findings.error(length.at, "`excluded-prefix-len` needs `excluded-prefix`");
            None
        }
        (None, None) => None,
    }
}

/// Checks that the excluded prefix of a pool is a part of the first prefix that the pool delegates.
fn check_excluded(
    excluded: PositionedValue<(Ipv6Addr, u8)>,
    network: Ipv6Addr,
    delegated: u8,
    findings: &mut ParseContext,
) -> Option<(Ipv6Addr, u8)> {
    let (prefix, length) = excluded.value;
    if length <= delegated {
        let message = format!("`excluded-prefix-len` ({length}) is not above `delegated-len`");
        let help = format!("`delegated-len` is {delegated}");
        findings.error_help(excluded.at, message, help);
        return None;
    }
    if first_of(prefix, delegated) != network {
        let message =
            format!("excluded prefix {prefix}/{length} is not inside {network}/{delegated}");
        let help = "write it as it is in the first delegated prefix; its bits after \
                    `delegated-len` count for each";
        findings.error_help(excluded.at, message, help);
        return None;
    }
    Some((clear_host_bits(excluded, findings), length))
}
