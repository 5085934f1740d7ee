//! Profiles: rates at which a server's functions are sampled, and the way to sample them.

use serde::{Deserialize, Serialize};

/// Separate trials in which `perf` samples the server. Their measurements enter no figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfilePlan {
    /// Offered rates as fractions of the highest rate found, a profile at each; none when empty.
    pub fractions: Vec<f64>,
    /// Time for which samples are taken, in seconds.
    pub seconds: f64,
    /// Samples per second of each thread that runs.
    pub frequency_hz: u32,
    /// Event at which the kernel takes a sample.
    pub event: ProfileEvent,
    /// Method that finds the callers of a function.
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

/// Event at which the kernel takes a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileEvent {
    /// Cycles if the machine counts them, else the clock: perf's own choice.
    #[default]
    Auto,
    /// The processor's counter of cycles.
    Cycles,
    /// A timer that runs while the thread runs.
    CpuClock,
}

impl ProfileEvent {
    /// Returns the word after `perf record --event`; `None` leaves the choice to perf.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Cycles => Some("cycles"),
            Self::CpuClock => Some("cpu-clock"),
        }
    }
}

/// Method that finds the callers of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallGraph {
    /// A copy of the stack, unwound by the tables that every program has for exceptions.
    #[default]
    Dwarf,
    /// A register that each function must save; most packages are built without.
    FramePointer,
}

impl CallGraph {
    /// Returns the method's name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dwarf => "DWARF",
            Self::FramePointer => "frame pointers",
        }
    }

    /// Returns the word after `perf record --call-graph`. The kernel copies 8 KiB of the stack,
    /// which is perf's default, too.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dwarf => "dwarf,8192",
            Self::FramePointer => "fp",
        }
    }
}
