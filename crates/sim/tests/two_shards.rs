//! A thousand lives of two shards. `GODWIT_SIM_SEEDS=n` lives more, `GODWIT_SIM_SEED=s` one.

use sim::v4::{Report, Settings, World};

const COMMAND: &str = "cargo test --profile checked -p sim --test two_shards -- --nocapture";

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn live(seed: u64) -> Report {
    World::new(Settings::from_seed(seed)).live()
}

#[test]
fn no_address_has_two_owners_and_every_message_is_accounted_for() {
    let seeds: Vec<u64> = match number("GODWIT_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (1..=number("GODWIT_SIM_SEEDS").unwrap_or(1_000)).collect(),
    };
    let mut total = Report::default();
    for &seed in &seeds {
        let report = live(seed);
        assert!(
            report.violations.is_empty(),
            "seed {seed}: {:#?}\nrepeat with: GODWIT_SIM_SEED={seed} {COMMAND}",
            report.violations
        );
        total.acknowledged += report.acknowledged;
        total.interposed += report.interposed;
        total.dropped += report.dropped;
        total.received += report.received;
        total.direct_replies += report.direct_replies;
    }
    println!("{} lives: {total:?}", seeds.len());
    if seeds.len() > 100 {
        // Worlds in which nothing happens prove nothing.
        assert!(total.acknowledged > 10_000, "{total:?}");
        assert!(total.interposed > 10_000, "{total:?}");
        assert!(total.dropped > 1_000, "{total:?}");
        assert!(total.direct_replies > 10_000, "{total:?}");
    }
}

#[test]
fn the_same_seed_lives_the_same_life() {
    for seed in [3, 77, 501] {
        assert_eq!(live(seed), live(seed), "seed {seed}");
    }
}
