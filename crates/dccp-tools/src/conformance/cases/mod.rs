//! Test cases for a target, in the groups and with the names of the project's list.

mod acknowledgements;
mod active;
mod carriers;
mod checksums;
mod closing;
mod features;
mod handshake;
mod headers;
mod options;
mod rates;
mod sequences;

use super::case::ConformanceCase;

/// Returns all cases in the order of the list.
pub(super) fn all() -> impl Iterator<Item = &'static ConformanceCase> {
    let groups = [
        headers::CASES,
        checksums::CASES,
        options::CASES,
        features::CASES,
        sequences::CASES,
        handshake::CASES,
        closing::CASES,
        acknowledgements::CASES,
        rates::CASES,
        carriers::CASES,
    ];
    groups.into_iter().flatten()
}
