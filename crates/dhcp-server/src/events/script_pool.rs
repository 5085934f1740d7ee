//! Scripts that run: a bounded number at a time, each for a bounded time, and counts of their ends.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use netio::script_runner::{ScriptOutcome, ScriptRequest, ScriptRunner};

use crate::ServerError;
use crate::loggers::DAEMON;

/// Maximum number of scripts that run at a time; calls beyond wait.
const RUNNING_MAX: usize = 64;
/// Maximum number of calls that wait without a thread that waits for them; further ones are given
/// up.
const WAITING_MAX: usize = 256;
/// Time for which the end of the server, or of the library, waits for scripts that block calls.
const END_LIMIT: Duration = Duration::from_secs(2);
/// Time between two looks for the end of the server while calls wait.
const LOOK: Duration = Duration::from_millis(100);
/// Minimum time between two log lines about scripts that failed.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Counts of calls of scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ScriptCounts {
    /// Number of calls that ended with the exit status 0.
    succeeded: u64,
    /// Number of calls that ended with another exit status or by a signal.
    failed: u64,
    /// Number of calls that took too long and were killed.
    killed: u64,
    /// Number of calls that could not be started.
    not_started: u64,
    /// Number of calls that were given up: the server ended, or too many waited.
    given_up: u64,
}

/// Call of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PoolCall {
    /// Path of the script.
    pub(super) script: PathBuf,
    /// Only argument of the script.
    pub(super) argument: Vec<u8>,
    /// Variables of the script, each `NAME=VALUE` with a NUL after it.
    pub(super) variables: Vec<u8>,
    /// Time after which the script is killed.
    pub(super) limit: Duration,
}

/// Script that runs.
#[derive(Debug)]
struct RunningCall {
    script: PathBuf,
    limit: Duration,
}

#[derive(Debug, Default)]
struct PoolState {
    /// Scripts that run, by the number of the call.
    running: BTreeMap<u64, RunningCall>,
    /// Calls that run as soon as another script has ended.
    waiting: VecDeque<PoolCall>,
    last_number: u64,
    counts: ScriptCounts,
    reported: Option<Instant>,
}

impl PoolState {
    /// Counts the beginning of a call. Returns its number.
    fn begin(&mut self, call: &PoolCall) -> u64 {
        self.last_number += 1;
        let running = RunningCall { script: call.script.clone(), limit: call.limit };
        self.running.insert(self.last_number, running);
        self.last_number
    }
}

/// Scripts that run at the server's request, in a process that may run programs.
#[derive(Debug)]
pub(crate) struct ScriptPool {
    runner: ScriptRunner,
    state: Mutex<PoolState>,
    has_ended: Condvar,
}

impl ScriptPool {
    /// Starts to receive the outcomes of scripts from `runner`.
    pub(crate) fn start(runner: ScriptRunner) -> Result<Arc<Self>, ServerError> {
        let pool = Arc::new(Self { runner, state: Mutex::default(), has_ended: Condvar::new() });
        let receiving = Arc::clone(&pool);
        Builder::new()
            .name("scripts".to_owned())
            .spawn(move || {
                while let Ok((number, outcome)) = receiving.runner.receive() {
                    receiving.end(number, outcome);
                }
            })
            .map_err(|cause| ServerError::System { tried: "start a thread", cause })?;
        Ok(pool)
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the numbers of all calls so far, by their ends.
    pub(crate) fn entries(&self) -> [(&'static str, u64); 5] {
        let counts = self.state().counts;
        [
            ("succeeded", counts.succeeded),
            ("failed", counts.failed),
            ("killed", counts.killed),
            ("not-started", counts.not_started),
            ("given-up", counts.given_up),
        ]
    }

    /// Makes `call` as soon as fewer than the maximum number of scripts run. Once `is_ending` is
    /// true, it waits only for a short time and then gives the call up.
    pub(super) fn call(&self, call: &PoolCall, is_ending: &AtomicBool) {
        let mut state = self.state();
        let mut given_up_at = None;
        while state.running.len() >= RUNNING_MAX {
            if is_ending.load(Ordering::Acquire) {
                let limit = *given_up_at.get_or_insert_with(|| Instant::now() + END_LIMIT);
                if Instant::now() >= limit {
                    state.counts.given_up += 1;
                    return;
                }
            }
            let waited = self.has_ended.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let number = state.begin(call);
        drop(state);
        self.send(number, call);
    }

    /// Makes `call` at once, or as soon as fewer than the maximum number of scripts run. Does not
    /// wait for that; gives the call up if too many wait.
    pub(super) fn call_later(&self, call: PoolCall) {
        let mut state = self.state();
        if state.running.len() < RUNNING_MAX {
            let number = state.begin(&call);
            drop(state);
            self.send(number, &call);
        } else if state.waiting.len() < WAITING_MAX {
            state.waiting.push_back(call);
        } else {
            state.counts.given_up += 1;
            report(state, &call.script, "too many calls wait for scripts that run");
        }
    }

    fn send(&self, number: u64, call: &PoolCall) {
        let PoolCall { script, argument, variables, limit } = call;
        let request = ScriptRequest { number, script, argument, variables, limit: *limit };
        if let Err(error) = self.runner.send(&request) {
            // The process has ended: somebody has killed it.
            self.end(number, ScriptOutcome::NotStarted(error.raw_os_error().unwrap_or_default()));
        }
    }

    /// Counts the outcome of the call `number`, makes a call that waits, and logs failures, at most
    /// one line per interval.
    fn end(&self, number: u64, outcome: ScriptOutcome) {
        let mut state = self.state();
        let Some(ended) = state.running.remove(&number) else { return };
        let counts = &mut state.counts;
        let (count, failure) = match outcome {
            ScriptOutcome::Exited(0) => (&mut counts.succeeded, None),
            ScriptOutcome::Exited(status) => {
                (&mut counts.failed, Some(format!("it ended with status {status}")))
            }
            ScriptOutcome::Signaled(signal) => {
                (&mut counts.failed, Some(format!("it was ended by signal {signal}")))
            }
            ScriptOutcome::Killed => {
                let seconds = ended.limit.as_secs();
                (&mut counts.killed, Some(format!("it was killed after {seconds} s")))
            }
            ScriptOutcome::NotStarted(number) => {
                let reason = std::io::Error::from_raw_os_error(number);
                (&mut counts.not_started, Some(format!("it cannot be started: {reason}")))
            }
        };
        *count += 1;
        let next = state.waiting.pop_front();
        let next = next.map(|call| (state.begin(&call), call));
        if let Some(failure) = failure {
            report(state, &ended.script, &failure);
        } else {
            drop(state);
        }
        self.has_ended.notify_one();
        if let Some((number, call)) = next {
            self.send(number, &call);
        }
    }
}

/// Logs the failure of a call of `script`, unless a line was logged a short time ago.
fn report(mut state: MutexGuard<'_, PoolState>, script: &Path, failure: &str) {
    if state.reported.is_some_and(|at| at.elapsed() < REPORT_INTERVAL) {
        return;
    }
    state.reported = Some(Instant::now());
    let ScriptCounts { failed, killed, not_started, .. } = state.counts;
    drop(state);
    tracing::warn!(
        target: DAEMON,
        id = "RUN_SCRIPT_FAILED",
        "the script {} has failed: {failure} (so far {failed} failed, {killed} killed, \
         {not_started} not started); leases are not affected",
        script.display()
    );
}

impl Drop for ScriptPool {
    fn drop(&mut self) {
        self.runner.close();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use testkit::{TempFolder, wait_until};

    use super::*;

    #[test]
    fn calls_wait_without_a_thread_and_too_many_are_given_up() {
        let folder = TempFolder::new("script-pool");
        let path = folder.path().join("script");
        let text = format!(
            "#!/bin/sh\nuntil [ -e {0}/go ]; do :; done\necho \"$1\" >> {0}/calls\n",
            folder.path().display()
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let pool = ScriptPool::start(ScriptRunner::fork().unwrap()).unwrap();
        let call = |number: usize| PoolCall {
            script: path.clone(),
            argument: number.to_string().into_bytes(),
            variables: Vec::new(),
            limit: Duration::from_secs(600),
        };
        let all = RUNNING_MAX + WAITING_MAX;
        (0..all + 3).for_each(|number| pool.call_later(call(number)));
        assert_eq!(pool.entries()[4], ("given-up", 3));
        fs::write(folder.path().join("go"), "").unwrap();
        wait_until(|| pool.entries()[0] == ("succeeded", all as u64));
        let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
        let mut calls: Vec<usize> = calls.lines().map(|line| line.parse().unwrap()).collect();
        calls.sort_unstable();
        assert_eq!(calls, Vec::from_iter(0..all));
    }
}
