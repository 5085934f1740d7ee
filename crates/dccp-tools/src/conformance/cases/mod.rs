//! The cases: questions to a target, in the groups and with the names of the project's list.

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

use std::time::Instant;

use super::bench::Bench;
use super::verdict::{Judged, Stop};

/// A question and how it is asked.
pub(super) struct Case {
    /// Its name, as `HDR-01`.
    pub(super) name: &'static str,
    /// The section that it is about; of RFC 4340 unless it names another.
    pub(super) section: &'static str,
    /// What is expected.
    pub(super) requirement: &'static str,
    pub(super) scope: Scope,
}

/// Whether a case can be asked with packets.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    /// With these.
    Outside(fn(&Bench) -> Judged),
    /// It cannot, and why; a test of the core asks it.
    Inside(&'static str),
}

const fn outside(
    name: &'static str,
    section: &'static str,
    requirement: &'static str,
    ask: fn(&Bench) -> Judged,
) -> Case {
    Case { name, section, requirement, scope: Scope::Outside(ask) }
}

const fn inside(
    name: &'static str,
    section: &'static str,
    requirement: &'static str,
    why: &'static str,
) -> Case {
    Case { name, section, requirement, scope: Scope::Inside(why) }
}

/// Repetitions that are looked at before they count as not growing apart.
const REPETITIONS_MAX: usize = 8;

/// Waits for repetitions by `wait` until one takes half as long again as the first, which a machine that
/// stood still may have made long.
fn demand_growing_times(mut wait: impl FnMut() -> Judged) -> Judged {
    let mut times = Vec::new();
    while times.len() < REPETITIONS_MAX {
        let began = Instant::now();
        wait()?;
        times.push(began.elapsed().as_micros());
        if times[times.len() - 1] * 2 > times[0] * 3 {
            return Ok(());
        }
    }
    Err(Stop::failed("a longer time before a later repetition", format!("after {times:?} us")))
}

/// All cases in the order of the list.
pub(super) fn all() -> impl Iterator<Item = &'static Case> {
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
