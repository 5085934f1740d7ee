//! Godwit beside Kea: the same seeded sequences of messages, each to a part of a configuration of its
//! own, and whatever the two answer differently.
//!
//! A sequence is a subnet or a shared network and some messages of a few clients through its relay
//! agent. [`batch::SEQUENCES`] sequences share two daemons: no sequence can see another's subnet. What the
//! daemons answered in the messages' order is compared field by field, and in the end the leases.
//! A difference is reduced to the smallest input that shows it. Its signature (the messages and
//! fields that differ) has to be in `conformance/differences.toml`, with a verdict.
//!
//! `GODWIT_DIFFER_SEQUENCES` says how many sequences, `GODWIT_SIM_SEED` where they are drawn from;
//! `cargo xtask differ` sets both.

mod batch;
mod generate;
mod known;
mod leases;
mod reply;
mod shrink;
mod value;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::common;
use crate::crash::from_environment;
use crate::subjects::process::Make;
use batch::{Comparison, Difference, SEQUENCES};
use known::Known;

/// Sequences in the test command.
const SAMPLE: u64 = 200;

#[test]
fn what_dhcpv4_differs_in_from_kea_3_has_a_verdict() {
    if common::has_debian_13() {
        assert_verdicts(Make::Kea3);
    }
}

fn assert_verdicts(kea: Make) {
    let count = from_environment("GODWIT_DIFFER_SEQUENCES", SAMPLE);
    let first = from_environment("GODWIT_SIM_SEED", 1);
    let comparison = Comparison { kea, known: Known::read() };
    let mut found: BTreeMap<String, (u64, Difference)> = BTreeMap::new();
    for seed in first..first + count.div_ceil(SEQUENCES as u64) {
        for difference in comparison.differences(seed) {
            let entry = found.entry(difference.signature.text.clone()).or_insert((0, difference));
            entry.0 += 1;
        }
    }
    let differing: u64 = found.values().map(|(times, _)| times).sum();
    println!("differ: {count} sequences, {differing} differ, {} signatures", found.len());
    let mut faults = String::new();
    for (signature, (times, difference)) in &found {
        if !comparison.known.has(kea, signature) {
            println!("{signature} ({times} times): {:?}", difference.signature.values);
            let smallest = shrink::smallest(&comparison, difference);
            writeln!(faults, "{signature} ({times} times), seed {}:", difference.seed).unwrap();
            writeln!(faults, "{}", smallest).unwrap();
        }
    }
    let report = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = format!("{kea:?}-differ.txt").to_lowercase();
    std::fs::write(report.join(&name), &faults).unwrap();
    assert!(faults.is_empty(), "{}\n{faults}", report.join(name).display());
}
