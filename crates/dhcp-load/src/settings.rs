//! What a run is asked to do.

use std::path::PathBuf;

use base::time::NS_PER_S;
use load::{Rate, Shape};

use crate::drive::LINGER_NS;
use crate::frames::Frames;
use crate::population::Limits;
use crate::protocol::{Expect, Protocol, Target};

/// Whether equal-sized messages leave in groups (`UDP_SEGMENT`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Segmentation {
    /// If the kernel supports it.
    #[default]
    Auto,
    /// Always; fail if the kernel does not support it.
    On,
    /// Never: for servers that read raw frames, which would see a whole group as one frame.
    Off,
}

/// One run of the generator.
#[derive(Clone, Debug)]
pub struct Settings<T> {
    /// Where requests go, and as whom.
    pub target: T,
    /// Exchanges per second, all threads together: the highest rate of its shape, or the mean one.
    pub rate: Rate,
    /// How due times are spaced.
    pub shape: Shape,
    /// How long exchanges come due, nanoseconds.
    pub duration_ns: u64,
    /// Deadline of an exchange and how long it is watched after it.
    pub limits: Limits,
    /// Silence after the last due time that ends the run, nanoseconds: what is still open then
    /// is lost. `None` watches every exchange to its end.
    pub quiet_ns: Option<u64>,
    /// How long a socket must be silent once every exchange has ended, nanoseconds: the second
    /// answer to the last request comes after the first one.
    pub linger_ns: u64,
    /// Clients that take turns; 0 makes every exchange a new client.
    pub clients: u32,
    /// Number of the first client.
    pub client_offset: u32,
    /// Seed of transaction identifiers and Poisson gaps.
    pub seed: u64,
    /// Threads, each with its own socket.
    pub threads: u32,
    /// Processors to bind the threads to, in turn; empty binds none.
    pub cpus: Vec<usize>,
    /// Clients send every message twice, as impatient ones do.
    pub chatty: bool,
    /// Whether messages leave in groups.
    pub segmentation: Segmentation,
    /// How far turns of a thread that send or read something are apart at least, nanoseconds.
    pub turn_ns: u64,
    /// Messages leave as frames of an interface, past UDP of the kernel, and never in groups.
    pub frames: Option<Frames>,
    /// What counts as an answer.
    pub expect: Expect,
    /// Where to write the leases.
    pub leases: Option<PathBuf>,
    /// Length of the intervals by which exchanges are counted in the record, nanoseconds; `None`
    /// counts over the whole run only.
    pub timeline_ns: Option<u64>,
    /// When the run begins on the monotonic clock; `None` as soon as all is ready.
    pub begin_at_ns: Option<u64>,
}

impl<T: Target> Settings<T> {
    /// A run of `rate` exchanges per second for ten seconds, otherwise with defaults.
    #[must_use]
    pub fn new(target: T, rate: Rate) -> Self {
        Self {
            target,
            rate,
            shape: Shape::Even,
            duration_ns: 10 * NS_PER_S,
            limits: Limits { deadline_ns: 2 * NS_PER_S, grace_ns: 2 * NS_PER_S },
            quiet_ns: None,
            linger_ns: LINGER_NS,
            clients: 0,
            client_offset: 0,
            seed: 1,
            threads: 1,
            cpus: Vec::new(),
            chatty: false,
            segmentation: Segmentation::Auto,
            frames: None,
            turn_ns: 0,
            expect: Expect::Dhcp,
            leases: None,
            timeline_ns: None,
            begin_at_ns: None,
        }
    }

    /// Everything that cannot work, in words; empty when the run can begin.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !(1..=256).contains(&self.threads) {
            problems.push(format!("--threads {}: must be 1 to 256", self.threads));
        }
        problems.extend(self.target.problems(self.threads));
        if self.duration_ns == 0 || self.duration_ns > 1_000_000 * NS_PER_S {
            problems.push("--duration: must be more than 0 and at most 1000000 seconds".into());
        }
        if self.limits.deadline_ns == 0 || self.limits.watched_ns() > 3_600 * NS_PER_S {
            problems.push("--deadline-s: must be more than 0, with --drain-s at most 3600".into());
        }
        if self.timeline_ns.is_some_and(|ns| ns == 0 || self.duration_ns / ns > 100_000) {
            problems.push("--timeline-s: must be more than 0, and 100000 intervals at most".into());
        }
        if self.frames.is_some() && self.segmentation == Segmentation::On {
            problems.push("--segmentation on: frames (--interface) never leave in groups".into());
        }
        let exchanges = self.shape.most_in(self.rate, self.duration_ns);
        let watched = self.shape.most_in(self.rate, self.limits.watched_ns());
        // Half of the transaction identifiers, so that one is never taken for another.
        if watched > 1 << (T::Protocol::XID_BITS - 1).min(28) {
            problems.push(format!(
                "--rate: {watched} exchanges would have to be watched at a time; lower \
                 --deadline-s or --drain-s"
            ));
        }
        let clients = if self.clients == 0 { exchanges } else { self.clients.into() };
        if u64::from(self.client_offset) + clients > 1 << 32 {
            problems.push(format!(
                "--client-offset {}: {clients} clients from there exceed 2^32",
                self.client_offset
            ));
        }
        problems
    }

    /// What works but may not mean what was meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let at_a_time = self.rate.count_in(self.limits.deadline_ns);
        if self.clients > 0 && u64::from(self.clients) < at_a_time {
            return vec![format!(
                "{} clients take turns at {} exchanges/s: a client comes round again before its \
                 deadline has passed, so one client may have two exchanges open",
                self.clients,
                self.rate.as_per_second()
            )];
        }
        Vec::new()
    }
}
