//! Reading the configuration, and handing a new one to running shards.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dhcp_config::v4::Dhcp4;
use dhcp_config::{Checked, IncludeResolver, Problem};
use dhcp_engine::v4::Snapshot;

use crate::ServerError;

/// Includes are read relative to the working directory, as Kea reads them.
#[derive(Debug, Default)]
pub struct Files;

impl IncludeResolver for Files {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        fs::read_to_string(path).map_err(|cause| cause.to_string())
    }
}

/// Reads and checks the configuration in `path`.
///
/// # Errors
///
/// The file's problems, or why it cannot be read.
pub fn read_dhcp4(path: &Path) -> Result<Checked<Dhcp4>, ServerError> {
    let text = fs::read_to_string(path)
        .map_err(|cause| ServerError::Unreadable { path: PathBuf::from(path), cause })?;
    let name = path.display().to_string();
    dhcp_config::parse_dhcp4(&name, &text, &mut Files)
        .map_err(|problems: Vec<Problem>| ServerError::Configuration(problems))
}

/// The snapshot in force. Shards look at the version, one load per batch, take the lock only when
/// it has changed, and say that they serve it.
#[derive(Debug)]
pub(crate) struct SnapshotCell {
    version: AtomicU64,
    snapshot: Mutex<Arc<Snapshot>>,
    /// The version that each shard serves.
    served: Box<[AtomicU64]>,
}

impl SnapshotCell {
    pub(crate) fn new(snapshot: Arc<Snapshot>, shards: usize) -> Self {
        Self {
            version: AtomicU64::new(1),
            snapshot: Mutex::new(snapshot),
            served: (0..shards).map(|_| AtomicU64::new(1)).collect(),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The snapshot that shard number `shard` serves from now on, and its version.
    pub(crate) fn take(&self, shard: usize) -> (Arc<Snapshot>, u64) {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.version();
        self.served[shard].store(version, Ordering::Release);
        (Arc::clone(&snapshot), version)
    }

    /// True when every shard serves the newest version.
    pub(crate) fn is_served(&self) -> bool {
        let version = self.version();
        self.served.iter().all(|served| served.load(Ordering::Acquire) == version)
    }

    pub(crate) fn store(&self, snapshot: Arc<Snapshot>) {
        let mut current = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        *current = snapshot;
        self.version.fetch_add(1, Ordering::Release);
    }
}
