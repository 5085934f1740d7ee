//! The thread that looks up.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::core::{Directory, Lookups, Turn};
use crate::log::Clock;

/// The running thread. Stops when dropped.
#[derive(Debug)]
pub struct LookupThread {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stops: AtomicBool,
    /// What went wrong last, until the operator has heard of it.
    problem: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    problem: Option<String>,
    is_failing: bool,
}

impl LookupThread {
    /// Starts a thread that asks `directory` for what `lookups` want to know.
    ///
    /// # Errors
    ///
    /// When the operating system gives no thread.
    pub fn start<K, V>(
        lookups: Arc<Lookups<K, V>>,
        mut directory: impl Directory<K, V> + 'static,
        clock: Clock,
    ) -> io::Result<Self>
    where
        K: Ord + Clone + Send + 'static,
        V: Clone + Send + 'static,
    {
        let state = Arc::<State>::default();
        let running = Arc::clone(&state);
        let thread =
            std::thread::Builder::new().name("hosts-database".into()).spawn(move || {
                lookups.bell.listen();
                while !running.stops.load(Ordering::SeqCst) {
                    lookups.bell.answer();
                    let turn = lookups.turn(clock(), &mut directory);
                    running.hear(&turn);
                    if turn == Turn::Idle && !lookups.bell.is_rung() {
                        std::thread::park();
                    }
                }
            })?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// What the operator should hear of since this was last called: that looking up has begun to
    /// fail, or works again.
    #[must_use]
    pub fn take_problem(&self) -> Option<String> {
        self.state.told().problem.take()
    }
}

impl Drop for LookupThread {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.state.stops.store(true, Ordering::SeqCst);
        thread.thread().unpark();
        // A panic there was reported where it happened; here it must not become a second one.
        let _ = thread.join();
    }
}

impl State {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, turn: &Turn) {
        let mut told = self.told();
        match turn {
            Turn::Failed(error) if !told.is_failing => {
                told.is_failing = true;
                told.problem = Some(format!("reservations cannot be looked up: {error}"));
            }
            Turn::Answered(_) if told.is_failing => {
                told.is_failing = false;
                told.problem = Some("reservations are looked up again".to_owned());
            }
            Turn::Failed(_) | Turn::Answered(_) | Turn::Idle => {}
        }
    }
}
