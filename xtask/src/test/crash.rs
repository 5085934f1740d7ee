//! Test suites of `cargo xtask crash`: kill -9 and power cuts at random times.

use std::time::Duration;

use super::long::{LongSuite, LongSuites};

pub(crate) const SUITES: LongSuites = LongSuites {
    command: "crash",
    count_flag: "--moments",
    count_default: 200,
    count_variables: &["GODWIT_CRASH_MOMENTS"],
    seed_variables: &["GODWIT_CRASH_SEED"],
    part_variable: None,
    case_limit: Duration::from_secs(30),
    suites: &[
        LongSuite {
            name: "server-v4",
            package: "godwit",
            tests: &["crash::acknowledged_dhcpv4_leases_survive_the_death_of_the_server"],
        },
        LongSuite {
            name: "server-v6",
            package: "godwit",
            tests: &["crash::acknowledged_dhcpv6_leases_survive_the_death_of_the_server"],
        },
        LongSuite {
            name: "legal-log",
            package: "godwit",
            tests: &[
                "crash::every_acknowledged_lease_has_its_line_in_the_legal_log_when_the_server_dies",
            ],
        },
        LongSuite {
            name: "dns-names",
            package: "godwit",
            tests: &[
                "dns_updates::inside::a_server_that_is_killed_has_the_names_of_its_leases_in_the_end",
            ],
        },
        LongSuite {
            name: "server-sqlite",
            package: "godwit",
            tests: &["crash::acknowledged_leases_in_sqlite_survive_the_death_of_the_server"],
        },
        LongSuite {
            name: "server-mariadb",
            package: "godwit",
            tests: &["crash::acknowledged_leases_in_mariadb_survive_the_death_of_either_server"],
        },
        LongSuite {
            name: "server-postgresql",
            package: "godwit",
            tests: &["crash::acknowledged_leases_in_postgresql_survive_the_death_of_either_server"],
        },
        LongSuite {
            name: "server-galera",
            package: "godwit",
            tests: &["crash::galera::no_address_has_two_owners_whichever_node_of_a_cluster_dies"],
        },
        LongSuite {
            name: "power-sqlite",
            package: "dhcp-store",
            tests: &[
                "power_cut::sqlite::acknowledged_leases_in_sqlite_survive_power_cuts",
                "power_cut::sqlite::what_could_not_be_flushed_is_done_again_over_a_new_connection",
            ],
        },
        LongSuite {
            name: "power-memfile",
            package: "dhcp-store",
            tests: &[
                "power_cut::acknowledged_leases_survive_power_cuts",
                "power_cut::acknowledged_leases_survive_failing_writes_and_restarts",
                "power_cut::leases_flushed_by_time_survive_power_cuts",
                "power_cut::undurable_leases_survive_the_death_of_the_process",
            ],
        },
        LongSuite {
            name: "lease-file-names",
            package: "dhcp-store",
            tests: &[
                "power_cut::names::acknowledged_leases_survive_what_other_programs_do_to_the_lease_files",
            ],
        },
        LongSuite {
            name: "clock-steps",
            package: "dhcp-store",
            tests: &["power_cut::steps::acknowledged_leases_outlast_steps_of_the_clock"],
        },
    ],
};
