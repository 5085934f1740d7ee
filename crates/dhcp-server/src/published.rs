//! Publication of new values, such as configuration snapshots, to running shards.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Value that a thread publishes to the running shards. Shards read the version number once per
/// batch of messages, take the lock only when it has changed, and record when they have dropped the
/// old value.
#[derive(Debug)]
pub(crate) struct PublishedValue<T> {
    version: AtomicU64,
    value: Mutex<Arc<T>>,
    /// Version of the published value that each shard uses.
    used: Box<[AtomicU64]>,
}

/// Value of a [`PublishedValue`] that one shard uses, with its version.
#[derive(Debug)]
pub(crate) struct VersionedValue<T> {
    version: u64,
    pub(crate) value: Arc<T>,
}

impl<T> PublishedValue<T> {
    /// Publishes the first value `value`, in use by all of `shards` shards.
    pub(crate) fn new(value: Arc<T>, shards: usize) -> Self {
        Self {
            version: AtomicU64::new(1),
            value: Mutex::new(value),
            used: (0..shards).map(|_| AtomicU64::new(1)).collect(),
        }
    }

    /// Returns the current published value, which shard number `shard` uses from now on.
    pub(crate) fn use_current(&self, shard: usize) -> VersionedValue<T> {
        let (value, version) = self.current();
        self.used[shard].store(version, Ordering::Release);
        VersionedValue { version, value }
    }

    /// Returns the current published value for a thread that is no shard; [`Self::is_used`] does
    /// not wait for it.
    pub(crate) fn newest(&self) -> Arc<T> {
        self.current().0
    }

    /// Returns true if a newer value than the shard's `used_value` is published.
    pub(crate) fn has_changed(&self, used_value: &VersionedValue<T>) -> bool {
        self.version.load(Ordering::Acquire) != used_value.version
    }

    /// Replaces the value that shard number `shard` uses by the current published one.
    pub(crate) fn catch_up(&self, shard: usize, used_value: &mut VersionedValue<T>) {
        (used_value.value, used_value.version) = self.current();
        // Only after the old value is dropped.
        self.used[shard].store(used_value.version, Ordering::Release);
    }

    /// Returns true if every shard uses the newest version of the published value and has dropped
    /// all older ones.
    pub(crate) fn is_used(&self) -> bool {
        let version = self.version.load(Ordering::Acquire);
        self.used.iter().all(|used| used.load(Ordering::Acquire) == version)
    }

    pub(crate) fn store(&self, value: Arc<T>) {
        let mut current = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        *current = value;
        self.version.fetch_add(1, Ordering::Release);
    }

    fn current(&self) -> (Arc<T>, u64) {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&value), self.version.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_used_when_every_shard_has_let_go_of_the_old_value() {
        let old = Arc::new(1);
        let published = PublishedValue::new(Arc::clone(&old), 2);
        let (mut first, mut second) = (published.use_current(0), published.use_current(1));
        assert!(published.is_used() && !published.has_changed(&first));
        published.store(Arc::new(2));
        assert!(published.has_changed(&first) && !published.is_used());
        published.catch_up(0, &mut first);
        assert!(!published.is_used());
        published.catch_up(1, &mut second);
        assert!(published.is_used());
        assert_eq!((*first.value, *second.value, Arc::strong_count(&old)), (2, 2, 1));
    }
}
