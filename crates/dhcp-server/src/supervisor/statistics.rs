//! The thread that has the statistics: it takes samples once a second and answers what is asked about
//! them.
//!
//! Of ten thousand subnets such an answer has twenty million octets. So it is put together here, where
//! it holds up no other command, and by a thread that gives way to those that serve clients: whoever
//! asks waits when processors are wanted for packets.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base::time::NS_PER_S;
use dhcp_control::statistics::{StatisticCommand, Statistics};
use dhcp_control::{Answer, ExporterLabels, kea_json};
use dhcp_engine::contain::contained;
use netio::Clock;

use super::counts::Tally;
use super::exhaustion::{self, ExhaustionLog};
use crate::ServerError;
use crate::control::Asked;
use crate::log::{self, DAEMON};
use crate::panics::INTERNAL_ERROR;
use crate::service::{Outline, Service};

/// How often samples are taken.
const SAMPLE_NS: u64 = NS_PER_S;

/// Warning when the first reply lacks options.
const SHORTENED: &str = "a reply lacks options: all of them are longer than the client's maximum \
                         message size (option 57) or a frame of Ethernet. Shorten what is configured, \
                         long lists first; `options-left-out` counts such replies";

/// What there is to do.
pub(super) enum Work {
    /// A command.
    Command(StatisticCommand, Asked),
    /// The counters as Prometheus reads them.
    Metrics(Asked),
    /// A configuration is in force.
    Follow(Followed),
    /// That configuration takes the place of the one before: the history of subnets ends.
    Restart,
}

/// Parts of a configuration that statistics follow.
pub(super) struct Followed {
    pub(super) subnets: Arc<[Outline]>,
    /// Labels for the names of kea-exporter, where its metrics are configured.
    pub(super) exporter: Option<Arc<ExporterLabels>>,
    /// How many samples are kept and for how many seconds.
    pub(super) samples: (u32, u32),
}

/// The running thread.
#[derive(Debug)]
pub(super) struct StatisticsThread {
    work: Sender<Work>,
    thread: JoinHandle<()>,
}

impl StatisticsThread {
    /// Starts it. `samples` are how many are kept and for how many seconds.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub(super) fn start<P: Service>(
        tally: Tally<P>,
        samples: (u32, u32),
    ) -> Result<Self, ServerError> {
        let (work, todo) = mpsc::channel();
        let mut statistics = Statistics::new(P::VERSION);
        statistics.set_default_limits(samples.0, samples.1);
        let thread = thread::Builder::new()
            .name("statistics".to_owned())
            .spawn(move || tell(&todo, tally, statistics))
            .map_err(|cause| ServerError::System { tried: "start a thread", cause })?;
        Ok(Self { work, thread })
    }

    /// Hands over `work`.
    pub(super) fn give(&self, work: Work) {
        self.work.send(work).expect("the thread runs until it is told to stop");
    }

    /// Ends the thread, after what it was given.
    pub(super) fn stop(self) {
        drop(self.work);
        self.thread.join().expect("a thread that panics ends the process");
    }
}

fn tell<P: Service>(todo: &Receiver<Work>, mut tally: Tally<P>, mut statistics: Statistics) {
    log::give_way("statistics");
    let mut due_ns = Clock::mono_ns();
    let mut has_warned = false;
    let mut exhaustion = ExhaustionLog::default();
    // Without a sample the history lacks one of its points.
    let mut sample = |statistics: &mut Statistics, tally: &Tally<P>| {
        contained(|| {
            #[cfg(test)]
            crate::panics::planted("sample");
            let counts = tally.counts();
            statistics.sample(Clock::now().wall_us, &counts);
            let new = exhaustion.new_failures(&counts.subnets, &tally.outlines);
            exhaustion::warn(P::VERSION, &new);
        });
    };
    loop {
        let left_ns = due_ns.saturating_sub(Clock::mono_ns());
        match todo.recv_timeout(Duration::from_nanos(left_ns)) {
            Ok(Work::Command(command, asked)) => {
                sample(&mut statistics, &tally);
                let answer = contained(|| statistics.execute(&command));
                asked.answer(
                    answer.unwrap_or_else(|| kea_json(&Answer::error(INTERNAL_ERROR).to_json())),
                );
            }
            Ok(Work::Metrics(asked)) => {
                // Without an answer the request fails: an empty page would be taken for counters.
                if let Some(page) = contained(|| {
                    #[cfg(test)]
                    crate::panics::planted("metrics");
                    tally.exposition()
                }) {
                    asked.answer(page);
                }
            }
            Ok(Work::Follow(Followed { subnets, exporter, samples: (count, age_s) })) => {
                tally.outlines = subnets;
                tally.exporter = exporter;
                statistics.set_default_limits(count, age_s);
            }
            Ok(Work::Restart) => {
                sample(&mut statistics, &tally);
                statistics.restart_subnets();
            }
            Err(RecvTimeoutError::Timeout) => {
                sample(&mut statistics, &tally);
                if !has_warned && tally.shortened_replies() > 0 {
                    has_warned = true;
                    tracing::warn!(target: DAEMON, id = "STAT_METRICS_SHORTENED", "{SHORTENED}");
                }
                due_ns = Clock::mono_ns() + SAMPLE_NS;
            }
            Err(RecvTimeoutError::Disconnected) => {
                // The last failures before the end are logged, too.
                sample(&mut statistics, &tally);
                return;
            }
        }
    }
}
