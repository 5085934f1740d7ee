//! Search of `dccp perf --search`: the highest constant rate at which the receiver reads enough of
//! the data. Each step is an ordinary measurement over its own connections; [`measure::search`]
//! chooses the next rate.

use base::{ToolError, ToolResult};
use dccp_link::ConnectionConfig;
use measure::plan::SearchPlan;
use measure::record::Purpose;
use measure::search::{
    Search, SearchResult, SearchStep as Next, SearchStopReason, TrialOutcome as Judged,
};
use serde::Serialize;

use super::report::FlowEnd;
use super::{DccpPerfArgs, client};
use crate::options::DccpDestination;
use crate::outcome::{DccpCommandOutcome, print_text};
use crate::units;

/// Schema version of the JSON documents of a search.
const SCHEMA_VERSION: u32 = 1;
/// First rate of a search without -b, in bits per second.
const START_BITS_PER_S: u64 = 1_000_000;
/// Greatest rate that a search tries, in bits per second.
const MAX_BITS_PER_S: f64 = 1e12;
/// Factor between the rates of two steps of the search until a rate is missed.
const GROWTH: f64 = 2.0;
/// Width to which bisection narrows the result, in percent of the highest rate met.
const WIDTH_PERCENT: f64 = 2.0;
/// Number of bisections that narrow the factor [`GROWTH`] to [`WIDTH_PERCENT`].
const BISECTIONS: u32 = 6;
/// Largest number of confirming steps, each at a lower rate than the one before.
const CONFIRMATIONS: u32 = 6;
/// Share of a step's duration in which congestion control finds its rate (settling time).
const SETTLING: f64 = 0.2;

/// Step of a search for the highest rate: a rate that was tried, with its counts and outcome.
#[derive(Clone, Debug, Serialize)]
struct RateSearchStep {
    purpose: &'static str,
    /// Rate of the step for each connection and direction, in bits per second.
    bits_per_s: f64,
    /// Count of datagrams that were due; in the settling time only those that were sent.
    due: u64,
    received: u64,
    lost: u64,
    /// Count of datagrams that were due and not sent in time, because of congestion control or the
    /// sender.
    never_sent: u64,
    missing_percent: f64,
    /// Rate that all receivers together read, in bits per second.
    received_bits_per_s: f64,
    /// Outcome of the step: `met`, `missed`, or `void` if an end has not reported.
    outcome: &'static str,
}

/// JSON document with the results of a search.
#[derive(Debug, Serialize)]
struct RateSearchDocument<'a> {
    tool: &'static str,
    schema_version: u32,
    mode: &'static str,
    carrier: &'static str,
    service_code: String,
    connections: u32,
    datagram_bytes: usize,
    loss_percent: f64,
    dwell_s: f64,
    settling_s: f64,
    growth: f64,
    width_percent: f64,
    steps: &'a [RateSearchStep],
    /// Confirmed rate of each connection and direction in bits per second; null if there is none.
    found_bits_per_s: Option<f64>,
    /// Least rate above the confirmed one that was missed, in bits per second.
    missed_bits_per_s: Option<f64>,
    stop: &'static str,
}

fn plan(args: &DccpPerfArgs) -> SearchPlan {
    let bits = args.datagram_bits();
    let dwell_s = args.time.as_secs_f64();
    SearchPlan {
        loss_percent: args.loss,
        deadline_s: 0.0,
        start_per_s: args.bandwidth.unwrap_or(START_BITS_PER_S) as f64 / bits,
        max_per_s: MAX_BITS_PER_S / bits,
        growth: GROWTH,
        bisections: BISECTIONS,
        width_percent: WIDTH_PERCENT,
        dwell_s,
        confirm_dwell_s: dwell_s,
        confirmations: CONFIRMATIONS,
        quiet_s: 0.0,
        void_repeats: 1,
    }
}

/// Searches for the highest rate to `host`, and prints each step and the result.
pub(super) fn run(
    args: &DccpPerfArgs,
    host: &str,
    config: &ConnectionConfig,
) -> ToolResult<DccpCommandOutcome> {
    let to = args.link.destination(host)?;
    let dwell_s = args.time.as_secs_f64();
    if !args.json {
        print_text(&format!(
            "Searching for the highest rate to {host} ({}), {}: steps of {dwell_s} s, the first {} \
             s of each to settle; at most {} % of the datagrams may be missing\n",
            to.address(),
            args.link.describe_ports(),
            dwell_s * SETTLING,
            args.loss
        ))?;
    }
    let mut search = Search::new(&plan(args));
    let mut steps = Vec::new();
    let outcome = loop {
        let probe = match search.next_step() {
            Next::Done(outcome) => break Some(outcome),
            Next::Probe(probe) => probe,
        };
        let bits_per_s = (probe.rate_per_s * args.datagram_bits()).round();
        let Some(ended) = measure(args, to, config, bits_per_s as u64)? else { break None };
        let step = RateSearchStep::from_flows(&ended, bits_per_s, probe.purpose, args.loss);
        search.report(match step.outcome {
            "met" => Judged::Met,
            "missed" => Judged::Missed,
            _ => Judged::Void,
        });
        if !args.json {
            print_text(&step.text(steps.len() + 1))?;
        }
        steps.push(step);
    };
    show(args, outcome, &steps)?;
    Ok(match outcome {
        None => DccpCommandOutcome::Interrupted,
        Some(SearchResult { rate_per_s: None, .. }) => DccpCommandOutcome::FellShort,
        Some(_) => DccpCommandOutcome::Done,
    })
}

/// Measures one step of a search at the rate `bits_per_s`. Returns `None` when a signal ended it.
fn measure(
    args: &DccpPerfArgs,
    to: DccpDestination,
    config: &ConnectionConfig,
    bits_per_s: u64,
) -> ToolResult<Option<Vec<FlowEnd>>> {
    let mut order = args.transfer_parameters();
    order.bits_per_s = Some(bits_per_s.max(1));
    order.settling_ms = (order.duration_ms as f64 * SETTLING) as u64;
    let mut session = client::connect(args, to, config, args.flow_request_with(order), None)?;
    let (ended, is_interrupted) = client::converse(&mut session, args, to, config)?;
    Ok((!is_interrupted).then_some(ended))
}

impl RateSearchStep {
    fn from_flows(ended: &[FlowEnd], bits_per_s: f64, purpose: Purpose, loss_percent: f64) -> Self {
        let mut step = Self {
            purpose: if purpose == Purpose::Confirm { "confirm" } else { "search" },
            bits_per_s,
            due: 0,
            received: 0,
            lost: 0,
            never_sent: 0,
            missing_percent: 100.0,
            received_bits_per_s: 0.0,
            outcome: "void",
        };
        let mut is_complete = !ended.is_empty() && ended.iter().all(|flow| flow.failure.is_none());
        for direction in ended.iter().flat_map(|flow| &flow.directions) {
            let (Some(sent), Some(received)) = (direction.sent, direction.received) else {
                is_complete = false;
                continue;
            };
            step.due += sent.datagrams + sent.never_sent;
            step.never_sent += sent.never_sent;
            step.received += received.datagrams;
            step.lost += received.lost;
            step.received_bits_per_s += received.bits_per_s();
        }
        if step.due > 0 {
            step.missing_percent = (step.lost + step.never_sent) as f64 * 100.0 / step.due as f64;
        }
        if is_complete && step.due > 0 {
            let is_met = step.missing_percent <= loss_percent;
            step.outcome = if is_met { "met" } else { "missed" };
        }
        step
    }

    fn text(&self, number: usize) -> String {
        let Self { due, lost, never_sent, missing_percent, outcome, .. } = self;
        let rate = units::rate(self.bits_per_s);
        let purpose = if self.purpose == "confirm" { ", to confirm" } else { "" };
        format!(
            "[{number:>3}] {rate:>16}  {missing_percent:>6.2} % of {due} missing: {lost} lost, {never_sent} \
             due and never sent  {outcome}{purpose}\n"
        )
    }
}

fn show(
    args: &DccpPerfArgs,
    outcome: Option<SearchResult>,
    steps: &[RateSearchStep],
) -> ToolResult<()> {
    let found_bits_per_s = outcome
        .and_then(|outcome| outcome.rate_per_s)
        .map(|rate| (rate * args.datagram_bits()).round());
    let above = |step: &&RateSearchStep| {
        step.outcome == "missed" && step.bits_per_s > found_bits_per_s.unwrap_or(0.0)
    };
    let missed = steps.iter().filter(above).map(|step| step.bits_per_s).min_by(f64::total_cmp);
    let stop = stop_words(outcome);
    let dwell_s = args.time.as_secs_f64();
    if !args.json {
        let outcome = match found_bits_per_s {
            Some(rate) => format!("Found {}", units::rate(rate)),
            None => "Found no rate".to_owned(),
        };
        let missed =
            missed.map_or_else(String::new, |rate| format!(", {} missed", units::rate(rate)));
        return print_text(&format!(
            "{outcome}{missed} ({stop}): rates doubled, then bisected to {WIDTH_PERCENT} %, {dwell_s} s each\n"
        ));
    }
    let document = RateSearchDocument {
        tool: "godwit dccp perf",
        schema_version: SCHEMA_VERSION,
        mode: "search",
        carrier: args.link.carrier().name(),
        service_code: args.link.service_code.to_string(),
        connections: args.parallel,
        datagram_bytes: args.transfer_parameters().datagram_bytes,
        loss_percent: args.loss,
        dwell_s,
        settling_s: dwell_s * SETTLING,
        growth: GROWTH,
        width_percent: WIDTH_PERCENT,
        steps,
        found_bits_per_s,
        missed_bits_per_s: missed,
        stop,
    };
    let json = serde_json::to_string_pretty(&document)
        .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))?;
    print_text(&format!("{json}\n"))
}

/// Returns the reason why the search ended, for users.
const fn stop_words(outcome: Option<SearchResult>) -> &'static str {
    match outcome {
        None => "interrupted",
        Some(SearchResult { stop: SearchStopReason::Server, .. }) => "higher rates were missed",
        Some(SearchResult { stop: SearchStopReason::MaxRate, .. }) => {
            "the search has no higher rate"
        }
        Some(SearchResult { stop: SearchStopReason::Void | SearchStopReason::Hurried, .. }) => {
            "an end did not report its counts"
        }
        Some(SearchResult { stop: SearchStopReason::Unconfirmed, .. }) => "no rate was confirmed",
        Some(SearchResult { stop: SearchStopReason::EveryRate, .. }) => "every rate was missed",
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::{ReceivedDataFigures, SentDataFigures};
    use super::super::report::FlowDirectionResult;
    use super::*;

    fn flow(sent: u64, never_sent: u64, lost: Option<u64>) -> FlowEnd {
        let received = lost.map(|lost| ReceivedDataFigures {
            datagrams: sent - lost,
            bytes: (sent - lost) * 125,
            lost,
            seconds: 1.0,
            ..ReceivedDataFigures::default()
        });
        let sent =
            Some(SentDataFigures { datagrams: sent, never_sent, ..SentDataFigures::default() });
        let direction = FlowDirectionResult {
            from: "client",
            datagram_bytes: None,
            ccid: None,
            sent,
            received,
            bits_per_s: None,
        };
        FlowEnd {
            flow: 1,
            local: String::new(),
            remote: String::new(),
            directions: vec![direction],
            failure: None,
            is_plain: false,
        }
    }

    #[test]
    fn what_was_lost_and_what_was_never_sent_is_missing() {
        let step = |flows: &[FlowEnd]| RateSearchStep::from_flows(flows, 1e6, Purpose::Search, 1.0);
        let met = step(&[flow(990, 5, Some(5)), flow(1_000, 0, Some(0))]);
        assert_eq!((met.due, met.lost, met.never_sent, met.outcome), (1_995, 5, 5, "met"));
        assert!((met.missing_percent - 1_000.0 / 1_995.0).abs() < 1e-9);
        assert!((met.received_bits_per_s - 1_985_000.0).abs() < 1e-6);
        assert_eq!(step(&[flow(990, 10, Some(1))]).outcome, "missed");
        assert_eq!(step(&[flow(990, 10, Some(0))]).outcome, "met", "exactly the share");
        assert_eq!(step(&[flow(990, 0, None)]).outcome, "void");
        assert_eq!(step(&[]).outcome, "void");
        let failure = Some("reset".to_owned());
        assert_eq!(step(&[FlowEnd { failure, ..flow(10, 0, Some(0)) }]).outcome, "void");
    }
}
