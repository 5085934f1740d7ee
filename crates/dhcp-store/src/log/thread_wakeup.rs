//! Wake-up of a sleeping thread that writes leases.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use super::shard::WriterWakeup;

/// Wake-up of a writer thread, at most once for each time that the thread checks it.
#[derive(Debug, Default)]
pub(crate) struct ThreadWakeup {
    is_pending: AtomicBool,
    thread: OnceLock<Thread>,
}

impl ThreadWakeup {
    /// Makes the calling thread the one that is woken from now on. Its first check also sees
    /// earlier wake-ups.
    pub(crate) fn register_thread(&self) {
        self.thread.get_or_init(std::thread::current);
    }

    /// Begins a check, and returns true if the thread was woken since the last one: a thread may
    /// wake by itself, and it must not take rows that shards have not handed over yet.
    pub(crate) fn take_pending(&self) -> bool {
        self.is_pending.swap(false, Ordering::SeqCst)
    }

    /// Returns true if the thread was woken since the last check.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::SeqCst)
    }
}

impl WriterWakeup for ThreadWakeup {
    fn wake(&self) {
        if !self.is_pending.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}
