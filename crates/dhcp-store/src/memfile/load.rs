//! Loader of lease files: cuts files into chunks and parses them on several threads; the last row
//! of an address wins.
//!
//! Leases go to an [`Intake`] as soon as a chunk of them is read, so that memory holds only the
//! leases of a few chunks. Addresses are spread over partitions; a partition takes the chunks in
//! their order, one thread at a time, so the rows of an address arrive in the order of the files.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::columns::LeaseFileHeader;
use super::format::{LeaseFileFamily, RowFileFormat};
use super::intake::{FileRow, Intake, LeaseLoadProgress, NewestRowIntake};
use super::plain::PlainRow;
use super::value::{RowFault, parse_row};
use crate::storage::{LogFile, read_full_at};
use dhcp_lease::Lease;

/// Number of bytes of a lease file that one thread takes at a time.
const CHUNK: u64 = 1 << 20;
/// Number of bytes read at a time beyond a chunk, for the row that crosses its end.
const BEYOND: usize = 4096;
/// Number of partitions through which leases go to the intake: as many as the lease table has
/// stripes, so that leases that arrive together lie together.
pub(super) const PARTITIONS: usize = 256;
/// Maximum number of bad rows that are described; further ones are only counted.
const DESCRIBED_MAX: usize = 100;

/// Lease file to load from: later ones in a list override earlier ones.
#[derive(Clone, Debug)]
pub(crate) struct RowSource {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn LogFile>,
    pub(crate) header: LeaseFileHeader,
    /// Offset of the first row in the lease file, in bytes.
    pub(crate) start: u64,
    /// Offset after the last complete row in the lease file, in bytes.
    pub(crate) end: u64,
}

/// Row of a lease file that is not a lease, with its fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// Path of the lease file with the row.
    pub file: PathBuf,
    /// Number of the row's line in the file, from 1.
    pub line: u64,
    /// Reason why the row is not a lease.
    pub fault: RowFault,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.fault)
    }
}

/// Report about the rows of the lease files that were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Paths of the lease files that were read, in the order in which they override each other.
    pub files: Vec<PathBuf>,
    /// Number of rows that were read, bad ones included.
    pub rows: u64,
    /// Number of bad rows: rows that are neither leases nor rubbish.
    pub bad_rows: u64,
    /// Number of rubbish rows: bytes that a crash of the machine left where nothing had ever been
    /// flushed, with the torn rows around them.
    pub rubbish_rows: u64,
    /// Errors of the first bad and rubbish rows of each file, at most 100 together.
    pub errors: Vec<RowError>,
    /// Number of bytes cut off the end of the live lease file: an incomplete row.
    pub torn_octets: u64,
    /// Paths of the copies of damaged lease files whose sound rows were loaded.
    pub damaged_copies: Vec<PathBuf>,
}

/// Reason why lease files could not be loaded.
#[derive(Debug)]
pub(crate) enum LeaseLoadError {
    Read { path: PathBuf, error: io::Error },
    TooManyBadRows(LoadReport),
}

/// Part of a lease file that one thread parses at a time.
struct Chunk {
    source: usize,
    start: u64,
    end: u64,
}

/// Results of parsing a chunk of a lease file, without its leases.
#[derive(Default)]
struct ChunkReport {
    lines: u64,
    /// Faults of the chunk's rows, each with the number of its line within the chunk, from 0.
    faults: Vec<(u64, RowFault)>,
    rows: u64,
    bad: u64,
    rubbish: u64,
    /// Fault of the row before the one that is parsed, if it had one.
    before: Option<RowFault>,
}

impl ChunkReport {
    /// Counts a faulty row, and keeps its fault. Rows next to rubbish count as rubbish: they are
    /// the remains of the overwritten rows.
    fn count(&mut self, fault: RowFault) {
        self.rows += 1;
        let before = self.before.replace(fault);
        match (before, fault) {
            (None | Some(RowFault::Rubbish), RowFault::Rubbish) => self.rubbish += 1,
            (Some(_), RowFault::Rubbish) => {
                self.bad -= 1;
                self.rubbish += 2;
            }
            (Some(RowFault::Rubbish), _) => {
                self.rubbish += 1;
                self.before = None;
            }
            _ => self.bad += 1,
        }
    }
}

/// Sequencer of one partition of addresses: the chunks of the lease files pass their leases one
/// after the other, in the order of the files.
#[derive(Default)]
struct ChunkSequencer {
    turn: Mutex<ChunkTurn>,
    turned: Condvar,
}

#[derive(Default)]
struct ChunkTurn {
    /// Index of the chunk that may pass next.
    next: usize,
    /// Number of threads that wait for the turn of their chunk.
    waiting: usize,
}

impl ChunkSequencer {
    fn lock(&self) -> MutexGuard<'_, ChunkTurn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows of a chunk, by partition of their addresses.
type Batches<F> = Vec<Vec<FileRow<F>>>;

struct LeaseLoadState<'s, I> {
    sources: &'s [RowSource],
    chunks: Vec<Chunk>,
    next: AtomicUsize,
    is_aborted: AtomicBool,
    partitions: Vec<ChunkSequencer>,
    intake: &'s I,
    octets: u64,
    octets_done: AtomicU64,
    rows_done: AtomicU64,
}

/// Loads the leases of `sources` on up to `threads` threads. With `max_row_errors` above 0, a file
/// with more bad rows fails the load.
pub(crate) fn load<F: LeaseFileFamily>(
    sources: &[RowSource],
    threads: usize,
    max_row_errors: u32,
) -> Result<(Vec<Lease<F>>, LoadReport), LeaseLoadError> {
    let collected = NewestRowIntake::<F>::default();
    let report = load_into(sources, threads, max_row_errors, &collected)?;
    Ok((collected.into_leases(), report))
}

/// Loads the leases of `sources` into `intake`, as [`load`] does. If the load fails, the rows
/// passed so far are useless.
pub(crate) fn load_into<F: LeaseFileFamily>(
    sources: &[RowSource],
    threads: usize,
    max_row_errors: u32,
    intake: &impl Intake<F>,
) -> Result<LoadReport, LeaseLoadError> {
    let loading = LeaseLoadState::new(sources, intake);
    let threads = threads.clamp(1, loading.chunks.len().max(1));
    let mut parsed: Vec<(usize, ChunkReport)> = if threads == 1 {
        loading.work::<F>()?
    } else {
        let results: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads).map(|_| scope.spawn(|| loading.work::<F>())).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("loading does not panic"))
                .collect()
        });
        let mut all = Vec::new();
        for result in results {
            all.extend(result?);
        }
        all
    };
    parsed.sort_unstable_by_key(|&(chunk, _)| chunk);
    loading.report(&parsed, max_row_errors)
}

/// Guard that aborts the load when its thread ends before its work is done, also by a panic, so
/// that other threads do not wait for it forever.
struct Abort<'l, I>(&'l LeaseLoadState<'l, I>);

impl<I> Drop for Abort<'_, I> {
    fn drop(&mut self) {
        self.0.is_aborted.store(true, Ordering::Relaxed);
        for partition in &self.0.partitions {
            // A thread that has seen no abort yet waits before the lock is released.
            drop(partition.lock());
            partition.turned.notify_all();
        }
    }
}

impl<'s, I> LeaseLoadState<'s, I> {
    fn new(sources: &'s [RowSource], intake: &'s I) -> Self {
        let mut chunks = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let mut start = source.start;
            while start < source.end {
                let end = (start + CHUNK).min(source.end);
                chunks.push(Chunk { source: index, start, end });
                start = end;
            }
        }
        Self {
            sources,
            octets: chunks.iter().map(|chunk| chunk.end - chunk.start).sum(),
            chunks,
            next: AtomicUsize::new(0),
            is_aborted: AtomicBool::new(false),
            partitions: (0..PARTITIONS).map(|_| ChunkSequencer::default()).collect(),
            intake,
            octets_done: AtomicU64::new(0),
            rows_done: AtomicU64::new(0),
        }
    }

    /// Parses chunks until none is left, and returns their reports with their indexes.
    fn work<F: LeaseFileFamily>(&self) -> Result<Vec<(usize, ChunkReport)>, LeaseLoadError>
    where
        I: Intake<F>,
    {
        let abort = Abort(self);
        let mut done = Vec::new();
        let mut octets = Vec::new();
        let mut batches: Batches<F> = (0..PARTITIONS).map(|_| Vec::new()).collect();
        while !self.is_aborted.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = self.chunks.get(index) else { break };
            let source = &self.sources[chunk.source];
            let skipped = read_chunk(source, chunk, &mut octets)
                .map_err(|error| LeaseLoadError::Read { path: source.path.clone(), error })?;
            let parsed = parse_chunk::<F>(source, &octets[skipped..], &mut batches);
            self.hand_over::<F>(index, &mut batches);
            let octets_done = chunk.end - chunk.start
                + self.octets_done.fetch_add(chunk.end - chunk.start, Ordering::Relaxed);
            let rows = parsed.rows + self.rows_done.fetch_add(parsed.rows, Ordering::Relaxed);
            self.intake.progress(LeaseLoadProgress { octets: self.octets, octets_done, rows });
            done.push((index, parsed));
        }
        std::mem::forget(abort);
        Ok(done)
    }

    /// Passes the leases of chunk number `index` to the intake: in each partition, after the leases
    /// of all earlier chunks.
    fn hand_over<F: LeaseFileFamily>(&self, index: usize, batches: &mut Batches<F>)
    where
        I: Intake<F>,
    {
        for (partition, batch) in self.partitions.iter().zip(batches) {
            let mut turn = partition.lock();
            while turn.next != index {
                if self.is_aborted.load(Ordering::Relaxed) {
                    return;
                }
                turn.waiting += 1;
                turn = partition.turned.wait(turn).unwrap_or_else(PoisonError::into_inner);
                turn.waiting -= 1;
            }
            self.intake.take(batch.drain(..));
            turn.next += 1;
            let is_awaited = turn.waiting > 0;
            drop(turn);
            if is_awaited {
                partition.turned.notify_all();
            }
        }
    }

    /// Adds up the reports of the chunks; `parsed` is in the order of the chunks.
    fn report(
        &self,
        parsed: &[(usize, ChunkReport)],
        max_row_errors: u32,
    ) -> Result<LoadReport, LeaseLoadError> {
        let mut report = LoadReport {
            files: self.sources.iter().map(|source| source.path.clone()).collect(),
            ..LoadReport::default()
        };
        let mut bad_in_file = vec![0; self.sources.len()];
        let mut lines_in_file = vec![1_u64; self.sources.len()];
        for (chunk, parsed) in parsed {
            let source = self.chunks[*chunk].source;
            for &(line, fault) in &parsed.faults {
                if report.errors.len() < DESCRIBED_MAX {
                    let line = lines_in_file[source] + line + 1;
                    let file = self.sources[source].path.clone();
                    report.errors.push(RowError { file, line, fault });
                }
            }
            lines_in_file[source] += parsed.lines;
            bad_in_file[source] += parsed.bad;
            report.rows += parsed.rows;
            report.bad_rows += parsed.bad;
            report.rubbish_rows += parsed.rubbish;
        }
        let too_many = |&bad: &u64| max_row_errors > 0 && bad > u64::from(max_row_errors);
        if bad_in_file.iter().any(too_many) {
            return Err(LeaseLoadError::TooManyBadRows(report));
        }
        Ok(report)
    }
}

/// Reads the rows that begin in `chunk` into `octets`, the last one to its end, and returns the
/// number of bytes at the front that belong to a row that began before.
fn read_chunk(source: &RowSource, chunk: &Chunk, octets: &mut Vec<u8>) -> io::Result<usize> {
    // The previous byte shows if a row begins right here. There is one: the header's end.
    let from = chunk.start - 1;
    octets.resize((chunk.end - from) as usize, 0);
    let mut filled = read_full_at(&*source.file, from, octets)?;
    let short = || io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter");
    if filled < octets.len() {
        return Err(short());
    }
    let Some(first) = octets.iter().position(|&octet| octet == b'\n') else {
        octets.clear();
        return Ok(0);
    };
    if first + 1 == octets.len() {
        octets.clear();
        return Ok(0);
    }
    while octets[filled - 1] != b'\n' {
        let more = BEYOND.min((source.end - from) as usize - filled);
        octets.resize(filled + more, 0);
        let read = read_full_at(&*source.file, from + filled as u64, &mut octets[filled..])?;
        if read < more || more == 0 {
            return Err(short());
        }
        match octets[filled..].iter().position(|&octet| octet == b'\n') {
            Some(end) => {
                octets.truncate(filled + end + 1);
                break;
            }
            None => filled += read,
        }
    }
    Ok(first + 1)
}

/// Parses `rows`, which were read for a chunk, into `batches` by partition.
fn parse_chunk<F: LeaseFileFamily>(
    source: &RowSource,
    mut rows: &[u8],
    batches: &mut Batches<F>,
) -> ChunkReport {
    let format = RowFileFormat::for_family::<F>();
    let mut parsed = ChunkReport::default();
    while !rows.is_empty() {
        let mut plain = PlainRow::new(rows);
        let row = match F::parse_plain(&mut plain) {
            Some(lease) => {
                rows = &rows[plain.len()..];
                Some(Ok(lease))
            }
            None => {
                let end = rows.iter().position(|&octet| octet == b'\n');
                let (line, rest) = rows.split_at(end.unwrap_or(rows.len()));
                rows = rest.strip_prefix(b"\n").unwrap_or(rest);
                (!line.is_empty()).then(|| parse_row::<F>(line, &format, source.header))
            }
        };
        match row {
            Some(Ok(lease)) => {
                let address = lease.address;
                let row = if lease.is_deleted() {
                    FileRow::Deleted(address)
                } else {
                    FileRow::Lease(lease)
                };
                batches[partition_of::<F>(address)].push(row);
                parsed.rows += 1;
                parsed.before = None;
            }
            Some(Err(fault)) => {
                parsed.count(fault);
                if parsed.faults.len() < DESCRIBED_MAX {
                    parsed.faults.push((parsed.lines, fault));
                }
            }
            None => {}
        }
        parsed.lines += 1;
    }
    parsed
}

/// Returns the number of the partition that takes the leases of `address`. Neighboring addresses
/// are in different partitions.
pub(super) fn partition_of<F: LeaseFileFamily>(address: F::Address) -> usize {
    usize::from(F::low_octet(address)) % PARTITIONS
}
