//! Chart of the load curve: offered against achieved rates, one line per server.

use maud::{Markup, html};

use crate::format;
use crate::plot::{self, Axis, ChartMark, ChartWidth, LIMIT_CLASS, Label, PlotArea};
use crate::scale::AxisScale;
use crate::tables::ColumnHeading::{Number, Text};
use crate::tables::column_heads;
use measure::plan::{MeasuredProtocol, Plan};
use measure::summary::{CurvePoint, RunSummary};

/// Multiple of a server's highest rate up to which the load curve has points; higher ones are only
/// in the table.
const DRAWN_UP_TO: f64 = 2.2;
/// Ratio of the servers' rates from which the axes of the load curve are logarithmic.
const LOGARITHMIC_FROM: f64 = 4.0;

/// Line of one server in the chart of the load curve.
pub(super) struct LoadCurveLine<'s> {
    pub(super) name: &'s str,
    pub(super) class: String,
    pub(super) shape: usize,
    pub(super) highest_per_s: Option<f64>,
    pub(super) points: Vec<&'s CurvePoint>,
}

/// Returns the title of an axis with offered rates of `protocol`.
pub(super) const fn offered_title(protocol: MeasuredProtocol) -> &'static str {
    if protocol.is_dhcp() { "offered, exchanges/s" } else { "offered, queries/s" }
}

/// Returns the title of an axis with achieved rates of `protocol`.
pub(super) const fn achieved_title(protocol: MeasuredProtocol) -> &'static str {
    if protocol.is_dhcp() { "achieved, leases/s" } else { "achieved, answers/s" }
}

/// Returns the lines of the load curve for all servers; the last is that of the limit responder, a
/// program that returns every datagram.
pub(super) fn lines(summary: &RunSummary) -> Vec<LoadCurveLine<'_>> {
    let drawn = |points: &'_ [CurvePoint], highest: Option<f64>| -> Vec<usize> {
        let most = highest.map_or(f64::INFINITY, |rate| rate * DRAWN_UP_TO);
        (0..points.len()).filter(|&at| points[at].offered_per_s <= most).collect()
    };
    let mut lines: Vec<LoadCurveLine<'_>> = summary
        .results
        .iter()
        .enumerate()
        .map(|(index, result)| LoadCurveLine {
            name: &result.server,
            class: plot::series_class(index),
            shape: index,
            highest_per_s: result.leases_per_s,
            points: drawn(&result.curve, result.leases_per_s)
                .into_iter()
                .map(|at| &result.curve[at])
                .collect(),
        })
        .collect();
    if let Some(limit) = &summary.limit {
        lines.push(LoadCurveLine {
            name: "limit",
            class: LIMIT_CLASS.to_owned(),
            shape: plot::SERIES - 1,
            highest_per_s: Some(limit.leases_per_s),
            points: drawn(&limit.curve, Some(limit.leases_per_s))
                .into_iter()
                .map(|at| &limit.curve[at])
                .collect(),
        });
    }
    lines.retain(|line| !line.points.is_empty());
    lines
}

/// Returns the scale of both axes of the load curve. Both have the same, so that the diagonal means
/// "all on time".
fn scale(lines: &[LoadCurveLine<'_>], ticks: usize) -> AxisScale {
    let offered = || lines.iter().flat_map(|line| &line.points).map(|point| point.offered_per_s);
    let highest = || lines.iter().filter_map(|line| line.highest_per_s);
    let (low, high) = (highest().fold(f64::MAX, f64::min), highest().fold(0.0, f64::max));
    let most = offered().fold(0.0, f64::max);
    if low < f64::MAX && high / low >= LOGARITHMIC_FROM {
        AxisScale::log((low / 8.0).max(offered().fold(f64::MAX, f64::min)), most)
    } else {
        AxisScale::linear(most, ticks)
    }
}

fn frame(size: ChartWidth, lines: &[LoadCurveLine<'_>]) -> PlotArea {
    let (width, height, left, right) = match size {
        ChartWidth::Wide => (960.0, 430.0, 58.0, 118.0),
        ChartWidth::Narrow => (380.0, 340.0, 44.0, 16.0),
    };
    let scale = scale(lines, if size == ChartWidth::Wide { 6 } else { 4 });
    PlotArea { width, height, left, right, top: 34.0, bottom: 44.0, x: scale, y: scale }
}

/// Draws the chart of the load curve in both sizes, wide and narrow.
pub(super) fn chart(summary: &RunSummary) -> Markup {
    let lines = lines(summary);
    html! {
        @for size in ChartWidth::ALL {
            (drawing(&frame(size, &lines), size, &lines, &summary.plan))
        }
    }
}

fn drawing(frame: &PlotArea, size: ChartWidth, lines: &[LoadCurveLine<'_>], plan: &Plan) -> Markup {
    let loss_percent = plan.search.loss_percent;
    let axis = |title| Axis {
        title,
        ticks: if size == ChartWidth::Wide { 9 } else { 4 },
        format: format::axis_rate,
    };
    // On a phone all names are at the left end of their lines or near it.
    let beside = if size == ChartWidth::Narrow { names(frame, size, lines) } else { Vec::new() };
    let figures = highest(frame, size, lines).into_iter().chain(beside).collect();
    let content = html! {
        (loss_region(frame, loss_percent))
        (frame.axes(&axis(offered_title(plan.protocol)), &axis(achieved_title(plan.protocol))))
        (levels(frame, lines))
        (plot::labels(figures, 15.0, frame.top - 8.0, frame.floor() - REGION))
        @for line in lines {
            (plot::line(&line.class, &plot_points(frame, line)))
        }
        @for line in lines {
            @for point in &line.points { (mark(frame, line, point, loss_percent)) }
        }
        @if size == ChartWidth::Wide {
            (plot::labels(names(frame, size, lines), 15.0, 8.0, frame.floor() - REGION))
        }
    };
    frame.svg(size.name(), "Load curve: offered against achieved rate", "xy", &content)
}

fn plot_points(frame: &PlotArea, line: &LoadCurveLine<'_>) -> Vec<(f64, f64)> {
    let position =
        |point: &&CurvePoint| (frame.at_x(point.offered_per_s), frame.at_y(point.achieved_per_s));
    line.points.iter().map(position).collect()
}

/// Height above the chart's lower edge that labels of lines leave free for the name of the region
/// below the diagonal, in the drawing's units.
const REGION: f64 = 32.0;

/// Draws the area in which more exchanges are missed than the plan's criterion allows, below the
/// diagonal.
fn loss_region(frame: &PlotArea, loss_percent: f64) -> Markup {
    let keep = 1.0 - loss_percent / 100.0;
    let (low, high) = frame.x.range();
    // The border is straight on either kind of axis.
    let steps = 24;
    let mut border: Vec<(f64, f64)> = (0..=steps)
        .map(|step| {
            let share = f64::from(step) / f64::from(steps);
            let value = match frame.x {
                AxisScale::Linear { .. } | AxisScale::Between { .. } => low + (high - low) * share,
                AxisScale::Log { .. } => low * (high / low).powf(share),
            };
            (frame.at_x(value), frame.at_y(value * keep))
        })
        .collect();
    let diagonal = [(frame.at_x(low), frame.at_y(low)), (frame.at_x(high), frame.at_y(high))];
    border.push((frame.end(), frame.floor()));
    border.push((frame.left, frame.floor()));
    let words = format!("more than {} % missed", format::trimmed(loss_percent, 2));
    html! {
        path class="loss" d={ (plot::path(&border)) "Z" } {}
        path class="diagonal" d=(plot::path(&diagonal)) {}
        text class="region" x=(format::coordinate(frame.end() - 10.0))
            y=(format::coordinate(frame.floor() - 12.0)) text-anchor="end" { (words) }
    }
}

/// Draws level lines at the servers' highest confirmed rates in the chart of the load curve.
fn levels(frame: &PlotArea, lines: &[LoadCurveLine<'_>]) -> Markup {
    html! {
        @for (line, rate) in lines.iter().filter_map(|line| Some((line, line.highest_per_s?))) {
            @let y = format::coordinate(frame.at_y(rate));
            line class={ "level " (line.class) } x1=(format::coordinate(frame.left)) y1=(y)
                x2=(format::coordinate(frame.at_x(rate))) y2=(y) {}
        }
    }
}

/// Returns the labels with the figures of the level lines at highest rates; in a narrow chart also
/// with the servers' names, which have no room next to the lines.
fn highest(frame: &PlotArea, size: ChartWidth, lines: &[LoadCurveLine<'_>]) -> Vec<Label> {
    let text = |line: &LoadCurveLine<'_>, rate| match size {
        ChartWidth::Wide => format!("{}/s", format::rate(rate)),
        ChartWidth::Narrow => format!("{} {}/s", line.name, format::rate(rate)),
    };
    let rates = lines.iter().filter_map(|line| Some((line, line.highest_per_s?)));
    rates
        .map(|(line, rate)| Label {
            class: line.class.clone(),
            text: text(line, rate),
            at: (frame.left + 6.0, frame.at_y(rate) - 8.0),
        })
        .collect()
}

fn mark(
    frame: &PlotArea,
    line: &LoadCurveLine<'_>,
    point: &CurvePoint,
    loss_percent: f64,
) -> Markup {
    let is_within = point.loss * 100.0 <= loss_percent;
    let class = format!("{}{}", line.class, if is_within { "" } else { " beyond" });
    let trials = if point.trials == 1 { "trial" } else { "trials" };
    let title = format!(
        "{}\noffered {}/s\nachieved {}/s\nmissed {}, {} of it queued too long\np99 {}\n{} {trials}",
        line.name,
        format::whole(point.offered_per_s),
        format::whole(point.achieved_per_s),
        format::percent(point.loss),
        format::percent(point.behind),
        format::percentile_us(point.latency.p99_us),
        point.trials,
    );
    ChartMark {
        class: &class,
        shape: line.shape,
        at: (frame.at_x(point.offered_per_s), frame.at_y(point.achieved_per_s)),
        data: &[
            ("server", line.name.to_owned()),
            ("offered", format::trimmed(point.offered_per_s, 1)),
            ("achieved", format::trimmed(point.achieved_per_s, 1)),
            ("loss", format::trimmed(point.loss, 5)),
        ],
        title,
    }
    .draw()
}

/// Returns the labels with every line's name next to its last point; in a narrow chart only the
/// names of lines without a level line.
fn names(frame: &PlotArea, size: ChartWidth, lines: &[LoadCurveLine<'_>]) -> Vec<Label> {
    lines
        .iter()
        .filter(|line| size == ChartWidth::Wide || line.highest_per_s.is_none())
        .filter_map(|line| {
            let &(x, y) = plot_points(frame, line).last()?;
            let width = plot::name_width(line.name);
            let at = (f64::min(x + 10.0, frame.width - width), y);
            Some(Label { class: line.class.clone(), text: line.name.to_owned(), at })
        })
        .collect()
}

/// Draws the table of the load curve's figures.
pub(super) fn table(summary: &RunSummary) -> Markup {
    let limit = summary.limit.iter().map(|limit| ("limit", &limit.curve));
    let all = summary.results.iter().map(|result| (result.server.as_str(), &result.curve));
    html! {
        table {
            (column_heads(&[
                Text("server"), Number("offered/s"), Number("achieved/s"), Number("missed"),
                Number("queued too long"), Number("p50"), Number("p99"), Number("p99.9"),
                Number("processors busy"), Number("trials"),
            ]))
            tbody {
                @for (name, curve) in all.chain(limit) {
                    @for point in curve {
                        tr {
                            td { (name) }
                            td.n { (format::whole(point.offered_per_s)) }
                            td.n { (format::whole(point.achieved_per_s)) }
                            td.n { (format::percent(point.loss)) }
                            td.n { (format::percent(point.behind)) }
                            td.n { (format::percentile_us(point.latency.p50_us)) }
                            td.n { (format::percentile_us(point.latency.p99_us)) }
                            td.n { (format::percentile_us(point.latency.p999_us)) }
                            td.n { (format::or_dash(point.server_cpus_busy, |busy| format::trimmed(busy, 2))) }
                            td.n { (point.trials) }
                        }
                    }
                }
            }
        }
    }
}
