//! How far a connection is, and until when it may stay there. A connection is timed by what it does
//! itself: slow senders and slow readers come to an end, a command that takes long does not.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Time for a command to arrive (Kea's), and what each mebibyte of it adds.
const RECEIVE: Duration = Duration::from_secs(10);
const RECEIVE_PER_MEBIBYTE: Duration = Duration::from_secs(1);
/// Time between a reply and the next command of the same connection (Kea's).
const IDLE: Duration = Duration::from_secs(30);
/// Time in which a client must take some of a reply.
const TAKE: Duration = Duration::from_secs(10);

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waiting for a command or for the rest of one.
    Receiving,
    /// Its command is being carried out: neither timed nor given up.
    Working,
    /// Sending a reply.
    Answering,
    /// Between a reply and the next command.
    Idle,
}

/// The course of one connection, shared by its parts and by what watches over all connections.
#[derive(Debug)]
pub(super) struct Pace {
    phase: Cell<Phase>,
    since: Cell<Instant>,
    octets: Cell<u64>,
    changed: Notify,
    evicted: Notify,
}

impl Pace {
    /// Of a connection that has just been accepted.
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self {
            phase: Cell::new(Phase::Receiving),
            since: Cell::new(Instant::now()),
            octets: Cell::new(0),
            changed: Notify::new(),
            evicted: Notify::new(),
        })
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// When the present phase began, or what it is about last moved.
    pub(super) fn since(&self) -> Instant {
        self.since.get()
    }

    /// Octets of the present command so far.
    pub(super) fn octets(&self) -> u64 {
        self.octets.get()
    }

    /// Goes over to `phase`.
    pub(super) fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(Instant::now());
        self.octets.set(0);
        self.changed.notify_one();
    }

    /// Notes octets that came in: the first ones after a reply begin another command.
    pub(super) fn received(&self, count: usize) {
        if count > 0 && self.phase.get() == Phase::Idle {
            self.enter(Phase::Receiving);
        }
        self.octets.set(self.octets.get() + count as u64);
    }

    /// Notes octets that the client took.
    pub(super) fn sent(&self, count: usize) {
        if count > 0 && self.phase.get() == Phase::Answering {
            self.since.set(Instant::now());
        }
    }

    /// Notes that all that was to be sent is sent.
    pub(super) fn flushed(&self) {
        if self.phase.get() == Phase::Answering {
            self.enter(Phase::Idle);
        }
    }

    fn due(&self) -> Option<Instant> {
        let mebibytes = u32::try_from(self.octets.get() >> 20).unwrap_or(u32::MAX);
        let time = match self.phase.get() {
            Phase::Working => return None,
            Phase::Receiving => {
                RECEIVE.saturating_add(RECEIVE_PER_MEBIBYTE.saturating_mul(mebibytes))
            }
            Phase::Answering => TAKE,
            Phase::Idle => IDLE,
        };
        Some(self.since.get() + time)
    }

    /// Ends when the connection has used up its time in some phase.
    pub(super) async fn overdue(&self) {
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

    /// Makes room for another connection: this one is to close.
    pub(super) fn evict(&self) {
        self.evicted.notify_one();
    }

    /// Ends when [`Pace::evict`] has been called.
    pub(super) async fn evicted(&self) {
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
            let pace = Pace::new();
            let start = Instant::now();
            pace.overdue().await;
            assert_eq!(start.elapsed(), RECEIVE);
            pace.enter(Phase::Working);
            let working = tokio::time::timeout(Duration::from_secs(86_400), pace.overdue()).await;
            assert!(working.is_err(), "a command may take its time");
            pace.enter(Phase::Answering);
            pace.flushed();
            let start = Instant::now();
            pace.overdue().await;
            assert_eq!(start.elapsed(), IDLE);
        });
    }

    #[test]
    fn dripping_does_not_extend_the_time_and_volume_does() {
        run(async {
            let pace = Pace::new();
            let start = Instant::now();
            let drip = async {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    pace.received(1);
                }
            };
            tokio::select! { () = drip => {}, () = pace.overdue() => {} }
            assert_eq!(start.elapsed(), RECEIVE);
            pace.enter(Phase::Receiving);
            pace.received(5 << 20);
            let start = Instant::now();
            pace.overdue().await;
            assert_eq!(start.elapsed(), RECEIVE + 5 * RECEIVE_PER_MEBIBYTE);
        });
    }

    #[test]
    fn a_reader_that_takes_something_now_and_then_stays() {
        run(async {
            let pace = Pace::new();
            pace.enter(Phase::Answering);
            let start = Instant::now();
            let take = async {
                for _ in 0..10 {
                    tokio::time::sleep(Duration::from_secs(9)).await;
                    pace.sent(1);
                }
                std::future::pending::<()>().await;
            };
            tokio::select! { () = take => {}, () = pace.overdue() => {} }
            assert_eq!(start.elapsed(), Duration::from_secs(90) + TAKE);
        });
    }
}
