//! Page with charts of a probe file: rate, round-trip time, loss event rate and window against
//! time.

use std::collections::BTreeMap;

use report::over_time::{ChartSeries, TimeChart, render};

use super::line::ProbeSample;
use super::rows::bits_since;

/// Largest number of points of a line in a chart; more points would be closer together than the
/// line is wide.
const POINTS_MAX: u64 = 480;

/// Sums of the samples that make up one point of a chart.
#[derive(Clone, Copy, Debug, Default)]
struct ChartPointSums {
    bits: f64,
    last_us: u64,
    /// Sum and count of the samples' values, for each of [`ProbeQuantity::ALL`].
    sums: [(f64, u32); ProbeQuantity::ALL.len()],
}

/// Quantity in the samples of a probe file whose mean a chart shows.
#[derive(Clone, Copy)]
enum ProbeQuantity {
    Allowed,
    RoundTrip,
    LossEvents,
    Window,
}

impl ProbeQuantity {
    const ALL: [Self; 4] = [Self::Allowed, Self::RoundTrip, Self::LossEvents, Self::Window];

    /// Returns the value of a quantity in a sample, in the unit of its chart.
    fn value(self, line: &ProbeSample) -> Option<f64> {
        let (value, unit) = match self {
            Self::Allowed => (line.x, 8e-6),
            Self::RoundTrip => (line.rtt_us, 1e-3),
            Self::LossEvents => (line.p_ppm, 1e-4),
            Self::Window => (line.cwnd, 1.0),
        };
        value.map(|value| value as f64 * unit)
    }
}

/// Samples of one connection, summed for the points of its charts.
#[derive(Debug, Default)]
struct ConnectionSamples {
    before_us: Option<u64>,
    bins: BTreeMap<u64, ChartPointSums>,
}

/// Returns the page with the charts of these samples as HTML. The same samples always give the same
/// bytes.
pub(super) fn page(lines: &[ProbeSample]) -> String {
    let first_us = lines.first().map_or(0, |line| line.at_us);
    let last_us = lines.iter().map(|line| line.at_us).max().unwrap_or(0);
    let width_us = (last_us / POINTS_MAX).max(10_000);
    let mut flows: BTreeMap<String, ConnectionSamples> = BTreeMap::new();
    for line in lines {
        let ccid = line.ccid.map_or(String::new(), |ccid| format!(", CCID {ccid}"));
        let name = format!("{} to {}{ccid}", line.source, line.destination);
        let flow = flows.entry(name).or_default();
        let bin = flow.bins.entry(line.at_us / width_us).or_default();
        bin.bits += bits_since(line, flow.before_us.unwrap_or(first_us));
        bin.last_us = line.at_us;
        flow.before_us = Some(line.at_us);
        for (quantity, (sum, count)) in ProbeQuantity::ALL.iter().zip(&mut bin.sums) {
            if let Some(value) = quantity.value(line) {
                *sum += value;
                *count += 1;
            }
        }
    }
    let facts = [
        format!("{} samples", lines.len()),
        format!("{:.1} s", last_us.saturating_sub(first_us) as f64 / 1e6),
        format!("points of {:.0} ms", width_us as f64 / 1e3),
    ];
    render("godwit dccp probe", "State of congestion control", &facts, &charts(&flows, width_us))
}

fn charts(flows: &BTreeMap<String, ConnectionSamples>, width_us: u64) -> Vec<TimeChart> {
    let mut sent: Vec<_> = flows.iter().map(|(name, flow)| sent(name, flow, width_us)).collect();
    sent.extend(series(flows, ProbeQuantity::Allowed, width_us).into_iter().map(|mut series| {
        series.name += ", allowed (X)";
        series
    }));
    let of = |quantity| series(flows, quantity, width_us);
    let chart =
        |name, heading, caption, axis, series| TimeChart { name, heading, caption, axis, series };
    let all = [
        chart(
            "rate",
            "Rate",
            "Data that DCCP accepted for sending, and for TFRC the rate that it allows.",
            "Mbit/s",
            sent,
        ),
        chart(
            "rtt",
            "Round-trip time",
            "Smoothed, as the sender knows it.",
            "ms",
            of(ProbeQuantity::RoundTrip),
        ),
        chart(
            "loss",
            "Loss event rate",
            "As the receiver reports it to the sender of TFRC (RFC 5348 §5).",
            "percent",
            of(ProbeQuantity::LossEvents),
        ),
        chart(
            "window",
            "Congestion window",
            "Packets that CCID 2 allows in flight.",
            "packets",
            of(ProbeQuantity::Window),
        ),
    ];
    all.into_iter().filter(|chart| !chart.series.is_empty()).collect()
}

/// Returns the middle of a chart point's period, in seconds.
fn middle_s(bin: u64, width_us: u64) -> f64 {
    (bin as f64 + 0.5) * width_us as f64 / 1e6
}

/// Returns the line of a connection's sent data in a chart, in Mbit/s. The last bin may be shorter
/// than the others.
fn sent(name: &str, flow: &ConnectionSamples, width_us: u64) -> ChartSeries {
    let last = flow.bins.keys().next_back().copied();
    let points = flow.bins.iter().filter_map(|(&bin, samples)| {
        let passed_us = if Some(bin) == last { samples.last_us - bin * width_us } else { width_us };
        let is_telling = passed_us * 2 >= width_us;
        is_telling.then(|| (middle_s(bin, width_us), samples.bits / passed_us as f64))
    });
    ChartSeries { name: name.to_owned(), points: points.collect() }
}

/// Returns a line of a quantity's mean at each point, for each connection that has the quantity.
fn series(
    flows: &BTreeMap<String, ConnectionSamples>,
    quantity: ProbeQuantity,
    width_us: u64,
) -> Vec<ChartSeries> {
    let of_flow = |(name, flow): (&String, &ConnectionSamples)| {
        let points: Vec<_> = flow
            .bins
            .iter()
            .filter_map(|(&bin, samples)| {
                let (sum, count) = samples.sums[quantity as usize];
                (count > 0).then(|| (middle_s(bin, width_us), sum / f64::from(count)))
            })
            .collect();
        (!points.is_empty()).then(|| ChartSeries { name: name.clone(), points })
    };
    flows.iter().filter_map(of_flow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<ProbeSample> {
        text.lines().filter_map(|line| ProbeSample::read(line).unwrap()).collect()
    }

    #[test]
    fn a_chart_for_all_that_is_known() {
        let mut text = String::new();
        for sample in 1..=200 {
            let at = f64::from(sample) / 100.0;
            text += &format!(
                "{at} a:1 b:2 1424 1424 40000 10000 900 800 125000 9 3 - - - - - 5 125000\n"
            );
            text += &format!("{at} a:3 b:4 1424 - 2000 - - - - - 2 10 - 10 200000 1 5 250000\n");
        }
        let page = page(&lines(&text));
        for name in ["rate", "rtt", "loss", "window"] {
            assert!(page.contains(&format!("data-chart=\"{name}\"")), "{name}");
        }
        for words in ["a:1 to b:2, CCID 3", "a:3 to b:4, CCID 2", "allowed (X)", "400 samples"] {
            assert!(page.contains(words), "{words}");
        }
        let flows = |text: &str| lines(text).len();
        assert_eq!(flows(&text), 400);
    }

    #[test]
    fn rates_are_those_of_the_lines() {
        let mut text = String::new();
        for sample in 1..=100 {
            text += &format!("{} a:1 b:2 1250\n", f64::from(sample) / 100.0);
        }
        let page = page(&lines(&text));
        // 1,250 bytes in each of 100 hundredths of a second.
        assert!(page.contains("\"points\":[[0.015,1.0]"), "{}", &page[page.len() - 2_000..]);
        assert!(!page.contains("data-chart=\"rtt\"") && !page.contains("data-chart=\"window\""));
    }
}
