//! Settings of a DNS load run.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;

use base::time::NS_PER_S;
use load::{ExchangeTimeLimits, LoadRate, LoadShape};
use netio::FrameRoute;

use crate::queries::QueryWorkload;
use crate::zone::ZoneLike;

/// Largest number of source ports of one generator thread: as many as one wait checks.
pub(crate) const PORTS_PER_THREAD_MAX: u32 = 1_024;
/// Number of queries of one port that are watched at a time: half of the identifiers, so that no
/// query is taken for another.
const WATCHED_PER_PORT: u64 = 1 << 15;

/// Transport of a run's queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Queries of the run leave as UDP datagrams.
    Udp {
        /// True if the generator sends a query with a truncated answer again over TCP.
        tc_fallback: bool,
    },
    /// Queries leave over TCP connections instead of ports.
    Tcp,
}

impl Transport {
    /// Returns the name of the transport in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp { tc_fallback: false } => "udp",
            Self::Udp { tc_fallback: true } => "udp, tcp after truncation",
            Self::Tcp => "tcp",
        }
    }
}

/// Settings of one run of the DNS load generator.
#[derive(Clone, Debug)]
pub struct DnsLoadSettings {
    /// Address and port of the server.
    pub server: SocketAddr,
    /// Source address of the queries; `None` lets the kernel choose.
    pub local: Option<IpAddr>,
    /// DNS queries that the run sends, in turn.
    pub workload: QueryWorkload,
    /// Zone that the queries were made from; `None` for other queries.
    pub zone_like: Option<ZoneLike>,
    /// Largest answer that the generator accepts, in bytes.
    pub answer_bytes: usize,
    /// Rate in queries per second, all threads together.
    pub rate: LoadRate,
    /// Spacing of the queries' due times.
    pub shape: LoadShape,
    /// Largest number of queries that wait for an answer at a time, all threads together: with it a
    /// query leaves as soon as there is room, for any rate and shape.
    pub window: Option<u64>,
    /// Largest number of queries to send, all threads together.
    pub count: Option<u64>,
    /// Time during which queries come due, in nanoseconds.
    pub duration_ns: u64,
    /// Deadline of a query, and time after the deadline for which the query is watched, in
    /// nanoseconds.
    pub limits: ExchangeTimeLimits,
    /// Silence of the ports before the end of the run, in nanoseconds, counted after the last query
    /// has ended: second answers come then.
    pub linger_ns: u64,
    /// Seed of the queries' identifiers and of the gaps of a Poisson load.
    pub seed: u64,
    /// Number of generator threads, each with its own ports.
    pub threads: u32,
    /// Transport of the queries.
    pub transport: Transport,
    /// Number of ports that queries leave from, or of connections, all threads together.
    pub ports: u32,
    /// Number of queries that each connection carries before another one replaces it; `None` for
    /// any number.
    pub queries_per_connection: Option<u32>,
    /// Processors to bind the generator threads to, in turn; empty binds none.
    pub cpus: Vec<usize>,
    /// True if queries of equal size leave in groups (`UDP_SEGMENT`).
    pub segmentation: bool,
    /// Route of queries that leave as frames of an interface, bypassing the kernel's UDP; `None`
    /// sends UDP datagrams.
    pub frames: Option<FrameRoute>,
    /// Length of the intervals by which the record counts queries, in nanoseconds; `None` counts
    /// over the whole run only.
    pub timeline_ns: Option<u64>,
    /// Counter of first answers to queries while the run goes on, for a display of its progress.
    pub answered: Option<Arc<AtomicU64>>,
    /// Channel for the identifiers of queries that time out, while the run goes on.
    pub timed_out: Option<Sender<u16>>,
    /// Beginning of the run, in nanoseconds of the monotonic clock; `None` begins as soon as the
    /// generator is ready.
    pub begin_at_ns: Option<u64>,
}

impl DnsLoadSettings {
    /// Returns the settings of a run of `rate` queries per second against `server` for ten seconds,
    /// otherwise with defaults.
    pub const fn new(server: SocketAddr, workload: QueryWorkload, rate: LoadRate) -> Self {
        Self {
            server,
            local: None,
            workload,
            zone_like: None,
            answer_bytes: 4_096,
            rate,
            shape: LoadShape::Even,
            window: None,
            count: None,
            duration_ns: 10 * NS_PER_S,
            limits: ExchangeTimeLimits { deadline_ns: NS_PER_S, grace_ns: NS_PER_S },
            linger_ns: NS_PER_S / 20,
            seed: 1,
            threads: 1,
            transport: Transport::Udp { tc_fallback: false },
            ports: 16,
            queries_per_connection: None,
            cpus: Vec::new(),
            segmentation: false,
            frames: None,
            timeline_ns: None,
            answered: None,
            timed_out: None,
            begin_at_ns: None,
        }
    }

    /// Returns the number of ports of thread `thread`, from 0: the first threads have one more
    /// where the ports cannot be shared evenly.
    pub fn ports_of(&self, thread: u64) -> u64 {
        let (ports, threads) = (u64::from(self.ports), u64::from(self.threads));
        ports / threads + u64::from(thread < ports % threads)
    }

    /// Returns the number of ports that the queries of [`DnsLoadSettings::watched`] need, all
    /// threads together.
    pub(crate) fn ports_needed(&self) -> u64 {
        let threads = u64::from(self.threads);
        self.watched().div_ceil(threads).div_ceil(WATCHED_PER_PORT) * threads
    }

    /// Returns the number of queries that the threads watch at a time.
    pub(crate) fn watched(&self) -> u64 {
        let most = WATCHED_PER_PORT * u64::from(self.ports);
        match self.window {
            Some(_) => most,
            None => {
                let time_ns = self.limits.watched_ns().min(self.duration_ns);
                let most = self.shape.most_in(self.rate, time_ns);
                self.count.map_or(most, |count| most.min(count))
            }
        }
    }

    /// Returns the number of connections that may wait for their last answers at a time, when each
    /// carries a limited number of queries.
    pub(crate) fn retiring(&self) -> u64 {
        let unanswered = self.window.unwrap_or_else(|| self.watched());
        self.queries_per_connection.map_or(0, |queries| unanswered.div_ceil(queries.into()))
    }

    /// Returns all reasons why the run cannot work, as texts; empty when it can begin.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut wrong = |is_wrong: bool, problem: String| {
            if is_wrong {
                problems.push(problem);
            }
        };
        let threads_fit = (1..=256).contains(&self.threads);
        wrong(!threads_fit, format!("--threads {}: must be 1 to 256", self.threads));
        let (ports, most) = (self.ports, PORTS_PER_THREAD_MAX.saturating_mul(self.threads));
        wrong(
            threads_fit && !(self.threads..=most).contains(&ports),
            format!("--ports {ports}: must be {0} to {most} with --threads {0}", self.threads),
        );
        wrong(
            self.local.is_some_and(|local| local.is_ipv4() != self.server.is_ipv4()),
            "--local: must have the address family of the server".into(),
        );
        wrong(
            self.duration_ns == 0 || self.duration_ns > 1_000_000 * NS_PER_S,
            "--duration: must be more than 0 and at most 1000000 seconds".into(),
        );
        wrong(
            self.limits.deadline_ns == 0 || self.limits.watched_ns() > 3_600 * NS_PER_S,
            "--deadline-s: must be more than 0, with --drain-s at most 3600".into(),
        );
        wrong(self.linger_ns > 3_600 * NS_PER_S, "--linger-s: must be at most 3600".into());
        wrong(
            self.timeline_ns.is_some_and(|ns| ns == 0 || self.duration_ns / ns > 100_000),
            "--timeline-s: must be more than 0 and make at most 100000 intervals".into(),
        );
        wrong(
            self.window.is_some_and(|most| most < u64::from(self.threads)),
            "-q: must be at least the number of threads".into(),
        );
        let has_connections = self.transport != (Transport::Udp { tc_fallback: false });
        wrong(
            self.queries_per_connection.is_some() && !has_connections,
            "--queries-per-connection: needs --tcp or --tc-fallback".into(),
        );
        if threads_fit && ports >= self.threads {
            let needed = self.ports_needed();
            let is_short = self.window.is_none() && needed > u64::from(ports);
            wrong(
                is_short,
                format!(
                    "--ports {ports}: up to {} queries are watched at a time; this needs {needed} \
                     ports, or a shorter --deadline-s or --drain-s",
                    self.watched()
                ),
            );
        }
        problems
    }
}
