//! Thread of the statistics: it takes samples of the counters once a second and answers commands
//! about the samples.
//!
//! With ten thousand subnets an answer with all statistics has twenty million bytes. This thread
//! composes it, so that it delays no other command, and yields to the threads that serve clients.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base::time::NS_PER_S;
use dhcp_config::SampleLimits;
use dhcp_control::statistics::{StatisticCommand, Statistics};
use dhcp_control::{CommandAnswer, ExporterLabels, kea_json};
use dhcp_engine::contain::run_contained;
use netio::Clock;

use super::counts::CounterSources;
use super::exhaustion::{self, ExhaustionLog};
use crate::ServerError;
use crate::control::PendingControlRequest;
use crate::log;
use crate::loggers::DAEMON;
use crate::panics::INTERNAL_ERROR;
use crate::service::{DaemonFamily, SubnetSummary};

/// Interval between samples of the statistics, in nanoseconds.
const SAMPLE_NS: u64 = NS_PER_S;

/// Text of the warning that the server logs when the first reply lacks options that did not fit.
const SHORTENED: &str = "a reply lacks options: with all of them it would exceed the client's \
                         maximum message size (option 57) or an Ethernet frame. Shorten the \
                         configured options, long lists first; `options-left-out` counts such \
                         replies";

/// Task of the thread of the statistics.
pub(super) enum StatisticsTask {
    /// Control command about statistics to answer.
    Command(StatisticCommand, PendingControlRequest),
    /// Request for the counters in the format of Prometheus.
    Metrics(PendingControlRequest),
    /// Configuration that is in force from now on.
    Follow(StatisticsConfiguration),
    /// Notice that a configuration has replaced the previous one: the history of subnets ends.
    Restart,
}

/// Parts of a configuration that statistics depend on.
pub(super) struct StatisticsConfiguration {
    pub(super) subnets: Arc<[SubnetSummary]>,
    /// Labels for the metric names of kea-exporter, if the configuration has such labels.
    pub(super) exporter: Option<Arc<ExporterLabels>>,
    pub(super) samples: SampleLimits,
}

/// Handle of the running thread of the statistics.
#[derive(Debug)]
pub(super) struct StatisticsThread {
    work: Sender<StatisticsTask>,
    thread: JoinHandle<()>,
}

impl StatisticsThread {
    /// Starts the thread of the statistics.
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses a thread.
    pub(super) fn start<P: DaemonFamily>(
        tally: CounterSources<P>,
        samples: SampleLimits,
    ) -> Result<Self, ServerError> {
        let (work, todo) = mpsc::channel();
        let mut statistics = Statistics::new(P::VERSION);
        statistics.set_default_limits(samples.count, samples.age_s);
        let thread = thread::Builder::new()
            .name("statistics".to_owned())
            .spawn(move || run_statistics(&todo, tally, statistics))
            .map_err(|cause| ServerError::System { tried: "start a thread", cause })?;
        Ok(Self { work, thread })
    }

    /// Passes the task `work` to the thread of the statistics.
    pub(super) fn give(&self, work: StatisticsTask) {
        self.work.send(work).expect("the thread runs until it is told to stop");
    }

    /// Ends the thread of the statistics after the tasks that it was given.
    pub(super) fn stop(self) {
        drop(self.work);
        self.thread.join().expect("a thread that panics ends the process");
    }
}

fn run_statistics<P: DaemonFamily>(
    todo: &Receiver<StatisticsTask>,
    mut tally: CounterSources<P>,
    mut statistics: Statistics,
) {
    log::give_way("statistics");
    let mut due_ns = Clock::mono_ns();
    let mut has_warned = false;
    let mut exhaustion = ExhaustionLog::default();
    // If a sample fails, the history lacks one point.
    let mut sample = |statistics: &mut Statistics, tally: &CounterSources<P>| {
        run_contained(|| {
            #[cfg(test)]
            crate::panics::planted("sample");
            let counts = tally.counts();
            statistics.sample(Clock::now().wall_us, &counts);
            let new = exhaustion.new_failures(&counts.subnets, &tally.outlines);
            exhaustion::warn(P::VERSION, &new);
        });
    };
    loop {
        let remaining_ns = due_ns.saturating_sub(Clock::mono_ns());
        match todo.recv_timeout(Duration::from_nanos(remaining_ns)) {
            Ok(StatisticsTask::Command(command, request)) => {
                sample(&mut statistics, &tally);
                let answer = run_contained(|| statistics.execute(&command));
                request.answer(
                    answer.unwrap_or_else(|| {
                        kea_json(&CommandAnswer::error(INTERNAL_ERROR).to_json())
                    }),
                );
            }
            Ok(StatisticsTask::Metrics(request)) => {
                // On a panic the request gets no answer and fails: an empty page would be mistaken
                // for counters.
                if let Some(page) = run_contained(|| {
                    #[cfg(test)]
                    crate::panics::planted("metrics");
                    tally.exposition()
                }) {
                    request.answer(page);
                }
            }
            Ok(StatisticsTask::Follow(configuration)) => {
                let StatisticsConfiguration { subnets, exporter, samples } = configuration;
                (tally.outlines, tally.exporter) = (subnets, exporter);
                statistics.set_default_limits(samples.count, samples.age_s);
            }
            Ok(StatisticsTask::Restart) => {
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
