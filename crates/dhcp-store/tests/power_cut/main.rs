//! The store loses its power at every kind of moment, and keeps what it has promised.
//!
//! `GODWIT_POWER_CUTS` sets how many seeds each simulation runs with, `GODWIT_POWER_CUT_SEED` the
//! first of them.

#![allow(unreachable_pub, reason = "modules of a test binary")]

mod family;
mod ledger;
mod world;

use dhcp_store::Durability;
use dhcp_store::storage::Survival::{self, PowerFailed, ProcessDied};
use family::Lived;
use world::{Rules, Tally, simulate};

const DURABLE: Rules = Rules {
    durability: Durability::Always,
    promises_settled: true,
    lives: 4,
    ends: &[PowerFailed, PowerFailed, PowerFailed, ProcessDied],
    has_faults: false,
    lying_syncs: false,
};

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn cuts() -> u64 {
    from_environment("GODWIT_POWER_CUTS", 200)
}

/// Runs a simulation with every seed and fails at the first broken promise.
fn survives<F: Lived>(test: &str, rules: Rules) -> Tally {
    survives_cuts::<F>(test, rules, cuts())
}

fn survives_cuts<F: Lived>(test: &str, rules: Rules, cuts: u64) -> Tally {
    let first = from_environment("GODWIT_POWER_CUT_SEED", 1);
    let mut tally = Tally::default();
    for seed in first..first + cuts {
        if let Err(broken) = simulate::<F>(seed, rules, &mut tally) {
            panic!(
                "seed {seed}: {broken}\nrepeat with: GODWIT_POWER_CUTS=1 \
                 GODWIT_POWER_CUT_SEED={seed} cargo test --profile checked -p dhcp-store \
                 --test power_cut {test}"
            );
        }
    }
    println!("{test}: {tally:?}");
    tally
}

/// In how many of the simulations a promise is broken.
fn broken<F: Lived>(rules: Rules) -> u64 {
    (1..=40).filter(|&seed| simulate::<F>(seed, rules, &mut Tally::default()).is_err()).count()
        as u64
}

macro_rules! for_both_families {
    ($($name:ident,)*) => {
        mod v4 {
            $(#[test] fn $name() { super::$name::<dhcp_lease::v4::V4>(); })*
        }
        mod v6 {
            $(#[test] fn $name() { super::$name::<dhcp_lease::v6::V6>(); })*
        }
    };
}

for_both_families! {
    acknowledged_leases_survive_power_cuts,
    acknowledged_leases_survive_failing_writes_and_restarts,
    undurable_leases_survive_the_death_of_the_process,
    leases_flushed_by_time_survive_power_cuts,
    the_checker_finds_leases_that_were_not_flushed,
}

fn acknowledged_leases_survive_power_cuts<F: Lived>() {
    let tally = survives::<F>("acknowledged_leases_survive_power_cuts", DURABLE);
    if cuts() >= 200 {
        assert!(tally.acknowledged > 5_000, "{tally:?}");
        assert!(tally.cut_while_running > 100 && tally.cut_while_opening > 20, "{tally:?}");
        assert!(tally.rotations > 200 && tally.cleanups > 100, "{tally:?}");
    }
}

fn acknowledged_leases_survive_failing_writes_and_restarts<F: Lived>() {
    let rules = Rules { has_faults: true, ..DURABLE };
    let tally = survives::<F>("acknowledged_leases_survive_failing_writes_and_restarts", rules);
    if cuts() >= 200 {
        assert!(tally.acknowledged > 2_000 && tally.restarts > 50, "{tally:?}");
    }
}

const PROCESS_DIES: &[Survival] = &[ProcessDied];

fn undurable_leases_survive_the_death_of_the_process<F: Lived>() {
    let few = cuts().div_ceil(4);
    for durability in [Durability::None, Durability::Interval(1_000)] {
        let rules = Rules { durability, ends: PROCESS_DIES, ..DURABLE };
        survives_cuts::<F>("undurable_leases_survive_the_death_of_the_process", rules, few);
        let rules = Rules { has_faults: true, ..rules };
        survives_cuts::<F>("undurable_leases_survive_the_death_of_the_process", rules, few);
    }
}

fn leases_flushed_by_time_survive_power_cuts<F: Lived>() {
    let durability = Durability::Interval(1_000);
    let few = cuts().div_ceil(2);
    let rules = Rules { durability, promises_settled: false, ..DURABLE };
    survives_cuts::<F>("leases_flushed_by_time_survive_power_cuts", rules, few);
    let rules = Rules { has_faults: true, ..rules };
    survives_cuts::<F>("leases_flushed_by_time_survive_power_cuts", rules, few);
}

fn the_checker_finds_leases_that_were_not_flushed<F: Lived>() {
    assert!(broken::<F>(Rules { lying_syncs: true, ..DURABLE }) > 20);
    assert!(broken::<F>(Rules { durability: Durability::None, ..DURABLE }) > 20);
    assert!(broken::<F>(Rules { durability: Durability::Interval(1_000), ..DURABLE }) > 20);
}
