//! Waits for a server: until it answers after its start, and before each trial until it has
//! processed the messages that the trial before left in its queues.
//!
//! After an overload, a slow server's socket buffer contains messages whose clients no longer wait.
//! A trial that began meanwhile would count them as its own loss. So every trial of every server
//! begins when the server answers the last request; a server that does not come back is started
//! again.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::Plan;
use measure::plan::ServerFeature;

use super::recorder::RunRecorder;
use super::service::MeasuredServer;
use super::topology::BenchTopology;
use crate::driver;
use crate::error::{LabError, LabResult};
use crate::probe::ServerProbe;
use crate::trial::TrialEnd;

/// Longest time until a server answers after its start, before the lab gives up.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time until a server that was running before the lab answers.
const RUNNING_SERVER_PATIENCE: Duration = Duration::from_secs(15);
/// Longest time until a server with a large configuration or many leases answers after its start.
const LARGE_START_TIMEOUT: Duration = Duration::from_secs(180);
/// Longest time that a server may take to process the messages of a trial, after which the lab
/// starts it again.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Least wait for a server that the lab reports, in seconds.
const LONG_WAIT_S: f64 = 0.25;

/// Counts of the waits for one server before its trials, and of its restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ServerWaits {
    /// Number of waits for the server of at least [`LONG_WAIT_S`].
    count: u32,
    longest_s: f64,
    /// Number of times that the lab started the server again.
    restarts: u32,
}

impl ServerWaits {
    fn note(&mut self, waited_s: f64) {
        self.count += u32::from(waited_s >= LONG_WAIT_S);
        self.longest_s = self.longest_s.max(waited_s);
    }

    /// Returns a sentence for the report about the waits for the server `label`, if there were
    /// waits or restarts.
    pub(super) fn words(&self, label: &str) -> Option<String> {
        if (self.count, self.restarts) == (0, 0) {
            return None;
        }
        let waits = format!(
            "{label}: before {} of its trials the lab waited, up to {:.1} s, until the server had \
             worked off the messages of an earlier trial.",
            self.count, self.longest_s
        );
        if self.restarts == 0 {
            return Some(waits);
        }
        let (count, patience_s) = (self.restarts, SETTLE_TIMEOUT.as_secs());
        Some(format!(
            "{waits} {count} × it had not after {patience_s} s, and the lab started it \
                      again."
        ))
    }
}

impl MeasuredServer {
    /// Waits until the server answers for the first time, and checks that it serves its data: for
    /// DHCP by taking the lease for the probe's client.
    pub(super) fn wait_until_it_answers(
        &mut self,
        topology: &BenchTopology<'_>,
        stop: &AtomicBool,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<()> {
        let mut probe = topology.probe()?;
        let patience = match self.subject.feature {
            _ if self.started.is_none() => RUNNING_SERVER_PATIENCE,
            ServerFeature::Plain => START_TIMEOUT,
            _ => LARGE_START_TIMEOUT,
        };
        let began = self.started.as_ref().map(|started| started.began);
        let (label, address) = (self.subject.label(), self.address);
        if self.answers(&mut probe, patience, began, stop)? {
            self.keep_at_processor(topology.processors.server, recorder);
            if !driver::has_data(&self.subject, topology.plan.protocol) {
                return Ok(());
            }
            return match probe.check(address)? {
                None => Ok(()),
                Some(fault) => Err(LabError::Failed(format!(
                    "{label} does not answer from its zone; its answer: {fault}"
                ))),
            };
        }
        Err(LabError::Failed(match self.exit_status().ok().flatten() {
            Some(status) => format!("{label} did not start: {}", self.describe_end(status)),
            None if self.started.is_none() => unanswered(address, topology.relay, topology.plan),
            None => format!(
                "{label} does not answer on UDP {address} after {} s{}",
                patience.as_secs(),
                match self.last_lines(1) {
                    words if words.is_empty() => ", and wrote nothing".to_owned(),
                    words => format!("; the end of its output: {words}"),
                }
            ),
        }))
    }

    /// Waits until the server has processed the messages in its queues, and starts it again when
    /// that takes too long. Returns the seconds that it took; `None` when the server has ended by
    /// itself or does not answer any more.
    pub(super) fn settle(
        &mut self,
        topology: &mut BenchTopology<'_>,
        stop: &AtomicBool,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<Option<f64>> {
        let began = Instant::now();
        let mut probe = topology.probe()?;
        if !self.answers(&mut probe, SETTLE_TIMEOUT, None, stop)? {
            if self.started.is_none() || self.has_ended() {
                return Ok(None);
            }
            recorder.progress.print(&format!(
                "note: {} does not answer {} s after its last trial; the lab starts it again",
                self.subject.label(),
                SETTLE_TIMEOUT.as_secs()
            ));
            self.waits.restarts += 1;
            topology.stop_server(self, recorder);
            self.start_again(topology)?;
            if !self.answers(&mut probe, START_TIMEOUT, None, stop)? {
                return Ok(None);
            }
        }
        self.keep_at_processor(topology.processors.server, recorder);
        let waited_s = began.elapsed().as_secs_f64();
        self.waits.note(waited_s);
        Ok(Some(waited_s))
    }

    /// Returns true if the server answers within `patience`; false when it ends first. A server
    /// that was started at `began` gets requests more often at first.
    fn answers(
        &mut self,
        probe: &mut ServerProbe,
        patience: Duration,
        began: Option<Instant>,
        stop: &AtomicBool,
    ) -> LabResult<bool> {
        let until = Instant::now() + patience;
        let address = self.address;
        let give_up =
            || stop.load(Ordering::Acquire) || Instant::now() >= until || self.has_ended();
        let has_answered = match began {
            Some(began) => probe.wait_for_start(address, began, give_up)?,
            None => probe.wait_for_answer(address, give_up)?,
        };
        if stop.load(Ordering::Acquire) { Err(LabError::Interrupted) } else { Ok(has_answered) }
    }

    /// Reports the end of a server that ended by itself or does not answer any more.
    pub(super) fn report_end(&mut self, recorder: &mut RunRecorder<'_>) -> TrialEnd {
        let label = self.subject.label();
        let how = match self.exit_status().ok().flatten() {
            Some(status) => format!("{label} ended unexpectedly: {}", self.describe_end(status)),
            None if self.started.is_none() => format!("{label} does not answer any more"),
            None => format!("{label} does not answer any more, not even when started again"),
        };
        recorder.progress.print(&format!("warning: {how}"));
        TrialEnd::ServerEnded(how)
    }
}

/// Describes possible causes for a server that runs and does not answer.
fn unanswered(server: SocketAddr, relay: SocketAddr, plan: &Plan) -> String {
    let patience_s = RUNNING_SERVER_PATIENCE.as_secs();
    if !plan.protocol.is_dhcp() {
        return format!("no answer came from UDP {server} to {relay} within {patience_s} s");
    }
    format!(
        "no {} came from UDP {server} to the relay {relay} within {patience_s} s: the server must have \
         a subnet for that relay with free addresses, and send to it at that port; see --relay",
        plan.protocol.messages()[1]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_waits_and_restarts_are_told() {
        let mut waits = ServerWaits::default();
        waits.note(0.01);
        assert_eq!(waits.words("x"), None);
        for waited_s in [0.3, 2.04, 0.1] {
            waits.note(waited_s);
        }
        let words = waits.words("x").expect("two were long");
        assert!(words.contains("x: before 2 of its trials the lab waited, up to 2.0 s"));
        assert!(!words.contains("started it again"));
        waits.restarts = 3;
        assert!(waits.words("x").is_some_and(|words| words.contains("3 × it had not")));
    }
}
