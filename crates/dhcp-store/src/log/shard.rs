//! What the shards and the writer share: row buffers, and how far their rows are settled.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::core::LogCore;
use crate::memfile::Columns;

/// The rows that one shard has logged since they were taken last.
#[derive(Debug)]
pub struct RowBuffer {
    /// The rows, as text.
    pub rows: Vec<u8>,
    epoch: u64,
    columns: Columns,
}

impl RowBuffer {
    /// The epoch of rows that are appended now.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The columns that they must have.
    #[must_use]
    pub const fn columns(&self) -> Columns {
        self.columns
    }
}

/// One shard's place, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Place {
    buffer: Mutex<RowBuffer>,
    /// The highest epoch that the shard has seen unsettled; above what is published, it waits.
    awaited: AtomicU64,
}

/// Called with the number of a shard when something that it awaits has settled, or never will.
pub type Wake = Box<dyn Fn(usize) + Send + Sync>;

/// What all shards and the writer share.
pub struct Shards {
    places: Box<[Place]>,
    settled: AtomicU64,
    has_failed: AtomicBool,
    wake: Wake,
}

impl fmt::Debug for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shards")
            .field("places", &self.places)
            .field("settled", &self.settled)
            .field("has_failed", &self.has_failed)
            .finish_non_exhaustive()
    }
}

impl Shards {
    /// Places for `count` shards. `wake` must not block and must not call back.
    #[must_use]
    pub fn new(count: usize, wake: impl Fn(usize) + Send + Sync + 'static) -> Arc<Self> {
        let place = || Place {
            buffer: Mutex::new(RowBuffer {
                rows: Vec::new(),
                epoch: 1,
                columns: Columns::default(),
            }),
            awaited: AtomicU64::new(0),
        };
        Arc::new(Self {
            places: (0..count).map(|_| place()).collect(),
            settled: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            wake: Box::new(wake),
        })
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// The highest epoch whose rows are all as safe as promised.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.settled.load(Ordering::SeqCst)
    }

    /// Whether rows can no longer be written.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    pub(super) fn buffer(&self, shard: usize) -> MutexGuard<'_, RowBuffer> {
        self.places[shard].buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves all rows to `batch`, which is empty, and opens the buffers for `next_epoch`.
    pub(crate) fn take(&self, batch: &mut Vec<u8>, next_epoch: u64, columns: Columns) {
        for shard in 0..self.places.len() {
            let mut buffer = self.buffer(shard);
            if batch.is_empty() {
                std::mem::swap(batch, &mut buffer.rows);
            } else {
                batch.extend_from_slice(&buffer.rows);
                buffer.rows.clear();
            }
            buffer.epoch = next_epoch;
            buffer.columns = columns;
        }
    }

    /// Publishes that all through `epoch` is settled, and wakes who waited for some of it, but for
    /// the shard that does it itself.
    pub(crate) fn publish(&self, epoch: u64, myself: Option<usize>) {
        let before = self.settled.swap(epoch, Ordering::SeqCst);
        debug_assert!(before <= epoch, "settled epochs never go down");
        for (shard, place) in self.places.iter().enumerate() {
            if Some(shard) != myself && place.awaited.load(Ordering::SeqCst) > before {
                (self.wake)(shard);
            }
        }
    }

    /// Publishes that nothing will settle any more, and wakes everyone.
    pub(crate) fn fail(&self) {
        self.has_failed.store(true, Ordering::SeqCst);
        (0..self.places.len()).for_each(|shard| (self.wake)(shard));
    }

    /// Takes the failure back: `epoch` is settled by other means.
    pub(crate) fn recover(&self, epoch: u64) {
        self.settled.store(epoch, Ordering::SeqCst);
        self.has_failed.store(false, Ordering::SeqCst);
        (0..self.places.len()).for_each(|shard| (self.wake)(shard));
    }
}

/// Gets the writer's attention.
pub(crate) trait Doorbell: Send + Sync + fmt::Debug {
    /// Has the writer do a round soon.
    fn ring(&self);
}

/// One shard's part of the log.
#[derive(Debug)]
pub struct ShardLog {
    pub(super) shards: Arc<Shards>,
    pub(super) shard: usize,
    /// Whom to leave rounds to; `None` when whoever made this does them.
    pub(super) doorbell: Option<Arc<dyn Doorbell>>,
    /// The core, when this shard may do rounds itself.
    pub(super) core: Option<Arc<Mutex<LogCore>>>,
}

impl ShardLog {
    /// The part of shard number `shard`, whose rounds someone else does.
    #[must_use]
    pub const fn new(shards: Arc<Shards>, shard: usize) -> Self {
        Self { shards, shard, doorbell: None, core: None }
    }

    /// The same, with someone to leave the rounds to.
    pub(crate) const fn with_doorbell(
        shards: Arc<Shards>,
        shard: usize,
        doorbell: Arc<dyn Doorbell>,
    ) -> Self {
        Self { shards, shard, doorbell: Some(doorbell), core: None }
    }

    /// The buffer to append rows to. While it is held, no round takes it: hold it for one commit.
    pub fn buffer(&self) -> MutexGuard<'_, RowBuffer> {
        self.shards.buffer(self.shard)
    }

    /// Remembers that something waits for `epoch`: when it settles, the shard is woken. Afterwards
    /// look at [`Shards::settled`] once more before sleeping.
    pub fn await_epoch(&self, epoch: u64) {
        let awaited = &self.shards.places[self.shard].awaited;
        if awaited.load(Ordering::Relaxed) < epoch {
            awaited.store(epoch, Ordering::SeqCst);
        }
    }

    /// Hands the rows logged so far to the writer. What that settles at once is published when
    /// this returns, and the shard is not woken for it.
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
        if let Some(doorbell) = &self.doorbell {
            doorbell.ring();
        }
    }

    /// The highest epoch whose rows are all as safe as promised.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.shards.settled()
    }

    /// Whether rows can no longer be written.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.shards.has_failed()
    }
}
