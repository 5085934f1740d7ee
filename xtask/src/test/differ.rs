//! Test suites of `cargo xtask differ`: identical DHCP messages to Godwit and to a version of Kea,
//! and the differences between their replies.

use std::time::Duration;

use super::long::{LongSuite, LongSuites};

pub(crate) const SUITES: LongSuites = LongSuites {
    command: "differ",
    count_flag: "--count",
    count_default: 100_000,
    count_variables: &["GODWIT_DIFFER_SEQUENCES"],
    seed_variables: &["GODWIT_SIM_SEED"],
    part_variable: None,
    case_limit: Duration::from_millis(500),
    suites: &[
        LongSuite {
            name: "dhcp4-kea-3",
            package: "godwit",
            tests: &["differ::what_dhcpv4_differs_in_from_kea_3_has_a_verdict"],
        },
        LongSuite {
            name: "dhcp4-kea-2.2",
            package: "godwit",
            tests: &["differ::what_dhcpv4_differs_in_from_kea_2_2_has_a_verdict"],
        },
        LongSuite {
            name: "dhcp4-direct-kea-3",
            package: "godwit",
            tests: &[
                "differ::what_dhcpv4_without_relay_agents_differs_in_from_kea_3_has_a_verdict",
            ],
        },
        LongSuite {
            name: "dhcp6-kea-3",
            package: "godwit",
            tests: &["differ::what_dhcpv6_differs_in_from_kea_3_has_a_verdict"],
        },
        LongSuite {
            name: "dhcp6-kea-2.2",
            package: "godwit",
            tests: &["differ::what_dhcpv6_differs_in_from_kea_2_2_has_a_verdict"],
        },
        LongSuite {
            name: "dhcp6-direct-kea-3",
            package: "godwit",
            tests: &["differ::what_dhcpv6_on_links_differs_in_from_kea_3_has_a_verdict"],
        },
    ],
};
