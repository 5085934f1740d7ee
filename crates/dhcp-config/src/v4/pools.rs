//! `pools` of a subnet.

use core::net::Ipv4Addr;

use super::options::with_outer_flags;
use super::other_keys;
use super::types::{Pool4, Subnet4};
use crate::fields::Fields;
use crate::json::Value;
use crate::source::{At, Findings, Placed};

/// The addresses of a pool, the index of its subnet, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct PlacedRange {
    first: Ipv4Addr,
    last: Ipv4Addr,
    subnet: usize,
    at: At,
}

/// Reads the pools of the subnet that will have index `index`; adds their addresses to `ranges`.
pub(super) fn read(
    items: &[Value],
    (subnet, index): (&Subnet4, usize),
    prefix_at: At,
    ranges: &mut Vec<PlacedRange>,
    findings: &mut Findings,
) -> Vec<Pool4> {
    let mut pools = Vec::new();
    for item in items {
        let Some((at, mut pool)) = pool(item, findings) else { continue };
        pool.options = with_outer_flags(pool.options, &subnet.options);
        let (network, length) = subnet.prefix;
        let outside = |address: Ipv4Addr| masked(address, length) != network;
        if outside(pool.first) || outside(pool.last) {
            let Pool4 { first, last, .. } = pool;
            let message = format!("pool {first} - {last} is not inside subnet {network}/{length}");
            findings.error_seen(at, message, "the subnet is at", prefix_at);
        }
        ranges.push(PlacedRange { first: pool.first, last: pool.last, subnet: index, at });
        pools.push(pool);
    }
    pools
}

/// Reports pools that share addresses. In the order of first addresses, each needs comparing with
/// the furthest reaching one before it only.
pub(super) fn refuse_overlaps(ranges: &mut [PlacedRange], findings: &mut Findings) {
    ranges.sort_unstable_by_key(|range| (range.first, range.at));
    let mut reach: Option<PlacedRange> = None;
    for &range in &*ranges {
        if let Some(before) = reach.filter(|before| before.last >= range.first) {
            let (one, two) = if before.at < range.at { (before, range) } else { (range, before) };
            let message = if one.subnet == two.subnet {
                format!("pool {} - {} overlaps another of its subnet", two.first, two.last)
            } else {
                // Kea gives such an address twice when the subnets' clients ask for it.
                format!("pool {} - {} overlaps one of another subnet", two.first, two.last)
            };
            findings.error_seen(two.at, message, "the other is at", one.at);
        }
        if reach.is_none_or(|before| before.last < range.last) {
            reach = Some(range);
        }
    }
}

fn pool(item: &Value, findings: &mut Findings) -> Option<(At, Pool4)> {
    let mut fields = Fields::of(item, "a pool", findings)?;
    let text = fields.text("pool", findings);
    if fields.take("pool").is_none() {
        findings.error_help(item.at, "a pool lacks `pool`", "it is a range or a prefix");
    }
    let pool_id = fields.u32("pool-id", findings).map_or(0, |id| id.value);
    let options = super::options::list(&mut fields, findings);
    super::godwit::refuse_inside(fields.context(findings), findings);
    other_keys::finish(fields, other_keys::POOL, findings);
    let text = text?;
    let (first, last) = range(text, findings)?;
    Some((text.at, Pool4 { first, last, pool_id, options }))
}

/// Reads `a - b` or `network/length`.
fn range(text: Placed<&str>, findings: &mut Findings) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let parsed = match text.value.split_once('-') {
        Some((first, last)) => first.trim().parse().ok().zip(last.trim().parse().ok()),
        None => prefix(text.value).map(|(address, length)| {
            let first = masked(address, length);
            let hosts = u32::MAX.checked_shr(length.into()).unwrap_or(0);
            (first, Ipv4Addr::from_bits(first.to_bits() | hosts))
        }),
    };
    let Some((first, last)) = parsed else {
        let message = format!("`{}` is not a pool", text.value);
        let help = "write `192.0.2.10 - 192.0.2.20` or `192.0.2.0/28`";
        findings.error_help(text.at, message, help);
        return None;
    };
    if first > last {
        findings.error(text.at, format!("pool {first} - {last} ends before it begins"));
        return None;
    }
    if first.is_unspecified() && last.is_broadcast() {
        findings.error(text.at, "a pool cannot be the whole address space");
        return None;
    }
    Some((first, last))
}

/// Reads `network/length`; host bits may be set.
pub(super) fn prefix(text: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, length) = text.split_once('/')?;
    let length = length.trim().parse().ok().filter(|length| *length <= 32)?;
    Some((address.trim().parse().ok()?, length))
}

/// The address with its host bits cleared.
pub(super) fn masked(address: Ipv4Addr, length: u8) -> Ipv4Addr {
    let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
    Ipv4Addr::from_bits(address.to_bits() & mask)
}
