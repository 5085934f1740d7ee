//! State that the shards and the writer of leases share: buffers of lease rows, and the epochs that
//! are settled.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::core::LogCore;
use crate::memfile::Columns;

/// Maximum number of parts of one round's rows; each part has an epoch of its own.
pub(crate) const PARTS_MAX: usize = 8;
/// Number of lease changes for a first part that is never full: the round has one part.
pub(crate) const UNPARTED: u32 = u32::MAX;

/// Lease rows that one shard has logged since the writer last took its rows.
#[derive(Debug)]
pub struct RowBuffer {
    /// Lease rows of the shard, as text.
    pub rows: Vec<u8>,
    epoch: u64,
    columns: Columns,
    /// End of the rows of each full part, as an offset in `rows` in bytes.
    ends: Vec<usize>,
    /// Number of lease changes in the open part of the shard's rows.
    changes: u32,
    changes_max: u32,
}

impl RowBuffer {
    /// Returns the epoch of the rows that are appended now.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the lease file columns that appended rows must have.
    #[must_use]
    pub const fn columns(&self) -> Columns {
        self.columns
    }

    /// Ends a change of leases, so that the next one may belong to the next part. Each part has
    /// room for twice the changes of the one before, so that many waiting changes do not make many
    /// parts.
    pub(crate) fn end_change(&mut self) {
        self.changes += 1;
        if self.changes >= self.changes_max && self.ends.len() + 1 < PARTS_MAX {
            self.ends.push(self.rows.len());
            self.epoch += 1;
            self.changes = 0;
            self.changes_max = self.changes_max.saturating_mul(2);
        }
    }

    fn open(&mut self, epoch: u64, columns: Columns, changes_max: u32) {
        (self.epoch, self.columns, self.changes_max) = (epoch, columns, changes_max);
        self.changes = 0;
        self.ends.clear();
    }
}

/// Row buffer and awaited epoch of one shard, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
struct ShardBuffer {
    buffer: Mutex<RowBuffer>,
    /// Highest row epoch that the shard has seen unsettled; if it is above the published epoch, the
    /// shard waits.
    awaited: AtomicU64,
}

/// Callback with the number of a shard, called when an epoch that the shard awaits has settled, or
/// never will.
pub type Wake = Box<dyn Fn(usize) + Send + Sync>;

/// State that all shards and the writer of leases share: row buffers and settled epochs.
pub struct SharedLogState {
    buffers: Box<[ShardBuffer]>,
    settled: AtomicU64,
    has_failed: AtomicBool,
    wake: Wake,
}

impl fmt::Debug for SharedLogState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shards")
            .field("buffers", &self.buffers)
            .field("settled", &self.settled)
            .field("has_failed", &self.has_failed)
            .finish_non_exhaustive()
    }
}

impl SharedLogState {
    /// Creates the shared state of the log for `count` shards. `wake` must not block and must not
    /// call back.
    #[must_use]
    pub fn new(count: usize, wake: impl Fn(usize) + Send + Sync + 'static) -> Arc<Self> {
        let empty_buffer = || ShardBuffer {
            buffer: Mutex::new(RowBuffer {
                rows: Vec::new(),
                epoch: 1,
                columns: Columns::default(),
                ends: Vec::new(),
                changes: 0,
                changes_max: UNPARTED,
            }),
            awaited: AtomicU64::new(0),
        };
        Arc::new(Self {
            buffers: (0..count).map(|_| empty_buffer()).collect(),
            settled: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            wake: Box::new(wake),
        })
    }

    /// Returns the number of shards that share the log.
    #[must_use]
    pub fn count(&self) -> usize {
        self.buffers.len()
    }

    /// Returns the highest epoch whose lease rows are all as durable as configured.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.settled.load(Ordering::SeqCst)
    }

    /// Returns true if the writer can no longer write rows.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    pub(super) fn buffer(&self, shard: usize) -> MutexGuard<'_, RowBuffer> {
        self.buffers[shard].buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the lease rows of all shards, which have no parts, to `batch`, which is empty; rows
    /// logged from now on belong to `next_epoch`.
    pub(crate) fn take(&self, batch: &mut Vec<u8>, next_epoch: u64, columns: Columns) {
        for shard in 0..self.buffers.len() {
            let mut buffer = self.buffer(shard);
            if batch.is_empty() {
                std::mem::swap(batch, &mut buffer.rows);
            } else {
                batch.extend_from_slice(&buffer.rows);
                buffer.rows.clear();
            }
            buffer.open(next_epoch, columns, UNPARTED);
        }
    }

    /// Moves the lease rows of all shards to `parts`, which are empty. Rows logged from now on
    /// belong to `next_epoch` and later epochs; the first part has room for `changes_max` changes
    /// of each shard.
    pub(crate) fn take_parts(
        &self,
        parts: &mut [Vec<u8>; PARTS_MAX],
        next_epoch: u64,
        columns: Columns,
        changes_max: u32,
    ) {
        for shard in 0..self.buffers.len() {
            let mut buffer = self.buffer(shard);
            let mut begin = 0;
            let ends = buffer.ends.iter().copied().chain([buffer.rows.len()]);
            for (part, end) in parts.iter_mut().zip(ends) {
                part.extend_from_slice(&buffer.rows[begin..end]);
                begin = end;
            }
            buffer.rows.clear();
            buffer.open(next_epoch, columns, changes_max);
        }
    }

    /// Publishes that all epochs through `epoch` are settled, and wakes the shards that waited for
    /// one of them, except the shard `myself`, which does the round.
    pub(crate) fn publish(&self, epoch: u64, myself: Option<usize>) {
        let before = self.settled.swap(epoch, Ordering::SeqCst);
        debug_assert!(before <= epoch, "settled epochs never go down");
        for (shard, buffer) in self.buffers.iter().enumerate() {
            if Some(shard) != myself && buffer.awaited.load(Ordering::SeqCst) > before {
                (self.wake)(shard);
            }
        }
    }

    /// Publishes that no further epoch will settle, and wakes all shards.
    pub(crate) fn fail(&self) {
        self.has_failed.store(true, Ordering::SeqCst);
        (0..self.buffers.len()).for_each(|shard| (self.wake)(shard));
    }

    /// Withdraws the failure of the writer: the rows of all epochs up to `epoch` are durable again,
    /// in a new lease file or over a new connection.
    pub(crate) fn recover(&self, epoch: u64) {
        self.settled.store(epoch, Ordering::SeqCst);
        self.has_failed.store(false, Ordering::SeqCst);
        (0..self.buffers.len()).for_each(|shard| (self.wake)(shard));
    }
}

/// Wake-up of the thread that writes the shards' rows.
pub(crate) trait WriterWakeup: Send + Sync + fmt::Debug {
    /// Wakes the writer, which then does a round soon.
    fn wake(&self);
}

/// Handle of one shard on the log: its row buffer, and the epochs that it waits for.
#[derive(Debug)]
pub struct ShardLog {
    pub(super) shards: Arc<SharedLogState>,
    pub(super) shard: usize,
    /// Wake-up of the thread that does the log's rounds; `None` if the owner of this value does the
    /// rounds.
    pub(super) writer_wakeup: Option<Arc<dyn WriterWakeup>>,
    /// Core of the log, if this shard may do rounds itself.
    pub(super) core: Option<Arc<Mutex<LogCore>>>,
}

impl ShardLog {
    /// Creates the log handle of shard number `shard`; the caller runs the rounds itself.
    #[must_use]
    pub const fn new(shards: Arc<SharedLogState>, shard: usize) -> Self {
        Self { shards, shard, writer_wakeup: None, core: None }
    }

    /// Creates the log handle of shard number `shard`, with the wake-up of the thread that runs the
    /// rounds.
    pub(crate) const fn with_writer_wakeup(
        shards: Arc<SharedLogState>,
        shard: usize,
        writer_wakeup: Arc<dyn WriterWakeup>,
    ) -> Self {
        Self { shards, shard, writer_wakeup: Some(writer_wakeup), core: None }
    }

    /// Returns the shard's buffer to append lease rows to, locked. No round takes its rows
    /// meanwhile: hold it for one commit only.
    pub fn buffer(&self) -> MutexGuard<'_, RowBuffer> {
        self.shards.buffer(self.shard)
    }

    /// Records that a reply waits for `epoch`: when it settles, the shard is woken. Afterwards
    /// check [`SharedLogState::settled`] once more before sleeping.
    pub fn await_epoch(&self, epoch: u64) {
        let awaited = &self.shards.buffers[self.shard].awaited;
        if awaited.load(Ordering::Relaxed) < epoch {
            awaited.store(epoch, Ordering::SeqCst);
        }
    }

    /// Hands the lease rows that the shard has logged so far to the writer. Rows that are settled
    /// by that at once are published on return, and the shard is not woken for them.
    pub fn submit(&self, now: base::Now) {
        if self.buffer().rows.is_empty() {
            return;
        }
        if let Some(core) = &self.core
            && let Ok(mut core) = core.try_lock()
        {
            let needs_thread = core.round_by(now, Some(self.shard));
            drop(core);
            if !needs_thread {
                return;
            }
        }
        if let Some(writer_wakeup) = &self.writer_wakeup {
            writer_wakeup.wake();
        }
    }

    /// Returns the highest epoch whose lease rows are all as durable as configured.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.shards.settled()
    }

    /// Returns true if the writer can no longer write rows.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.shards.has_failed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> [Vec<u8>; PARTS_MAX] {
        Default::default()
    }

    fn text(part: &[u8]) -> &str {
        std::str::from_utf8(part).unwrap()
    }

    /// Logs changes of one letter each, and returns their epochs.
    fn log(shards: &SharedLogState, shard: usize, letters: &str) -> Vec<u64> {
        let change = |letter| {
            let mut buffer = shards.buffer(shard);
            let epoch = buffer.epoch();
            buffer.rows.push(letter);
            buffer.end_change();
            epoch
        };
        letters.bytes().map(change).collect()
    }

    #[test]
    fn rows_come_in_parts_that_grow_each_with_an_epoch() {
        let shards = SharedLogState::new(2, |_| {});
        let mut rows = parts();
        assert_eq!(log(&shards, 0, "abc"), [1, 1, 1], "in one part at first");
        shards.take_parts(&mut rows, 9, Columns::default(), 2);
        assert_eq!(rows.each_ref().map(|part| text(part)), ["abc", "", "", "", "", "", "", ""]);
        rows = parts();
        assert_eq!(log(&shards, 0, "abcdefgh"), [9, 9, 10, 10, 10, 10, 11, 11]);
        assert_eq!(log(&shards, 1, "ABC"), [9, 9, 10]);
        shards.take_parts(&mut rows, 17, Columns::default(), UNPARTED);
        let texts = rows.each_ref().map(|part| text(part));
        assert_eq!(texts, ["abAB", "cdefC", "gh", "", "", "", "", ""]);
        assert_eq!(log(&shards, 1, &"x".repeat(1000)).last(), Some(&17));
    }

    #[test]
    fn the_last_part_has_room_for_all() {
        let shards = SharedLogState::new(1, |_| {});
        shards.take_parts(&mut parts(), 9, Columns::default(), 1);
        let epochs = log(&shards, 0, &"x".repeat(1000));
        assert_eq!((epochs[0], epochs[126], epochs[127], epochs[999]), (9, 15, 16, 16));
        let mut rows = parts();
        shards.take_parts(&mut rows, 17, Columns::default(), 1);
        assert_eq!(rows.each_ref().map(Vec::len), [1, 2, 4, 8, 16, 32, 64, 873]);
    }
}
