//! Chart of ratios between servers with their intervals, around the line where two are equal.

use maud::{Markup, html};

use crate::format;
use crate::plot::{self, Axis, ChartMark, ChartWidth, PlotArea};
use crate::scale::AxisScale;
use crate::tables::ColumnHeading::{Number, Text};
use crate::tables::column_heads;
use measure::statistics::{NoiseFloor, RatioInterval};
use measure::summary::{Ratio, RunSummary};

/// Row of one ratio in the chart of ratios.
pub(super) struct RatioRow {
    /// Name of the ratio, e.g. `godwit ÷ kea`.
    pub(super) name: String,
    /// Quantity that the ratio compares.
    pub(super) what: String,
    /// Name of the server in the numerator.
    pub(super) server: String,
    /// Name of the server in the denominator.
    pub(super) to: String,
    pub(super) interval: RatioInterval,
    /// Bound of the ratio: `at least `, `at most ` or empty.
    pub(super) bound: &'static str,
    pub(super) class: String,
}

fn rows(summary: &RunSummary) -> Vec<RatioRow> {
    let mut rows = Vec::new();
    for ratio in &summary.ratios {
        let position = summary.results.iter().position(|result| result.server == ratio.server);
        let class = plot::series_class(position.unwrap_or(0));
        let yields = summary.plan.protocol.result_noun();
        for (what, interval) in [
            (format!("{yields}/s"), ratio.leases_per_s),
            (format!("{yields} per CPU-second"), ratio.leases_per_cpu_s),
        ] {
            if let Some(interval) = interval {
                rows.push(RatioRow {
                    name: format!("{} ÷ {}", ratio.server, ratio.to),
                    what,
                    server: ratio.server.clone(),
                    to: ratio.to.clone(),
                    interval,
                    bound: bound(ratio.is_at_least, ratio.is_at_most),
                    class: class.clone(),
                });
            }
        }
    }
    // The main ratios of the run come first.
    let is_planned = |name: &String| summary.plan.servers.contains(name);
    rows.sort_by_key(|row| {
        let is_main = summary.plan.is_main_pair(&row.server, &row.to);
        !(is_main || is_planned(&row.server) && is_planned(&row.to))
    });
    rows
}

/// Returns the words before a ratio that is open on one side; empty when it is open on both or
/// none.
pub(super) const fn bound(is_at_least: bool, is_at_most: bool) -> &'static str {
    match (is_at_least, is_at_most) {
        (true, false) => "at least ",
        (false, true) => "at most ",
        _ => "",
    }
}

/// Returns true if `summary` has no ratios to draw.
pub(super) fn is_empty(summary: &RunSummary) -> bool {
    rows(summary).is_empty()
}

/// Formats a ratio: `12.6×`, with the words "at least" or "at most" where one side is open.
pub(super) fn times(ratio: &Ratio, interval: &RatioInterval) -> String {
    times_bound(bound(ratio.is_at_least, ratio.is_at_most), interval)
}

pub(super) fn times_bound(bound: &str, interval: &RatioInterval) -> String {
    format!("{bound}{}×", format::ratio_within(interval.ratio, interval.ends()))
}

/// Formats the interval of a ratio: `11.9 to 13.4`, or that there is none.
pub(super) fn range(interval: &RatioInterval) -> String {
    match interval.ends() {
        Some((low, high)) => format::ratio_ends(interval.ratio, low, high),
        None => "one round: no interval".to_owned(),
    }
}

/// Draws the chart of the run's ratios in both sizes, wide and narrow.
pub(super) fn chart(summary: &RunSummary) -> Markup {
    rows_chart(&rows(summary), summary.noise)
}

/// Draws a chart of the ratios `rows` around the band that `noise` leaves open.
pub(super) fn rows_chart(rows: &[RatioRow], noise: Option<NoiseFloor>) -> Markup {
    html! {
        @for size in ChartWidth::ALL { (drawing(size, rows, noise)) }
    }
}

/// Largest width of a character of a row's figure, in the drawing's units.
const FIGURE_CHARACTER: f64 = 7.2;
/// Width of the narrow drawing of a chart of ratios, in the drawing's units.
const NARROW: f64 = 380.0;

/// Layout of the words of all rows in a chart of ratios.
#[derive(Clone, Copy)]
struct RatioRowLayout {
    size: ChartWidth,
    /// True if the name of a row has no room next to its quantity, or on one line.
    is_long: bool,
    left: f64,
    right: f64,
}

impl RatioRowLayout {
    fn new(size: ChartWidth, rows: &[RatioRow]) -> Self {
        let widest = |of: &dyn Fn(&RatioRow) -> f64| rows.iter().map(of).fold(0.0, f64::max);
        let name = widest(&|row| plot::name_width(&row.name));
        match size {
            ChartWidth::Wide => {
                let what = widest(&|row| plot::name_width(&row.what));
                let figure = widest(&|row| figure(row).chars().count() as f64 * FIGURE_CHARACTER);
                let is_long = name + what + 8.0 > 330.0;
                let left = if is_long { f64::clamp(name + 8.0, 330.0, 540.0) } else { 330.0 };
                Self { size, is_long, left, right: f64::max(figure + 12.0, 250.0) }
            }
            ChartWidth::Narrow => Self { size, is_long: name > NARROW, left: 14.0, right: 20.0 },
        }
    }

    const fn row_height(self) -> f64 {
        match (self.size, self.is_long) {
            (ChartWidth::Wide, false) => 34.0,
            (ChartWidth::Wide, true) => 42.0,
            (ChartWidth::Narrow, false) => 78.0,
            (ChartWidth::Narrow, true) => 94.0,
        }
    }

    /// Returns the distance of a row's interval below the middle of the row, in the drawing's
    /// units: in a narrow chart the words are above the interval.
    const fn lift(self) -> f64 {
        match (self.size, self.is_long) {
            (ChartWidth::Wide, _) => 0.0,
            (ChartWidth::Narrow, false) => 20.0,
            (ChartWidth::Narrow, true) => 28.0,
        }
    }
}

/// Formats the figure of a row of ratios: `12.6×  (11.9 to 13.4)`.
fn figure(row: &RatioRow) -> String {
    format!("{}  ({})", times_bound(row.bound, &row.interval), range(&row.interval))
}

fn drawing(size: ChartWidth, rows: &[RatioRow], noise: Option<NoiseFloor>) -> Markup {
    let setting = RatioRowLayout::new(size, rows);
    let (row_height, RatioRowLayout { left, right, .. }) = (setting.row_height(), setting);
    let (width, top) = match size {
        ChartWidth::Wide => (960.0, 12.0),
        ChartWidth::Narrow => (NARROW, 26.0),
    };
    // Wide intervals of few pairs would squeeze the rest: they are cut at the end of the axis
    // instead.
    let reach = |interval: &RatioInterval| {
        let most = interval.ratio.max(1.0 / interval.ratio).powf(1.6).max(2.0);
        (interval.low.max(interval.ratio / most), interval.high.min(interval.ratio * most))
    };
    let low = rows.iter().map(|row| reach(&row.interval).0).fold(1.0, f64::min);
    let high = rows.iter().map(|row| reach(&row.interval).1).fold(1.0, f64::max);
    let frame = PlotArea {
        width,
        height: top + rows.len() as f64 * row_height + 44.0,
        left,
        right,
        top,
        bottom: 44.0,
        x: AxisScale::log(low * 0.95, high * 1.05),
        y: AxisScale::Linear { max: 1.0 },
    };
    let at = |index: usize| frame.top + (index as f64 + 0.5) * row_height + setting.lift();
    let content = html! {
        @for index in 0..rows.len() {
            (equal(&frame, noise, at(index), if size == ChartWidth::Wide { row_height / 2.0 } else { 9.0 }))
        }
        (frame.axes(
            &Axis { title: "times as many", ticks: 6, format: |v| format!("{}×", format::trimmed(v, 3)) },
            &Axis { title: "", ticks: 0, format: |_| String::new() },
        ))
        @for (index, row) in rows.iter().enumerate() { (line(&frame, setting, row, at(index))) }
    };
    frame.svg(size.name(), "Ratios between servers with 95 % intervals", "xy", &content)
}

/// Draws the line of equal servers and the band of noise around it, `reach` above and below a row.
fn equal(frame: &PlotArea, noise: Option<NoiseFloor>, y: f64, reach: f64) -> Markup {
    let c = format::coordinate;
    let (top, bottom) = (c(y - reach), c(y + reach));
    html! {
        @if let Some(noise) = noise {
            @let factor = 1.0 + noise.typical_percent / 100.0;
            @let (from, to) = (frame.at_x(1.0 / factor), frame.at_x(factor));
            rect class="noise" x=(c(from)) y=(top) width=(c((to - from).max(1.0)))
                height=(c(2.0 * reach)) {}
        }
        line class="equal" x1=(c(frame.at_x(1.0))) y1=(top) x2=(c(frame.at_x(1.0)))
            y2=(bottom) {}
    }
}

/// Draws the words of a row of ratios whose interval is at `y`.
fn words(frame: &PlotArea, setting: RatioRowLayout, row: &RatioRow, y: f64) -> Markup {
    let c = format::coordinate;
    let RatioRow { name, what, server, to, .. } = row;
    html! {
        @match (setting.size, setting.is_long) {
            (ChartWidth::Wide, false) => {
                text class="row-name" x="0" y=(c(y)) dy="0.32em" {
                    (name) tspan class="dim" dx="8" { (what) }
                }
            }
            (ChartWidth::Wide, true) => {
                text class="row-name" x="0" y=(c(y - 9.0)) dy="0.32em" { (name) }
                text class="row-name dim" x="0" y=(c(y + 9.0)) dy="0.32em" { (what) }
            }
            (ChartWidth::Narrow, is_long) => {
                @if is_long {
                    text class="row-name" x="0" y=(c(y - 64.0)) dy="0.32em" { (server) " ÷" }
                    text class="row-name" x="0" y=(c(y - 48.0)) dy="0.32em" { (to) }
                } @else {
                    text class="row-name" x="0" y=(c(y - 48.0)) dy="0.32em" { (name) }
                }
                text class="row-name dim" x="0" y=(c(y - 32.0)) dy="0.32em" { (what) }
            }
        }
        @let (x, y) = match setting.size {
            ChartWidth::Wide => (c(frame.end() + 12.0), c(y)),
            ChartWidth::Narrow => (c(0.0), c(y - 16.0)),
        };
        text class="row-figure" x=(x) y=(y) dy="0.32em" { (figure(row)) }
    }
}

fn line(frame: &PlotArea, setting: RatioRowLayout, row: &RatioRow, y: f64) -> Markup {
    let c = format::coordinate;
    let RatioRow { name, what, interval, class, bound, .. } = row;
    let (from, to) = (frame.at_x(interval.low), frame.at_x(interval.high));
    let mark = ChartMark {
        class,
        shape: 0,
        at: (frame.at_x(interval.ratio), y),
        data: &[
            ("server", row.server.clone()),
            ("to", row.to.clone()),
            ("ratio", format::trimmed(interval.ratio, 4)),
            ("low", format::trimmed(interval.low, 4)),
            ("high", format::trimmed(interval.high, 4)),
        ],
        title: format!(
            "{name}, {what}\n{}\n95 % interval {}\npairs {}",
            times_bound(bound, interval),
            range(interval),
            interval.pairs
        ),
    };
    html! {
        (words(frame, setting, row, y))
        line class={ "whisker " (class) } x1=(c(from)) y1=(c(y)) x2=(c(to)) y2=(c(y)) {}
        @for (end, is_open) in [
            (from, frame.at_x(interval.low * 1.001) <= frame.left),
            (to, frame.at_x(interval.high * 0.999) >= frame.end()),
        ] {
            @if !is_open {
                line class={ "whisker " (class) } x1=(c(end)) y1=(c(y - 5.0)) x2=(c(end))
                    y2=(c(y + 5.0)) {}
            }
        }
        (mark.draw())
    }
}

/// Draws the table of the run's ratios.
pub(super) fn table(summary: &RunSummary) -> Markup {
    rows_table(&rows(summary))
}

/// Draws the table of the ratios `rows`.
pub(super) fn rows_table(rows: &[RatioRow]) -> Markup {
    html! {
        table {
            (column_heads(&[
                Text("ratio"), Text("of"), Number("value"), Number("95 % interval"),
                Number("pairs"),
            ]))
            tbody {
                @for row in rows {
                    tr {
                        td { (row.name) }
                        td { (row.what) }
                        td.n { (times_bound(row.bound, &row.interval)) }
                        td.n { (range(&row.interval)) }
                        td.n { (row.interval.pairs) }
                    }
                }
            }
        }
    }
}
