//! Profiles: where a server's processor time goes, by function.
//!
//! [`fold`] makes one from the text that `perf script` prints; [`Stacks`] keeps its stacks as a tree of
//! calls with every name stored once; [`top`] lists functions and objects by their shares. Running
//! `perf` belongs to the lab, drawing to the report.

mod fold;
mod stacks;
mod top;

use serde::{Deserialize, Serialize};

pub use fold::{Folded, fold};
pub use stacks::{Frame, Node, Stacks, StacksBuilder};
pub use top::{Share, top_functions, top_objects};

use crate::plan::CallGraph;

/// What `perf` saw of a server's processes for some seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// What made the kernel take a sample: `cycles`, or `cpu-clock` where there is no such counter.
    pub event: String,
    /// Samples that were asked for per second of each thread that runs.
    pub frequency_hz: u32,
    /// How the callers of a function were found.
    pub call_graph: CallGraph,
    /// How long samples were taken, seconds.
    pub seconds: f64,
    /// Samples taken.
    pub samples: u64,
    /// Samples that the kernel dropped because they were not fetched in time.
    pub lost: u64,
    /// True when the kernel's part could not be seen, for want of privilege.
    pub is_user_only: bool,
    /// The samples.
    pub stacks: Stacks,
}

impl Profile {
    /// Processors that the server kept busy, as far as samples tell: each stands for one interval of
    /// a thread that ran. Lost samples count; 0 when nothing was recorded.
    #[must_use]
    pub fn cpus_busy(&self) -> f64 {
        let asked = f64::from(self.frequency_hz) * self.seconds;
        if asked > 0.0 { (self.samples + self.lost) as f64 / asked } else { 0.0 }
    }
}
