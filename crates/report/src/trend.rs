//! Page of the trend of each server of a plan over stored runs: the highest rate with its interval,
//! and leases per processor second, run by run.

use maud::{Markup, html};

use crate::plot::{self, Axis, ChartMark, ChartWidth, PlotArea};
use crate::scale::AxisScale;
use crate::{figure, format, page};
use measure::stored::{StoredFigure, StoredRun, Trend};

/// Share of the range of values that a trend's chart leaves free above and below.
const MARGIN: f64 = 0.12;

/// Returns the title of the browser's window with a trend.
pub(super) fn title(trend: &Trend) -> String {
    format!("{} over time — godwit", trend.plan)
}

/// Draws the body of the page of a trend.
pub(super) fn body(trend: &Trend) -> Markup {
    let count = trend.runs.len();
    html! {
        (page::header(&format!("godwit lab trend · {}", trend.plan), &trend.title, html! {
            (count) @if count == 1 { " run" } @else { " runs" }
            @if let (Some(first), Some(last)) = (trend.runs.first(), trend.runs.last()) {
                ", " (day(first)) " to " (day(last)) " · " (last.machine)
            }
        }))
        main {
            (caveats(trend))
            @for (index, server) in trend.servers().iter().enumerate() {
                @for quantity in [TrendQuantity::Rate, TrendQuantity::PerCpu] {
                    (chart(trend, server, index, quantity))
                }
            }
        }
        footer { p { (trend.schema) } }
    }
}

/// Draws the caveats about the trend, such as runs with another plan or machine than the last.
fn caveats(trend: &Trend) -> Markup {
    let is_other = |run: &&StoredRun| {
        run.servers.iter().any(|figure| !trend.is_like_last(run, &figure.server))
    };
    let others = trend.runs.iter().filter(is_other).count();
    html! {
        section class="notes" {
            ul {
                li {
                    "Runs were not measured in turn: the slope contains changes of the machine "
                    "between them. `godwit lab compare` checks for such changes before it compares "
                    "two runs."
                }
                @if others > 0 {
                    li {
                        (others) " of " (trend.runs.len()) " runs had another plan, machine, profile or variant "
                        "than the last one. Their marks are hollow, and lines break there."
                    }
                }
            }
        }
    }
}

base::named! {
    /// Quantity that a chart of the trend draws.
    enum TrendQuantity {
        Rate = "rate",
        PerCpu = "per-cpu",
    }
}

impl TrendQuantity {
    const fn words(self) -> &'static str {
        match self {
            Self::Rate => "highest rate",
            Self::PerCpu => "per CPU-second",
        }
    }

    /// Returns the value of this quantity in `figure`, and both ends if there is a range.
    fn value_and_range(self, figure: &StoredFigure) -> Option<(f64, Option<(f64, f64)>)> {
        let (value, low, high) = match self {
            Self::Rate => (figure.leases_per_s?, figure.low, figure.high),
            Self::PerCpu => (figure.leases_per_cpu_s?, figure.cpu_low, figure.cpu_high),
        };
        Some((value, low.zip(high)))
    }
}

/// Point of one run in a chart of the trend.
struct TrendPoint<'t> {
    index: usize,
    run: &'t StoredRun,
    figure: &'t StoredFigure,
    value: f64,
    ends: Option<(f64, f64)>,
    /// True if the run may be compared with the last run of the trend.
    is_like_last: bool,
}

impl TrendPoint<'_> {
    /// Returns both ends of the point's range, which are the value itself if there is no range.
    fn reach(&self) -> (f64, f64) {
        self.ends.unwrap_or((self.value, self.value))
    }
}

fn points<'t>(trend: &'t Trend, server: &str, quantity: TrendQuantity) -> Vec<TrendPoint<'t>> {
    let point = |(index, run): (usize, &'t StoredRun)| {
        let figure = run.figure(server)?;
        let (value, ends) = quantity.value_and_range(figure)?;
        let is_like_last = trend.is_like_last(run, server);
        Some(TrendPoint { index, run, figure, value, ends, is_like_last })
    };
    trend.runs.iter().enumerate().filter_map(point).collect()
}

fn chart(trend: &Trend, server: &str, index: usize, quantity: TrendQuantity) -> Markup {
    let points = points(trend, server, quantity);
    let is_rate = quantity == TrendQuantity::Rate;
    html! {
        @if !points.is_empty() {
            (figure(
                &format!("trend-{}-{server}", quantity.name()),
                &format!("{server}: {}", quantity.words()),
                &html! {
                    "Whiskers: " @if is_rate && points.iter().any(|p| !p.figure.is_interval) {
                        "95 % intervals, of runs in rounds the lowest and highest round. "
                    } @else { "95 % intervals, where there are any. " }
                    @if is_rate && points.iter().any(|p| p.run.is_baseline) {
                        "The horizontal line is the baseline. "
                    }
                    "The axis does not begin at 0."
                },
                &html! {},
                &html! {
                    @for size in ChartWidth::ALL { (drawing(trend, &points, index, quantity, size)) }
                },
                &table(trend, &points),
            ))
        }
    }
}

fn drawing(
    trend: &Trend,
    points: &[TrendPoint<'_>],
    series: usize,
    quantity: TrendQuantity,
    size: ChartWidth,
) -> Markup {
    let (width, left, labels) = match size {
        ChartWidth::Wide => (960.0, 58.0, 12),
        ChartWidth::Narrow => (380.0, 50.0, 4),
    };
    let low = points.iter().map(|point| point.reach().0).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.reach().1).fold(0.0, f64::max);
    let reach = ((high - low) * MARGIN).max(high * 0.02).max(1.0);
    let count = trend.runs.len();
    let frame = PlotArea {
        width,
        height: 250.0,
        left,
        right: 16.0,
        top: 34.0,
        bottom: 58.0,
        x: AxisScale::Linear { max: count as f64 },
        y: AxisScale::between((low - reach).max(0.0), high + reach, 4),
    };
    let class = plot::series_class(series);
    let at =
        |point: &TrendPoint<'_>| (frame.at_x(point.index as f64 + 0.5), frame.at_y(point.value));
    // A line ends where plan, machine, profile or variant change.
    let is_joined = |a: &TrendPoint<'_>, b: &TrendPoint<'_>| a.run.is_like(b.run, &a.figure.server);
    let lines = points.chunk_by(is_joined).filter(|points| points.len() > 1);
    let lines = lines.map(|points| points.iter().map(at).collect::<Vec<_>>());
    let baseline = points.iter().find(|p| p.run.is_baseline && quantity == TrendQuantity::Rate);
    let c = format::coordinate;
    let content = html! {
        (frame.axes(
            &Axis { title: "", ticks: 1, format: |_| String::new() },
            &Axis { title: "per second", ticks: 4, format: format::axis_rate },
        ))
        (labels_below(trend, &frame, labels))
        @if let Some(point) = baseline {
            @let y = c(at(point).1);
            line class={ "level " (class) } x1=(c(frame.left)) y1=(y) x2=(c(frame.end())) y2=(y) {}
        }
        @for joined in lines { (plot::line(&class, &joined)) }
        @for point in points { (mark(&frame, point, &class, series, &trend.yields, quantity)) }
    };
    let name = format!("{}, run by run", quantity.words());
    frame.svg(size.name(), &name, "xy", &content)
}

/// Draws the commit and the day of runs below their positions, for at most `most` runs.
fn labels_below(trend: &Trend, frame: &PlotArea, most: usize) -> Markup {
    let every = trend.runs.len().div_ceil(most).max(1);
    let c = format::coordinate;
    html! {
        @for (index, run) in trend.runs.iter().enumerate().rev().step_by(every) {
            @let x = c(frame.at_x(index as f64 + 0.5));
            text class="tick" x=(x) y=(c(frame.floor() + 18.0)) text-anchor="middle" {
                (short(&run.commit))
            }
            text class="tick" x=(x) y=(c(frame.floor() + 34.0)) text-anchor="middle" {
                (day(run).get(5..).unwrap_or_default())
            }
        }
    }
}

fn mark(
    frame: &PlotArea,
    point: &TrendPoint<'_>,
    class: &str,
    shape: usize,
    yields: &str,
    quantity: TrendQuantity,
) -> Markup {
    let c = format::coordinate;
    let x = frame.at_x(point.index as f64 + 0.5);
    let (low, high) = point.reach();
    let (from, to) = (frame.at_y(low), frame.at_y(high));
    let is_open = quantity == TrendQuantity::Rate && point.figure.is_at_least;
    let rate = |rate: f64| format::trimmed(rate, 1);
    let mark = ChartMark {
        class: &if point.is_like_last { class.to_owned() } else { format!("{class} beyond") },
        shape,
        at: (x, frame.at_y(point.value)),
        data: &[
            ("run", point.run.id.clone()),
            ("commit", point.run.commit.clone()),
            ("rate", rate(point.value)),
            ("low", point.ends.map(|ends| rate(ends.0)).unwrap_or_default()),
            ("high", point.ends.map(|ends| rate(ends.1)).unwrap_or_default()),
        ],
        title: format!(
            "{}{}{} {yields}/s\n{}\n{}\n{}",
            point.run.id,
            if is_open { "\n≥ " } else { "\n" },
            format::whole(point.value),
            match point.ends {
                Some((low, high)) => format!("{} to {}", format::whole(low), format::whole(high)),
                None => "one round: no interval".to_owned(),
            },
            commit(point.run),
            point.figure.variant
        ),
    };
    html! {
        @if high > low {
            line class={ "whisker " (class) } x1=(c(x)) y1=(c(from)) x2=(c(x)) y2=(c(to)) {}
            @for y in [from, to] {
                line class={ "whisker " (class) } x1=(c(x - 5.0)) y1=(c(y)) x2=(c(x + 5.0)) y2=(c(y)) {}
            }
        }
        (mark.draw())
    }
}

fn commit(run: &StoredRun) -> String {
    match run.commit.as_str() {
        "" => "commit not known".to_owned(),
        commit => format!("commit {commit}"),
    }
}

/// Returns as many characters of a commit's identifier as fit below a mark.
fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// Returns the day on which `run` began.
fn day(run: &StoredRun) -> &str {
    run.started.get(..10).unwrap_or_default()
}

fn table(trend: &Trend, points: &[TrendPoint<'_>]) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { "run" } th { "commit" } th { "variant" } th.n { (trend.yields) "/s" }
                    th.n { "from" } th.n { "to" } th { "" }
                }
            }
            tbody {
                @for point in points.iter().rev() {
                    tr {
                        td { (point.run.id) }
                        td { (point.run.commit) }
                        td { (point.figure.variant) }
                        td.n { (format::whole(point.value)) }
                        td.n { (format::or_dash(point.ends, |ends| format::whole(ends.0))) }
                        td.n { (format::or_dash(point.ends, |ends| format::whole(ends.1))) }
                        td {
                            @if point.run.is_baseline { "baseline " }
                            @if !point.is_like_last { "other plan, machine, profile or variant" }
                        }
                    }
                }
            }
        }
    }
}
