//! `cargo xtask crash`: the crash suites, of which the test command runs a sample, at as many moments
//! as one likes.
//!
//! A suite is some tests of one integration program, which read how many moments and which seed from their
//! environment and print what came of them on lines that begin with [`COUNTS`].

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Session;
use super::child;
use super::programs::{self, Built};
use super::tally::{Tally, read_output};

/// Suites: the crate whose integration program has the tests, and the tests.
const SUITES: [Suite; 10] = [
    Suite {
        name: "server-v4",
        package: "godwit",
        tests: &["crash::acknowledged_dhcpv4_leases_survive_the_death_of_the_server"],
    },
    Suite {
        name: "server-v6",
        package: "godwit",
        tests: &["crash::acknowledged_dhcpv6_leases_survive_the_death_of_the_server"],
    },
    Suite {
        name: "server-sqlite",
        package: "godwit",
        tests: &["crash::acknowledged_leases_in_sqlite_survive_the_death_of_the_server"],
    },
    Suite {
        name: "server-mariadb",
        package: "godwit",
        tests: &["crash::acknowledged_leases_in_mariadb_survive_the_death_of_either_server"],
    },
    Suite {
        name: "server-postgresql",
        package: "godwit",
        tests: &["crash::acknowledged_leases_in_postgresql_survive_the_death_of_either_server"],
    },
    Suite {
        name: "server-galera",
        package: "godwit",
        tests: &["crash::galera::no_address_has_two_owners_whichever_node_of_a_cluster_dies"],
    },
    Suite {
        name: "power-sqlite",
        package: "dhcp-store",
        tests: &[
            "power_cut::sqlite::acknowledged_leases_in_sqlite_survive_power_cuts",
            "power_cut::sqlite::what_could_not_be_flushed_is_done_again_over_a_new_connection",
        ],
    },
    Suite {
        name: "power-memfile",
        package: "dhcp-store",
        tests: &[
            "power_cut::acknowledged_leases_survive_power_cuts",
            "power_cut::acknowledged_leases_survive_failing_writes_and_restarts",
            "power_cut::leases_flushed_by_time_survive_power_cuts",
            "power_cut::undurable_leases_survive_the_death_of_the_process",
        ],
    },
    Suite {
        name: "lease-file-names",
        package: "dhcp-store",
        tests: &[
            "power_cut::names::acknowledged_leases_survive_what_other_programs_do_to_the_lease_files",
        ],
    },
    Suite {
        name: "clock-steps",
        package: "dhcp-store",
        tests: &["power_cut::steps::acknowledged_leases_outlast_steps_of_the_clock"],
    },
];

/// How lines begin that say what came of a test.
const COUNTS: &str = "crash: ";
/// Longer than any suite takes for a moment.
const MOMENT_LIMIT: Duration = Duration::from_secs(30);
/// Longer than any suite takes to begin and end.
const SUITE_LIMIT: Duration = Duration::from_secs(300);

struct Suite {
    name: &'static str,
    package: &'static str,
    tests: &'static [&'static str],
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// How many moments for each suite.
    pub(crate) moments: u64,
    /// Where they are drawn from.
    pub(crate) seed: u64,
    /// Only the suite of this name.
    pub(crate) only: Option<String>,
}

impl Default for Wish {
    fn default() -> Self {
        Self { moments: 200, seed: 1, only: None }
    }
}

/// Runs the suites; true when nothing failed.
pub(crate) fn run(root: &Path, wish: &Wish) -> Result<bool, String> {
    let is_wished = |suite: &&Suite| wish.only.as_ref().is_none_or(|name| name == suite.name);
    let suites: Vec<&Suite> = SUITES.iter().filter(is_wished).collect();
    if suites.is_empty() {
        let names = SUITES.map(|suite| suite.name).join(", ");
        return Err(format!("there is no such suite of crashes; there are {names}"));
    }
    let mut session = Session::begin(root)?;
    session.requires_tools = session.privilege.is_root();
    let built = programs::build_integration_programs(&session, "build-crash")?;
    let mut total = Tally::default();
    for suite in suites {
        total += run_suite(&session, suite, wish, &built)?;
    }
    drop(session);
    println!("{total}");
    Ok(total.failed == 0)
}

fn run_suite(
    session: &Session,
    suite: &Suite,
    wish: &Wish,
    built: &Built,
) -> Result<Tally, String> {
    let program = built.integration_program(suite.package)?;
    let log = session.log(&format!("crash-{}", suite.name));
    let mut command = Command::new(&program.executable);
    command
        .args(["--exact", "--show-output", "--test-threads=1"])
        .args(suite.tests)
        .current_dir(&program.folder)
        .envs(session.environment())
        .env("GODWIT_CRASH_MOMENTS", wish.moments.to_string())
        .env("GODWIT_CRASH_SEED", wish.seed.to_string());
    let started = Instant::now();
    let moments = u32::try_from(wish.moments).unwrap_or(u32::MAX);
    let limit = SUITE_LIMIT.saturating_add(MOMENT_LIMIT.saturating_mul(moments));
    let end = child::run(&mut command, &session.marker, &log, limit)?;
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let (mut tally, reasons) = read_output(&text);
    let is_whole = tally.passed + tally.skipped == suite.tests.len();
    if !(end.is_success() && is_whole) {
        tally.failed = tally.failed.max(1);
    }
    println!("{:<20} {:>7.1} s   {tally}", suite.name, started.elapsed().as_secs_f64());
    reasons.iter().for_each(|reason| println!("    left out: {reason}"));
    text.lines().filter_map(|line| line.strip_prefix(COUNTS)).for_each(|counts| {
        println!("    {counts}");
    });
    if tally.failed > 0 {
        println!("    {}; the whole log: {}", end.describe(), log.display());
        print!("{}", child::last_lines(&log, 30));
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_suite_has_a_name_of_its_own_and_tests_that_exist() {
        let names: BTreeSet<&str> = SUITES.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), SUITES.len());
        let crates = crate::workspace_root().join("crates");
        for suite in &SUITES {
            let is_there = |test: &&str| {
                let mut parts = test.rsplit("::");
                let (name, folder) = (parts.next().unwrap_or(test), test.split("::").next());
                let tests = crates.join(suite.package).join("tests").join(folder.unwrap_or(""));
                fs::read_dir(tests).into_iter().flatten().flatten().any(|file| {
                    let text = fs::read_to_string(file.path()).unwrap_or_default();
                    text.contains(&format!("fn {name}("))
                })
            };
            let missing: Vec<_> = suite.tests.iter().filter(|test| !is_there(test)).collect();
            assert_eq!(missing, [&""; 0], "{}", suite.name);
        }
    }

    #[test]
    fn an_unknown_suite_is_refused() {
        let wish = Wish { only: Some("none".to_owned()), ..Wish::default() };
        assert!(run(Path::new("/"), &wish).unwrap_err().contains("server-v4"));
    }
}
