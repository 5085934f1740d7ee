//! Profiles: at which rates the functions are sampled in which a server spends its time.

use serde::{Deserialize, Serialize};

/// Trials of their own in which `perf` samples the server. Nothing measured in them enters a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfilePlan {
    /// Offered rates as fractions of the highest rate found, a profile at each; none when empty.
    pub fractions: Vec<f64>,
    /// How long samples are taken, seconds.
    pub seconds: f64,
    /// Samples per second of each thread that runs.
    pub frequency_hz: u32,
    /// What makes the kernel take a sample.
    pub event: ProfileEvent,
    /// How the callers of a function are found.
    pub call_graph: CallGraph,
}

impl Default for ProfilePlan {
    fn default() -> Self {
        Self {
            fractions: Vec::new(),
            seconds: 3.0,
            frequency_hz: 997,
            event: ProfileEvent::Auto,
            call_graph: CallGraph::Dwarf,
        }
    }
}

/// What makes the kernel take a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileEvent {
    /// Cycles where the machine counts them, else the clock: perf's own choice.
    #[default]
    Auto,
    /// The processor's counter of cycles.
    Cycles,
    /// A timer that runs while the thread does.
    CpuClock,
}

impl ProfileEvent {
    /// The word after `perf record --event`; `None` leaves the choice to perf.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Cycles => Some("cycles"),
            Self::CpuClock => Some("cpu-clock"),
        }
    }
}

/// How the callers of a function are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallGraph {
    /// From a copy of the stack, by the tables that every program has for exceptions.
    #[default]
    Dwarf,
    /// By a register that each function must save; most packages are built without.
    FramePointer,
}

impl CallGraph {
    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dwarf => "DWARF",
            Self::FramePointer => "frame pointers",
        }
    }

    /// The word after `perf record --call-graph`. Of the stack 8 KiB are copied, which perf does by
    /// default, too.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dwarf => "dwarf,8192",
            Self::FramePointer => "fp",
        }
    }
}
