//! Settings of profiles: rates at which a server's functions are sampled, and the way to sample
//! them.

use serde::{Deserialize, Serialize};

/// Settings of separate trials in which `perf` samples the server. Their measurements enter no
/// figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfilePlan {
    /// Offered rates of profiles as fractions of the server's highest rate, a profile at each; none
    /// when empty.
    pub fractions: Vec<f64>,
    /// Time for which `perf` takes samples of the server, in seconds.
    pub seconds: f64,
    /// Samples per second that `perf` takes of each running thread of the server.
    pub frequency_hz: u32,
    /// Event at which the kernel takes a sample of the server.
    pub event: ProfileEvent,
    /// Method by which `perf` finds the callers of a function.
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

/// Event at which the kernel takes a sample of a profiled thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileEvent {
    /// Event of perf's own choice: cycles if the machine counts them, else the clock.
    #[default]
    Auto,
    /// Event of the processor's counter of cycles (`cycles`).
    Cycles,
    /// Event of a timer that runs while the thread runs (`cpu-clock`).
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

base::named! {
    /// Method by which `perf` finds the callers of a function. Names are for people.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum CallGraph {
        /// Copy of the stack, unwound by the tables that every program has for exceptions.
        #[default]
        Dwarf = "DWARF",
        /// Frame pointer: a register that each function must save; most packages are built without.
        FramePointer = "frame pointers",
    }
}

impl CallGraph {
    /// Returns the method's word after `perf record --call-graph`. The kernel copies 8 KiB of the
    /// stack, which is also perf's default.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dwarf => "dwarf,8192",
            Self::FramePointer => "fp",
        }
    }
}
