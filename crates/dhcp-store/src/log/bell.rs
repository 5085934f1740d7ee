//! Bell that wakes a sleeping writer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use super::shard::Doorbell;

/// Bell that wakes the thread, at most once for each time that the thread checks it.
#[derive(Debug, Default)]
pub(crate) struct ThreadWakeup {
    is_rung: AtomicBool,
    thread: OnceLock<Thread>,
}

impl ThreadWakeup {
    /// Wakes the calling thread from now on. Its first check also sees earlier rings.
    pub(crate) fn listen(&self) {
        self.thread.get_or_init(std::thread::current);
    }

    /// Begins a check, and returns true if the bell has rung since the last one: a thread may wake
    /// without a ring, and it must not take rows that shards have not handed over yet.
    pub(crate) fn answer(&self) -> bool {
        self.is_rung.swap(false, Ordering::SeqCst)
    }

    /// Returns true if the bell has rung since the last check.
    pub(crate) fn is_rung(&self) -> bool {
        self.is_rung.load(Ordering::SeqCst)
    }
}

impl Doorbell for ThreadWakeup {
    fn ring(&self) {
        if !self.is_rung.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}
