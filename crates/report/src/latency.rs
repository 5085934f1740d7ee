//! Charts of latency percentiles against load: one panel per server, all with the same vertical
//! axis.

use maud::{Markup, html};

use crate::format;
use crate::load_curve::{self, LoadCurveLine, lines};
use crate::plot::{self, Axis, ChartMark, LIMIT_CLASS, Label, PlotArea};
use crate::scale::AxisScale;
use measure::plan::MeasuredProtocol;
use measure::record::LatencySummary;
use measure::summary::{CurvePoint, RunSummary};

/// Multiple of a server's highest rate up to which the chart of latencies has loads; higher loads
/// are only in the table.
const DRAWN_UP_TO: f64 = 1.35;

/// Percentile of latencies in a chart: its name, the style class of its dashed line, the function
/// that reads it.
type Percentile = (&'static str, &'static str, fn(&LatencySummary) -> Option<f64>);

/// Width of the longest name of a latency percentile, in the drawing's units.
const NAME_WIDTH: f64 = 40.0;

const PERCENTILES: [Percentile; 3] = [
    ("p50", "p50", |latency| latency.p50_us),
    ("p99", "p99", |latency| latency.p99_us),
    ("p99.9", "p999", |latency| latency.p999_us),
];

fn drawn<'s>(line: &LoadCurveLine<'s>) -> Vec<&'s CurvePoint> {
    let most = line.highest_per_s.map_or(f64::INFINITY, |rate| rate * DRAWN_UP_TO);
    let all = line.points.iter().copied();
    all.filter(|point| point.offered_per_s <= most && point.latency.p50_us.is_some()).collect()
}

/// Draws the chart of latencies, one panel per server; those of the limit responder (a program that
/// returns every datagram) are only in the table.
pub(super) fn chart(summary: &RunSummary) -> Markup {
    let mut lines = lines(summary);
    lines.retain(|line| line.class != LIMIT_CLASS);
    let all = || lines.iter().flat_map(drawn).map(|point| &point.latency);
    let y = AxisScale::log(
        all().filter_map(|latency| latency.p50_us).fold(f64::INFINITY, f64::min),
        PERCENTILES.iter().flat_map(|(.., read)| all().filter_map(read)).fold(0.0, f64::max),
    );
    html! {
        div class="panels" {
            @for line in &lines { (panel(line, y, summary.plan.protocol)) }
        }
    }
}

fn panel(line: &LoadCurveLine<'_>, y: AxisScale, protocol: MeasuredProtocol) -> Markup {
    let points = drawn(line);
    let most = points.iter().map(|point| point.offered_per_s).fold(0.0, f64::max);
    let frame = PlotArea {
        width: 340.0,
        height: 290.0,
        left: 52.0,
        right: 44.0,
        top: 34.0,
        bottom: 44.0,
        x: AxisScale::linear(most, 4),
        y,
    };
    let content = html! {
        (highest(&frame, line))
        (frame.axes(
            &Axis { title: load_curve::offered_title(protocol), ticks: 4, format: format::axis_rate },
            &Axis { title: "latency from due time", ticks: 6, format: format::axis_us },
        ))
        @for (_, class, read) in PERCENTILES {
            (plot::line(&format!("{} {class}", line.class), &plot_points(&frame, &points, read)))
        }
        @for (shape, (name, _, read)) in PERCENTILES.into_iter().enumerate() {
            @let with_latency = points.iter().filter_map(|point| Some((point, read(&point.latency)?)));
            @for (point, us) in with_latency {
                (mark(&frame, line, point, shape, name, us))
            }
        }
        (names(&frame, line, &points))
    };
    html! {
        div class="panel" {
            h3 class=(line.class) { (line.name) }
            (frame.svg("panel-plot", &format!("Latency of {} against load", line.name), "xy", &content))
        }
    }
}

fn plot_points(
    frame: &PlotArea,
    points: &[&CurvePoint],
    read: fn(&LatencySummary) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let position = |point: &&CurvePoint| {
        Some((frame.at_x(point.offered_per_s), frame.at_y(read(&point.latency)?)))
    };
    points.iter().filter_map(position).collect()
}

/// Draws the position of a server's highest confirmed rate in the chart of latencies; at rates to
/// the right of it the server misses more exchanges than the plan's criterion allows.
fn highest(frame: &PlotArea, line: &LoadCurveLine<'_>) -> Markup {
    let Some(rate) = line.highest_per_s else { return html! {} };
    let x = frame.at_x(rate);
    html! {
        rect class="loss" x=(format::coordinate(x)) y=(format::coordinate(frame.top))
            width=(format::coordinate(frame.end() - x))
            height=(format::coordinate(frame.floor() - frame.top)) {}
        line class={ "level " (line.class) } x1=(format::coordinate(x))
            y1=(format::coordinate(frame.top)) x2=(format::coordinate(x))
            y2=(format::coordinate(frame.floor())) {}
    }
}

fn mark(
    frame: &PlotArea,
    line: &LoadCurveLine<'_>,
    point: &CurvePoint,
    shape: usize,
    name: &str,
    us: f64,
) -> Markup {
    ChartMark {
        class: &format!("small {}", line.class),
        shape,
        at: (frame.at_x(point.offered_per_s), frame.at_y(us)),
        data: &[
            ("server", line.name.to_owned()),
            ("offered", format::trimmed(point.offered_per_s, 1)),
            ("percentile", name.to_owned()),
            ("us", format::trimmed(us, 1)),
        ],
        title: format!(
            "{} at {}/s\n{name} {}\nmissed {}",
            line.name,
            format::whole(point.offered_per_s),
            format::duration_us(us),
            format::percent(point.loss),
        ),
    }
    .draw()
}

fn names(frame: &PlotArea, line: &LoadCurveLine<'_>, points: &[&CurvePoint]) -> Markup {
    let labels = PERCENTILES
        .into_iter()
        .filter_map(|(name, _, read)| {
            let &(x, y) = plot_points(frame, points, read).last()?;
            let at = ((x + 8.0).min(frame.width - NAME_WIDTH), y);
            Some(Label { class: line.class.clone(), text: name.to_owned(), at })
        })
        .collect();
    plot::labels(labels, 14.0, frame.top, frame.floor() - 4.0)
}
