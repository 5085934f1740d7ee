//! Cost of flushing a small append to the disk: a durable lease store pays it for each of its
//! commits, so its rates say little without this cost.
//!
//! To have read: fdatasync(2).

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{TestbedError, TestbedResult};

/// Number of bytes that a lease takes in a log, approximately.
const APPEND_BYTES: usize = 512;

/// Measures the time of each of `count` appends to a new file in `folder` until it is flushed, and
/// returns the times in ascending order. The file is removed.
///
/// # Errors
/// The file cannot be made, written or flushed.
pub fn measure(folder: &Path, count: usize) -> TestbedResult<Vec<Duration>> {
    let path = folder.join(format!("flush-{}", std::process::id()));
    let measured = append(&path, count);
    let _ = fs::remove_file(&path);
    measured.map_err(|e| TestbedError::new(format!("cannot flush {}", path.display()), e))
}

fn append(path: &Path, count: usize) -> std::io::Result<Vec<Duration>> {
    let mut file = File::create(path)?;
    let mut took = Vec::with_capacity(count);
    for _ in 0..count {
        let began = Instant::now();
        file.write_all(&[b'.'; APPEND_BYTES])?;
        file.sync_data()?;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Ok(took)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn appends_are_flushed_one_by_one_and_nothing_stays() {
        let temporary = TempFolder::new("flush");
        let folder = temporary.path();
        let took = measure(folder, 5).unwrap();
        assert!(took.len() == 5 && took.is_sorted() && took[0] > Duration::ZERO, "{took:?}");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
        let error = measure(folder, 1).unwrap_err().to_string();
        assert!(error.contains("cannot flush"), "{error}");
    }
}
