//! Thread that looks up the shards' keys in a directory of host reservations.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::lookups::{Directory, LookupTurnResult, Lookups};
use crate::log::Clock;

/// Running lookup thread. It stops when the value is dropped.
#[derive(Debug)]
pub struct LookupThread {
    state: Arc<LookupThreadState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct LookupThreadState {
    stops: AtomicBool,
    /// Last problem of the lookups, until the server has taken its message.
    problem: Mutex<LookupProblem>,
}

#[derive(Debug, Default)]
struct LookupProblem {
    problem: Option<String>,
    is_failing: bool,
}

impl LookupThread {
    /// Starts a thread that looks up the keys of `lookups` in `directory`.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if it cannot create a thread.
    pub fn start<K, V>(
        lookups: Arc<Lookups<K, V>>,
        mut directory: impl Directory<K, V> + 'static,
        clock: Clock,
    ) -> io::Result<Self>
    where
        K: Ord + Clone + Send + 'static,
        V: Clone + Send + 'static,
    {
        let state = Arc::<LookupThreadState>::default();
        let running = Arc::clone(&state);
        let thread =
            std::thread::Builder::new().name("hosts-database".into()).spawn(move || {
                lookups.wakeup.register_thread();
                while !running.stops.load(Ordering::SeqCst) {
                    lookups.wakeup.take_pending();
                    let look_up_all = lookups.look_up_all(clock(), &mut directory);
                    running.record_turn(&look_up_all);
                    if look_up_all == LookupTurnResult::Idle && !lookups.wakeup.is_pending() {
                        std::thread::park();
                    }
                }
            })?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Takes the lookup thread's message for the operator since the last call: lookups have begun
    /// to fail, or work again.
    #[must_use]
    pub fn take_problem(&self) -> Option<String> {
        self.state.problem().problem.take()
    }
}

impl Drop for LookupThread {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.state.stops.store(true, Ordering::SeqCst);
        thread.thread().unpark();
        // The panic was reported where it happened; it must not become a second one here.
        let _ = thread.join();
    }
}

impl LookupThreadState {
    fn problem(&self) -> MutexGuard<'_, LookupProblem> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_turn(&self, turn: &LookupTurnResult) {
        let mut problem_state = self.problem();
        match turn {
            LookupTurnResult::Failed(error) if !problem_state.is_failing => {
                problem_state.is_failing = true;
                problem_state.problem = Some(format!("reservations cannot be looked up: {error}"));
            }
            LookupTurnResult::Answered(_) if problem_state.is_failing => {
                problem_state.is_failing = false;
                problem_state.problem = Some("reservations can be looked up again".to_owned());
            }
            LookupTurnResult::Failed(_)
            | LookupTurnResult::Answered(_)
            | LookupTurnResult::Idle => {}
        }
    }
}
