//! Containment of panics: a panic ends the work on one message and not the process.
//!
//! A server aborts on every panic (`docs/design/024-panics.md`) except on panics in work that runs
//! in [`run_contained`]: the server gives up that work, the caller counts it, and everything else
//! goes on. A panic in work that has begun to change leases aborts the process nevertheless, in
//! `dhcp-lease`. Until a server calls [`enable`], nothing is contained: a test fails by the panic
//! itself.
//!
//! Cost without a panic: one flag is read, another set and restored.

use core::cell::Cell;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, Ordering};
use std::panic::catch_unwind;

static IS_ENABLED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Makes [`run_contained`] contain the panics of all threads from now on.
pub fn enable() {
    IS_ENABLED.store(true, Ordering::Relaxed);
}

/// Runs `work` and returns its result; `None` when `work` panicked.
///
/// After a panic, values that `work` had borrowed may be changed in part, so callers contain only
/// work whose state is created anew each time.
pub fn run_contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    if IS_ENABLED.load(Ordering::Relaxed) { caught(work) } else { Some(work()) }
}

fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    let was_contained = IS_CONTAINED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_CONTAINED.set(was_contained);
    outcome.ok()
}

/// Returns true while a panic of this thread would end only the work in [`run_contained`]; the
/// panic hook of a server calls it.
#[must_use]
pub fn is_contained() -> bool {
    IS_CONTAINED.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_panics_has_no_outcome_and_what_follows_has() {
        assert!(!is_contained());
        assert_eq!(caught(is_contained), Some(true));
        let index = [1_usize, 7];
        assert_eq!(caught(|| index[index[1]]), None);
        assert!(!is_contained());
        let inner = caught(|| (caught(|| index[index[1]]), is_contained()));
        assert_eq!(inner, Some((None, true)));
    }
}
