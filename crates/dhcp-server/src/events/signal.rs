//! Signal from the shards to the thread of the feed: events may be durable.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Signal that one thread waits for; several notifications before it waits count as one.
#[derive(Debug, Default)]
pub(crate) struct EventSignal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl EventSignal {
    /// Wakes the waiting thread, or makes its next wait return at once.
    pub(crate) fn notify(&self) {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
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
    }
}
