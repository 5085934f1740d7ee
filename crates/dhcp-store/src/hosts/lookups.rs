//! Lookups of all shards in a directory (a database of reservations), combined into one query, with
//! the results for each shard.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Now;

use crate::database::DatabaseError;
use crate::log::{ThreadWakeup, Wake, WriterWakeup};

/// Directory that returns the values of keys, such as a database of reservations.
pub trait Directory<K, V>: Send {
    /// Calls `visit` for each value of `keys` in the directory, with the position of the key and
    /// the value, most important first.
    ///
    /// # Errors
    ///
    /// Returns the error of the lookup; then no value that was found counts.
    fn find(
        &mut self,
        now: Now,
        keys: &[K],
        visit: &mut dyn FnMut(usize, V),
    ) -> Result<(), DatabaseError>;
}

/// Result of one batch of a shard's lookups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupBatchResult<K, V> {
    /// Number of the batch, as [`ShardLookups::request`] returned it.
    pub batch: u64,
    /// Keys of the batch, in no particular order, each with its values; `None` if the directory
    /// failed.
    pub results: Option<Vec<(K, Vec<V>)>>,
}

/// Maximum number of changed keys that are kept for a shard, which may serve no client for long.
const CHANGED_KEYS_MAX: usize = 1024;

/// Keys whose values have changed in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedKeys<K> {
    /// These keys and no others.
    Keys(Vec<K>),
    /// Possibly every key: more have changed than are kept.
    All,
}

impl<K> Default for ChangedKeys<K> {
    fn default() -> Self {
        Self::Keys(Vec::new())
    }
}

impl<K: Clone> ChangedKeys<K> {
    fn add(&mut self, keys: &[K]) {
        match self {
            Self::Keys(all) if all.len() + keys.len() <= CHANGED_KEYS_MAX => {
                all.extend_from_slice(keys);
            }
            _ => *self = Self::All,
        }
    }
}

/// Result of one pass of the lookup thread over the requests of all shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupTurnResult {
    /// Pass without a request of any shard.
    Idle,
    /// Number of keys that the pass looked up.
    Answered(usize),
    /// Error with which the directory of reservations failed.
    Failed(DatabaseError),
}

/// Lookup requests of one shard, and their results.
struct ShardRequests<K, V> {
    requests: Vec<(u64, Vec<K>)>,
    answers: VecDeque<LookupBatchResult<K, V>>,
    last_batch: u64,
    /// Keys whose values have changed in the directory since the shard last took them.
    changed: ChangedKeys<K>,
}

impl<K, V> Default for ShardRequests<K, V> {
    fn default() -> Self {
        Self {
            requests: Vec::new(),
            answers: VecDeque::new(),
            last_batch: 0,
            changed: ChangedKeys::default(),
        }
    }
}

/// Lookups that the shards and the lookup thread share; see the module `hosts`.
pub struct Lookups<K, V> {
    shard_queues: Vec<Mutex<ShardRequests<K, V>>>,
    /// Number of changes of the directory that [`Lookups::forget`] has announced.
    changes: AtomicU64,
    wake: Wake,
    pub(super) wakeup: ThreadWakeup,
}

impl<K, V> fmt::Debug for Lookups<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookups").field("shards", &self.shard_queues.len()).finish_non_exhaustive()
    }
}

impl<K: Ord + Clone, V: Clone> Lookups<K, V> {
    /// Creates the lookups for `shards` shards; the lookups call `wake` with the number of a shard
    /// that has a result.
    pub fn new(shards: usize, wake: impl Fn(usize) + Send + Sync + 'static) -> Arc<Self> {
        let boxes = (0..shards).map(|_| Mutex::default()).collect();
        Arc::new(Self {
            shard_queues: boxes,
            changes: AtomicU64::new(0),
            wake: Box::new(wake),
            wakeup: ThreadWakeup::default(),
        })
    }

    /// Makes all shards forget the values of `keys`, which have changed in the directory. A shard
    /// that calls [`ShardLookups::take_changed`] after this call has returned gets the keys, and
    /// results that were looked up before the call are not valid for them.
    pub fn forget(&self, keys: &[K]) {
        if keys.is_empty() {
            return;
        }
        for queue in &self.shard_queues {
            lock(queue).changed.add(keys);
        }
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Looks up the keys of all shards in `directory`, each key once, and passes the results to the
    /// shards.
    pub fn look_up_all(&self, now: Now, directory: &mut dyn Directory<K, V>) -> LookupTurnResult {
        let requests_by_shard: Vec<_> =
            self.shard_queues.iter().map(|one| std::mem::take(&mut lock(one).requests)).collect();
        let batches = requests_by_shard.iter().flatten();
        let unique_keys: BTreeMap<&K, usize> =
            batches.flat_map(|(_, keys)| keys).map(|key| (key, 0)).collect();
        if requests_by_shard.iter().all(Vec::is_empty) {
            return LookupTurnResult::Idle;
        }
        let keys: Vec<K> = unique_keys.keys().map(|&key| key.clone()).collect();
        let positions: BTreeMap<&K, usize> = unique_keys.into_keys().zip(0..).collect();
        let mut values: Vec<Vec<V>> = keys.iter().map(|_| Vec::new()).collect();
        let looked_up = if keys.is_empty() {
            Ok(())
        } else {
            directory.find(now, &keys, &mut |at, value| values[at].push(value))
        };
        for (shard, batches) in
            requests_by_shard.iter().enumerate().filter(|(_, batches)| !batches.is_empty())
        {
            let answers = batches.iter().map(|(batch, keys)| {
                let of_key = |key: &K| (key.clone(), values[positions[key]].clone());
                let values = looked_up.is_ok().then(|| keys.iter().map(of_key).collect());
                LookupBatchResult { batch: *batch, results: values }
            });
            lock(&self.shard_queues[shard]).answers.extend(answers);
            (self.wake)(shard);
        }
        match looked_up {
            Ok(()) => LookupTurnResult::Answered(keys.len()),
            Err(error) => LookupTurnResult::Failed(error),
        }
    }
}

/// Shard's end of the lookups: sends requests and takes results.
#[derive(Debug)]
pub struct ShardLookups<K, V> {
    lookups: Arc<Lookups<K, V>>,
    shard: usize,
    /// Number of announced changes of the directory whose keys the shard has taken.
    taken_changes: u64,
}

impl<K, V> ShardLookups<K, V> {
    /// Creates the lookups' end for shard number `shard`.
    ///
    /// # Panics
    ///
    /// Panics if no shard has that number.
    #[must_use]
    pub fn new(lookups: Arc<Lookups<K, V>>, shard: usize) -> Self {
        assert!(shard < lookups.shard_queues.len(), "shards are numbered from 0");
        Self { lookups, shard, taken_changes: 0 }
    }

    /// Requests a lookup of `keys`, and returns the number of the batch, one more than that of the
    /// previous one.
    pub fn request(&mut self, keys: Vec<K>) -> u64 {
        let mut queue = lock(&self.lookups.shard_queues[self.shard]);
        queue.last_batch += 1;
        let batch = queue.last_batch;
        queue.requests.push((batch, keys));
        drop(queue);
        self.lookups.wakeup.wake();
        batch
    }

    /// Takes the keys whose values have changed in the directory since the last call; usually
    /// there are none, and the call takes no lock.
    pub fn take_changed(&mut self) -> ChangedKeys<K> {
        let changes = self.lookups.changes.load(Ordering::Acquire);
        if changes == self.taken_changes {
            return ChangedKeys::default();
        }
        self.taken_changes = changes;
        std::mem::take(&mut lock(&self.lookups.shard_queues[self.shard]).changed)
    }

    /// Takes the result of the shard's next batch; `None` if no result is ready.
    pub fn take_result(&mut self) -> Option<LookupBatchResult<K, V>> {
        lock(&self.lookups.shard_queues[self.shard]).answers.pop_front()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
