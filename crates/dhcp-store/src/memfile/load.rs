//! Loading: files cut into chunks, parsed on several threads, the last row of an address wins.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dhcp_lease::Family;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::columns::Header;
use super::format::{Format, Rows};
use super::value::{RowFault, parse_row};
use crate::storage::{LogFile, read_full_at};

/// Octets that one thread takes at a time.
const CHUNK: u64 = 1 << 20;
/// Octets read at a time beyond a chunk, for the row that crosses its end.
const BEYOND: usize = 4096;
/// Parts of the map from address to lease, each behind its own lock.
const PARTS: usize = 64;
/// Bad rows that are described; the others are counted.
const DESCRIBED_MAX: usize = 100;

/// A file to load from: later ones in a list override earlier ones.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn LogFile>,
    pub(crate) header: Header,
    /// Where the rows begin.
    pub(crate) start: u64,
    /// Where the last complete row ends.
    pub(crate) end: u64,
}

/// A row that is no lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The file.
    pub file: PathBuf,
    /// Line in the file, from 1.
    pub line: u64,
    /// Why.
    pub fault: RowFault,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.fault)
    }
}

/// What was read from lease files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Files read, in the order in which they override each other.
    pub files: Vec<PathBuf>,
    /// Rows read, bad ones included.
    pub rows: u64,
    /// Rows that are no leases; rubbish does not count.
    pub bad_rows: u64,
    /// Rows of octets that a crash of the machine left in what had never been flushed, with the
    /// torn rows around them.
    pub rubbish_rows: u64,
    /// The first bad and rubbish rows of each file, at most 100 together.
    pub errors: Vec<RowError>,
    /// Octets cut off the end of the live file: a row that was being written.
    pub torn_octets: u64,
}

/// Why files could not be loaded.
#[derive(Debug)]
pub(crate) enum LoadError {
    Read { path: PathBuf, error: io::Error },
    TooManyBadRows(LoadReport),
}

/// One thread's share of the work.
struct Chunk {
    source: usize,
    start: u64,
    end: u64,
}

/// What parsing a chunk tells, beside its leases.
#[derive(Default)]
struct Parsed {
    lines: u64,
    /// Number of the line within the chunk, from 0.
    faults: Vec<(u64, RowFault)>,
    rows: u64,
    bad: u64,
    rubbish: u64,
    /// What was wrong with the row before.
    before: Option<RowFault>,
}

impl Parsed {
    /// Counts a faulty row. Rows around rubbish are the torn ends of what stood there.
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

/// The newest row of an address: where it stood, and the lease unless it was deleted.
type Newest<F> = HashMap<<F as Family>::Address, (u64, Option<<F as Family>::Lease>), FixedState>;

struct Loading<'s, F: Family> {
    sources: &'s [Source],
    chunks: Vec<Chunk>,
    next: AtomicUsize,
    is_aborted: AtomicBool,
    parts: Vec<Mutex<Newest<F>>>,
}

/// Loads `sources` on up to `threads` threads. With `max_row_errors` above 0, a file with more bad
/// rows fails the load.
pub(crate) fn load<F: Rows>(
    sources: &[Source],
    threads: usize,
    max_row_errors: u32,
) -> Result<(Vec<F::Lease>, LoadReport), LoadError> {
    let loading = Loading::<F>::new(sources);
    let threads = threads.clamp(1, loading.chunks.len().max(1));
    let mut parsed: Vec<(usize, Parsed)> = if threads == 1 {
        loading.work()?
    } else {
        let results: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| loading.work())).collect();
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
    let report = loading.report(&parsed, max_row_errors)?;
    let mut leases = Vec::new();
    for part in loading.parts {
        let part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
        leases.extend(part.into_values().filter_map(|(_, lease)| lease));
    }
    Ok((leases, report))
}

impl<'s, F: Rows> Loading<'s, F> {
    fn new(sources: &'s [Source]) -> Self {
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
            chunks,
            next: AtomicUsize::new(0),
            is_aborted: AtomicBool::new(false),
            parts: (0..PARTS).map(|_| Mutex::new(Newest::<F>::default())).collect(),
        }
    }

    /// Parses chunks until none is left.
    fn work(&self) -> Result<Vec<(usize, Parsed)>, LoadError> {
        let mut done = Vec::new();
        let mut octets = Vec::new();
        let mut batches: Vec<Vec<(u64, F::Lease)>> = (0..PARTS).map(|_| Vec::new()).collect();
        while !self.is_aborted.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = self.chunks.get(index) else { break };
            let source = &self.sources[chunk.source];
            let skipped = read_chunk(source, chunk, &mut octets).map_err(|error| {
                self.is_aborted.store(true, Ordering::Relaxed);
                LoadError::Read { path: source.path.clone(), error }
            })?;
            done.push((
                index,
                parse_chunk::<F>(source, chunk, &octets[skipped..], skipped, &mut batches),
            ));
            for (part, batch) in self.parts.iter().zip(&mut batches) {
                keep_newest::<F>(&mut part.lock().unwrap_or_else(PoisonError::into_inner), batch);
            }
        }
        Ok(done)
    }

    /// Adds up what the chunks told; `parsed` is in the order of the chunks.
    fn report(
        &self,
        parsed: &[(usize, Parsed)],
        max_row_errors: u32,
    ) -> Result<LoadReport, LoadError> {
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
            return Err(LoadError::TooManyBadRows(report));
        }
        Ok(report)
    }
}

/// Reads the rows that begin in `chunk`, the last one to its end, and says how many octets at the
/// front belong to a row that began before.
fn read_chunk(source: &Source, chunk: &Chunk, octets: &mut Vec<u8>) -> io::Result<usize> {
    // The octet before tells whether a row begins right here. There is one: the header's end.
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

/// Parses `rows`, which begin `skipped` octets into what was read for `chunk`.
fn parse_chunk<F: Rows>(
    source: &Source,
    chunk: &Chunk,
    rows: &[u8],
    skipped: usize,
    batches: &mut [Vec<(u64, F::Lease)>],
) -> Parsed {
    let format = Format::of::<F>();
    let mut parsed = Parsed::default();
    let mut offset = chunk.start - 1 + skipped as u64;
    for row in rows.split_inclusive(|&octet| octet == b'\n') {
        let line = row.strip_suffix(b"\n").unwrap_or(row);
        if !line.is_empty() {
            match parse_row::<F>(line, &format, source.header) {
                Ok(lease) => {
                    // The position orders rows: file first, then offset.
                    let position = (chunk.source as u64) << 56 | offset;
                    batches[part_of(F::address(&lease))].push((position, lease));
                    parsed.rows += 1;
                    parsed.before = None;
                }
                Err(fault) => {
                    parsed.count(fault);
                    if parsed.faults.len() < DESCRIBED_MAX {
                        parsed.faults.push((parsed.lines, fault));
                    }
                }
            }
        }
        parsed.lines += 1;
        offset += row.len() as u64;
    }
    parsed
}

/// Spreads addresses, neighbors too, evenly over the parts.
fn part_of<A: Hash>(address: A) -> usize {
    // Other bits than the map inside a part uses.
    (FixedState::with_seed(1).hash_one(address) >> 32) as usize % PARTS
}

fn keep_newest<F: Rows>(part: &mut Newest<F>, batch: &mut Vec<(u64, F::Lease)>) {
    for (position, lease) in batch.drain(..) {
        let address = F::address(&lease);
        let row = (position, (!F::is_deleted(&lease)).then_some(lease));
        match part.entry(address) {
            hashbrown::hash_map::Entry::Occupied(mut known) => {
                if known.get().0 < position {
                    known.insert(row);
                }
            }
            hashbrown::hash_map::Entry::Vacant(free) => {
                free.insert(row);
            }
        }
    }
}
