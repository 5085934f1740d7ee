//! Gate of a comparison: a verdict whether the second of two results is worse than the first by
//! more than a margin. A merge may depend on this verdict, so it claims no more than the intervals
//! support.
//!
//! The gate judges the highest rate and leases per processor second, as shares of the limit
//! responder's where both results have those: a slowdown of the whole machine must not count
//! against the server. Latencies have no interval and are not judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Comparison, ServerComparison};
use crate::statistics::RatioInterval;

base::worded! {
    /// Verdict of the gate on one figure: whether the second result is worse by more than the
    /// margin.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum GateVerdict {
        /// The whole interval of the ratio is within the margin: no loss beyond it.
        Held = "held",
        /// The interval of the ratio reaches across the margin, or the ratio has no interval.
        #[default]
        Undecided = "undecided",
        /// The whole interval of the ratio is beyond the margin: the second result is worse.
        Regressed = "regressed",
    }
}

base::worded! {
    /// Kind of a figure that the gate judges.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum GateFigure {
        /// Highest rate of a server, in leases per second.
        #[default]
        Rate = "highest rate",
        /// Highest rate of a server as a share of the rate of the limit responder, a program that
        /// returns every datagram.
        ShareOfLimit = "highest rate as share of the limit responder's",
        /// Leases per processor second of a server.
        PerCpuSecond = "per CPU-second",
        /// Leases per processor second of a server as a share of those of the limit responder, a
        /// program that returns every datagram.
        PerCpuShareOfLimit = "per CPU-second as share of the limit responder's",
    }
}

/// Verdict of the gate on one figure of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GateLine {
    /// Name of the server whose figure the gate judges.
    pub server: String,
    /// Figure of the server that the gate judges.
    pub figure: GateFigure,
    /// Ratio of the judged figure as measured, second result over first; `None` when there is no
    /// ratio.
    pub ratio: Option<RatioInterval>,
    /// Verdict of the gate on the ratio.
    pub verdict: GateVerdict,
    /// Verdict on the ratio with its figures, as a text for people.
    pub words: String,
}

/// Verdict by a margin on the figures of two results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gate {
    /// Loss that the gate accepts, in percent of the first result's figure.
    pub margin_percent: f64,
    /// Verdict of the gate on all its lines: regressed when a line is; else undecided when a line
    /// is; else held.
    pub verdict: GateVerdict,
    /// Lines of the verdict, one per server and figure that the gate judged.
    pub lines: Vec<GateLine>,
}

/// Judges `servers` of `comparison` (all servers if the list is empty) by a margin in percent, 0 to
/// below 100.
///
/// # Errors
/// A named server that is not in both results, or nothing that could be judged; in words.
pub fn check_margin(
    comparison: &Comparison,
    margin_percent: f64,
    servers: &[String],
) -> Result<Gate, String> {
    let is_compared = |name: &String| comparison.servers.iter().any(|of| of.server == *name);
    if let Some(name) = servers.iter().find(|name| !is_compared(name)) {
        let names: Vec<&str> = comparison.servers.iter().map(|of| of.server.as_str()).collect();
        return Err(format!("{name} is not in both results, which have {}", names.join(", ")));
    }
    let is_judged = |of: &&ServerComparison| servers.is_empty() || servers.contains(&of.server);
    let lines: Vec<GateLine> = comparison
        .servers
        .iter()
        .filter(is_judged)
        .flat_map(|of| server_lines(of, margin_percent))
        .collect();
    let verdict = lines.iter().map(|line| line.verdict).max();
    let verdict = verdict.ok_or_else(|| "there is no figure to judge".to_owned())?;
    Ok(Gate { margin_percent, verdict, lines })
}

fn server_lines(server: &ServerComparison, margin_percent: f64) -> Vec<GateLine> {
    let has_interval = |of: &RatioInterval| of.pairs > 1;
    let (figure, ratio) = match server.of_limit.filter(has_interval) {
        Some(share) => (GateFigure::ShareOfLimit, Some(share)),
        None => (GateFigure::Rate, server.leases_per_s),
    };
    let open =
        OpenRatioSides { is_at_most: server.a.is_at_least, is_at_least: server.b.is_at_least };
    let mut lines = vec![line(server, figure, ratio, open, margin_percent)];
    let (figure, ratio) = match server.cpu_of_limit.filter(has_interval) {
        Some(share) => (GateFigure::PerCpuShareOfLimit, Some(share)),
        None => (GateFigure::PerCpuSecond, server.leases_per_cpu_s),
    };
    if ratio.is_some() {
        lines.push(line(server, figure, ratio, OpenRatioSides::default(), margin_percent));
    }
    lines
}

/// Sides on which a ratio is open, because a search ended before the server failed.
#[derive(Clone, Copy, Default)]
struct OpenRatioSides {
    /// True if the first result's figure may be larger than measured.
    is_at_most: bool,
    /// True if the second result's figure may be larger than measured.
    is_at_least: bool,
}

fn line(
    server: &ServerComparison,
    figure: GateFigure,
    ratio: Option<RatioInterval>,
    open: OpenRatioSides,
    margin_percent: f64,
) -> GateLine {
    let line =
        |verdict, words| GateLine { server: server.server.clone(), figure, ratio, verdict, words };
    let Some(of) = ratio.filter(|of| of.pairs > 1) else {
        let words = "has no interval: more than one run or round is needed".to_owned();
        return line(GateVerdict::Undecided, words);
    };
    let least_ratio = 1.0 - margin_percent / 100.0;
    let low = if open.is_at_most { 0.0 } else { of.low };
    let high = if open.is_at_least { f64::INFINITY } else { of.high };
    let range = format!("{:.3} ({:.3} to {:.3}) times", of.ratio, of.low, of.high);
    let percent = |ratio: f64| (1.0 - ratio) * 100.0;
    if high < least_ratio {
        let at_least = percent(of.high);
        let words = format!("{range}: a loss of at least {at_least:.1} %");
        return line(GateVerdict::Regressed, words);
    }
    if low >= least_ratio {
        let words = if of.low >= 1.0 {
            format!("{range}: no loss")
        } else {
            format!("{range}: a loss of at most {:.1} %", percent(of.low))
        };
        return line(GateVerdict::Held, words);
    }
    let side = match (open.is_at_most, open.is_at_least) {
        (true, true) => "neither result saw the server fail, so both rates are lower bounds",
        (true, false) => "A did not see the server fail, so its rate is a lower bound",
        (false, true) => "B did not see the server fail, so its rate is a lower bound",
        (false, false) => "the interval is too wide",
    };
    let words = format!("{range}: may be within the margin or beyond it, {side}");
    line(GateVerdict::Undecided, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Figures;

    fn interval(low: f64, high: f64) -> Option<RatioInterval> {
        Some(RatioInterval { ratio: (low * high).sqrt(), low, high, pairs: 9 })
    }

    fn server(name: &str, rate: Option<RatioInterval>) -> ServerComparison {
        ServerComparison {
            server: name.to_owned(),
            leases_per_s: rate,
            ..ServerComparison::default()
        }
    }

    fn gate(servers: Vec<ServerComparison>, margin_percent: f64) -> Gate {
        let comparison = Comparison { servers, ..Comparison::default() };
        check_margin(&comparison, margin_percent, &[]).unwrap()
    }

    #[test]
    fn only_a_whole_interval_beyond_the_margin_is_a_regression() {
        use GateVerdict::{Held, Regressed, Undecided};
        for (low, high, margin, verdict) in [
            (0.80, 0.89, 10.0, Regressed),
            (0.80, 0.91, 10.0, Undecided),
            (0.91, 0.97, 10.0, Held),
            (0.91, 0.97, 5.0, Undecided),
            (0.91, 0.97, 2.0, Regressed),
            (0.91, 0.97, 0.0, Regressed),
            (1.01, 1.30, 0.0, Held),
            (0.50, 1.50, 10.0, Undecided),
        ] {
            let gate = gate(vec![server("godwit", interval(low, high))], margin);
            assert_eq!(gate.verdict, verdict, "{low} to {high} by {margin}: {gate:?}");
        }
        let of =
            |low, high| gate(vec![server("s", interval(low, high))], 10.0).lines[0].words.clone();
        assert_eq!(of(0.8, 0.8), "0.800 (0.800 to 0.800) times: a loss of at least 20.0 %");
        assert_eq!(of(0.95, 1.2), "1.068 (0.950 to 1.200) times: a loss of at most 5.0 %");
        assert!(of(0.5, 1.5).ends_with("the interval is too wide"), "{}", of(0.5, 1.5));
    }

    #[test]
    fn lower_bounds_leave_open_what_they_do_not_say() {
        use GateVerdict::{Held, Regressed, Undecided};
        for (a, b, low, high, verdict) in [
            (false, true, 0.7, 0.8, Undecided),
            (false, true, 0.95, 1.0, Held),
            (true, false, 0.7, 0.8, Regressed),
            (true, false, 0.95, 1.0, Undecided),
            (true, true, 0.7, 0.8, Undecided),
            (true, true, 1.0, 1.1, Undecided),
        ] {
            let side = |is_at_least| Figures { is_at_least, ..Figures::default() };
            let server =
                ServerComparison { a: side(a), b: side(b), ..server("s", interval(low, high)) };
            let gate = gate(vec![server], 10.0);
            assert_eq!(gate.verdict, verdict, "{a} {b}: {gate:?}");
            assert_eq!(gate.lines[0].words.contains("lower bound"), verdict == Undecided);
        }
    }

    #[test]
    fn a_ratio_without_an_interval_is_no_verdict() {
        let lone = RatioInterval { ratio: 0.5, low: 0.5, high: 0.5, pairs: 1 };
        for ratio in [Some(lone), None] {
            let gate = gate(vec![server("s", ratio)], 10.0);
            assert_eq!(gate.verdict, GateVerdict::Undecided);
            assert!(gate.lines[0].words.contains("no interval"), "{gate:?}");
        }
    }

    #[test]
    fn the_share_of_the_limit_stands_for_the_rate_and_the_worst_line_for_all() {
        let both = ServerComparison {
            of_limit: interval(0.98, 1.02),
            leases_per_cpu_s: interval(0.6, 0.7),
            ..server("both", interval(0.5, 0.6))
        };
        let other = ServerComparison {
            leases_per_cpu_s: interval(0.6, 0.7),
            cpu_of_limit: interval(0.98, 1.02),
            ..server("other", interval(0.98, 1.02))
        };
        let gate = gate(vec![both.clone(), other], 10.0);
        let figures: Vec<_> = gate.lines.iter().map(|l| (l.figure, l.verdict)).collect();
        assert_eq!(
            figures,
            [
                (GateFigure::ShareOfLimit, GateVerdict::Held),
                (GateFigure::PerCpuSecond, GateVerdict::Regressed),
                (GateFigure::Rate, GateVerdict::Held),
                (GateFigure::PerCpuShareOfLimit, GateVerdict::Held),
            ]
        );
        assert_eq!(gate.verdict, GateVerdict::Regressed);
        let comparison =
            Comparison { servers: vec![both, server("other", None)], ..Comparison::default() };
        let of = |name: &str| check_margin(&comparison, 10.0, &[name.to_owned()]);
        assert_eq!(of("other").unwrap().lines.len(), 1);
        assert_eq!(of("kea").unwrap_err(), "kea is not in both results, which have both, other");
        assert!(check_margin(&Comparison::default(), 10.0, &[]).is_err());
    }
}
