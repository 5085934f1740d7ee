//! Test suites of `cargo xtask dccp-worlds`: DCCP connections over emulated links in deterministic
//! simulations (worlds) with a virtual clock, each from one seed.

use std::time::Duration;

use super::long::{LongSuite, LongSuites};

pub(crate) const SUITES: LongSuites = LongSuites {
    command: "dccp-worlds",
    count_flag: "--count",
    count_default: 10_000,
    count_variables: &["GODWIT_WORLD_SEEDS"],
    seed_variables: &["GODWIT_WORLD_FIRST"],
    part_variable: None,
    case_limit: Duration::from_secs(1),
    suites: &[
        LongSuite {
            name: "ours",
            package: "dccp",
            tests: &["worlds::every_connection_closes_and_nothing_arrives_twice_or_changed"],
        },
        LongSuite {
            name: "linux",
            package: "dccp",
            tests: &["worlds::all_that_is_sent_to_or_by_linux_arrives"],
        },
    ],
};
