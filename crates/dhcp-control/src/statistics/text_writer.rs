//! Writer of all statistics as text. With ten thousand subnets there are hundreds of thousands of
//! statistics, and monitoring requests them several times a second: so the writer builds no tree of
//! values, and formats each time stamp once.
//!
//! Time budget: 15 ns for a sample, 40 ns for a name.

use std::collections::BTreeMap;

use super::observation::StatisticSample;
use super::{StatisticName, StatisticScope, Statistics};
use crate::text::time_stamp;

/// Approximate number of bytes of one statistic in the text.
const USUAL_BYTES: usize = 128;
/// Number of decimal digits of the largest number in the text.
const DIGITS_MAX: usize = 20;

/// Returns the answer with all statistics, or those of the whole server only, as the JSON text that
/// [`crate::kea_json`] would write.
pub(super) fn answer(statistics: &Statistics, is_global_only: bool) -> String {
    let mut text = String::with_capacity(statistics.observations.len() * USUAL_BYTES);
    let mut stamps = BTreeMap::new();
    text.push_str("{ \"arguments\": { ");
    let mut is_first = true;
    for (name, seen) in &statistics.observations {
        if is_global_only && !name.scope.is_of_server() {
            continue;
        }
        let Some(samples) = seen.samples() else { continue };
        text.push_str(if is_first { "\"" } else { ", \"" });
        is_first = false;
        write_name(&mut text, *name);
        text.push_str("\": [ ");
        for (index, sample) in samples.enumerate() {
            text.push_str(if index == 0 { "[ " } else { ", [ " });
            write_sample(&mut text, sample, &mut stamps);
        }
        text.push_str(" ]");
    }
    text.push_str(" }, \"result\": 0 }");
    text
}

fn write_name(text: &mut String, name: StatisticName) {
    let (subnet, pool) = match name.scope {
        StatisticScope::Global => (None, None),
        StatisticScope::EventListener(listener) => {
            text.extend(["event-listener[", listener, "]."]);
            (None, None)
        }
        StatisticScope::Subnet(subnet) => (Some(subnet), None),
        StatisticScope::Pool(subnet, pool) => (Some(subnet), Some(("pool[", pool))),
        StatisticScope::PrefixPool(subnet, pool) => (Some(subnet), Some(("pd-pool[", pool))),
    };
    if let Some(subnet) = subnet {
        text.push_str("subnet[");
        write_number(text, subnet.into());
        text.push_str("].");
    }
    if let Some((word, pool)) = pool {
        text.push_str(word);
        write_number(text, pool.into());
        text.push_str("].");
    }
    text.push_str(name.counted);
}

fn write_sample(text: &mut String, sample: &StatisticSample, stamps: &mut BTreeMap<u64, String>) {
    let value = super::bounded(sample.value);
    if value < 0 {
        text.push('-');
    }
    // A bounded number has at most 64 bits in addition to its sign.
    write_number(text, value.unsigned_abs() as u64);
    text.push_str(", \"");
    text.push_str(stamps.entry(sample.wall_us).or_insert_with(|| time_stamp(sample.wall_us)));
    text.push_str("\" ]");
}

fn write_number(text: &mut String, mut number: u64) {
    let mut digits = [0; DIGITS_MAX];
    let mut at = DIGITS_MAX;
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.push_str(core::str::from_utf8(&digits[at..]).expect("digits are ASCII"));
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::{LeaseCounts, PoolCounts, ServerCounts, StatisticCommand, SubnetCounts};
    use super::*;
    use crate::ip_version::IpVersion;
    use crate::text::kea_json;

    #[test]
    fn text_is_what_the_tree_of_values_would_be() {
        for version in [IpVersion::V4, IpVersion::V6] {
            let mut statistics = Statistics::new(version);
            for assigned in [0, 7, 1_234_567_890_123] {
                let leases = LeaseCounts { assigned, ..LeaseCounts::default() };
                let pool = |id| PoolCounts { id, total: u128::MAX, leases };
                let subnet = |id| SubnetCounts {
                    id,
                    pools: vec![pool(0), pool(4_294_967_295)],
                    prefix_pools: vec![pool(9)],
                    ..SubnetCounts::default()
                };
                let counts = ServerCounts {
                    subnets: vec![subnet(3), subnet(10)],
                    ..ServerCounts::default()
                };
                statistics.sample(1_795_315_192_262_110 + assigned, &counts);
                statistics.reset("subnet[3].pool[0].cumulative-assigned-addresses");
            }
            assert!(statistics.remove("subnet[10].reclaimed-leases"));
            for is_global_only in [false, true] {
                let text = statistics.execute(&StatisticCommand::All { is_global_only });
                let value: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(value["arguments"], statistics.all(is_global_only));
                assert_eq!(value["result"], 0);
                assert_eq!(kea_json(&value).len(), text.len(), "and no other spaces");
            }
        }
    }

    #[test]
    fn no_statistics_are_an_empty_map() {
        let text = answer(&Statistics::new(IpVersion::V4), false);
        assert_eq!(text, "{ \"arguments\": {  }, \"result\": 0 }");
    }

    #[test]
    fn numbers_are_those_of_the_language() {
        for number in [0, 9, 10, 99, 1_000_000, u64::MAX] {
            let mut text = String::new();
            write_number(&mut text, number);
            assert_eq!(text, number.to_string());
        }
    }
}
