//! Group commit of lease rows: the rows of all shards are written at once, flushed at once, then
//! published.
//!
//! Each shard appends rows to a buffer of its own ([`ShardLog`]) that has the number of the round
//! it is open for; that number is the *epoch* of the rows. A round ([`LogCore::round`]) takes all
//! buffers, writes their rows with one write, flushes as [`RowDurability`] demands, and publishes
//! its number: so one comparison shows if a reply may leave. [`LogThread`] is the thread around it.
//! A write or flush that fails ends publication, until [`LogCore::restart`] has written a snapshot
//! of the whole table into new files.
//!
//! With [`RowDurability::Always`] the log thread alone writes, so that shards receive while the
//! disk flushes, and the next round gathers the rows that they log meanwhile. Otherwise a round is
//! one write into the page cache. On one processor shared with the thread, 64 rows from first to
//! settled took 12 µs of processor time (6 of them encoding) when the shard wrote them itself, and
//! 22 to 36 µs when it woke the thread and slept until it was woken (`examples/log_cost.rs`). So,
//! without [`RowDurability::Always`], [`ShardLog::submit`] tries the lock of the core and does the
//! round itself; only if another shard has the lock, the thread does the round. The file has one
//! writer at a time in either case. The thread does flushes by time, without the core, so that no
//! shard waits for one.

mod core;
mod shard;
mod thread;
mod thread_wakeup;

pub use core::{CoreOptions, LogCore, LogFailure};
pub(crate) use shard::{PARTS_MAX, UNPARTED, WriterWakeup};
pub(crate) use thread_wakeup::ThreadWakeup;

pub use shard::{RowBuffer, ShardLog, SharedLogState, Wake};
pub use thread::{Clock, LogFailureReaction, LogThread, LogThreadOptions, SnapshotSource};

/// Condition under which a lease row is settled, so that the replies that depend on it may leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowDurability {
    /// Settled when written to the operating system, not flushed: lease rows survive a crash of the
    /// process, as with Kea.
    None,
    /// Settled when written, and flushed at least once in this many milliseconds: a crash of the
    /// machine loses the lease rows of that time at most.
    Interval(u32),
    /// Settled when flushed to the disk: lease rows survive a crash of the machine.
    #[default]
    Always,
}
