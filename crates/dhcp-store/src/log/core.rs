//! Rounds, without a thread and without a clock.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};

use super::{Durability, Shards};
use crate::memfile::{Cleanup, Disturbance, Failed, Look, Memfile, Rotation, Snapshot};
use crate::storage::LogFile;

/// How rounds are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreOptions {
    /// What settles a row.
    pub durability: Durability,
    /// Seconds between rotations, each followed by a clean-up; 0 = never (Kea's `lfc-interval`).
    pub lfc_interval_s: u32,
}

/// What ended the writing.
#[derive(Debug)]
pub struct LogFailure(Arc<str>);

impl fmt::Display for LogFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The sole owner of the lease file.
#[derive(Debug)]
pub struct LogCore {
    shards: Arc<Shards>,
    memfile: Memfile,
    options: CoreOptions,
    /// The rows of the round being done; kept for its room.
    batch: Vec<u8>,
    /// The round to be done next.
    round: u64,
    /// Where the file ended when it was last flushed, or written when that is enough.
    settled_end: u64,
    /// When the first octet was written that is not flushed.
    unflushed_since_ns: Option<u64>,
    rotate_at_ns: Option<u64>,
    is_cleaning: bool,
    failure: Option<Arc<str>>,
    skipped_rotation: Option<Failed>,
    /// Time of the next look at the files, monotonic nanoseconds.
    watch_at_ns: u64,
    disturbance: Option<Disturbance>,
    /// From when on the size of the live file may ask for a rotation, monotonic nanoseconds.
    size_from_ns: u64,
    /// Octets in the live file, for those who report them.
    size: Arc<AtomicU64>,
}

/// A live file of fewer octets is not rotated because of its size.
const GROWN_MIN: u64 = 4 << 20;
/// Size of the live file at which it is rotated, in sizes of what the last clean-up has left.
const GROWN_TIMES: u64 = 4;
/// Least time between two rotations because of the size.
const SIZE_INTERVAL_NS: u64 = 10 * NS_PER_S;

/// Time between two looks at the lease files.
const WATCH_INTERVAL_NS: u64 = NS_PER_S;

/// Buffers for rows that grew beyond this are given back to the system, octets.
const BATCH_KEPT: usize = 4 << 20;

impl LogCore {
    /// Rounds over `memfile` for `shards`.
    #[must_use]
    pub fn new(shards: Arc<Shards>, memfile: Memfile, options: CoreOptions, now: Now) -> Self {
        let mut batch = Vec::new();
        // Nobody logs yet: this opens the buffers with the columns of the file.
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

    /// Writes what the shards have logged, flushes it if that is promised, and publishes it. Does
    /// nothing after a failure.
    pub fn round(&mut self, now: Now) {
        self.round_by(now, None);
    }

    /// A round done by a shard; says whether the thread must hear of it: of a failure, or of rows
    /// that are to be flushed in time.
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
            // A row written behind a cut fills the length up again, with a hole before it.
            if self.disturbance.is_none() {
                self.disturbance = self.memfile.length_disturbance();
            }
            if let Err(failed) = self.memfile.append(&self.batch) {
                self.fail(&failed);
                return true;
            }
            if self.options.durability == Durability::Always {
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
        let by_time = matches!(self.options.durability, Durability::Interval(_));
        self.disturbance.is_some() || (by_time && was_flushed && self.unflushed_since_ns.is_some())
    }

    /// Poisons the file.
    fn fail(&mut self, failed: &Failed) {
        // What was not promised need not be found by who loads the file next.
        self.memfile.cut_back(self.settled_end);
        self.failure = Some(failed.to_string().into());
        self.shards.fail();
    }

    /// What ended the writing.
    #[must_use]
    pub fn failure(&self) -> Option<LogFailure> {
        self.failure.clone().map(LogFailure)
    }

    /// Why the last rotation that was due did not happen, told once.
    pub const fn take_skipped_rotation(&mut self) -> Option<Failed> {
        self.skipped_rotation.take()
    }

    /// Looks at the lease files when that is due, and returns what another program has done to
    /// them since, or what a rotation has met. Only [`LogCore::restart`] makes the files whole
    /// again. When the files cannot be looked at, the log fails.
    pub fn watch_due(&mut self, now: Now) -> Option<Disturbance> {
        if self.failure.is_some() {
            return None;
        }
        if self.disturbance.is_none() && now.mono_ns >= self.watch_at_ns {
            self.watch_at_ns = now.mono_ns + WATCH_INTERVAL_NS;
            let found = match self.is_cleaning {
                // The clean-up changes the files beside the live one.
                true => self.memfile.live_disturbance(),
                false => self.memfile.disturbance(),
            };
            match found {
                Ok(found) => self.disturbance = found,
                Err(failed) => self.fail(&failed),
            }
        }
        self.disturbance.take()
    }

    /// Returns the time of the next look at the lease files, monotonic nanoseconds.
    #[must_use]
    pub const fn next_watch_ns(&self) -> Option<u64> {
        match (&self.failure, &self.disturbance) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(0),
            (None, None) => Some(self.watch_at_ns),
        }
    }

    /// The look at the files that is due, to be taken without the core; when it finds nothing, tell
    /// [`LogCore::looked`], otherwise [`LogCore::watch_due`] says what it is.
    pub(super) fn look_due(&self, now: Now) -> Option<Look> {
        let is_due = self.failure.is_none() && self.disturbance.is_none();
        (is_due && now.mono_ns >= self.watch_at_ns).then(|| self.memfile.look(self.is_cleaning))
    }

    /// Tells that a look has found nothing.
    pub(super) const fn looked(&mut self, now: Now) {
        self.watch_at_ns = now.mono_ns + WATCH_INTERVAL_NS;
    }

    /// Takes the disturbance that a rotation or a write has met, without a look.
    pub(super) const fn take_disturbance(&mut self) -> Option<Disturbance> {
        self.disturbance.take()
    }

    /// Has the next look at the files find that they must be written anew, because times in the
    /// table were moved.
    pub fn request_rewrite(&mut self) {
        self.disturbance.get_or_insert(Disturbance::Moved);
    }

    /// Gives up writing for `reason`, as after a write that failed.
    pub fn give_up(&mut self, reason: &str) {
        self.failure.get_or_insert_with(|| reason.into());
        self.shards.fail();
    }

    /// Path of the live file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.memfile.path()
    }

    /// When a flush or a rotation is due, monotonic nanoseconds.
    #[must_use]
    pub fn next_deadline_ns(&self) -> Option<u64> {
        if self.failure.is_some() {
            return None;
        }
        let flush = match self.options.durability {
            Durability::Interval(ms) => {
                self.unflushed_since_ns.map(|since| since + u64::from(ms) * NS_PER_MS)
            }
            Durability::None | Durability::Always => None,
        };
        let rotate = if self.is_cleaning { None } else { self.rotate_at_ns };
        flush.into_iter().chain(rotate).min()
    }

    /// The file, when a flush by time is due. Flush it, the core need not be locked meanwhile, and
    /// tell [`LogCore::flushed`].
    pub fn flush_due(&mut self, now: Now) -> Option<Arc<dyn LogFile>> {
        let Durability::Interval(ms) = self.options.durability else { return None };
        let since = self.unflushed_since_ns?;
        if self.failure.is_some() || now.mono_ns < since + u64::from(ms) * NS_PER_MS {
            return None;
        }
        // What is written from now on waits for the next flush.
        self.unflushed_since_ns = None;
        Some(self.memfile.file())
    }

    /// Tells how a flush by time went.
    pub fn flushed(&mut self, result: std::io::Result<()>) {
        if let Err(error) = result
            && self.failure.is_none()
        {
            self.fail(&Failed { tried: "flush", path: self.memfile.path().to_owned(), error });
        }
    }

    /// Flushes what is written, whatever was promised: before a clean end.
    pub fn flush(&mut self) {
        if self.failure.is_some() || self.unflushed_since_ns.take().is_none() {
            return;
        }
        if let Err(failed) = self.memfile.sync() {
            self.fail(&failed);
        }
    }

    /// Rotates when it is due and gives the clean-up to run, without the core, and to tell
    /// [`LogCore::cleaned`] of.
    pub fn rotate_due(&mut self, now: Now) -> Option<Cleanup> {
        let is_due = self.rotate_at_ns.is_some_and(|at| now.mono_ns >= at);
        let is_grown = now.mono_ns >= self.size_from_ns && self.is_grown();
        if self.is_cleaning || !(is_due || is_grown) {
            return None;
        }
        self.size_from_ns = now.mono_ns + SIZE_INTERVAL_NS;
        self.rotate(now)
    }

    /// Returns whether the live file has grown so far beyond the table that it is cleaned up before
    /// its time. Not when clean-ups are switched off, nor after one that was not done.
    fn is_grown(&self) -> bool {
        let cleaned_len = self.memfile.previous_len();
        self.options.lfc_interval_s > 0
            && !self.memfile.needs_cleanup()
            && self.memfile.end() >= GROWN_MIN.max(cleaned_len.saturating_mul(GROWN_TIMES))
    }

    /// Octets in the live file, as far as written; goes on counting.
    #[must_use]
    pub fn size(&self) -> Arc<AtomicU64> {
        self.size.clone()
    }

    /// Has the next look at [`LogCore::rotate_due`] find that it is due.
    pub const fn request_rotation(&mut self) {
        self.rotate_at_ns = Some(0);
    }

    /// Rotates now, between rounds, as [`LogCore::rotate_due`] does.
    pub fn rotate(&mut self, now: Now) -> Option<Cleanup> {
        if self.is_cleaning || self.failure.is_some() {
            return None;
        }
        self.schedule_rotation(now);
        if self.memfile.columns() != self.memfile.newest_columns() && !self.memfile.needs_cleanup()
        {
            // Rows for the old file have its columns: write them there, and give later ones those
            // of the new file.
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

    /// Tells that the clean-up has ended, and whether it was done. One that was not is tried again
    /// when the next rotation is due.
    pub fn cleaned(&mut self, is_done: bool) {
        self.is_cleaning = false;
        // Files that a clean-up has changed and not finished with are written anew.
        if is_done
            && let Err(failed) = self.memfile.cleaned()
            && self.failure.is_none()
        {
            self.fail(&failed);
        }
    }

    /// Whether a clean-up runs.
    #[must_use]
    pub const fn is_cleaning(&self) -> bool {
        self.is_cleaning
    }

    /// Goes on after a failure: puts a snapshot of the whole table into new files, and settles all
    /// that was logged before. No clean-up may run. The snapshot must see every change whose row
    /// was logged.
    ///
    /// # Errors
    ///
    /// The log stays failed; it may be tried again.
    pub fn restart(&mut self, now: Now, snapshot: &mut Snapshot<'_>) -> Result<(), Failed> {
        assert!(!self.is_cleaning, "a clean-up and a restart exclude each other");
        let epoch = self.round;
        self.round += 1;
        // Rows that come from now on are in no snapshot, or in it too, which does no harm.
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
