//! Progress of a control connection and its time limits. Only the client's own actions are timed:
//! slow senders and slow readers are disconnected, a command that takes long is not.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Time limit for a client to send a control command, as in Kea; [`RECEIVE_PER_MEBIBYTE`] extends
/// it.
const RECEIVE: Duration = Duration::from_secs(10);
const RECEIVE_PER_MEBIBYTE: Duration = Duration::from_secs(1);
/// Time limit between an answer and the next command of the same control connection, as in Kea.
const IDLE: Duration = Duration::from_secs(30);
/// Time limit for a client to receive at least a part of an answer.
const TAKE: Duration = Duration::from_secs(10);

/// Phase of a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ControlConnectionPhase {
    /// Phase in which the connection waits for a command or for the rest of one.
    Receiving,
    /// Phase in which the server carries out the connection's command. It has no time limit, and
    /// the connection cannot be evicted.
    Working,
    /// Phase in which the server sends an answer.
    Answering,
    /// Phase of the connection between an answer and the next command.
    Idle,
    /// Phase in which the server sends lease events as they come. Only a client that does not read
    /// has a time limit.
    Streaming,
}

/// Phase and progress of one control connection, shared by its parts and by the list of all
/// connections.
#[derive(Debug)]
pub(super) struct ControlConnectionProgress {
    phase: Cell<ControlConnectionPhase>,
    since: Cell<Instant>,
    octets: Cell<u64>,
    /// Time since which a write to the client's full socket waits.
    blocked_since: Cell<Option<Instant>>,
    changed: Notify,
    evicted: Notify,
}

impl ControlConnectionProgress {
    /// Creates the progress of a control connection that has just been accepted.
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self {
            phase: Cell::new(ControlConnectionPhase::Receiving),
            since: Cell::new(Instant::now()),
            octets: Cell::new(0),
            blocked_since: Cell::new(None),
            changed: Notify::new(),
            evicted: Notify::new(),
        })
    }

    pub(super) fn phase(&self) -> ControlConnectionPhase {
        self.phase.get()
    }

    /// Returns the time when the connection's present phase began or last made progress.
    pub(super) fn since(&self) -> Instant {
        self.since.get()
    }

    /// Returns the number of bytes of the connection's present command so far.
    pub(super) fn octets(&self) -> u64 {
        self.octets.get()
    }

    /// Changes the phase of the connection to `phase`.
    pub(super) fn enter(&self, phase: ControlConnectionPhase) {
        self.phase.set(phase);
        self.since.set(Instant::now());
        self.octets.set(0);
        self.changed.notify_one();
    }

    /// Records `count` bytes received from the client. The first bytes after an answer begin
    /// another command.
    pub(super) fn received(&self, count: usize) {
        if count > 0 && self.phase.get() == ControlConnectionPhase::Idle {
            self.enter(ControlConnectionPhase::Receiving);
        }
        self.octets.set(self.octets.get() + count as u64);
    }

    /// Records that the client's socket takes no more bytes.
    pub(super) fn blocked(&self) {
        if self.blocked_since.get().is_none() {
            self.blocked_since.set(Some(Instant::now()));
            self.changed.notify_one();
        }
    }

    /// Records that the client received `count` bytes of an answer.
    pub(super) fn sent(&self, count: usize) {
        self.blocked_since.set(None);
        if count > 0 && self.phase.get() == ControlConnectionPhase::Answering {
            self.since.set(Instant::now());
        }
    }

    /// Records that the whole answer to a control command is sent.
    pub(super) fn flushed(&self) {
        if self.phase.get() == ControlConnectionPhase::Answering {
            self.enter(ControlConnectionPhase::Idle);
        }
    }

    fn due(&self) -> Option<Instant> {
        let mebibytes = u32::try_from(self.octets.get() >> 20).unwrap_or(u32::MAX);
        let time = match self.phase.get() {
            ControlConnectionPhase::Working => return None,
            ControlConnectionPhase::Streaming => return Some(self.blocked_since.get()? + TAKE),
            ControlConnectionPhase::Receiving => {
                RECEIVE.saturating_add(RECEIVE_PER_MEBIBYTE.saturating_mul(mebibytes))
            }
            ControlConnectionPhase::Answering => TAKE,
            ControlConnectionPhase::Idle => IDLE,
        };
        Some(self.since.get() + time)
    }

    /// Waits until the connection has used up the time limit of a phase.
    pub(super) async fn wait_until_overdue(&self) {
        loop {
            match self.due() {
                None => self.changed.notified().await,
                Some(due) if due <= Instant::now() => return,
                Some(due) => {
                    tokio::select! {
                        () = sleep_until(due) => {}
                        () = self.changed.notified() => {}
                    }
                }
            }
        }
    }

    /// Requests that this connection closes, to make room for another one.
    pub(super) fn evict(&self) {
        self.evicted.notify_one();
    }

    /// Waits until [`ControlConnectionProgress::evict`] requests that this connection closes.
    pub(super) async fn wait_for_eviction(&self) {
        self.evicted.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(test);
    }

    #[test]
    fn each_phase_has_its_own_time() {
        run(async {
            let progress = ControlConnectionProgress::new();
            let start = Instant::now();
            progress.wait_until_overdue().await;
            assert_eq!(start.elapsed(), RECEIVE);
            progress.enter(ControlConnectionPhase::Working);
            let working =
                tokio::time::timeout(Duration::from_secs(86_400), progress.wait_until_overdue())
                    .await;
            assert!(working.is_err(), "a command may take its time");
            progress.enter(ControlConnectionPhase::Answering);
            progress.flushed();
            let start = Instant::now();
            progress.wait_until_overdue().await;
            assert_eq!(start.elapsed(), IDLE);
        });
    }

    #[test]
    fn dripping_does_not_extend_the_time_and_volume_does() {
        run(async {
            let progress = ControlConnectionProgress::new();
            let start = Instant::now();
            let drip = async {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    progress.received(1);
                }
            };
            tokio::select! { () = drip => {}, () = progress.wait_until_overdue() => {} }
            assert_eq!(start.elapsed(), RECEIVE);
            progress.enter(ControlConnectionPhase::Receiving);
            progress.received(5 << 20);
            let start = Instant::now();
            progress.wait_until_overdue().await;
            assert_eq!(start.elapsed(), RECEIVE + 5 * RECEIVE_PER_MEBIBYTE);
        });
    }

    #[test]
    fn a_reader_that_takes_something_now_and_then_stays() {
        run(async {
            let progress = ControlConnectionProgress::new();
            progress.enter(ControlConnectionPhase::Answering);
            let start = Instant::now();
            let take = async {
                for _ in 0..10 {
                    tokio::time::sleep(Duration::from_secs(9)).await;
                    progress.sent(1);
                }
                std::future::pending::<()>().await;
            };
            tokio::select! { () = take => {}, () = progress.wait_until_overdue() => {} }
            assert_eq!(start.elapsed(), Duration::from_secs(90) + TAKE);
        });
    }
}
