//! Counting and timing of flushes to the disk: a storage for files that counts flushes and can
//! delay them, and a connection to a database that does so for transactions.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::{ToolError, ToolResult};
use dhcp_lease::v4::{Lease, V4};
use dhcp_store::database::{
    DatabaseError, Flush, KeyOctets, LeaseDatabaseConnection, RoundChanges, SharedLeaseFamily,
};
use dhcp_store::storage::{DiskStorage, FileState, Lock, LogFile, Storage, write_all_at};
use measure::statistics::median;
use netio::Clock;
use serde::{Deserialize, Serialize};

/// Largest number of flushes in one measurement of their duration; the next constant is the longest
/// time of the measurement in nanoseconds.
const PROBES: usize = 20;
const PROBE_NS: u64 = 200_000_000;
/// Number of bytes that the measurement of flushes appends before each flush.
const PROBE_OCTETS: usize = 4096;

/// Counters of flushes, transactions and rows since a store was opened.
#[derive(Debug, Default)]
pub(crate) struct StoreWriteCounters {
    flushes: AtomicU64,
    transactions: AtomicU64,
    rows: AtomicU64,
}

impl StoreWriteCounters {
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::SeqCst)
    }

    pub(crate) fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::SeqCst)
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::SeqCst)
    }

    /// Counts `count` committed transactions.
    pub(crate) fn note_transactions(&self, count: usize) {
        Self::add(&self.transactions, count);
    }

    /// Counts one flush, after a pause of `delay`.
    fn flushed(&self, delay: Duration) {
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        Self::add(&self.flushes, 1);
    }

    fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::SeqCst);
    }
}

/// Storage on files of the operating system whose flushes are counted, and delayed by `delay`.
#[derive(Clone, Debug)]
pub(crate) struct CountedStorage {
    counts: Arc<StoreWriteCounters>,
    delay: Duration,
}

#[derive(Debug)]
struct CountedFile {
    file: Arc<dyn LogFile>,
    storage: CountedStorage,
}

impl CountedStorage {
    pub(crate) const fn new(counts: Arc<StoreWriteCounters>, delay: Duration) -> Self {
        Self { counts, delay }
    }

    fn flushed(&self) {
        self.counts.flushed(self.delay);
    }

    fn counted(&self, file: Arc<dyn LogFile>) -> Arc<dyn LogFile> {
        Arc::new(CountedFile { file, storage: self.clone() })
    }
}

impl Storage for CountedStorage {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        Ok(self.counted(DiskStorage.create(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        Ok(DiskStorage.open(path)?.map(|file| self.counted(file)))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Option<Arc<dyn LogFile>>> {
        Ok(DiskStorage.open_to_read(path)?.map(|file| self.counted(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        DiskStorage.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<bool> {
        DiskStorage.remove(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        DiskStorage.list(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        DiskStorage.sync_folder(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        DiskStorage.lock(path)
    }

    fn state(&self, path: &Path) -> io::Result<Option<FileState>> {
        DiskStorage.state(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        DiskStorage.canonical(path)
    }

    fn is_cleanup_running(&self, pid: u32) -> bool {
        DiskStorage.is_cleanup_running(pid)
    }
}

impl LogFile for CountedFile {
    fn write_at(&self, offset: u64, octets: &[u8]) -> io::Result<usize> {
        self.file.write_at(offset, octets)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn is_empty(&self) -> io::Result<bool> {
        self.file.is_empty()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()?;
        self.storage.flushed();
        Ok(())
    }

    fn state(&self) -> io::Result<FileState> {
        self.file.state()
    }

    fn lock(&self) -> io::Result<bool> {
        self.file.lock()
    }
}

/// Connection to a database whose transactions, rows and flushes are counted. Its flushes, or its
/// commits if those flush, are delayed by `delay`.
#[derive(Debug)]
pub(crate) struct CountedDatabase<D> {
    database: D,
    counts: Arc<StoreWriteCounters>,
    delay: Duration,
    has_changed: bool,
}

impl<D> CountedDatabase<D> {
    pub(crate) const fn new(database: D, counts: Arc<StoreWriteCounters>, delay: Duration) -> Self {
        Self { database, counts, delay, has_changed: false }
    }
}

impl<D: LeaseDatabaseConnection<V4>> CountedDatabase<D> {
    /// Counts a commit that has changed something, after a pause if the commit flushes.
    fn count_commit(&self) {
        if !self.has_changed {
            return;
        }
        if !self.delay.is_zero() && self.database.flush().is_none() {
            std::thread::sleep(self.delay);
        }
        StoreWriteCounters::add(&self.counts.transactions, 1);
    }
}

/// Flush of a database's log that runs next to its transactions, counted and delayed.
#[derive(Debug)]
struct CountedFlush {
    flush: Arc<dyn Flush>,
    counts: Arc<StoreWriteCounters>,
    delay: Duration,
}

impl Flush for CountedFlush {
    fn flush(&self) -> Result<(), DatabaseError> {
        self.flush.flush()?;
        self.counts.flushed(self.delay);
        Ok(())
    }
}

type Address = <V4 as dhcp_lease::Family>::Address;
type Client = <V4 as SharedLeaseFamily>::Client;

impl<D: LeaseDatabaseConnection<V4>> LeaseDatabaseConnection<V4> for CountedDatabase<D> {
    fn connect(&mut self) -> Result<Vec<String>, DatabaseError> {
        self.database.connect()
    }

    fn flush(&self) -> Option<Arc<dyn Flush>> {
        let flush = self.database.flush()?;
        Some(Arc::new(CountedFlush { flush, counts: self.counts.clone(), delay: self.delay }))
    }

    fn load(&mut self, visit: &mut dyn FnMut(Lease)) -> Result<Vec<String>, DatabaseError> {
        self.database.load(visit)
    }

    fn begin(&mut self) -> Result<(), DatabaseError> {
        self.has_changed = false;
        self.database.begin()
    }

    fn lock(
        &mut self,
        addresses: &[Address],
        leases: &mut Vec<Lease>,
    ) -> Result<(), DatabaseError> {
        self.database.lock(addresses, leases)
    }

    fn find(&mut self, clients: &[Client], leases: &mut Vec<Lease>) -> Result<(), DatabaseError> {
        self.database.find(clients, leases)
    }

    fn insert(&mut self, leases: &[Lease]) -> Result<usize, DatabaseError> {
        let inserted = self.database.insert(leases)?;
        self.has_changed |= inserted > 0;
        StoreWriteCounters::add(&self.counts.rows, inserted);
        Ok(inserted)
    }

    fn update(&mut self, leases: &[Lease]) -> Result<(), DatabaseError> {
        self.has_changed |= !leases.is_empty();
        StoreWriteCounters::add(&self.counts.rows, leases.len());
        self.database.update(leases)
    }

    fn delete(&mut self, addresses: &[Address]) -> Result<(), DatabaseError> {
        self.has_changed |= !addresses.is_empty();
        StoreWriteCounters::add(&self.counts.rows, addresses.len());
        self.database.delete(addresses)
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        self.database.commit()?;
        self.count_commit();
        Ok(())
    }

    fn roll_back(&mut self) {
        self.database.roll_back();
    }

    fn begin_and_lock(
        &mut self,
        clients: &[Client],
        addresses: &[Address],
        known: &mut Vec<Lease>,
        leases: &mut Vec<Lease>,
    ) -> Result<(), DatabaseError> {
        self.has_changed = false;
        self.database.begin_and_lock(clients, addresses, known, leases)
    }

    fn take_unreadable(&mut self) -> Vec<KeyOctets> {
        self.database.take_unreadable()
    }

    fn read_unlocked(
        &mut self,
        clients: &[Client],
        addresses: &[Address],
        known: &mut Vec<Lease>,
        leases: &mut Vec<Lease>,
    ) -> Result<(), DatabaseError> {
        self.database.read_unlocked(clients, addresses, known, leases)
    }

    fn write_and_commit(&mut self, changes: &RoundChanges<V4>) -> Result<(), DatabaseError> {
        self.database.write_and_commit(changes)?;
        let RoundChanges { inserts, updates, renewals, deletions } = changes;
        let rows = inserts.len() + updates.len() + renewals.len() + deletions.len();
        StoreWriteCounters::add(&self.counts.rows, rows);
        self.has_changed |= !changes.is_empty();
        self.count_commit();
        Ok(())
    }
}

/// Durations of the flushes of one measurement, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlushDurationSummary {
    /// Number of flushes that were measured.
    pub count: u32,
    /// Median duration of a flush, in microseconds.
    pub median_us: f64,
    /// Shortest duration of a flush, in microseconds.
    pub least_us: f64,
    /// Longest duration of a flush, in microseconds.
    pub most_us: f64,
}

impl FlushDurationSummary {
    /// Computes the summary from the durations of flushes, in microseconds.
    pub fn from_durations(times_us: &[f64]) -> Self {
        Self {
            count: times_us.len() as u32,
            median_us: median(times_us).unwrap_or(0.0),
            least_us: times_us.iter().copied().reduce(f64::min).unwrap_or(0.0),
            most_us: times_us.iter().copied().reduce(f64::max).unwrap_or(0.0),
        }
    }
}

/// Appends to a file in `folder` and flushes the file, several times; returns the duration of each
/// flush, in microseconds, `delay` included.
pub(crate) fn probe(folder: &Path, delay: Duration) -> ToolResult<Vec<f64>> {
    let path = folder.join("flush-probe");
    let failed = |error: io::Error| ToolError::failed(format!("flush {}", path.display()), error);
    let storage = CountedStorage::new(Arc::default(), delay);
    let file = storage.create(&path).map_err(failed)?;
    let octets = [b'x'; PROBE_OCTETS];
    let begin_ns = Clock::mono_ns();
    let mut times_us = Vec::with_capacity(PROBES);
    // The first flush also writes the file's entry in its folder.
    for at in 0..=PROBES {
        write_all_at(&*file, (at * PROBE_OCTETS) as u64, &octets).map_err(failed)?;
        let before_ns = Clock::mono_ns();
        file.sync_data().map_err(failed)?;
        let after_ns = Clock::mono_ns();
        if at > 0 {
            times_us.push((after_ns - before_ns) as f64 / 1e3);
        }
        if at > 1 && after_ns - begin_ns > PROBE_NS {
            break;
        }
    }
    storage.remove(&path).map_err(failed)?;
    Ok(times_us)
}

impl fmt::Display for FlushDurationSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} µs ({:.0} to {:.0})", self.median_us, self.least_us, self.most_us)
    }
}
