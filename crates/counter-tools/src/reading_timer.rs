//! Timer for readings of counters: at fixed intervals, until a signal asks to stop.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::{ToolError, ToolResult};
use netio::signal::Signals;
use netio::{PollFd, poll};

/// Timer for readings of counters at fixed intervals.
pub(crate) struct ReadingTimer {
    signals: Signals,
    interval: Duration,
    next: Instant,
}

impl ReadingTimer {
    /// Starts the timer; the first reading is due `interval` from now. A command installs the
    /// handlers of `signals` before its first output, so that a user who has seen output can end
    /// the command in order.
    pub(crate) fn start(signals: Signals, interval: Duration) -> Self {
        Self { signals, interval, next: Instant::now() + interval }
    }

    /// Waits until the next reading is due; returns false if SIGINT or SIGTERM came before that, or
    /// the reader of the standard output has closed its end.
    pub(crate) fn wait(&mut self) -> ToolResult<bool> {
        loop {
            if self.signals.stop().load(Ordering::Acquire) {
                return Ok(false);
            }
            let now = Instant::now();
            if now >= self.next {
                // After a stall, missed readings are not made up: the next one is a whole interval
                // away.
                let next = self.next + self.interval;
                self.next = if next > now { next } else { now + self.interval };
                return Ok(true);
            }
            let left_ns = u64::try_from((self.next - now).as_nanos()).unwrap_or(u64::MAX);
            poll(&mut [PollFd::readable(&self.signals)], Some(left_ns))
                .map_err(ToolError::cannot("wait for", "signals"))?;
            self.signals.drain();
        }
    }
}
