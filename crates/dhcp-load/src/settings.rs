//! Settings of a DHCP load run.

use std::path::PathBuf;

use base::time::NS_PER_S;
use load::{ExchangeTimeLimits, LoadRate, LoadShape};

use crate::drive::LINGER_NS;
use crate::frames::Frames;
use crate::protocol::{DhcpLoadProtocol, DhcpLoadTarget, Expect};

/// Rule for sending messages of equal size in groups (`UDP_SEGMENT`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Segmentation {
    /// Send in groups if the kernel supports it
    #[default]
    Auto,
    /// Always send in groups; fail if the kernel does not support it
    On,
    /// Never send in groups: for servers that read raw frames, which would see a whole group as one
    /// frame
    Off,
}

/// Settings of one run of the DHCP load generator.
#[derive(Clone, Debug)]
pub struct DhcpLoadSettings<T> {
    /// Server that the load goes to, and the relay agents or clients that the generator simulates.
    pub target: T,
    /// Rate in exchanges per second, all threads together: the highest rate of its shape, or the
    /// mean one.
    pub rate: LoadRate,
    /// Spacing of the exchanges' due times.
    pub shape: LoadShape,
    /// Time during which exchanges come due, in nanoseconds.
    pub duration_ns: u64,
    /// Deadline of an exchange, and time after the deadline for which the exchange is watched, in
    /// nanoseconds.
    pub limits: ExchangeTimeLimits,
    /// Silence after the last due time that ends the run, in nanoseconds: exchanges that are still
    /// open then are lost. `None` watches every exchange until its watched time is over.
    pub quiet_ns: Option<u64>,
    /// Time for which a socket must be silent before the run ends, in nanoseconds, counted after
    /// every exchange has ended, since a second reply to the last request may still come.
    pub linger_ns: u64,
    /// Number of simulated clients, which the exchanges use in turn; 0 makes every exchange a new
    /// client.
    pub clients: u32,
    /// Number of the run's first client.
    pub client_offset: u32,
    /// Seed of the run's transaction identifiers and of the gaps of a Poisson load.
    pub seed: u64,
    /// Number of generator threads, each with its own socket.
    pub threads: u32,
    /// Processors to bind the generator threads to, in turn; empty binds none.
    pub cpus: Vec<usize>,
    /// True if simulated clients send every message twice, as impatient clients do (`--chatty`).
    pub chatty: bool,
    /// Rule for sending messages of equal size in groups (`UDP_SEGMENT`).
    pub segmentation: Segmentation,
    /// Shortest time between two send and receive cycles of a generator thread that send or read
    /// something, in nanoseconds (`--turn-us`).
    pub turn_ns: u64,
    /// Interface by which messages leave as Ethernet frames, bypassing the kernel's UDP and never
    /// in groups; `None` sends UDP datagrams.
    pub frames: Option<Frames>,
    /// Kind of messages that count as replies.
    pub expect: Expect,
    /// Path of the file for the list of granted leases; `None` writes none.
    pub leases: Option<PathBuf>,
    /// Length of the intervals by which the record counts exchanges, in nanoseconds; `None` counts
    /// over the whole run only.
    pub timeline_ns: Option<u64>,
    /// Beginning of the run, in nanoseconds of the monotonic clock; `None` begins as soon as the
    /// generator is ready.
    pub begin_at_ns: Option<u64>,
}

impl<T: DhcpLoadTarget> DhcpLoadSettings<T> {
    /// Returns the settings of a run of `rate` exchanges per second against `target` for ten
    /// seconds, otherwise with defaults.
    pub fn new(target: T, rate: LoadRate) -> Self {
        Self {
            target,
            rate,
            shape: LoadShape::Even,
            duration_ns: 10 * NS_PER_S,
            limits: ExchangeTimeLimits { deadline_ns: 2 * NS_PER_S, grace_ns: 2 * NS_PER_S },
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

    /// Returns all reasons why the run cannot work, as texts; empty when it can begin.
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
            problems
                .push("--timeline-s: must be more than 0 and make at most 100000 intervals".into());
        }
        if self.frames.is_some() && self.segmentation == Segmentation::On {
            problems.push("--segmentation on: frames (--interface) never leave in groups".into());
        }
        let exchanges = self.shape.most_in(self.rate, self.duration_ns);
        let watched = self.shape.most_in(self.rate, self.limits.watched_ns());
        // Half of the transaction identifiers, so that one exchange is never taken for another.
        if watched > 1 << (T::Protocol::XID_BITS - 1).min(28) {
            problems.push(format!(
                "--rate: the run would have to watch {watched} exchanges at a time, which is too \
                 many; lower --deadline-s or --drain-s"
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

    /// Returns warnings about settings that work but may not mean what the user intended.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let at_a_time = self.rate.count_in(self.limits.deadline_ns);
        if self.clients > 0 && u64::from(self.clients) < at_a_time {
            return vec![format!(
                "{} clients are used in turn at {} exchanges/s: a client begins its next exchange \
                 before the deadline of its last one, so one client may have two exchanges open; \
                 use more --clients",
                self.clients,
                self.rate.as_per_second()
            )];
        }
        Vec::new()
    }
}
