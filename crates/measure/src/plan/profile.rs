//! Settings of profiles: rates at which a server's functions are sampled, and the way to sample
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan_section;

plan_section! {
    /// Settings of separate trials in which `perf` samples the server. Their measurements enter no
    /// figure.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ProfilePlan in "profile." {
        /// Offered rates of profiles as fractions of the server's highest rate, a profile at each;
        /// none when empty.
        fractions: Vec<f64> = Vec::new(), "[]", Numbers(0.01, 100.0),
            "Loads, as fractions of the highest rate found, at which perf samples the functions of \
             each server, in a separate trial; empty for no profiles.";
        /// Time for which `perf` takes samples of the server, in seconds.
        seconds: f64 = 3.0, "3.0", Number(0.1, 600.0),
            "Time for which perf samples in each of these trials.";
        /// Samples per second that `perf` takes of each running thread of the server.
        frequency_hz: u32 = 997, "997", Whole(1, 50_000),
            "Samples per second of each running thread.";
        /// Event at which the kernel takes a sample of the server.
        event: ProfileEvent = ProfileEvent::Auto, "\"auto\"",
            Choice(&["auto", "cycles", "cpu-clock"]),
            "Event of the kernel that triggers a sample; auto is cycles, or cpu-clock on a machine \
             without hardware counters.";
        /// Method by which `perf` finds the callers of a function.
        call_graph: CallGraph = CallGraph::Dwarf, "\"dwarf\"", Choice(&["dwarf", "frame-pointer"]),
            "Method to find callers; frame pointers cost less, and end at the first function that \
             was built without them, as most packages are.";
    }
}

/// Event at which the kernel takes a sample of a profiled thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
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
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dwarf => "dwarf,8192",
            Self::FramePointer => "fp",
        }
    }
}
