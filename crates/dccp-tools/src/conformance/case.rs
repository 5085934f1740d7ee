//! Test case of the conformance suite: a requirement and its test.

use std::time::Instant;

use super::context::ConformanceContext;
use super::verdict::{CaseStopReason, Judged};

/// Test case of the conformance suite: a requirement and the function that tests it.
pub(super) struct ConformanceCase {
    /// Name of the test case, such as `HDR-01`.
    pub(super) name: &'static str,
    /// Section of the RFC with the requirement; of RFC 4340 unless it names another RFC.
    pub(super) section: &'static str,
    /// Requirement of the RFC that the case tests.
    pub(super) requirement: &'static str,
    pub(super) scope: ConformanceTestMethod,
}

/// Method of a test case: with packets, or by a test of Godwit's core.
#[derive(Clone, Copy)]
pub(super) enum ConformanceTestMethod {
    /// Function that tests the target (the implementation under test) with packets.
    Outside(fn(&ConformanceContext) -> Judged),
    /// Reason why packets cannot test the requirement; a test of Godwit's core does.
    Inside(&'static str),
}

/// Returns a case that the function `ask` tests with packets.
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

/// Largest number of repetitions that a case observes before it fails because their times do not
/// grow.
const REPETITIONS_MAX: usize = 8;

/// Checks that a target repeats a packet at growing intervals: `wait` waits for one repetition, and
/// is called until an interval is one and a half times the first. The first interval may be long
/// because the machine was busy, so one comparison is not enough.
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
