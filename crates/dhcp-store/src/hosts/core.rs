//! Questions of shards, put together, asked at once and answered to each.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Now;

use crate::database::DatabaseError;
use crate::log::{Bell, Doorbell, Wake};

/// What keys lead to something.
pub trait Directory<K, V>: Send {
    /// Gives `found` all that `keys` lead to: the position of a key, and what it leads to, in the
    /// order of importance.
    ///
    /// # Errors
    ///
    /// What went wrong; then nothing that was found counts.
    fn find(
        &mut self,
        now: Now,
        keys: &[K],
        found: &mut dyn FnMut(usize, V),
    ) -> Result<(), DatabaseError>;
}

/// The answer to one batch of a shard's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<K, V> {
    /// The batch.
    pub batch: u64,
    /// All keys of the batch with what they lead to, in no order that means anything; `None` when the
    /// directory failed.
    pub found: Option<Vec<(K, Vec<V>)>>,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nobody wanted to know anything.
    Idle,
    /// So many keys were looked up.
    Answered(usize),
    /// The directory failed.
    Failed(DatabaseError),
}

/// What one shard has asked and been answered.
struct Post<K, V> {
    asked: Vec<(u64, Vec<K>)>,
    answers: VecDeque<Answer<K, V>>,
    last_batch: u64,
}

impl<K, V> Default for Post<K, V> {
    fn default() -> Self {
        Self { asked: Vec::new(), answers: VecDeque::new(), last_batch: 0 }
    }
}

/// What shards and the thread that looks up share. See the module.
pub struct Lookups<K, V> {
    boxes: Vec<Mutex<Post<K, V>>>,
    wake: Wake,
    pub(super) bell: Bell,
}

impl<K, V> fmt::Debug for Lookups<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookups").field("shards", &self.boxes.len()).finish_non_exhaustive()
    }
}

impl<K: Ord + Clone, V: Clone> Lookups<K, V> {
    /// For so many shards; `wake` is called with the number of a shard that has been answered.
    pub fn new(shards: usize, wake: impl Fn(usize) + Send + Sync + 'static) -> Arc<Self> {
        let boxes = (0..shards).map(|_| Mutex::default()).collect();
        Arc::new(Self { boxes, wake: Box::new(wake), bell: Bell::default() })
    }

    /// Asks `directory` for all that shards want to know, once for each key, and answers them.
    pub fn turn(&self, now: Now, directory: &mut dyn Directory<K, V>) -> Turn {
        let asked: Vec<_> =
            self.boxes.iter().map(|one| std::mem::take(&mut lock(one).asked)).collect();
        let batches = asked.iter().flatten();
        let wanted: BTreeMap<&K, usize> =
            batches.flat_map(|(_, keys)| keys).map(|key| (key, 0)).collect();
        if asked.iter().all(Vec::is_empty) {
            return Turn::Idle;
        }
        let keys: Vec<K> = wanted.keys().map(|&key| key.clone()).collect();
        let positions: BTreeMap<&K, usize> = wanted.into_keys().zip(0..).collect();
        let mut found: Vec<Vec<V>> = keys.iter().map(|_| Vec::new()).collect();
        let looked_up = match keys.is_empty() {
            true => Ok(()),
            false => directory.find(now, &keys, &mut |at, value| found[at].push(value)),
        };
        for (shard, batches) in asked.iter().enumerate().filter(|(_, asked)| !asked.is_empty()) {
            let answers = batches.iter().map(|(batch, keys)| {
                let of_key = |key: &K| (key.clone(), found[positions[key]].clone());
                let found = looked_up.is_ok().then(|| keys.iter().map(of_key).collect());
                Answer { batch: *batch, found }
            });
            lock(&self.boxes[shard]).answers.extend(answers);
            (self.wake)(shard);
        }
        match looked_up {
            Ok(()) => Turn::Answered(keys.len()),
            Err(error) => Turn::Failed(error),
        }
    }
}

/// A shard's end.
#[derive(Debug)]
pub struct LookupDesk<K, V> {
    lookups: Arc<Lookups<K, V>>,
    shard: usize,
}

impl<K, V> LookupDesk<K, V> {
    /// That of shard number `shard`.
    ///
    /// # Panics
    ///
    /// When there is no such shard.
    #[must_use]
    pub fn new(lookups: Arc<Lookups<K, V>>, shard: usize) -> Self {
        assert!(shard < lookups.boxes.len(), "shards are numbered from 0");
        Self { lookups, shard }
    }

    /// Asks for `keys`; the number of the batch, one more than that of the one before.
    pub fn ask(&mut self, keys: Vec<K>) -> u64 {
        let mut own = lock(&self.lookups.boxes[self.shard]);
        own.last_batch += 1;
        let batch = own.last_batch;
        own.asked.push((batch, keys));
        drop(own);
        self.lookups.bell.ring();
        batch
    }

    /// Takes the next answer, if there is one.
    pub fn take(&mut self) -> Option<Answer<K, V>> {
        lock(&self.lookups.boxes[self.shard]).answers.pop_front()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
