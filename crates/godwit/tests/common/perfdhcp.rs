//! What perfdhcp reports, and what its clients leave in a lease file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The first number behind each `label`.
pub(crate) fn figures(report: &str, label: &str) -> Vec<u64> {
    report
        .lines()
        .filter_map(|line| line.trim().strip_prefix(label))
        .filter_map(|rest| rest.trim().split(' ').next()?.parse().ok())
        .collect()
}

/// The first column of each row: the addresses, and in v6 the prefixes, that are or were leased.
pub(crate) fn keys(leases: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(leases).expect("the lease file is there");
    text.lines().skip(1).filter_map(|row| Some(row.split(',').next()?.to_owned())).collect()
}
