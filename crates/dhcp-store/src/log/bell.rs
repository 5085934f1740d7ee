//! How a writer that sleeps is woken.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use super::shard::Doorbell;

/// Wakes the thread, at most once for each time it looks.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    is_rung: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Bell {
    /// Wakes the calling thread from now on. Who rang before this is heard by its first look.
    pub(crate) fn listen(&self) {
        self.thread.get_or_init(std::thread::current);
    }

    /// Says that a look begins, which sees all that was rung for so far, and whether there was anything:
    /// a thread may wake for nothing, and what shards have not handed over yet is not for it to take.
    pub(crate) fn answer(&self) -> bool {
        self.is_rung.swap(false, Ordering::SeqCst)
    }

    /// Whether it was rung since.
    pub(crate) fn is_rung(&self) -> bool {
        self.is_rung.load(Ordering::SeqCst)
    }
}

impl Doorbell for Bell {
    fn ring(&self) {
        if !self.is_rung.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}
