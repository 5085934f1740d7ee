//! Tests of a store that loses its power at every kind of moment, and must keep its promises.
//!
//! `GODWIT_CRASH_MOMENTS` sets how many seeds each simulation runs with, `GODWIT_CRASH_SEED` the
//! first of them; `cargo xtask crash` sets both.

#![allow(unreachable_pub, reason = "modules of a test binary")]

mod case;
mod clients;
mod forgetful;
mod ledger;
mod names;
mod simulation;
mod sqlite;
mod steps;

use case::SimulatedFamily;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_store::RowDurability;
use dhcp_store::storage::DiskAfterCut::{self, PowerFailed, ProcessDied};
use simulation::{PowerCutRules, PowerCutTally, simulate};

const DURABLE: PowerCutRules = PowerCutRules {
    durability: RowDurability::Always,
    promises_settled: true,
    server_runs: 4,
    ends: &[PowerFailed, PowerFailed, PowerFailed, ProcessDied],
    has_faults: false,
    lying_syncs: false,
};

/// Name of the simulations of lease files in `cargo xtask crash`.
const MEMFILE: &str = "power-memfile";

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn cuts() -> u64 {
    from_environment("GODWIT_CRASH_MOMENTS", 200)
}

type Simulation = fn(u64, PowerCutRules, &mut PowerCutTally) -> Result<(), String>;

/// Runs a simulation of each family with every seed and fails at the first broken promise.
fn survives(test: &str, rules: PowerCutRules) -> PowerCutTally {
    survives_cuts(test, rules, cuts())
}

fn survives_cuts(test: &str, rules: PowerCutRules, cuts: u64) -> PowerCutTally {
    let first = from_environment("GODWIT_CRASH_SEED", 1);
    let mut tally = PowerCutTally::default();
    for seed in first..first + cuts {
        let mut run = |family: &str, simulate: Simulation| {
            simulate(seed, rules, &mut tally).map_err(|broken| format!("{family}: {broken}"))
        };
        let both = run("v4", simulate::<V4>).and_then(|()| run("v6", simulate::<V6>));
        if let Err(broken) = both {
            panic!(
                "{test}, seed {seed}: {broken}\nrepeat with: cargo xtask crash --only {MEMFILE} \
                 --moments 1 --seed {seed}"
            );
        }
    }
    println!("crash: {test}: {cuts} seeds, {tally}");
    tally
}

/// Returns the number of simulations of the family that break a promise.
fn broken<F: SimulatedFamily>(rules: PowerCutRules) -> u64 {
    let is_broken =
        |&seed: &u64| simulate::<F>(seed, rules, &mut PowerCutTally::default()).is_err();
    (1..=40).filter(is_broken).count() as u64
}

#[test]
fn acknowledged_leases_survive_power_cuts() {
    let tally = survives("acknowledged_leases_survive_power_cuts", DURABLE);
    if cuts() >= 200 {
        assert!(tally.acknowledged > 10_000, "{tally:?}");
        assert!(tally.cut_while_running > 200 && tally.cut_while_opening > 40, "{tally:?}");
        assert!(tally.rotations > 400 && tally.cleanups > 200, "{tally:?}");
        assert!(tally.reclaimed > 400, "{tally:?}");
    }
}

#[test]
fn acknowledged_leases_survive_failing_writes_and_restarts() {
    let rules = PowerCutRules { has_faults: true, ..DURABLE };
    let tally = survives("acknowledged_leases_survive_failing_writes_and_restarts", rules);
    if cuts() >= 200 {
        assert!(tally.acknowledged > 4_000 && tally.restarts > 100, "{tally:?}");
    }
}

const PROCESS_DIES: &[DiskAfterCut] = &[ProcessDied];

#[test]
fn undurable_leases_survive_the_death_of_the_process() {
    let few = cuts().div_ceil(4);
    for durability in [RowDurability::None, RowDurability::Interval(1_000)] {
        let rules = PowerCutRules { durability, ends: PROCESS_DIES, ..DURABLE };
        survives_cuts("undurable_leases_survive_the_death_of_the_process", rules, few);
        let rules = PowerCutRules { has_faults: true, ..rules };
        survives_cuts("undurable_leases_survive_the_death_of_the_process", rules, few);
    }
}

#[test]
fn leases_flushed_by_time_survive_power_cuts() {
    let durability = RowDurability::Interval(1_000);
    let few = cuts().div_ceil(2);
    let rules = PowerCutRules { durability, promises_settled: false, ..DURABLE };
    survives_cuts("leases_flushed_by_time_survive_power_cuts", rules, few);
    let rules = PowerCutRules { has_faults: true, ..rules };
    survives_cuts("leases_flushed_by_time_survive_power_cuts", rules, few);
}

#[test]
fn the_checker_finds_leases_that_were_not_flushed() {
    finds_what_was_not_flushed::<V4>();
    finds_what_was_not_flushed::<V6>();
}

fn finds_what_was_not_flushed<F: SimulatedFamily>() {
    assert!(broken::<F>(PowerCutRules { lying_syncs: true, ..DURABLE }) > 20);
    assert!(broken::<F>(PowerCutRules { durability: RowDurability::None, ..DURABLE }) > 20);
    assert!(
        broken::<F>(PowerCutRules { durability: RowDurability::Interval(1_000), ..DURABLE }) > 20
    );
}
