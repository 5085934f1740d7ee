//! Charts of long trials second by second: exchanges completed and rejected, and below them the
//! server's processors and memory over the same seconds.

use maud::{Markup, html};

use crate::format;
use crate::plot::{self, Axis, ChartWidth, PlotArea};
use crate::scale::AxisScale;
use measure::summary::{LongTrial, LongTrialPoint, RunSummary};

/// Line of another count than completed exchanges in a long trial's chart: its style class, and the
/// function that reads the count.
type Other = (&'static str, fn(&LongTrialPoint) -> u64);

const OTHERS: [Other; 4] = [
    ("rejected-offer", |point| point.rejected[0]),
    ("rejected-grant", |point| point.rejected[1]),
    ("unanswered-first", |point| point.unanswered[0]),
    ("unanswered-second", |point| point.unanswered[1]),
];

/// Returns true if `summary` has no long trials to draw.
pub(super) fn is_empty(summary: &RunSummary) -> bool {
    summary.long_trials.is_empty()
}

/// Explains the lines of the long trials' charts to the reader.
pub(super) fn caption(summary: &RunSummary) -> Markup {
    let has_pool = summary.long_trials.iter().any(|trial| trial.pool_size.is_some());
    html! {
        "Exchanges completed on time, by the second of their completion, under constant load (thin "
        "line), with the server's processors and memory below. A rejection counts in the second in "
        "which the answer without a lease arrived, an unanswered message in the second in which "
        "its exchange was due."
        @if has_pool {
            " Shaded: after the time at which that load has used up the pool. The server began \
             these trials without leases."
        }
    }
}

/// Returns the names of the lines next to that of completed exchanges, by the protocol's messages.
fn names(summary: &RunSummary) -> [String; 4] {
    let messages = summary.plan.protocol.messages();
    let at = |index: usize| messages.get(index).copied().unwrap_or_default();
    [
        format!("rejected instead of {}", at(1)),
        format!("rejected instead of {}", at(3)),
        format!("{} unanswered", at(0)),
        format!("{} unanswered", at(2)),
    ]
}

/// Returns the lines of the long trials' charts, next to that of completed exchanges, that are not
/// 0 all the time, with their names.
fn others(summary: &RunSummary) -> impl Iterator<Item = (Other, String)> {
    let points = || summary.long_trials.iter().flat_map(|trial| &trial.points);
    let is_there: Vec<bool> =
        OTHERS.iter().map(|(_, count)| points().any(|point| count(point) > 0)).collect();
    let all = OTHERS.into_iter().zip(names(summary)).zip(is_there);
    all.filter(|(_, is_there)| *is_there).map(|(other, _)| other)
}

/// Draws the legend of the lines of the long trials' charts.
pub(super) fn legend(summary: &RunSummary) -> Markup {
    html! {
        p class="legend" {
            @for ((class, _), name) in others(summary) { span class={ "key " (class) } { (name) } }
        }
    }
}

/// Draws three charts per long trial, in both sizes, wide and narrow.
pub(super) fn chart(summary: &RunSummary) -> Markup {
    html! {
        @for trial in &summary.long_trials {
            h3 { (name(trial)) }
            @for size in ChartWidth::ALL {
                (rates(size, trial, summary))
                (processors(size, trial, summary))
                (memory(size, trial, summary))
            }
        }
    }
}

/// Names a long trial: `kea (multi-threaded), pool exhausted: 2,300/s offered`.
fn name(trial: &LongTrial) -> String {
    let variant =
        if trial.variant.is_empty() { String::new() } else { format!(" ({})", trial.variant) };
    let (purpose, rate) = (trial.purpose.name(), format::whole(trial.offered_per_s));
    format!("{}{variant}, {purpose}: {rate}/s offered", trial.server)
}

fn frame(size: ChartWidth, trial: &LongTrial, height: f64, most: f64) -> PlotArea {
    let (width, left) = match size {
        ChartWidth::Wide => (960.0, 58.0),
        ChartWidth::Narrow => (380.0, 48.0),
    };
    // The time axis ends at the end of the trial, not at the next round figure.
    let x = AxisScale::Linear { max: trial.points.len() as f64 * trial.interval_s };
    let y = AxisScale::linear(most, 4);
    PlotArea { width, height, left, right: 16.0, top: 34.0, bottom: 44.0, x, y }
}

const fn ticks(size: ChartWidth) -> usize {
    match size {
        ChartWidth::Wide => 10,
        ChartWidth::Narrow => 5,
    }
}

fn class(trial: &LongTrial, summary: &RunSummary) -> String {
    let position = summary.results.iter().position(|result| result.server == trial.server);
    plot::series_class(position.unwrap_or(0))
}

/// Returns the points of a line of the values that `read` returns, each at the middle of its
/// interval; no point without a value.
fn line(
    frame: &PlotArea,
    trial: &LongTrial,
    read: impl Fn(&LongTrialPoint) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let at = |(index, point): (usize, &LongTrialPoint)| {
        let middle_s = (index as f64 + 0.5) * trial.interval_s;
        Some((frame.at_x(middle_s), frame.at_y(read(point)?)))
    };
    trial.points.iter().enumerate().filter_map(at).collect()
}

/// Shades the time of a long trial from when the server's address pool is used up to the end.
fn shade(frame: &PlotArea, trial: &LongTrial) -> Markup {
    let c = format::coordinate;
    let from = trial.exhausted_s().map(|s| frame.at_x(s));
    html! {
        @if let Some(from) = from {
            rect class="noise" x=(c(from)) y=(c(frame.top)) width=(c((frame.end() - from).max(1.0)))
                height=(c(frame.floor() - frame.top)) {}
        }
    }
}

fn rates(size: ChartWidth, trial: &LongTrial, summary: &RunSummary) -> Markup {
    let per_s = |count: u64| count as f64 / trial.interval_s;
    let highest = |point: &LongTrialPoint| {
        OTHERS
            .iter()
            .fold(point.due.max(point.completed), |most, (_, count)| most.max(count(point)))
    };
    let most = trial.points.iter().map(|point| per_s(highest(point))).fold(1.0, f64::max);
    let frame = frame(size, trial, 230.0, most);
    let class = class(trial, summary);
    let completed = line(&frame, trial, |point| Some(per_s(point.completed)));
    let content = html! {
        (shade(&frame, trial))
        (frame.axes(
            &Axis { title: "seconds", ticks: ticks(size), format: format::whole },
            &Axis { title: "exchanges per second", ticks: 4, format: format::axis_rate },
        ))
        (plot::area(&class, &completed, frame.floor()))
        (plot::line(&class, &completed))
        (plot::line("generator", &line(&frame, trial, |point| Some(per_s(point.due)))))
        @for ((class, count), _) in others(summary) {
            (plot::line(class, &line(&frame, trial, |point| Some(per_s(count(point))))))
        }
        @for (index, point) in trial.points.iter().enumerate() {
            @let from_s = index as f64 * trial.interval_s;
            @let y = frame.at_y(per_s(point.completed));
            (plot::stretch(
                &format!("{class} at"),
                &[(frame.at_x(from_s), y), (frame.at_x(from_s + trial.interval_s), y)],
                &[("server", trial.server.clone()), ("trial", trial.trial.to_string())],
                &words(trial, point, from_s, summary),
            ))
        }
    };
    frame.svg(size.name(), "Exchanges second by second", "x", &content)
}

fn words(trial: &LongTrial, point: &LongTrialPoint, from_s: f64, summary: &RunSummary) -> String {
    let until_s = from_s + trial.interval_s;
    let mut words = format!(
        "{}, {} to {} s\ndue {}\ncompleted {}",
        trial.server,
        format::trimmed(from_s, 2),
        format::trimmed(until_s, 2),
        count(point.due),
        count(point.completed)
    );
    for ((_, of), name) in others(summary) {
        words += &format!("\n{name} {}", count(of(point)));
    }
    words += &format!(
        "\nserver {} processors\nmemory {}",
        format::or_dash(point.server_cpus_busy, |busy| format::trimmed(busy, 2)),
        format::or_dash(point.server_rss_bytes, format::bytes)
    );
    words
}

fn processors(size: ChartWidth, trial: &LongTrial, summary: &RunSummary) -> Markup {
    let most = trial.points.iter().filter_map(|point| point.server_cpus_busy).fold(1.0, f64::max);
    used(size, trial, summary, "processors busy", most, |point| point.server_cpus_busy)
}

fn memory(size: ChartWidth, trial: &LongTrial, summary: &RunSummary) -> Markup {
    let mib = |point: &LongTrialPoint| {
        point.server_rss_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20))
    };
    let most = trial.points.iter().filter_map(mib).fold(1.0, f64::max);
    used(size, trial, summary, "server memory, MiB", most, mib)
}

/// Draws the chart of the server's use of processors or memory (`read`) over the seconds of a long
/// trial; nothing when it is unknown.
fn used(
    size: ChartWidth,
    trial: &LongTrial,
    summary: &RunSummary,
    title: &'static str,
    most: f64,
    read: fn(&LongTrialPoint) -> Option<f64>,
) -> Markup {
    let frame = frame(size, trial, 150.0, most);
    let (class, points) = (class(trial, summary), line(&frame, trial, read));
    let content = html! {
        (shade(&frame, trial))
        (frame.axes(
            &Axis { title: "seconds", ticks: ticks(size), format: format::whole },
            &Axis { title, ticks: 2, format: |value| format::trimmed(value, 2) },
        ))
        (plot::area(&class, &points, frame.floor()))
        (plot::line(&class, &points))
    };
    html! {
        @if !points.is_empty() { (frame.svg(size.name(), title, "x", &content)) }
    }
}

fn count(count: u64) -> String {
    format::whole(count as f64)
}

/// Draws the table of the figures of long trials, one row per trial.
pub(super) fn table(summary: &RunSummary) -> Markup {
    let names = names(summary);
    html! {
        table {
            thead {
                tr {
                    th.n { "trial" }
                    th { "server" }
                    th { "for" }
                    th.n { "offered/s" }
                    th.n { "pool" }
                    th.n { "due" }
                    th.n { "completed" }
                    @for name in &names { th.n { (name) } }
                    th.n { "first rejected after" }
                    th.n { "processors before, after" }
                    th.n { "memory before, after" }
                }
            }
            tbody { @for trial in &summary.long_trials { (row(trial)) } }
        }
    }
}

fn row(trial: &LongTrial) -> Markup {
    let sum = |of: &dyn Fn(&LongTrialPoint) -> u64| count(trial.points.iter().map(of).sum());
    let first_s = trial.first_s(|point| point.rejected != [0; 2]);
    // The interval in which the pool runs out is neither before nor after, and is left out.
    let (before, after) = match trial.exhausted_s() {
        Some(at_s) => {
            let whole = (at_s / trial.interval_s) as usize;
            let before = whole.min(trial.points.len());
            (&trial.points[..before], trial.points.get(whole + 1..).unwrap_or_default())
        }
        None => (&trial.points[..], &[][..]),
    };
    let processors = |points: &[LongTrialPoint]| {
        let seen: Vec<f64> = points.iter().filter_map(|point| point.server_cpus_busy).collect();
        let mean = (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64);
        format::or_dash(mean, |busy| format::trimmed(busy, 2))
    };
    let memory = |points: &[LongTrialPoint]| {
        let most = points.iter().filter_map(|point| point.server_rss_bytes).max();
        format::or_dash(most, format::bytes)
    };
    let server = match trial.variant.as_str() {
        "" => trial.server.clone(),
        variant => format!("{} ({variant})", trial.server),
    };
    html! {
        tr data-server=(trial.server) {
            td.n { (trial.trial) }
            td { (server) }
            td { (trial.purpose.name()) }
            td.n { (format::whole(trial.offered_per_s)) }
            td.n { (format::or_dash(trial.pool_size, |size| count(size.into()))) }
            td.n { (sum(&|point| point.due)) }
            td.n { (sum(&|point| point.completed)) }
            @for (_, of) in OTHERS { td.n { (sum(&of)) } }
            td.n { (format::or_dash(first_s, |s| format!("{} s", format::trimmed(s, 2)))) }
            td.n { (processors(before)) ", " (processors(after)) }
            td.n { (memory(before)) ", " (memory(after)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::plan::{MeasuredProtocol, Plan};
    use measure::record::Purpose;

    #[test]
    fn only_what_happened_is_drawn_and_told() {
        let point = |completed, rejected| LongTrialPoint {
            due: 100,
            completed,
            rejected: [rejected, 0],
            server_cpus_busy: Some(0.25),
            server_rss_bytes: Some(32 << 20),
            ..LongTrialPoint::default()
        };
        let trial = LongTrial {
            server: "kea".to_owned(),
            trial: 4,
            purpose: Purpose::Exhaustion,
            offered_per_s: 100.0,
            pool_size: Some(200),
            interval_s: 1.0,
            points: vec![point(100, 0), point(100, 0), point(0, 100), point(0, 100)],
            ..LongTrial::default()
        };
        let plan = Plan { protocol: MeasuredProtocol::Dhcp6, ..Plan::default() };
        let summary = RunSummary { long_trials: vec![trial], plan, ..RunSummary::default() };
        let legend = legend(&summary).into_string();
        assert!(legend.contains("rejected instead of ADVERTISE"), "{legend}");
        assert!(!legend.contains("REPLY") && !legend.contains("unanswered"), "{legend}");
        let chart = chart(&summary).into_string();
        assert_eq!(chart.matches("<svg").count(), 6, "three drawings in two sizes");
        assert_eq!(chart.matches("line rejected-offer").count(), 2);
        assert_eq!(chart.matches("class=\"noise\"").count(), 6);
        assert!(chart.contains("kea, pool exhausted: 100/s offered"), "{chart}");
        let table = table(&summary).into_string();
        for cell in ["<td class=\"n\">200</td>", "2 s", "0.25, 0.25"] {
            assert!(table.contains(cell), "{cell}: {table}");
        }
        assert!(caption(&summary).into_string().contains("Shaded"));
    }
}
