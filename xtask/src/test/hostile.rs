//! Test suites of `cargo xtask hostile`: hostile datagrams at servers over each store, and leases
//! that the engine makes of hostile messages, written to each store and read again.

use std::time::Duration;

use super::long::{LongSuite, LongSuites};

pub(crate) const SUITES: LongSuites = LongSuites {
    command: "hostile",
    count_flag: "--count",
    count_default: 1_000_000,
    count_variables: &["GODWIT_HOSTILE_DATAGRAMS", "GODWIT_FUZZ_CASES"],
    seed_variables: &["GODWIT_SIM_SEED"],
    part_variable: None,
    case_limit: Duration::from_millis(20),
    suites: &[
        LongSuite {
            name: "dhcp4-memfile",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv4_over_a_lease_file"],
        },
        LongSuite {
            name: "dhcp4-mariadb",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv4_over_mariadb"],
        },
        LongSuite {
            name: "dhcp4-postgresql",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv4_over_postgresql"],
        },
        LongSuite {
            name: "dhcp6-memfile",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv6_over_a_lease_file"],
        },
        LongSuite {
            name: "dhcp6-mariadb",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv6_over_mariadb"],
        },
        LongSuite {
            name: "dhcp6-postgresql",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv6_over_postgresql"],
        },
        LongSuite {
            name: "leases-files",
            package: "dhcp-store",
            tests: &[
                "one_language::stores::of_dhcpv4::leases_come_back_from_files",
                "one_language::stores::of_dhcpv6::leases_come_back_from_files",
            ],
        },
        LongSuite {
            name: "leases-mariadb",
            package: "dhcp-store",
            tests: &[
                "one_language::stores::of_dhcpv4::leases_come_back_from_mariadb",
                "one_language::stores::of_dhcpv6::leases_come_back_from_mariadb",
            ],
        },
        LongSuite {
            name: "leases-postgresql",
            package: "dhcp-store",
            tests: &[
                "one_language::stores::of_dhcpv4::leases_come_back_from_postgresql",
                "one_language::stores::of_dhcpv6::leases_come_back_from_postgresql",
            ],
        },
        LongSuite {
            name: "leases-sqlite",
            package: "dhcp-store",
            tests: &[
                "one_language::stores::of_dhcpv4::leases_come_back_from_sqlite",
                "one_language::stores::of_dhcpv6::leases_come_back_from_sqlite",
            ],
        },
    ],
};
