//! Instructions of one exchange, counted by callgrind, against the figures in `instructions.toml`:
//! a commit that makes a message more expensive also changes the figure.
//!
//! The measured program is the example `features`, which is built with the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Largest growth that the test accepts: as much as the same code differs by between processors.
const TOLERATED: f64 = 1.03;
/// Number of exchanges that one run of the example counts.
const EXCHANGES: f64 = 1_000.0;
/// Contents of `instructions.toml`.
const STATED: &str = include_str!("instructions.toml");

/// Returns the instructions per exchange that the file has for `feature`.
fn stated(feature: &str) -> f64 {
    let line = STATED.lines().find_map(|line| line.strip_prefix(&format!("\"{feature}\" = ")));
    line.and_then(|figure| figure.parse().ok())
        .unwrap_or_else(|| panic!("instructions.toml has no figure of {feature}"))
}

/// Returns the path of the example's program: next to the folder of the test programs.
fn example() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().and_then(Path::parent).unwrap().join("examples/features")
}

fn counted(family: &str, name: &str) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*measured*")
        .arg(example())
        .args(["--once", family, name])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.split_once("Collected : "));
    let collected = line.unwrap_or_else(|| panic!("callgrind counted nothing: {text}")).1;
    collected.trim().parse::<f64>().unwrap() / EXCHANGES
}

/// Returns true if callgrind can be run here; prints the reason if not.
fn can_count() -> bool {
    let is_there = Command::new("valgrind").arg("--version").output().is_ok();
    is_there || testkit::skip("valgrind (Debian package valgrind) is missing")
}

fn check(family: &str, name: &str) {
    if !can_count() {
        return;
    }
    let feature = format!("{family} {name}");
    let (counted, stated) = (counted(family, name), stated(&feature));
    println!("{feature}: {counted:.0} instructions, stated {stated:.0}");
    assert!(
        counted <= stated * TOLERATED,
        "an exchange of {feature} takes {counted:.0} instructions, {:.1} % more than stated; if that \
         is what the change is worth, state it in crates/dhcp-engine/tests/instructions.toml",
        (counted / stated - 1.0) * 100.0
    );
}

#[test]
fn a_dora_takes_no_more_instructions_than_stated() {
    check("v4", "plain");
}

#[test]
fn a_sarr_takes_no_more_instructions_than_stated() {
    check("v6", "plain");
}

#[test]
fn a_dora_with_a_listener_of_lease_events_takes_no_more_instructions_than_stated() {
    check("v4", "lease events counted");
}

#[test]
fn a_sarr_with_a_listener_of_lease_events_takes_no_more_instructions_than_stated() {
    check("v6", "lease events counted");
}
