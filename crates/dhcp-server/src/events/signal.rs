//! Signal to the thread of the feed that events may be durable.
//!
//! While replies wait for listeners of events, a shard can do nothing when rows become durable: the
//! listeners must have the events first. So the writer of the rows then signals the thread of the
//! feed ([`DurabilityWakeup`]), and the shards signal it only if there can be new durable events
//! ([`EventReporter`]). While the only listener that holds replies is at work, nobody signals: it
//! moves the next durable events into the feed itself ([`EventSignal::set_attended`]). Each
//! needless wake-up of a thread costs a lease two changes of context.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use dhcp_engine::EventGate;
use netio::Waker;

/// Signal that one thread waits for; several notifications before it waits count as one.
#[derive(Debug, Default)]
pub(crate) struct EventSignal {
    is_set: Mutex<bool>,
    changed: Condvar,
    /// True while notifications do nothing.
    is_attended: AtomicBool,
}

impl EventSignal {
    /// Sets if a listener will look for durable events by itself, so that notifications do nothing.
    /// After it has set this to false, it must look once more.
    pub(crate) fn set_attended(&self, is_attended: bool) {
        self.is_attended.store(is_attended, Ordering::SeqCst);
    }

    /// Wakes the waiting thread, or makes its next wait return at once.
    pub(crate) fn notify(&self) {
        if self.is_attended.load(Ordering::SeqCst) {
            return;
        }
        let mut is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let was_set = std::mem::replace(&mut *is_set, true);
        drop(is_set);
        // Each wake-up is a system call, also if nobody waits.
        if !was_set {
            self.changed.notify_one();
        }
    }

    /// Waits for a notification, at most for `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_set, limit, |is_set| !*is_set);
        let (mut is_set, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *is_set = false;
    }
}

/// Wake-up of the threads that wait for rows of leases to become durable.
#[derive(Clone, Debug)]
pub(crate) struct DurabilityWakeup {
    /// Wakers of the shards.
    pub(crate) shards: Vec<Arc<Waker>>,
    /// Gate that replies wait for.
    pub(crate) gate: Arc<EventGate>,
    /// Signal to the thread of the feed.
    pub(crate) signal: Arc<EventSignal>,
}

impl DurabilityWakeup {
    /// Creates the wake-up of the shards with `shards`, and of a feed whose gate is open.
    pub(crate) fn new(shards: Vec<Arc<Waker>>) -> Self {
        Self { shards, gate: Arc::default(), signal: Arc::default() }
    }

    /// Wakes the shard number `shard`.
    pub(crate) fn wake_shard(&self, shard: usize) {
        if let Some(waker) = self.shards.get(shard) {
            waker.wake();
        }
    }

    /// Wakes the shard number `shard`, whose rows are durable, or the thread of the feed if the
    /// shard's replies wait for listeners. A shard that the writer of a database wakes has to be
    /// woken by [`DurabilityWakeup::wake_shard`]: it may wait for a result of a query.
    pub(crate) fn wake_for_replies(&self, shard: usize) {
        if self.gate.passed() == u64::MAX {
            self.wake_shard(shard);
        } else {
            self.signal.notify();
        }
    }
}

/// Reports of a shard that events may be durable.
#[derive(Debug)]
pub(crate) struct EventReporter {
    gate: Arc<EventGate>,
    signal: Arc<EventSignal>,
    /// True if rows are durable at once, and the store counts no epochs.
    is_volatile: bool,
    /// Last settled epoch at the last report.
    settled_epoch: u64,
}

impl EventReporter {
    /// Creates the reporter of a shard; `is_volatile` if the leases are in memory only.
    pub(crate) fn new(wakeup: &DurabilityWakeup, is_volatile: bool) -> Self {
        let (gate, signal) = (Arc::clone(&wakeup.gate), Arc::clone(&wakeup.signal));
        Self { gate, signal, is_volatile, settled_epoch: 0 }
    }

    /// Signals the thread of the feed at the end of a shard's turn if any of the `waiting` events
    /// in the lease table can be durable now; `settled_epoch` is the last epoch whose rows are. If
    /// no reply waits for them, the thread finds those that become durable later by itself.
    pub(crate) fn report(&mut self, waiting: usize, settled_epoch: u64) {
        if waiting == 0 {
            return;
        }
        let has_settled =
            core::mem::replace(&mut self.settled_epoch, settled_epoch) != settled_epoch;
        if has_settled || self.is_volatile || self.gate.passed() == u64::MAX {
            self.signal.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_notification_before_or_during_a_wait_ends_it_and_a_wait_ends_by_itself() {
        let signal = Arc::new(EventSignal::default());
        signal.notify();
        signal.notify();
        signal.wait(LONG);
        let waiting = Arc::clone(&signal);
        let waiter = thread::spawn(move || (0..100).for_each(|_| waiting.wait(LONG)));
        while !waiter.is_finished() {
            signal.notify();
            thread::yield_now();
        }
        waiter.join().unwrap();
        signal.wait(Duration::ZERO);
        signal.wait(Duration::from_millis(1));
        signal.set_attended(true);
        signal.notify();
        assert!(!is_notified(&signal));
        signal.set_attended(false);
        signal.notify();
        assert!(is_notified(&signal));
    }

    fn is_notified(signal: &EventSignal) -> bool {
        core::mem::take(&mut *signal.is_set.lock().unwrap())
    }

    #[test]
    fn durable_rows_wake_the_shard_or_the_feed_if_replies_wait_for_it() {
        let shard = Arc::new(Waker::new().unwrap());
        let wakeup = DurabilityWakeup::new(vec![Arc::clone(&shard)]);
        let is_woken = || {
            let mut fds = [netio::PollFd::readable(&*shard)];
            let is_woken = netio::poll(&mut fds, Some(0)).unwrap() > 0;
            shard.drain();
            is_woken
        };
        wakeup.wake_for_replies(0);
        assert!(is_woken() && !is_notified(&wakeup.signal));
        wakeup.gate.pass(0);
        wakeup.wake_for_replies(0);
        assert!(!is_woken() && is_notified(&wakeup.signal));
        wakeup.wake_shard(0);
        assert!(is_woken() && !is_notified(&wakeup.signal));
    }

    #[test]
    fn a_shard_reports_events_that_can_be_durable() {
        let wakeup = DurabilityWakeup::new(Vec::new());
        let mut reporter = EventReporter::new(&wakeup, false);
        let reports = |reporter: &mut EventReporter, waiting, settled_epoch| {
            reporter.report(waiting, settled_epoch);
            is_notified(&wakeup.signal)
        };
        assert!(!reports(&mut reporter, 0, 4));
        assert!(reports(&mut reporter, 1, 4));
        assert!(reports(&mut reporter, 1, 4), "the feed looks for them by itself later");
        wakeup.gate.pass(4);
        assert!(!reports(&mut reporter, 1, 4), "replies wait, and nothing has become durable");
        assert!(reports(&mut reporter, 1, 5));
        assert!(!reports(&mut reporter, 0, 6));
        assert!(reports(&mut reporter, 1, 6), "rows were settled while no event waited");
        let mut in_memory = EventReporter::new(&wakeup, true);
        assert!(reports(&mut in_memory, 1, 1));
        assert!(reports(&mut in_memory, 1, 1));
    }
}
