//! Test suites of `cargo xtask ha`: kill -9 of either server of a pair, and cuts of the link
//! between them, at random moments under load; and lives of pairs on a network.

use std::time::Duration;

use super::long::{LongSuite, LongSuites};

pub(crate) const SUITES: LongSuites = LongSuites {
    command: "ha",
    count_flag: "--kills",
    count_default: 200,
    count_variables: &["GODWIT_HA_KILLS", "GODWIT_HA_LIVES"],
    seed_variables: &["GODWIT_HA_KILLS_SEED"],
    part_variable: None,
    case_limit: Duration::from_secs(120),
    suites: &[
        LongSuite {
            name: "hot-standby-godwit",
            package: "godwit",
            tests: &["high_availability::kills::a_hot_standby_pair_of_godwit_survives_kills"],
        },
        LongSuite {
            name: "load-balancing-godwit",
            package: "godwit",
            tests: &["high_availability::kills::a_balanced_pair_of_godwit_survives_kills"],
        },
        LongSuite {
            name: "hot-standby-kea-3-standby",
            package: "godwit",
            tests: &["high_availability::kills::hot_standby_with_kea_3_as_standby_survives"],
        },
        LongSuite {
            name: "hot-standby-kea-3-primary",
            package: "godwit",
            tests: &["high_availability::kills::hot_standby_with_kea_3_as_primary_survives"],
        },
        LongSuite {
            name: "hot-standby-kea-2.2-standby",
            package: "godwit",
            tests: &["high_availability::kills::hot_standby_with_kea_2_2_as_standby_survives"],
        },
        LongSuite {
            name: "hot-standby-kea-2.2-primary",
            package: "godwit",
            tests: &["high_availability::kills::hot_standby_with_kea_2_2_as_primary_survives"],
        },
        LongSuite {
            name: "load-balancing-kea-3-secondary",
            package: "godwit",
            tests: &["high_availability::kills::a_balanced_pair_with_kea_3_as_secondary_survives"],
        },
        LongSuite {
            name: "load-balancing-kea-3-primary",
            package: "godwit",
            tests: &["high_availability::kills::a_balanced_pair_with_kea_3_as_primary_survives"],
        },
        LongSuite {
            name: "lives-godwit",
            package: "godwit",
            tests: &["high_availability::lives::pairs_of_godwit_live_on_a_network"],
        },
        LongSuite {
            name: "lives-kea-3",
            package: "godwit",
            tests: &["high_availability::lives::pairs_with_kea_3_live_on_a_network"],
        },
        LongSuite {
            name: "lives-kea-2.2",
            package: "godwit",
            tests: &["high_availability::lives::pairs_with_kea_2_2_live_on_a_network"],
        },
    ],
};
