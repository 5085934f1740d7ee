//! Test cases of the conformance suite, in the groups and with the names of
//! `crates/dccp/tests/conformance/CASES.md`.

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

/// Returns all conformance cases, group by group.
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
