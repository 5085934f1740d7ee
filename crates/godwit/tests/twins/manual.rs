//! Comparison of the manual with the twins: no row says `same` about something that differs.

use std::collections::BTreeSet;

use scenario::{ComparisonScenario, DeviationReason, ScenarioFamily};

use super::{NamedTwin, all};
use crate::common::manual::{keys, page, quoted, rows};

/// Returns the manual's status of each row that a twin may name: keys by their name, commands by
/// `command NAME`, for the family `digit`.
fn statuses(digit: char, row: &str) -> Vec<String> {
    if let Some(command) = row.strip_prefix("command ") {
        let page = page("commands.md");
        let is_named =
            |cell: &str| quoted(cell).any(|name| name.replace('#', &digit.to_string()) == command);
        let found = rows(&page, "Command").into_iter().filter(|row| is_named(row[0]));
        return found.map(|row| row[1].to_owned()).collect();
    }
    let told = keys(&page("coming-from-kea.md"));
    let found = told.into_iter().filter(|told| told.key == row && told.family == digit);
    found.map(|told| told.status).collect()
}

/// Returns the rows that differ on purpose by a difference of the twin.
fn different(comparison: &ComparisonScenario) -> BTreeSet<&str> {
    let meant = |verdict| matches!(verdict, DeviationReason::Ours | DeviationReason::Rfc);
    let meant = comparison.differences.iter().filter(|known| meant(known.verdict));
    let rows = meant.flat_map(|known| known.rows.as_ref().unwrap_or(&comparison.rows));
    rows.map(String::as_str).collect()
}

fn faults(NamedTwin { name, comparison, .. }: &NamedTwin) -> Vec<String> {
    let digit = if comparison.family == ScenarioFamily::V4 { '4' } else { '6' };
    let different = different(comparison);
    let mut faults = Vec::new();
    for row in &comparison.rows {
        let statuses = statuses(digit, row);
        if statuses.is_empty() {
            faults.push(format!("{name}: the manual has no row `{row}`"));
        }
        if different.contains(row.as_str()) && statuses.iter().any(|status| status == "same") {
            faults.push(format!("{name}: `{row}` differs, and the manual says `same`"));
        }
    }
    faults
}

#[test]
fn no_row_of_the_manual_says_same_of_what_a_twin_has_different() {
    let faults: Vec<String> = all().iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
