//! Output of `dccp perf`: lines while it runs, a summary of both sides at the end, or everything as
//! JSON.

use std::ops::Range;

use base::{ToolError, ToolResult};
use serde::Serialize;

use super::figures::{IntervalDatagramCounts, ReceivedDataFigures, SentDataFigures, per_second};
use super::flow::PerfFlow;
use crate::outcome::print_text;
use crate::units::UnitFormat;

/// Schema version of the JSON documents of `dccp perf`.
const SCHEMA_VERSION: u32 = 1;

/// Figures of one direction of a flow (a connection of `dccp perf`) in one report interval.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FlowInterval {
    flow: u32,
    /// Side of the flow that counted the interval: `sender` or `receiver`.
    side: &'static str,
    start_s: f64,
    end_s: f64,
    datagrams: u64,
    bytes: u64,
    bits_per_s: f64,
    /// Count of lost datagrams at the receiver, if the datagrams have numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
    /// Round-trip time at the sender, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_ms: Option<f64>,
}

/// Result of one direction of a flow (a connection of `dccp perf`), as both ends counted it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FlowDirectionResult {
    /// End that sent the data: `client` or `server`.
    pub(crate) from: &'static str,
    /// Length of each datagram in bytes, if this end sent them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) datagram_bytes: Option<usize>,
    /// CCID of the data's congestion control; `None` with plain UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ccid: Option<u8>,
    pub(crate) sent: Option<SentDataFigures>,
    pub(crate) received: Option<ReceivedDataFigures>,
    /// Rate of application data that the receiver read, in bits per second.
    pub(crate) bits_per_s: Option<f64>,
}

/// Result of a flow (a connection of `dccp perf`) that has ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FlowEnd {
    pub(crate) flow: u32,
    pub(crate) local: String,
    pub(crate) remote: String,
    pub(crate) directions: Vec<FlowDirectionResult>,
    pub(crate) failure: Option<String>,
    /// True without control messages, so that neither end has the other's figures.
    pub(crate) is_plain: bool,
}

/// JSON document with the results of all flows.
#[derive(Debug, Serialize)]
struct PerfDocument<'a> {
    tool: &'static str,
    schema_version: u32,
    role: &'static str,
    carrier: &'a str,
    service_code: &'a str,
    intervals: &'a [FlowInterval],
    flows: &'a [FlowEnd],
}

/// Output of a client or server: text lines or one JSON document.
pub(crate) struct PerfOutput {
    pub(crate) is_json: bool,
    pub(crate) role: &'static str,
    pub(crate) carrier: String,
    pub(crate) service_code: String,
    /// Unit of amounts and rates in text lines.
    pub(crate) format: UnitFormat,
    intervals: Vec<FlowInterval>,
    has_head: bool,
}

impl PerfOutput {
    pub(crate) const fn new(
        is_json: bool,
        role: &'static str,
        carrier: String,
        service_code: String,
    ) -> Self {
        Self {
            is_json,
            role,
            carrier,
            service_code,
            format: UnitFormat::Fitting,
            intervals: Vec::new(),
            has_head: false,
        }
    }

    /// Prints a line of text, unless the output is JSON.
    pub(crate) fn line(&self, text: &str) -> ToolResult<()> {
        if self.is_json { Ok(()) } else { print_text(&format!("{text}\n")) }
    }

    fn head(&mut self) -> ToolResult<()> {
        if core::mem::replace(&mut self.has_head, true) {
            return Ok(());
        }
        self.line("[ ID]  Interval             Transfer      Bitrate")
    }

    /// Prints the report interval of a flow that ends now.
    pub(crate) fn interval(&mut self, flow: &mut PerfFlow, now_ns: u64) -> ToolResult<()> {
        let Some(started_ns) = flow.started_ns else { return Ok(()) };
        let since = |at_ns: u64| at_ns.saturating_sub(started_ns) as f64 / 1e9;
        let (start_s, end_s) = (since(flow.interval_ns), since(now_ns));
        flow.interval_ns = now_ns;
        let rtt_ms = flow.rtt_ns.map(|rtt_ns| rtt_ns as f64 / 1e6);
        let sent = flow.outgoing.as_mut().map(|outgoing| ("sender", outgoing.step()));
        let received = flow.receives().then(|| ("receiver", flow.incoming.step()));
        for (side, IntervalDatagramCounts { datagrams, bytes, lost }) in
            [sent, received].into_iter().flatten()
        {
            let is_sender = side == "sender";
            let interval = FlowInterval {
                flow: flow.id,
                side,
                start_s,
                end_s,
                datagrams,
                bytes,
                bits_per_s: per_second(bytes, end_s - start_s),
                lost: (!is_sender && flow.incoming.is_numbered()).then_some(lost),
                rtt_ms: if is_sender { rtt_ms } else { None },
            };
            self.head()?;
            self.line(&interval.text(self.format))?;
            if self.is_json {
                self.intervals.push(interval);
            }
        }
        Ok(())
    }

    /// Prints the summary of flows that have ended, as text or as a JSON document.
    pub(crate) fn summary(&mut self, flows: &[FlowEnd]) -> ToolResult<()> {
        if self.is_json {
            let document = PerfDocument {
                tool: "godwit dccp perf",
                schema_version: SCHEMA_VERSION,
                role: self.role,
                carrier: &self.carrier,
                service_code: &self.service_code,
                intervals: &self.intervals,
                flows,
            };
            let json = serde_json::to_string_pretty(&document)
                .map_err(|error| ToolError::Failed(format!("cannot write JSON: {error}")))?;
            self.intervals.clear();
            return print_text(&format!("{json}\n"));
        }
        self.head()?;
        let mut text =
            String::from("- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -\n");
        for flow in flows {
            text += &flow.text(self.format);
        }
        let directions: Vec<_> = flows.iter().flat_map(|flow| &flow.directions).collect();
        for from in ["client", "server"] {
            let of = || directions.iter().filter(|direction| direction.from == from);
            if of().count() > 1 {
                let bytes: u64 = of().filter_map(|d| d.received).map(|r| r.bytes).sum();
                let rate: f64 = of().filter_map(|d| d.bits_per_s).sum();
                let (bytes, rate) = (self.format.amount(bytes), self.format.rate(rate));
                text +=
                    &format!("[SUM]  from the {from:<10}    {bytes:>12}  {rate:>16}  receiver\n");
            }
        }
        print_text(&text)
    }
}

impl FlowInterval {
    fn text(&self, format: UnitFormat) -> String {
        let times_s = self.start_s..self.end_s;
        let row = row(format, self.flow, times_s, self.bytes, self.bits_per_s);
        match (self.lost, self.rtt_ms) {
            (Some(lost), _) => format!("{row}  {}", losses(lost, self.datagrams)),
            (None, Some(rtt_ms)) => {
                format!("{row}  {} datagrams, rtt {rtt_ms:.3} ms", self.datagrams)
            }
            (None, None) => format!("{row}  {} datagrams", self.datagrams),
        }
    }
}

impl FlowEnd {
    fn text(&self, format: UnitFormat) -> String {
        let mut text = String::new();
        for direction in &self.directions {
            let FlowDirectionResult { from, ccid, .. } = direction;
            if let Some(sent) = direction.sent {
                let row = row(format, self.flow, 0.0..sent.seconds, sent.bytes, sent.bits_per_s());
                let never = match sent.never_sent {
                    0 => String::new(),
                    count => format!(", {count} due and never sent"),
                };
                let cpu = sent.cpu * 100.0;
                let control = ccid.map_or("plain UDP".to_owned(), |ccid| format!("ccid {ccid}"));
                text += &format!(
                    "{row}  {} datagrams{never}  sender: {from}, {control}, cpu {cpu:.0} %\n",
                    sent.datagrams
                );
            }
            if let Some(received) = direction.received {
                let rate = received.bits_per_s();
                let row = row(format, self.flow, 0.0..received.seconds, received.bytes, rate);
                let is_unknown =
                    direction.sent.is_none() && received.without_number == received.datagrams;
                let losses = if is_unknown {
                    format!("{} datagrams", received.datagrams)
                } else {
                    losses(received.lost, received.datagrams)
                };
                let cpu = received.cpu * 100.0;
                let order = match received.out_of_order {
                    0 => String::new(),
                    count => format!(", {count} out of order"),
                };
                text += &format!("{row}  {losses}{order}  receiver, cpu {cpu:.0} %\n");
            } else {
                let why = if self.is_plain { "cannot report" } else { "has not reported" };
                text += &format!("[{:>3}]  the receiver {why} what it read\n", self.flow);
            }
        }
        if let Some(failure) = &self.failure {
            text += &format!("[{:>3}]  {failure}\n", self.flow);
        }
        text
    }
}

/// Returns a text line with a flow's amount of data and rate in a period of seconds.
fn row(format: UnitFormat, flow: u32, times_s: Range<f64>, bytes: u64, bits_per_s: f64) -> String {
    let (Range { start, end }, bytes) = (times_s, format.amount(bytes));
    let rate = format.rate(bits_per_s);
    format!("[{flow:>3}] {start:>6.2}-{end:<6.2} sec  {bytes:>12}  {rate:>16}")
}

/// Returns the lost datagrams out of all datagrams as text, with their percentage.
fn losses(lost: u64, read: u64) -> String {
    let all = lost + read;
    let share = if all > 0 { lost as f64 * 100.0 / all as f64 } else { 0.0 };
    format!("{lost}/{all} lost ({share:.2} %)")
}
