//! Profiles: a server's processor time, by function.
//!
//! `fold` makes a profile from the text that `perf script` prints; [`Stacks`] keeps its stacks as
//! a tree of calls with every name stored once; `top` lists functions and objects by their
//! shares. The lab runs `perf`, the report draws.

mod fold;
mod stacks;
mod top;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use fold::{FoldedSamples, fold};
pub use stacks::{CallTreeNode, StackFrame, Stacks, StacksBuilder};
pub use top::{ProfileShare, top_functions, top_objects};

use crate::plan::CallGraph;

/// Profile of a server's processes over some seconds, sampled by `perf`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Profile {
    /// Event at which the kernel took a sample: `cycles`, or `cpu-clock` on a machine without that
    /// counter.
    pub event: String,
    /// Samples per second that perf was to take of each running thread.
    pub frequency_hz: u32,
    /// Method by which perf found the callers of a function.
    pub call_graph: CallGraph,
    /// Time for which perf took samples, in seconds.
    pub seconds: f64,
    /// Number of samples that perf took of the server.
    pub samples: u64,
    /// Number of samples that the kernel dropped because perf did not fetch them in time.
    pub lost: u64,
    /// True if samples of the kernel's functions were not visible, for lack of privilege.
    pub is_user_only: bool,
    /// Stacks of the samples, folded into a tree of calls.
    pub stacks: Stacks,
}

impl Profile {
    /// Returns the number of processors that the server kept busy, estimated from samples: each
    /// sample is one interval of a thread that ran. Lost samples count; 0 when nothing was
    /// recorded.
    pub fn cpus_busy(&self) -> f64 {
        let planned_samples = f64::from(self.frequency_hz) * self.seconds;
        if planned_samples > 0.0 {
            (self.samples + self.lost) as f64 / planned_samples
        } else {
            0.0
        }
    }
}
