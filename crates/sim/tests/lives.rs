//! Many simulations of two shards. `GODWIT_SIM_SEEDS=n` runs more, `GODWIT_SIM_SEED=s` runs one.

use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use sim::{DhcpSimulation, DhcpSimulationReport, DhcpSimulationSettings, SimulatedProtocol};

const COMMAND: &str = "cargo test -p sim --test main lives:: -- --nocapture";

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn run_seed<P: SimulatedProtocol>(seed: u64) -> DhcpSimulationReport {
    DhcpSimulation::<P>::new(DhcpSimulationSettings::from_seed(seed)).run_to_end()
}

/// Runs `count` simulations, each without a violation, and returns the sum of their reports.
fn run_seeds<P: SimulatedProtocol>(count: u64) -> DhcpSimulationReport {
    let seeds: Vec<u64> = match number("GODWIT_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (1..=number("GODWIT_SIM_SEEDS").unwrap_or(count)).collect(),
    };
    let mut total = DhcpSimulationReport::default();
    for &seed in &seeds {
        let report = run_seed::<P>(seed);
        assert!(
            report.violations.is_empty(),
            "seed {seed}: {:#?}\nrepeat with: GODWIT_SIM_SEED={seed} {COMMAND}",
            report.violations
        );
        total.acknowledged += report.acknowledged;
        total.interposed += report.interposed;
        total.dropped += report.dropped;
        total.received += report.received;
        total.survived += report.survived;
        total.direct_replies += report.direct_replies;
        total.events += report.events;
    }
    println!("{} lives: {total:?}", seeds.len());
    if seeds.len() > 100 {
        // Simulations without events prove nothing.
        assert!(total.acknowledged > 10_000, "{total:?}");
        assert!(total.interposed > 10_000, "{total:?}");
        assert!(total.dropped > 1_000, "{total:?}");
        assert!(total.survived > 500, "{total:?}");
        assert!(total.direct_replies > 10_000, "{total:?}");
        assert!(total.events.events > 10_000, "{total:?}");
        assert!(total.events.answers > 1_000, "{total:?}");
        assert!(total.events.listener_crashes > 100, "{total:?}");
        assert!(total.events.lost_by_slow > 100, "{total:?}");
    }
    total
}

#[test]
fn no_v4_address_has_two_owners_and_nothing_acknowledged_is_lost() {
    run_seeds::<V4>(1_000);
}

#[test]
fn no_v6_resource_has_two_owners_and_nothing_acknowledged_is_lost() {
    run_seeds::<V6>(300);
}

#[test]
fn the_same_seed_lives_the_same_life() {
    for seed in [3, 77, 501] {
        assert_eq!(run_seed::<V4>(seed), run_seed::<V4>(seed), "seed {seed}");
        assert_eq!(run_seed::<V6>(seed), run_seed::<V6>(seed), "seed {seed}");
    }
}
