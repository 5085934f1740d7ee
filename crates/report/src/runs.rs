//! Chart of the runs (whole measurements) of every server, each as its share of the server's mean:
//! values that the mean is made of, dropped values, and their spread.

use maud::{Markup, html};

use crate::format;
use crate::plot::{self, Axis, ChartMark, ChartWidth, PlotArea};
use crate::scale::AxisScale;
use measure::statistics::MeanInterval;
use measure::summary::{RunFigure, RunState, RunSummary};

/// Margin of the runs' axis beyond the values of the means, as a share of their span. Dropped runs
/// that are farther out are drawn at the end of the axis, with their figure in words.
const MARGIN: f64 = 0.35;
/// Least reach of the runs' axis on both sides of the mean, in percent.
const LEAST_REACH: f64 = 4.0;
const TICKS: usize = 6;

/// Row of one server's runs in the chart of runs.
struct ServerRunsRow<'s> {
    name: &'s str,
    class: String,
    shape: usize,
    runs: &'s [RunFigure],
    mean: MeanInterval,
    is_at_least: bool,
    /// Noun of the results that the runs count: `leases` or `answers`.
    result_noun: &'static str,
}

impl ServerRunsRow<'_> {
    fn percent(&self, rate: f64) -> f64 {
        rate / self.mean.mean * 100.0
    }

    /// Formats the mean of the server's runs: `≥ 41,400`.
    fn figure(&self) -> String {
        let bound = if self.is_at_least { "≥ " } else { "" };
        format!("{bound}{}", format::rate(self.mean.mean))
    }
}

fn rows(summary: &RunSummary) -> Vec<ServerRunsRow<'_>> {
    let mut rows = Vec::new();
    let yields = summary.plan.protocol.result_noun();
    for (index, result) in summary.results.iter().enumerate() {
        if let Some(mean) = result.mean.filter(|mean| mean.mean > 0.0) {
            rows.push(ServerRunsRow {
                name: &result.server,
                class: plot::series_class(index),
                shape: index,
                runs: &result.runs,
                mean,
                is_at_least: result.is_at_least,
                result_noun: yields,
            });
        }
    }
    if let Some((limit, mean)) = summary.limit.as_ref().and_then(|l| Some((l, l.mean?))) {
        rows.push(ServerRunsRow {
            name: "limit",
            class: plot::LIMIT_CLASS.to_owned(),
            shape: 0,
            runs: &limit.runs,
            mean,
            is_at_least: limit.is_at_least,
            result_noun: yields,
        });
    }
    rows
}

/// Returns true if `summary` has no runs to draw.
pub(super) fn is_empty(summary: &RunSummary) -> bool {
    rows(summary).is_empty()
}

/// Formats the interval of a mean of runs: `39,900 to 42,800`, or that there is no interval.
pub(super) fn range(mean: &MeanInterval) -> String {
    if mean.has_interval() {
        format!("{} to {}", format::rate(mean.low), format::rate(mean.high))
    } else {
        "too few runs for an interval".to_owned()
    }
}

/// Formats `mean of 7 of 9 runs`: the number of runs in the mean, and of runs in the plan.
pub(super) fn share(mean: &MeanInterval, planned: u32) -> String {
    let what = if mean.has_interval() { "mean" } else { "lower median" };
    format!("{what} of {} of {planned} runs", mean.averaged_count())
}

/// Draws the chart of runs in both sizes, wide and narrow, with the values below it.
pub(super) fn chart(summary: &RunSummary) -> Markup {
    let rows = rows(summary);
    html! {
        @for size in ChartWidth::ALL { (drawing(size, &rows)) }
        div class="scroll" { (values(summary, &rows)) }
    }
}

fn drawing(size: ChartWidth, rows: &[ServerRunsRow<'_>]) -> Markup {
    let (width, left, right, row_height, top) = match size {
        ChartWidth::Wide => (960.0, 150.0, 205.0, 78.0, 8.0),
        ChartWidth::Narrow => (380.0, 14.0, 20.0, 122.0, 16.0),
    };
    let of_means = || {
        rows.iter().flat_map(|row| {
            let counted_runs = row.runs.iter().filter(|run| run.dropped.is_none());
            let rates = counted_runs.filter_map(|run| run.counts_as).filter(|rate| *rate > 0.0);
            rates.chain([row.mean.low, row.mean.high]).map(|rate| row.percent(rate))
        })
    };
    let low = of_means().fold(100.0 - LEAST_REACH, f64::min);
    let high = of_means().fold(100.0 + LEAST_REACH, f64::max);
    let margin = (high - low) * MARGIN;
    let frame = PlotArea {
        width,
        height: top + rows.len() as f64 * row_height + 44.0,
        left,
        right,
        top,
        bottom: 44.0,
        x: AxisScale::between((low - margin).max(0.0), high + margin, TICKS),
        y: AxisScale::Linear { max: 1.0 },
    };
    let content = html! {
        (frame.axes(
            &Axis { title: "percent of the server's figure", ticks: TICKS, format: |v| format!("{} %", format::trimmed(v, 1)) },
            &Axis { title: "", ticks: 0, format: |_| String::new() },
        ))
        @for (index, row) in rows.iter().enumerate() {
            (strip(&frame, size, row, top + index as f64 * row_height, row_height))
        }
    };
    frame.svg(size.name(), "Every run as a share of its server's mean", "xy", &content)
}

/// Draws the row of one server's runs: the 95 % interval as a band with the mean in it, the runs
/// from top to bottom.
fn strip(
    frame: &PlotArea,
    size: ChartWidth,
    row: &ServerRunsRow<'_>,
    top: f64,
    height: f64,
) -> Markup {
    let c = format::coordinate;
    let words = if size == ChartWidth::Wide { 0.0 } else { 44.0 };
    let (first, last) = (top + words + 10.0, top + height - 10.0);
    let count = row.runs.iter().map(|run| run.run + 1).max().unwrap_or(1);
    let step = (last - first) / f64::from(count.max(2) - 1);
    let at_y = |run: &RunFigure| first + f64::from(run.run) * step;
    let (from, to) =
        (frame.at_x(row.percent(row.mean.low)), frame.at_x(row.percent(row.mean.high)));
    let figure = format!("{} {}/s", row.figure(), row.result_noun);
    html! {
        rect class={ "band " (row.class) } x=(c(from)) y=(c(first - 6.0))
            width=(c((to - from).max(1.0))) height=(c(last - first + 12.0)) {}
        line class={ "whisker " (row.class) } x1=(c(frame.at_x(100.0))) y1=(c(first - 6.0))
            x2=(c(frame.at_x(100.0))) y2=(c(last + 6.0)) {}
        @match size {
            ChartWidth::Wide => {
                @let middle = top + height / 2.0;
                text class="row-name" x="0" y=(c(middle)) dy="0.32em" { (row.name) }
                text class="row-figure" x=(c(frame.end() + 12.0)) y=(c(middle - 9.0)) dy="0.32em" {
                    (figure)
                }
                text class="row-figure dim" x=(c(frame.end() + 12.0)) y=(c(middle + 9.0))
                    dy="0.32em" { (range(&row.mean)) }
            }
            ChartWidth::Narrow => {
                text class="row-name" x="0" y=(c(top + 14.0)) dy="0.32em" { (row.name) }
                text class="row-figure" x="0" y=(c(top + 30.0)) dy="0.32em" {
                    (figure) "  (" (range(&row.mean)) ")"
                }
            }
        }
        @for run in row.runs.iter().filter(|run| !run.is_void()) {
            (dot(frame, row, run, at_y(run)))
        }
    }
}

fn dot(frame: &PlotArea, row: &ServerRunsRow<'_>, run: &RunFigure, y: f64) -> Markup {
    let c = format::coordinate;
    let rate = run.counts_as.unwrap_or(0.0);
    let x = frame.at_x(row.percent(rate));
    let off = match frame.x.range() {
        // Next to the line for "at least".
        (low, _) if row.percent(rate) < low && run.state == RunState::AtLeast => {
            Some(("start", 19.0))
        }
        (low, _) if row.percent(rate) < low => Some(("start", 9.0)),
        (_, high) if row.percent(rate) > high => Some(("end", -9.0)),
        _ => None,
    };
    let class = match run.dropped {
        Some(_) => format!("{} beyond", row.class),
        None => row.class.clone(),
    };
    let mark = ChartMark {
        class: &class,
        shape: row.shape,
        at: (x, y),
        data: &[
            ("server", row.name.to_owned()),
            ("run", (run.run + 1).to_string()),
            (row.result_noun, format::trimmed(rate, 1)),
            ("dropped", run.dropped.map_or("no", |as_| as_.name()).to_owned()),
        ],
        title: format!(
            "{}, run {}\n{} {}/s, {} × the mean\n{}{}",
            row.name,
            run.run + 1,
            format::whole(rate),
            row.result_noun,
            format::trimmed(row.percent(rate) / 100.0, 3),
            run.state.words(),
            run.dropped.map(|as_| format!("\ndropped as the {}", as_.name())).unwrap_or_default(),
        ),
    };
    html! {
        @if run.state == RunState::AtLeast {
            line class={ "whisker " (row.class) } x1=(c(x)) y1=(c(y)) x2=(c(x + 14.0)) y2=(c(y)) {}
        }
        (mark.draw())
        @if let Some((anchor, away)) = off {
            text class="tick" x=(c(x + away)) y=(c(y)) dy="0.32em" text-anchor=(anchor) {
                "run " (run.run + 1) ": " (format::rate(rate))
            }
        }
    }
}

/// Draws the values of all runs, a line per server.
fn values(summary: &RunSummary, rows: &[ServerRunsRow<'_>]) -> Markup {
    let planned = summary.plan.runs.count;
    html! {
        table class="runs" {
            thead {
                tr {
                    th { (summary.plan.protocol.result_noun()) "/s" }
                    @for run in 1..=planned { th.n { (run) } }
                    th.n { "mean" }
                    th.n { "95 % interval" }
                }
            }
            tbody {
                @for row in rows {
                    tr {
                        td { (row.name) }
                        @for number in 0..planned {
                            (value(row.runs.iter().find(|run| run.run == number)))
                        }
                        td.n { b { (row.figure()) } }
                        td.n { (range(&row.mean)) }
                    }
                }
            }
        }
    }
}

fn value(run: Option<&RunFigure>) -> Markup {
    let Some(run) = run else { return html! { td.n.dim { "–" } } };
    let rate = |rate: Option<f64>| rate.map_or_else(|| "0".to_owned(), format::whole);
    html! {
        @match (run.is_void(), run.dropped) {
            (true, _) => { td.n.attention { "void" } }
            (false, Some(dropped)) => {
                td.n.dropped title={ "dropped as the " (dropped.name()) } {
                    "(" (rate(run.counts_as)) ")"
                }
            }
            (false, None) => {
                td.n class=[(run.state != RunState::Confirmed).then_some("attention")] {
                    @if run.state == RunState::AtLeast { "≥ " }
                    (rate(run.counts_as))
                }
            }
        }
    }
}

/// Draws the table of every run with its result.
pub(super) fn table(summary: &RunSummary) -> Markup {
    let optional = |rate: Option<f64>| rate.map(format::whole).unwrap_or_default();
    html! {
        table {
            thead {
                tr {
                    th { "server" }
                    th.n { "run" }
                    th.n { "offered/s" }
                    th.n { (summary.plan.protocol.result_noun()) "/s" }
                    th.n { "counts as" }
                    th.n { "per CPU-second" }
                    th { "dropped as" }
                    th { "how it went" }
                }
            }
            tbody {
                @for row in rows(summary) {
                    @for run in row.runs {
                        tr class=[run.is_void().then_some("void")] {
                            td { (row.name) }
                            td.n { (run.run + 1) }
                            td.n { @if run.offered_per_s > 0.0 { (format::whole(run.offered_per_s)) } }
                            td.n { (optional(run.leases_per_s)) }
                            td.n { @if run.is_void() { "void" } @else { (optional(run.counts_as)) } }
                            td.n { (optional(run.leases_per_cpu_s)) }
                            td { @if let Some(dropped) = run.dropped { (dropped.name()) } }
                            td { (run.state.words()) }
                        }
                    }
                }
            }
        }
    }
}
