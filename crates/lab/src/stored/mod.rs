//! Results that are stored: which there are, which is the baseline of its plan, how a plan went over
//! time, and what other commands take from one.

mod baselines;
mod highest;
mod list;
mod trend;

use std::path::{Path, PathBuf};

pub use baselines::{baseline_of, pin, unpin};
pub use highest::{Highest, highest};
pub use list::{list, table};
pub use trend::{trend, trend_lines, write_trend};

/// The folder that the user means by `named`: a path, or else a name below the results folder. Whether
/// there is a run in it is for who reads it to say.
#[must_use]
pub fn find(results: &Path, named: &Path) -> PathBuf {
    let below = results.join(named);
    if !named.is_dir() && named.is_relative() && below.is_dir() { below } else { named.to_owned() }
}
