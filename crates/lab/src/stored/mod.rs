//! Stored results: their list, the baseline of each plan, the trend of a plan over time, and the
//! highest rates for other commands.

mod baselines;
mod highest;
mod list;
mod trend;

use std::path::{Path, PathBuf};

pub use baselines::{find_baseline, pin, unpin};
pub use highest::{HighestRate, highest};
pub use list::{list, table};
pub use trend::{trend, trend_lines, write_trend};

/// Returns the result folder that the user means by `path`: a path, or else a name below the
/// results folder. The caller must check that there is a run in it.
pub fn find(results: &Path, path: &Path) -> PathBuf {
    let below = results.join(path);
    if !path.is_dir() && path.is_relative() && below.is_dir() { below } else { path.to_owned() }
}
