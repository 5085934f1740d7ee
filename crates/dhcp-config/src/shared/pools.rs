//! Reader of the `pools` of a subnet, with the check that no two pools share addresses.

use std::collections::BTreeMap;

use super::class_list;
use super::family::ConfigFamily;
use super::options;
use super::types::Pool;
use super::{godwit, names, other_keys};
use crate::address::{Address, first_of, is_everything, last_of, prefix};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;
use crate::source::{PositionedValue, SourcePosition};

/// Pool of addresses of the family `F`.
pub(crate) type PoolOf<F> = Pool<<F as ConfigFamily>::Address, <F as ConfigFamily>::Code>;

/// Range of a pool's addresses, with the index of its subnet and the position of the pool.
#[derive(Clone, Copy)]
pub(crate) struct PlacedRange<A> {
    pub(crate) first: A,
    pub(crate) last: A,
    /// Prefix length of the pool, in bits, if it is a pool of prefixes to delegate.
    pub(crate) length: Option<u8>,
    pub(crate) subnet: usize,
    pub(crate) at: SourcePosition,
}

impl<A: Address> PlacedRange<A> {
    /// Returns the description of the pool in messages.
    fn name(&self) -> String {
        match self.length {
            Some(length) => format!("prefix pool {}/{length}", self.first),
            None => format!("pool {} - {}", self.first, self.last),
        }
    }
}

/// Prefix and index of a subnet whose pools are read.
pub(crate) struct EnclosingSubnet<F: ConfigFamily> {
    /// Prefix of the subnet, with its position.
    pub(crate) prefix: PositionedValue<(F::Address, u8)>,
    /// Index that the subnet will have in the checked configuration.
    pub(crate) subnet: usize,
}

/// Reads the pools `items` of a subnet; adds their addresses to `ranges`.
pub(crate) fn read<F: ConfigFamily>(
    items: &[JsonValue],
    enclosing: &EnclosingSubnet<F>,
    ranges: &mut Vec<PlacedRange<F::Address>>,
    findings: &mut ParseContext,
) -> Vec<PoolOf<F>> {
    let mut pools = Vec::new();
    let (network, length) = enclosing.prefix.value;
    for item in items {
        let Some(PositionedValue { value: pool, at }) = pool::<F>(item, findings) else { continue };
        let outside = |address: F::Address| first_of(address, length) != network;
        if outside(pool.first) || outside(pool.last) {
            let Pool { first, last, .. } = pool;
            let message = format!("pool {first} - {last} is not inside subnet {network}/{length}");
            findings.error_with_second_position(
                at,
                message,
                "the subnet is at",
                enclosing.prefix.at,
            );
        }
        let (first, last) = (pool.first, pool.last);
        ranges.push(PlacedRange { first, last, length: None, subnet: enclosing.subnet, at });
        pools.push(pool);
    }
    pools
}

/// Reports pools of one subnet, of addresses or prefixes, that share addresses. Pools of different
/// subnets may share addresses: the server leases such an address to one client at a time.
pub(crate) fn refuse_overlaps<A: Address>(
    pools: &[PlacedRange<A>],
    delegated: &[PlacedRange<A>],
    findings: &mut ParseContext,
) {
    let mut by_subnet: BTreeMap<usize, Vec<PlacedRange<A>>> = BTreeMap::new();
    for range in pools.iter().chain(delegated) {
        by_subnet.entry(range.subnet).or_default().push(*range);
    }
    for ranges in by_subnet.values_mut() {
        sweep(ranges, findings);
    }
}

/// Reports the overlaps among the pools `ranges` of one subnet. In the order of first addresses,
/// each range is compared only with the one before it that reaches furthest.
fn sweep<A: Address>(ranges: &mut [PlacedRange<A>], findings: &mut ParseContext) {
    ranges.sort_unstable_by_key(|range| (range.first, range.at));
    let mut reach: Option<PlacedRange<A>> = None;
    for &range in &*ranges {
        if let Some(before) = reach.filter(|before| before.last >= range.first) {
            let (one, two) = if before.at < range.at { (before, range) } else { (range, before) };
            let message = format!("{} overlaps another of its subnet", two.name());
            findings.error_with_second_position(two.at, message, "the other is at", one.at);
        }
        if reach.is_none_or(|before| before.last < range.last) {
            reach = Some(range);
        }
    }
}

fn pool<F: ConfigFamily>(
    item: &JsonValue,
    findings: &mut ParseContext,
) -> Option<PositionedValue<PoolOf<F>>> {
    let mut fields = MapReader::from_value(item, "a pool", findings)?;
    let text = fields.text("pool", findings);
    if fields.take("pool").is_none() {
        findings.error_help(item.at, "a pool lacks `pool`", "must be a range or a prefix");
    }
    let pool_id = fields.u32("pool-id", findings).map_or(0, |id| id.value);
    let options = options::list::<F>(&mut fields, findings);
    let guards = class_list::guards(&mut fields, findings);
    let names = names::read_of_pool(&mut fields, findings);
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    other_keys::finish(fields, F::ELSEWHERE, findings);
    let text = text?;
    let (first, last) = range::<F>(text, findings)?;
    Some(PositionedValue {
        value: Pool { first, last, pool_id, options, guards, names },
        at: text.at,
    })
}

/// Reads the range of a pool: `a - b` or `network/length`.
fn range<F: ConfigFamily>(
    text: PositionedValue<&str>,
    findings: &mut ParseContext,
) -> Option<(F::Address, F::Address)> {
    let parsed = match text.value.split_once('-') {
        Some((first, last)) => first.trim().parse().ok().zip(last.trim().parse().ok()),
        None => prefix(text.value)
            .map(|(address, length)| (first_of(address, length), last_of(address, length))),
    };
    let Some((first, last)) = parsed else {
        let message = format!("`{}` is not a pool", text.value);
        findings.error_help(text.at, message, format!("write {}", F::POOL_EXAMPLE));
        return None;
    };
    if first > last {
        findings.error(text.at, format!("pool {first} - {last} ends before it begins"));
        return None;
    }
    if is_everything(first, last) {
        findings.error(text.at, "a pool cannot be the whole address space");
        return None;
    }
    Some((first, last))
}
