//! Rounds in which the shards' lease rows are written to the lease file, without a thread and
//! without a clock: [`LogCore`].

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};

use super::{RowDurability, SharedLogState};
use crate::memfile::{
    Cleanup, Disturbance, FileOperationError, LeaseFileCheck, Memfile, Rotation, Snapshot,
};
use crate::storage::LogFile;

/// Options of the rounds that write the lease file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreOptions {
    /// Durability (written or flushed) at which a lease row counts as settled, so that its reply
    /// may leave.
    pub durability: RowDurability,
    /// Time between rotations of the lease file, each followed by a cleanup, in seconds; 0 = never
    /// (Kea's `lfc-interval`).
    pub lfc_interval_s: u32,
}

/// Failure that ended the writing of the lease file, as text.
#[derive(Debug)]
pub struct LogFailure(Arc<str>);

impl fmt::Display for LogFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Sole owner of the lease file: takes the rows of all shards and writes them in rounds.
#[derive(Debug)]
pub struct LogCore {
    shards: Arc<SharedLogState>,
    memfile: Memfile,
    options: CoreOptions,
    /// Lease rows of the current round; the buffer is kept to reuse its memory.
    batch: Vec<u8>,
    /// Number of the next round of the log.
    round: u64,
    /// Length of the lease file up to its last settled row, in bytes: flushed, or written if the
    /// durability requires no flush.
    settled_end: u64,
    /// Time at which the first unflushed byte of the lease file was written, in monotonic
    /// nanoseconds.
    unflushed_since_ns: Option<u64>,
    rotate_at_ns: Option<u64>,
    is_cleaning: bool,
    failure: Option<Arc<str>>,
    skipped_rotation: Option<FileOperationError>,
    /// Time of the next check of the lease files, in monotonic nanoseconds.
    watch_at_ns: u64,
    disturbance: Option<Disturbance>,
    /// Monotonic time from which the size of the live lease file may cause a rotation, in
    /// nanoseconds.
    size_from_ns: u64,
    /// Size of the live lease file in bytes, for reports.
    size: Arc<AtomicU64>,
}

/// Minimum size of the live lease file for a rotation because of its size, in bytes.
const GROWN_MIN: u64 = 4 << 20;
/// Size of the live lease file at which it is rotated, as a multiple of the size of the last
/// cleanup's result.
const GROWN_TIMES: u64 = 4;
/// Minimum time between two rotations of the lease file because of its size, in nanoseconds.
const SIZE_INTERVAL_NS: u64 = 10 * NS_PER_S;

/// Time between two checks of the lease files, in nanoseconds.
const WATCH_INTERVAL_NS: u64 = NS_PER_S;

/// Maximum capacity in bytes of a buffer for rows that is kept between rounds; larger ones are
/// freed.
const BATCH_KEPT: usize = 4 << 20;

impl LogCore {
    /// Creates the core for rounds that write the rows of `shards` to `memfile`.
    #[must_use]
    pub fn new(
        shards: Arc<SharedLogState>,
        memfile: Memfile,
        options: CoreOptions,
        now: Now,
    ) -> Self {
        let mut batch = Vec::new();
        // No shard logs yet: this opens the buffers with the columns of the file.
        shards.take(&mut batch, 1, memfile.columns());
        let mut core = Self {
            settled_end: memfile.end(),
            shards,
            memfile,
            options,
            batch,
            round: 1,
            unflushed_since_ns: None,
            rotate_at_ns: None,
            is_cleaning: false,
            failure: None,
            skipped_rotation: None,
            watch_at_ns: now.mono_ns + WATCH_INTERVAL_NS,
            disturbance: None,
            size_from_ns: 0,
            size: Arc::default(),
        };
        core.size.store(core.memfile.end(), Ordering::Relaxed);
        core.schedule_rotation(now);
        core
    }

    fn schedule_rotation(&mut self, now: Now) {
        let interval = u64::from(self.options.lfc_interval_s) * NS_PER_S;
        self.rotate_at_ns = (interval > 0).then(|| now.mono_ns + interval);
    }

    /// Runs a round: writes the rows that the shards have logged to the lease file, flushes the
    /// file if the durability requires it, and publishes the round's epoch. Does nothing after a
    /// failure.
    pub fn round(&mut self, now: Now) {
        self.round_by(now, None);
    }

    /// Runs a round of the log on a shard's thread; returns true if the log thread must be woken:
    /// for a failure, or for rows that have to be flushed in time.
    pub(super) fn round_by(&mut self, now: Now, shard: Option<usize>) -> bool {
        if self.failure.is_some() {
            return false;
        }
        self.batch.clear();
        self.batch.shrink_to(BATCH_KEPT);
        let columns = self.memfile.columns();
        let epoch = self.round;
        self.round += 1;
        self.shards.take(&mut self.batch, self.round, columns);
        self.write_and_publish(now, epoch, shard)
    }

    fn write_and_publish(&mut self, now: Now, epoch: u64, shard: Option<usize>) -> bool {
        let was_flushed = self.unflushed_since_ns.is_none();
        if !self.batch.is_empty() {
            // A row written after a truncation restores the length, with a hole before it.
            if self.disturbance.is_none() {
                self.disturbance = self.memfile.length_disturbance();
            }
            if let Err(failed) = self.memfile.append(&self.batch) {
                self.fail(&failed);
                return true;
            }
            if self.options.durability == RowDurability::Always {
                if let Err(failed) = self.memfile.sync() {
                    self.fail(&failed);
                    return true;
                }
            } else {
                self.unflushed_since_ns.get_or_insert(now.mono_ns);
            }
            self.settled_end = self.memfile.end();
            self.size.store(self.settled_end, Ordering::Relaxed);
        }
        self.shards.publish(epoch, shard);
        let by_time = matches!(self.options.durability, RowDurability::Interval(_));
        self.disturbance.is_some() || (by_time && was_flushed && self.unflushed_since_ns.is_some())
    }

    /// Marks the log as failed with the failed operation, and wakes all shards.
    fn fail(&mut self, failed: &FileOperationError) {
        // A loader of the file need not find rows that were never acknowledged.
        self.memfile.cut_back(self.settled_end);
        self.failure = Some(failed.to_string().into());
        self.shards.fail();
    }

    /// Returns the failure that ended the writing of the lease file.
    #[must_use]
    pub fn failure(&self) -> Option<LogFailure> {
        self.failure.clone().map(LogFailure)
    }

    /// Takes the error because of which the last due rotation of the lease file did not happen.
    pub const fn take_skipped_rotation(&mut self) -> Option<FileOperationError> {
        self.skipped_rotation.take()
    }

    /// Checks the lease files when that is due, and returns the change that another program has
    /// made to the files since, or that a rotation has met. Only [`LogCore::restart`] repairs the
    /// files. If the check itself fails, the log fails.
    pub fn watch_due(&mut self, now: Now) -> Option<Disturbance> {
        if self.failure.is_some() {
            return None;
        }
        if self.disturbance.is_none() && now.mono_ns >= self.watch_at_ns {
            self.watch_at_ns = now.mono_ns + WATCH_INTERVAL_NS;
            let result = if self.is_cleaning {
                // The cleanup changes the files next to the live one.
                self.memfile.live_disturbance()
            } else {
                self.memfile.disturbance()
            };
            match result {
                Ok(disturbance) => self.disturbance = disturbance,
                Err(failed) => self.fail(&failed),
            }
        }
        self.disturbance.take()
    }

    /// Returns the time of the next check of the lease files, in monotonic nanoseconds.
    #[must_use]
    pub const fn next_watch_ns(&self) -> Option<u64> {
        match (&self.failure, &self.disturbance) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(0),
            (None, None) => Some(self.watch_at_ns),
        }
    }

    /// Returns the check of the lease files that is due, to be done without the core; if it finds
    /// nothing, call [`LogCore::record_check`], otherwise [`LogCore::watch_due`] returns the
    /// disturbance.
    pub(super) fn due_check(&self, now: Now) -> Option<LeaseFileCheck> {
        let is_due = self.failure.is_none() && self.disturbance.is_none();
        (is_due && now.mono_ns >= self.watch_at_ns)
            .then(|| self.memfile.file_check(self.is_cleaning))
    }

    /// Records that a check of the lease files has found nothing, and sets the time of the next
    /// one.
    pub(super) const fn record_check(&mut self, now: Now) {
        self.watch_at_ns = now.mono_ns + WATCH_INTERVAL_NS;
    }

    /// Takes the disturbance of the lease files that a rotation or a write has met, without a
    /// check.
    pub(super) const fn take_disturbance(&mut self) -> Option<Disturbance> {
        self.disturbance.take()
    }

    /// Makes the next check of the lease files report that they must be written anew, because times
    /// in the lease table have changed.
    pub fn request_rewrite(&mut self) {
        self.disturbance.get_or_insert(Disturbance::Moved);
    }

    /// Stops writing the lease file for `reason`, as after a failed write.
    pub fn give_up(&mut self, reason: &str) {
        self.failure.get_or_insert_with(|| reason.into());
        self.shards.fail();
    }

    /// Returns the path of the live lease file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.memfile.path()
    }

    /// Returns the time at which a flush or a rotation of the lease file is due, in monotonic
    /// nanoseconds.
    #[must_use]
    pub fn next_deadline_ns(&self) -> Option<u64> {
        if self.failure.is_some() {
            return None;
        }
        let flush = match self.options.durability {
            RowDurability::Interval(ms) => {
                self.unflushed_since_ns.map(|since| since + u64::from(ms) * NS_PER_MS)
            }
            RowDurability::None | RowDurability::Always => None,
        };
        let rotate = if self.is_cleaning { None } else { self.rotate_at_ns };
        flush.into_iter().chain(rotate).min()
    }

    /// Returns the lease file if a flush by time ([`RowDurability::Interval`]) is due. The caller
    /// flushes it, without a lock on the core if it likes, and then calls [`LogCore::flushed`].
    pub fn flush_due(&mut self, now: Now) -> Option<Arc<dyn LogFile>> {
        let RowDurability::Interval(ms) = self.options.durability else { return None };
        let since = self.unflushed_since_ns?;
        if self.failure.is_some() || now.mono_ns < since + u64::from(ms) * NS_PER_MS {
            return None;
        }
        // Rows written from now on wait for the next flush.
        self.unflushed_since_ns = None;
        Some(self.memfile.file())
    }

    /// Records the result of a flush by time ([`LogCore::flush_due`]); an error makes the log fail.
    pub fn flushed(&mut self, result: std::io::Result<()>) {
        if let Err(error) = result
            && self.failure.is_none()
        {
            self.fail(&FileOperationError {
                operation: "flush",
                path: self.memfile.path().to_owned(),
                error,
            });
        }
    }

    /// Flushes all written rows of the lease file at any durability: for a clean end of the server.
    pub fn flush(&mut self) {
        if self.failure.is_some() || self.unflushed_since_ns.take().is_none() {
            return;
        }
        if let Err(failed) = self.memfile.sync() {
            self.fail(&failed);
        }
    }

    /// Rotates the lease file if that is due, and returns the cleanup; the caller runs it without
    /// the core and then calls [`LogCore::cleaned`].
    pub fn rotate_due(&mut self, now: Now) -> Option<Cleanup> {
        let is_due = self.rotate_at_ns.is_some_and(|at| now.mono_ns >= at);
        let is_grown = now.mono_ns >= self.size_from_ns && self.is_grown();
        if self.is_cleaning || !(is_due || is_grown) {
            return None;
        }
        self.size_from_ns = now.mono_ns + SIZE_INTERVAL_NS;
        self.rotate(now)
    }

    /// Returns true if the live lease file has grown so far beyond the table that it is cleaned up
    /// early. Returns false if cleanups are off (`lfc-interval` 0), or after a failed cleanup.
    fn is_grown(&self) -> bool {
        let cleaned_len = self.memfile.previous_len();
        self.options.lfc_interval_s > 0
            && !self.memfile.needs_cleanup()
            && self.memfile.end() >= GROWN_MIN.max(cleaned_len.saturating_mul(GROWN_TIMES))
    }

    /// Returns the counter with the size of the live lease file, in bytes.
    #[must_use]
    pub fn size(&self) -> Arc<AtomicU64> {
        self.size.clone()
    }

    /// Makes the next call of [`LogCore::rotate_due`] rotate the lease file.
    pub const fn request_rotation(&mut self) {
        self.rotate_at_ns = Some(0);
    }

    /// Rotates the lease file now, between rounds, as [`LogCore::rotate_due`] does.
    pub fn rotate(&mut self, now: Now) -> Option<Cleanup> {
        if self.is_cleaning || self.failure.is_some() {
            return None;
        }
        self.schedule_rotation(now);
        if self.memfile.columns() != self.memfile.newest_columns() && !self.memfile.needs_cleanup()
        {
            // Rows for the old file have its columns: this round writes them there, and later rows
            // get the columns of the new file.
            self.round_with_newest_columns(now);
        }
        let rotation = if self.failure.is_none() { self.memfile.rotate() } else { return None };
        match rotation {
            Ok(Rotation::Done) => {
                self.unflushed_since_ns = None;
                self.settled_end = self.memfile.end();
                self.size.store(self.settled_end, Ordering::Relaxed);
            }
            Ok(Rotation::CleanupFirst) => {}
            Ok(Rotation::NoNewFile(failed)) => self.skipped_rotation = Some(failed),
            Ok(Rotation::Disturbed(disturbance)) => {
                self.disturbance = Some(disturbance);
                return None;
            }
            Err(failed) => {
                self.fail(&failed);
                return None;
            }
        }
        self.is_cleaning = self.memfile.needs_cleanup();
        self.is_cleaning.then(|| self.memfile.cleanup())
    }

    fn round_with_newest_columns(&mut self, now: Now) {
        self.batch.clear();
        let epoch = self.round;
        self.round += 1;
        self.shards.take(&mut self.batch, self.round, self.memfile.newest_columns());
        self.write_and_publish(now, epoch, None);
    }

    /// Records that the cleanup of the lease files has ended, successfully if `is_done`. A failed
    /// cleanup runs again with the next rotation.
    pub fn cleaned(&mut self, is_done: bool) {
        self.is_cleaning = false;
        // Files that a cleanup has changed without finishing are written anew.
        if is_done
            && let Err(failed) = self.memfile.cleaned()
            && self.failure.is_none()
        {
            self.fail(&failed);
        }
    }

    /// Returns true if a cleanup of the lease files runs.
    #[must_use]
    pub const fn is_cleaning(&self) -> bool {
        self.is_cleaning
    }

    /// Continues after a failure of the log: writes a snapshot of the whole table into new files,
    /// and settles all rows that were logged before. No cleanup may run. The snapshot must contain
    /// every change whose row was logged.
    ///
    /// # Errors
    ///
    /// Returns the error of writing; the log stays failed, and the caller may try again.
    pub fn restart(
        &mut self,
        now: Now,
        snapshot: &mut Snapshot<'_>,
    ) -> Result<(), FileOperationError> {
        assert!(!self.is_cleaning, "a clean-up and a restart exclude each other");
        let epoch = self.round;
        self.round += 1;
        // Rows that come from now on are in no snapshot; a row that is in it too does no harm.
        self.batch.clear();
        self.shards.take(&mut self.batch, self.round, self.memfile.newest_columns());
        self.batch.clear();
        self.memfile.replace(snapshot)?;
        self.unflushed_since_ns = None;
        self.settled_end = self.memfile.end();
        self.size.store(self.settled_end, Ordering::Relaxed);
        self.failure = None;
        self.disturbance = None;
        self.schedule_rotation(now);
        self.shards.recover(epoch);
        Ok(())
    }
}
