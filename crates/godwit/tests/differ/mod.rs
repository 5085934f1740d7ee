//! Comparison of Godwit and Kea: both get the same seeded sequences of messages, each for its own
//! part of a configuration, and the test compares their replies.
//!
//! A sequence is a subnet or a shared network and some messages of a few clients, through its relay
//! agents or on a link of their own. [`DifferProtocol::at_a_time`] sequences share two servers: no
//! sequence can see another's subnet. The test compares the replies in the order of the messages
//! field by field, and at the end the leases. It reduces a difference to the smallest input that
//! shows it. The signature of a difference (the messages and fields that differ) has to be in
//! `conformance/differences.toml`, with a verdict.
//!
//! `GODWIT_DIFFER_SEQUENCES` sets the number of sequences, `GODWIT_SIM_SEED` their seed;
//! `cargo xtask differ` sets both. `GODWIT_DIFFER_REDUCED` is the number of differences to reduce,
//! which takes about a minute each, and `GODWIT_DIFFER_ONLY` is a part of the signatures that
//! count. `GODWIT_DIFFER_PLAY` names a file with a reduced difference: the test plays only that,
//! and prints all replies of both servers.

mod batch;
mod choices;
mod commands;
mod held;
mod known;
mod leases;
mod names;
mod networks;
mod older;
mod play;
mod protocol;
mod shrink;
mod v4;
mod v6;
mod value;
mod wires;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use scenario::ScenarioFamily;
use serde_json::json;

use crate::common;
use crate::crash::from_environment;
use crate::subjects::process::ServerMake;
use batch::{KeaComparison, SequenceDifference};
use known::KnownKeaDifferences;
use protocol::DifferProtocol;
use wires::BothWires;

/// Number of batches in the test command.
const SAMPLE: u64 = 2;
/// Number of differences to reduce unless the environment sets another.
const REDUCED_MAX: u64 = 8;

#[test]
fn what_dhcpv4_differs_in_from_kea_3_has_a_verdict() {
    if common::has_debian_13() {
        assert_verdicts(&v4::RelayedDhcp4, ServerMake::Kea3, None);
    }
}

#[test]
fn what_dhcpv6_differs_in_from_kea_3_has_a_verdict() {
    if common::has_debian_13() {
        assert_verdicts(&v6::V6, ServerMake::Kea3, None);
    }
}

#[test]
fn what_dhcpv4_differs_in_from_kea_2_2_has_a_verdict() {
    if common::require(&["kea-dhcp4"]) {
        assert_verdicts(&v4::RelayedDhcp4, ServerMake::Kea, None);
    }
}

#[test]
fn what_dhcpv6_differs_in_from_kea_2_2_has_a_verdict() {
    if common::require(&["kea-dhcp6"]) {
        assert_verdicts(&v6::V6, ServerMake::Kea, None);
    }
}

#[test]
fn what_dhcpv4_without_relay_agents_differs_in_from_kea_3_has_a_verdict() {
    if common::has_debian_13()
        && let Some(wires) = BothWires::new(ScenarioFamily::V4, v4::DIRECT_LINKS)
    {
        assert_verdicts(&v4::V4Direct, ServerMake::Kea3, Some(wires));
    }
}

#[test]
fn what_dhcpv6_on_links_differs_in_from_kea_3_has_a_verdict() {
    if common::has_debian_13()
        && let Some(wires) = BothWires::new(ScenarioFamily::V6, v6::DIRECT_LINKS)
    {
        assert_verdicts(&v6::V6_ON_LINKS, ServerMake::Kea3, Some(wires));
    }
}

fn assert_verdicts(
    protocol: &'static dyn DifferProtocol,
    kea: ServerMake,
    wires: Option<BothWires>,
) {
    let at_a_time = protocol.at_a_time() as u64;
    let count = from_environment("GODWIT_DIFFER_SEQUENCES", SAMPLE * at_a_time);
    let first = from_environment("GODWIT_SIM_SEED", 1);
    let known = KnownKeaDifferences::read(protocol.family(), kea);
    let comparison = KeaComparison { protocol, kea, known, wires };
    if let Ok(path) = std::env::var("GODWIT_DIFFER_PLAY") {
        return play::show(&comparison, Path::new(&path));
    }
    let mut found: BTreeMap<String, (u64, SequenceDifference)> = BTreeMap::new();
    for seed in first..first + count.div_ceil(at_a_time) {
        for difference in comparison.differences(seed) {
            let entry = found.entry(difference.signature.text.clone()).or_insert((0, difference));
            entry.0 += 1;
        }
    }
    let differing: u64 = found.values().map(|(times, _)| times).sum();
    println!("differ: {count} sequences, {differing} differ, {} signatures", found.len());
    let mut faults = String::new();
    let only = std::env::var("GODWIT_DIFFER_ONLY").unwrap_or_default();
    found.retain(|signature, _| signature.contains(&only) && !comparison.known.has(signature));
    for (signature, (times, difference)) in &found {
        println!("{signature} ({times} times): {:?}", difference.signature.values);
    }
    let mut to_reduce = from_environment("GODWIT_DIFFER_REDUCED", REDUCED_MAX);
    for (signature, (times, difference)) in &found {
        writeln!(faults, "{signature} ({times} times), seed {}:", difference.seed).unwrap();
        if to_reduce > 0 {
            to_reduce -= 1;
            let smallest = shrink::smallest(&comparison, difference);
            println!("{signature}: {smallest}");
            writeln!(faults, "{smallest}").unwrap();
        } else {
            let SequenceDifference { globals, sequence, .. } = difference;
            writeln!(faults, "{}", json!({ "globals": globals, "sequence": sequence })).unwrap();
        }
    }
    let report = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let client_kind = if comparison.wires.is_some() { "direct" } else { "relayed" };
    let name = format!("{kea:?}-{:?}-{client_kind}-differ.txt", protocol.family()).to_lowercase();
    std::fs::write(report.join(&name), &faults).unwrap();
    assert!(faults.is_empty(), "{}\n{faults}", report.join(name).display());
}
