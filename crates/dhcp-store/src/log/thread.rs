//! Thread that writes the lease file in rounds when shards request them, flushes and rotates it by
//! time, and starts another thread for the cleanup.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fmt, io};

use base::Now;
use base::time::NS_PER_MS;

use super::shard::WriterWakeup;
use super::thread_wakeup::ThreadWakeup;
use super::{CoreOptions, LogCore, LogFailure, RowDurability, ShardLog, SharedLogState};
use crate::memfile::{Cleanup, CleanupError, CleanupOutcome, Disturbance, Memfile};

/// Source of the rows of the whole lease table, as text with the newest columns; it passes them one
/// by one to its argument.
pub type SnapshotSource = Box<dyn Fn(&mut dyn FnMut(&[u8])) + Send>;

/// Reaction of the log thread to a failure to write the lease file.
#[derive(Default)]
pub enum LogFailureReaction {
    /// No reaction: the log stays failed, because there is no lease table in memory to write a file
    /// from.
    #[default]
    Stop,
    /// Restart: the log writes a snapshot of the lease table into new files and continues. The
    /// snapshot also repairs files that another program has changed.
    Restart {
        /// Source of the snapshot of the lease table.
        snapshot: SnapshotSource,
        /// Time between attempts to write new lease files, in milliseconds.
        retry_ms: u32,
        /// Maximum number of attempts after a failure; `None` for no limit (Kea's
        /// `serve-retry-continue`).
        tries_max: Option<u32>,
    },
}

impl fmt::Debug for LogFailureReaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop => f.write_str("Stop"),
            Self::Restart { retry_ms, tries_max, .. } => {
                write!(f, "Restart every {retry_ms} ms, at most {tries_max:?} times")
            }
        }
    }
}

/// Source of the time for the log thread, which reads the same clocks as the shards.
pub type Clock = Box<dyn Fn() -> Now + Send + Sync>;

/// Options of the log thread.
#[derive(Debug, Default)]
pub struct LogThreadOptions {
    /// Options of the rounds that write the lease file.
    pub core: CoreOptions,
    /// Reaction of the thread to a failure to write the lease file.
    pub on_fail: LogFailureReaction,
}

/// Running log thread. It stops when the value is dropped.
#[derive(Debug)]
pub struct LogThread {
    state: Arc<LogThreadState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct LogThreadState {
    shards: Arc<SharedLogState>,
    core: Arc<Mutex<LogCore>>,
    does_rounds_inline: bool,
    wakeup: Arc<ThreadWakeup>,
    stops: AtomicBool,
    /// True if the log has failed and no attempt to continue is left.
    has_given_up: AtomicBool,
    /// Messages of the log for the operator, until the server takes them.
    problems: Mutex<Vec<String>>,
}

/// Maximum number of messages of the log thread that are kept until the server takes them.
const PROBLEMS_MAX: usize = 64;

impl LogThread {
    /// Starts the log thread over an opened `memfile` for `shards`.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if it cannot create a thread.
    pub fn start(
        shards: Arc<SharedLogState>,
        memfile: Memfile,
        options: LogThreadOptions,
        clock: Clock,
    ) -> io::Result<Self> {
        let core = LogCore::new(shards.clone(), memfile, options.core, clock());
        let state = Arc::new(LogThreadState {
            shards,
            core: Arc::new(Mutex::new(core)),
            does_rounds_inline: options.core.durability != RowDurability::Always,
            wakeup: Arc::new(ThreadWakeup::default()),
            stops: AtomicBool::new(false),
            has_given_up: AtomicBool::new(false),
            problems: Mutex::new(Vec::new()),
        });
        let running = state.clone();
        let thread = std::thread::Builder::new()
            .name("lease-log".into())
            .spawn(move || running.run(&clock, options.on_fail))?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Returns the log handle of shard number `shard`.
    #[must_use]
    pub fn shard(&self, shard: usize) -> ShardLog {
        assert!(shard < self.state.shards.count(), "shards are numbered from 0");
        ShardLog {
            shards: self.state.shards.clone(),
            shard,
            writer_wakeup: Some(self.state.wakeup.clone()),
            core: self.state.does_rounds_inline.then(|| self.state.core.clone()),
        }
    }

    /// Returns the failure that ended the writing of the lease file.
    #[must_use]
    pub fn failure(&self) -> Option<LogFailure> {
        self.state.core().failure()
    }

    /// Returns true if the log has failed for good: no attempt to write new files is left.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.state.has_given_up.load(Ordering::SeqCst)
    }

    /// Takes the log's messages for the operator since the last call: failures, and cleanups that
    /// failed.
    #[must_use]
    pub fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.problems.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true if a cleanup of the lease file runs, or its end has not been recorded yet.
    #[must_use]
    pub fn is_cleaning(&self) -> bool {
        self.state.core().is_cleaning()
    }

    /// Wakes the log thread, which then does a round soon.
    pub fn wake(&self) {
        self.state.wakeup.wake();
    }

    /// Requests that the log thread soon writes the lease files anew from memory, because times in
    /// the table have changed.
    pub fn request_rewrite(&self) {
        self.state.core().request_rewrite();
        self.state.wakeup.wake();
    }

    /// Returns the counter of bytes in the live lease file.
    #[must_use]
    pub fn size(&self) -> Arc<AtomicU64> {
        self.state.core().size()
    }

    /// Requests that the log thread soon cleans the lease file up.
    pub fn request_cleanup(&self) {
        self.state.core().request_rotation();
        self.state.wakeup.wake();
    }

    /// Writes and flushes all submitted lease rows, and ends the log thread. Shards must have
    /// ended.
    ///
    /// # Errors
    ///
    /// Returns the failure if rows could not be written or flushed.
    pub fn stop(mut self) -> Result<(), LogFailure> {
        self.join();
        self.failure().map_or(Ok(()), Err)
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.state.stops.store(true, Ordering::SeqCst);
            thread.thread().unpark();
            // The panic was reported where it happened; it must not become a second one here.
            let _ = thread.join();
        }
    }
}

impl Drop for LogThread {
    fn drop(&mut self) {
        self.join();
    }
}

impl LogThreadState {
    fn core(&self) -> MutexGuard<'_, LogCore> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, problem: String) {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if problems.len() < PROBLEMS_MAX {
            problems.push(problem);
        }
    }

    fn run(&self, clock: &Clock, on_fail: LogFailureReaction) {
        self.wakeup.register_thread();
        let mut cleaner = None;
        let mut restart = LogRestartState {
            on_fail,
            is_reported: false,
            is_final: false,
            tries: 0,
            retry_at_ns: None,
        };
        while !self.stops.load(Ordering::SeqCst) {
            let is_rung = self.wakeup.take_pending();
            let now = clock();
            if is_rung {
                self.core().round(now);
            }
            self.flush_by_time(now);
            self.clean_by_time(now, &mut cleaner);
            self.repair_if_disturbed(now, &mut restart, &mut cleaner);
            self.restart_if_failed(now, &mut restart);
            self.sleep(clock, &restart);
        }
        let mut core = self.core();
        core.round(clock());
        core.flush();
        drop(core);
        self.finish_cleaner(cleaner);
    }

    /// Parks the log thread until a shard wakes it or a task is due.
    fn sleep(&self, clock: &Clock, restart: &LogRestartState) {
        let core = self.core();
        let watch_ns = if restart.repairs() { core.next_watch_ns() } else { None };
        let due_ns = core.next_deadline_ns().into_iter().chain(watch_ns);
        drop(core);
        let deadline_ns = due_ns.chain(restart.retry_at_ns).min();
        if self.wakeup.is_pending() || self.stops.load(Ordering::SeqCst) {
            return;
        }
        match deadline_ns {
            Some(deadline_ns) => {
                let remaining_ns = deadline_ns.saturating_sub(clock().mono_ns);
                std::thread::park_timeout(Duration::from_nanos(remaining_ns));
            }
            None => std::thread::park(),
        }
    }

    fn flush_by_time(&self, now: Now) {
        let due = self.core().flush_due(now);
        if let Some(file) = due {
            let result = file.sync_data();
            self.core().flushed(result);
        }
    }

    /// Rotates the lease file when that is due, and finishes the cleanup.
    fn clean_by_time(&self, now: Now, cleaner: &mut Option<Cleaner>) {
        if cleaner.as_ref().is_some_and(Cleaner::has_ended) {
            self.finish_cleaner(cleaner.take());
        }
        let mut core = self.core();
        let due = core.rotate_due(now);
        let skipped = core.take_skipped_rotation();
        drop(core);
        if let Some(failed) = skipped {
            self.report(format!("lease file not rotated, so it keeps growing: {failed}"));
        }
        let Some(cleanup) = due else { return };
        match Cleaner::start(cleanup, self.wakeup.clone()) {
            Ok(started) => *cleaner = Some(started),
            Err(error) => {
                self.core().cleaned(false);
                self.report(format!("lease file not cleaned up: cannot start a thread: {error}"));
            }
        }
    }

    fn finish_cleaner(&self, cleaner: Option<Cleaner>) {
        let Some(cleaner) = cleaner else { return };
        let result = cleaner.finish();
        self.core().cleaned(result.is_ok());
        if let Err(error) = result {
            self.report(format!("lease file not cleaned up: {error}"));
        }
    }

    /// Returns the change that another program has made to the lease files; checks the files if
    /// `is_looking`.
    fn disturbance(&self, now: Now, is_looking: bool) -> Option<Disturbance> {
        if !is_looking {
            return self.core().take_disturbance();
        }
        // Shards write their rows themselves while the core is free.
        let look = self.core().due_check(now);
        let mut core = match look {
            Some(look) if !look.is_suspicious() => {
                self.core().record_check(now);
                return None;
            }
            _ => self.core(),
        };
        core.watch_due(now)
    }

    /// Writes whole lease files from memory when another program has changed them, whatever Kea's
    /// `on-fail` says: no lease that a reply acknowledged is lost, so the log has not failed.
    fn repair_if_disturbed(
        &self,
        now: Now,
        restart: &mut LogRestartState,
        cleaner: &mut Option<Cleaner>,
    ) {
        let Some(disturbance) = self.disturbance(now, restart.repairs()) else { return };
        let core = self.core();
        let reason = format!("lease file {} {disturbance}", core.path().display());
        drop(core);
        self.report(reason.clone());
        let LogFailureReaction::Restart { snapshot, .. } = &restart.on_fail else {
            return self.core().give_up(&reason);
        };
        if disturbance == Disturbance::InUse {
            // Writing anew would take the file from a server that uses it.
            restart.is_final = true;
            return self.core().give_up(&reason);
        }
        self.finish_cleaner(cleaner.take());
        let mut core = self.core();
        if core.failure().is_some() {
            return;
        }
        match core.restart(now, &mut |sink| snapshot(sink)) {
            Ok(()) => self.report(WRITTEN_ANEW.to_owned()),
            Err(failed) => core.give_up(&format!("lease file not rewritten: {failed}")),
        }
    }

    /// Tries to continue after a failure of the log, as long as attempts are left.
    fn restart_if_failed(&self, now: Now, restart: &mut LogRestartState) {
        let mut core = self.core();
        let Some(failure) = core.failure() else { return };
        if !restart.is_reported {
            restart.is_reported = true;
            self.report(failure.to_string());
        }
        let LogFailureReaction::Restart { snapshot, retry_ms, tries_max } = &restart.on_fail else {
            return self.has_given_up.store(true, Ordering::SeqCst);
        };
        let is_due = restart.retry_at_ns.is_none_or(|at| now.mono_ns >= at);
        if !is_due {
            return;
        }
        if restart.is_final || tries_max.is_some_and(|max| restart.tries >= max) {
            restart.retry_at_ns = None;
            return self.has_given_up.store(true, Ordering::SeqCst);
        }
        restart.retry_at_ns = Some(now.mono_ns + u64::from(*retry_ms) * NS_PER_MS);
        if core.is_cleaning() {
            return;
        }
        restart.tries += 1;
        match core.restart(now, &mut |sink| snapshot(sink)) {
            Ok(()) => {
                (restart.retry_at_ns, restart.tries) = (None, 0);
                restart.is_reported = false;
                self.report(WRITTEN_ANEW.to_owned());
            }
            Err(failed) => self.report(format!("lease file not rewritten: {failed}")),
        }
    }
}

/// Message for the operator about a lease table that was written into new files.
const WRITTEN_ANEW: &str = "lease file rewritten from the leases in memory";

struct LogRestartState {
    on_fail: LogFailureReaction,
    is_reported: bool,
    /// True if the log must not write new files after a failure.
    is_final: bool,
    /// Number of attempts to continue since the failure.
    tries: u32,
    /// Time of the next attempt to continue, in monotonic nanoseconds; set from the first attempt
    /// until one succeeds.
    retry_at_ns: Option<u64>,
}

impl LogRestartState {
    /// Returns true if the log has a lease table to repair files from; otherwise the files are not
    /// checked.
    const fn repairs(&self) -> bool {
        matches!(self.on_fail, LogFailureReaction::Restart { .. })
    }
}

type CleanupResult = Result<CleanupOutcome, CleanupError>;

/// Running thread that cleans the lease files up.
struct Cleaner {
    thread: JoinHandle<()>,
    result: Arc<OnceLock<CleanupResult>>,
}

impl Cleaner {
    fn start(cleanup: Cleanup, wakeup: Arc<ThreadWakeup>) -> io::Result<Self> {
        let result = Arc::new(OnceLock::new());
        let result_cell = result.clone();
        let thread = std::thread::Builder::new().name("lease-cleanup".into()).spawn(move || {
            result_cell.get_or_init(|| cleanup.run());
            wakeup.wake();
        })?;
        Ok(Self { thread, result })
    }

    fn has_ended(&self) -> bool {
        self.result.get().is_some() || self.thread.is_finished()
    }

    fn finish(self) -> CleanupResult {
        let is_sound = self.thread.join().is_ok();
        assert!(is_sound, "a clean-up does not panic");
        let result = Arc::into_inner(self.result).and_then(OnceLock::into_inner);
        result.expect("a clean-up that has ended has a result")
    }
}
