//! Test case of the suite.

use std::time::Instant;

use super::context::ConformanceContext;
use super::verdict::{CaseStopReason, Judged};

/// A test case: a requirement and the function that tests it.
pub(super) struct ConformanceCase {
    /// Name of the case, such as `HDR-01`.
    pub(super) name: &'static str,
    /// Section of the requirement; of RFC 4340 unless it names another RFC.
    pub(super) section: &'static str,
    /// Requirement of the RFC.
    pub(super) requirement: &'static str,
    pub(super) scope: ConformanceTestMethod,
}

/// Way to test a case.
#[derive(Clone, Copy)]
pub(super) enum ConformanceTestMethod {
    /// Function that tests the case with packets.
    Outside(fn(&ConformanceContext) -> Judged),
    /// Reason why packets cannot test the case; a test of the core does.
    Inside(&'static str),
}

/// Returns a case that `ask` tests with packets.
pub(super) const fn outside(
    name: &'static str,
    section: &'static str,
    requirement: &'static str,
    ask: fn(&ConformanceContext) -> Judged,
) -> ConformanceCase {
    ConformanceCase { name, section, requirement, scope: ConformanceTestMethod::Outside(ask) }
}

/// Returns a case that packets cannot test, for the reason `why`.
pub(super) const fn inside(
    name: &'static str,
    section: &'static str,
    requirement: &'static str,
    why: &'static str,
) -> ConformanceCase {
    ConformanceCase { name, section, requirement, scope: ConformanceTestMethod::Inside(why) }
}

/// Most repetitions observed before the case fails because their times do not grow.
const REPETITIONS_MAX: usize = 8;

/// Waits for repetitions with `wait` until one takes half as long again as the first. The first one
/// may be long because the machine was held up, so one comparison is not enough.
pub(super) fn demand_growing_times(mut wait: impl FnMut() -> Judged) -> Judged {
    let mut times = Vec::new();
    while times.len() < REPETITIONS_MAX {
        let began = Instant::now();
        wait()?;
        times.push(began.elapsed().as_micros());
        if times[times.len() - 1] * 2 > times[0] * 3 {
            return Ok(());
        }
    }
    Err(CaseStopReason::failed(
        "longer intervals between later repetitions",
        format!("repetitions after {times:?} us"),
    ))
}
