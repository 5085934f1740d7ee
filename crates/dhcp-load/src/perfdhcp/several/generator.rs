//! Entry of one of several generators in the report: its own counts, and the offset of its clock
//! from the coordinator's.

use std::fmt::Write as _;

use base::offset::{Offset, UNCERTAINTY_MAX_NS};
use base::time::seconds;
use serde_json::{Value, json};

use crate::perfdhcp::account::ExchangeAccount;
use crate::perfdhcp::args::PerfdhcpArgs;
use crate::perfdhcp::report::PerfdhcpReport;

/// Result of one of several generators.
pub(crate) struct GeneratorResult {
    /// Name of the generator's machine, as SSH takes it.
    pub(crate) host: String,
    /// Address or interface that the generator's messages leave from.
    pub(crate) local: String,
    /// Report of the generator's own counts. The coordinator compares the leases with those of the
    /// others, not here.
    pub(crate) report: PerfdhcpReport,
    /// Offset of the generator's clock from the coordinator's before the run.
    pub(crate) clock: Offset,
    /// Offset of the generator's clock from the coordinator's after the run; `None` when it could
    /// not be found.
    pub(crate) clock_after: Option<Offset>,
    /// Time from reading the order to begin to the start of the run that it sets, in nanoseconds.
    pub(crate) notice_ns: i64,
}

/// Fields of an exchange's entry in the report that are known only with the leases of all
/// generators.
const WHOLE_ONLY: [&str; 3] = ["conflicts", "conflict_count", "leases_untracked"];

fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}

impl GeneratorResult {
    /// Returns the movement of the generator's clock against the coordinator's during the run, in
    /// nanoseconds.
    fn drift_ns(&self) -> Option<i64> {
        self.clock_after.map(|after| after.ns.saturating_sub(self.clock.ns))
    }

    /// Returns warnings about the generator's clock, as texts.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let ms = |ns: u64| ns as f64 / 1e6;
        let (host, bound) = (&self.host, ms(UNCERTAINTY_MAX_NS));
        let mut warnings = Vec::new();
        let uncertain_ns = self.clock.uncertainty_ns;
        if uncertain_ns > UNCERTAINTY_MAX_NS {
            warnings.push(format!(
                "the clock of {host} is known to {:.3} ms only, more than {bound} ms: its requests \
                 may have been due that much earlier or later than planned between those of the \
                 others",
                ms(uncertain_ns)
            ));
        }
        match (self.drift_ns(), self.clock_after) {
            (Some(drift_ns), Some(after)) => {
                let known_ns = uncertain_ns + after.uncertainty_ns;
                let least_ns = drift_ns.unsigned_abs().saturating_sub(known_ns);
                if least_ns > UNCERTAINTY_MAX_NS {
                    warnings.push(format!(
                        "the clock of {host} moved by {:.3} ms during the run, more than {bound} ms",
                        ms(drift_ns.unsigned_abs())
                    ));
                }
            }
            _ => warnings.push(format!("the clock of {host} was not compared after the run")),
        }
        if self.notice_ns < 0 {
            let late_ms = ms(self.notice_ns.unsigned_abs());
            warnings.push(format!(
                "the order to begin reached {host} {late_ms:.3} ms after the beginning"
            ));
        }
        warnings
    }

    /// Returns the generator's entry in the JSON document.
    pub(crate) fn json(&self, args: &PerfdhcpArgs) -> Value {
        let (report, done) = (&self.report, &self.report.loop_result);
        let limit = report.limit();
        let mut exchanges = json!(report.exchanges(args));
        let each = exchanges.as_array_mut().into_iter().flatten();
        for exchange in each.filter_map(Value::as_object_mut) {
            WHOLE_ONLY.into_iter().for_each(|name| drop(exchange.remove(name)));
        }
        json!({
            "host": self.host,
            "local": self.local,
            "clock_offset_us": us(self.clock.ns),
            "clock_uncertainty_us": self.clock.uncertainty_ns as f64 / 1e3,
            "clock_drift_us": self.drift_ns().map(us),
            "notice_us": us(self.notice_ns),
            "ended": done.reason.words(),
            "exchanges": exchanges,
            "elapsed_s": seconds(done.end_ns - done.start_ns),
            "messages_sent": done.sends.sent,
            "messages_received": report.received,
            "malformed": report.malformed,
            "too_short": report.too_short,
            "local_limit": report.local_limit + done.sends.refused,
            "preload_sent": report.preloaded[0],
            "preload_answers": report.preloaded[1],
            "late_sends": report.late_sends(),
            "late_send_max_us": report.late_send_max_us(),
            "own_socket_drops": done.socket_drops,
            "generator_cpu_s": seconds(done.cpu_ns),
            "generator_limited": limit.is_some(),
            "generator_limited_reason": limit.unwrap_or_default(),
        })
    }

    /// Returns the generator's line in the text of the run.
    pub(crate) fn line(&self) -> String {
        let (report, done) = (&self.report, &self.report.loop_result);
        let counts = |count: fn(&ExchangeAccount) -> u64| {
            let counts = report.kinds.iter().map(|kind| count(&report.accounts[kind.index()]));
            counts.map(|count| count.to_string()).collect::<Vec<_>>().join("/")
        };
        let mut line = format!(
            "{} ({}): sent {}, on time {}, late sends {}, own socket drops {}, refused by the \
             kernel {}, not sent for lack of buffer space {}, {:.3} CPU s, clock {:+.3} ms to \
             {:.3} ms",
            self.host,
            self.local,
            counts(ExchangeAccount::sent),
            counts(ExchangeAccount::on_time),
            report.late_sends(),
            done.socket_drops,
            done.sends.refused,
            report.local_limit,
            seconds(done.cpu_ns),
            self.clock.ns as f64 / 1e6,
            self.clock.uncertainty_ns as f64 / 1e6
        );
        if let Some(drift_ns) = self.drift_ns() {
            let _ = write!(line, ", moved by {:+.3} ms", drift_ns as f64 / 1e6);
        }
        line
    }
}
