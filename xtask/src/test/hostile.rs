//! Suites of `cargo xtask hostile`: hostile datagrams at servers over each store, and leases that
//! the engine makes of hostile messages, written to each store and read again.

use std::time::Duration;

use super::long::{LongSuites, Suite};

pub(crate) const SUITES: LongSuites = LongSuites {
    command: "hostile",
    count_flag: "--count",
    count_default: 1_000_000,
    count_variables: &["GODWIT_HOSTILE_DATAGRAMS", "GODWIT_FUZZ_CASES"],
    seed_variables: &["GODWIT_SIM_SEED"],
    part_variable: None,
    case_limit: Duration::from_millis(20),
    suites: &[
        Suite {
            name: "dhcp4-memfile",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv4_over_a_lease_file"],
        },
        Suite {
            name: "dhcp4-mariadb",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv4_over_mariadb"],
        },
        Suite {
            name: "dhcp4-postgresql",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv4_over_postgresql"],
        },
        Suite {
            name: "dhcp6-memfile",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv6_over_a_lease_file"],
        },
        Suite {
            name: "dhcp6-mariadb",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv6_over_mariadb"],
        },
        Suite {
            name: "dhcp6-postgresql",
            package: "godwit",
            tests: &["hostile::hostile_datagrams_do_no_harm_to_dhcpv6_over_postgresql"],
        },
        Suite {
            name: "leases-files",
            package: "dhcp-store",
            tests: &[
                "one_language::stores::of_dhcpv4::leases_come_back_from_files",
                "one_language::stores::of_dhcpv6::leases_come_back_from_files",
            ],
        },
        Suite {
            name: "leases-mariadb",
            package: "dhcp-store",
            tests: &[
                "one_language::stores::of_dhcpv4::leases_come_back_from_mariadb",
                "one_language::stores::of_dhcpv6::leases_come_back_from_mariadb",
            ],
        },
        Suite {
            name: "leases-postgresql",
            package: "dhcp-store",
            tests: &[
                "one_language::stores::of_dhcpv4::leases_come_back_from_postgresql",
                "one_language::stores::of_dhcpv6::leases_come_back_from_postgresql",
            ],
        },
        Suite {
            name: "leases-sqlite",
            package: "dhcp-store",
            tests: &[
                "one_language::stores::of_dhcpv4::leases_come_back_from_sqlite",
                "one_language::stores::of_dhcpv6::leases_come_back_from_sqlite",
            ],
        },
    ],
};
