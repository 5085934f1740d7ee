//! Test suites of `cargo xtask dccp-linux`: DCCP between Godwit's stack and that of Linux.

use std::time::Duration;

use super::long::{LongSuite, LongSuites};

pub(crate) const SUITES: LongSuites = LongSuites {
    command: "dccp-linux",
    count_flag: "--rounds",
    count_default: 3,
    count_variables: &["GODWIT_DCCP_LINUX_ROUNDS"],
    seed_variables: &["GODWIT_SIM_SEED"],
    part_variable: Some("GODWIT_DCCP_LINUX_ONLY"),
    // A round has 109 parts of some seconds each, and takes several times as long on a busy
    // machine.
    case_limit: Duration::from_secs(1800),
    suites: &[LongSuite {
        name: "linux-6.1",
        package: "godwit",
        tests: &["dccp::linux::our_dccp_and_that_of_linux_work_together"],
    }],
};
