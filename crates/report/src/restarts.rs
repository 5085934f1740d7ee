//! Charts of the exchanges of clients while a database was ended and started again, interval by
//! interval.

use maud::{Markup, html};

use crate::format;
use crate::plot::{self, Axis, ChartWidth, PlotArea};
use crate::scale::AxisScale;
use crate::tables::ColumnHeading::{Number, Text};
use crate::tables::column_heads;
use measure::record::Purpose;
use measure::summary::{RestartResult, RunSummary};

/// Returns true if `summary` has no restarts of databases to draw.
pub(super) fn is_empty(summary: &RunSummary) -> bool {
    summary.restarts.is_empty()
}

/// Draws one chart per trial with a restart of a database, in both sizes, wide and narrow.
pub(super) fn chart(summary: &RunSummary) -> Markup {
    html! {
        @for restart in &summary.restarts {
            h3 { (name(restart)) }
            @for size in ChartWidth::ALL { (drawing(size, restart, summary)) }
        }
    }
}

/// Names the restart of a database: `godwit-mysql: database killed`.
fn name(restart: &RestartResult) -> String {
    let variant =
        if restart.variant.is_empty() { String::new() } else { format!(" ({})", restart.variant) };
    let how = match restart.how {
        Purpose::DatabaseKill => "killed",
        _ => "stopped",
    };
    format!("{}{variant}: database {how} and started again", restart.server)
}

fn drawing(size: ChartWidth, restart: &RestartResult, summary: &RunSummary) -> Markup {
    let interval_s = restart.timeline.interval_s;
    let per_s = |count: u64| count as f64 / interval_s;
    let points = &restart.timeline.points;
    let most = points.iter().map(|point| per_s(point[0].max(point[1]))).fold(1.0, f64::max);
    let (width, left, ticks) = match size {
        ChartWidth::Wide => (960.0, 58.0, 10),
        ChartWidth::Narrow => (380.0, 48.0, 5),
    };
    let frame = PlotArea {
        width,
        height: 210.0,
        left,
        right: 16.0,
        top: 34.0,
        bottom: 44.0,
        x: AxisScale::Linear { max: (points.len() as f64 * interval_s).max(1.0) },
        y: AxisScale::linear(most, 4),
    };
    let line = |of: usize| -> Vec<(f64, f64)> {
        let middle = |index: usize| (index as f64 + 0.5) * interval_s;
        let at = |(index, point): (usize, &[u64; 3])| {
            (frame.at_x(middle(index)), frame.at_y(per_s(point[of])))
        };
        points.iter().enumerate().map(at).collect()
    };
    let position = summary.results.iter().position(|result| result.server == restart.server);
    let class = plot::series_class(position.unwrap_or(0));
    let c = format::coordinate;
    let (from, to) =
        (frame.at_x(restart.restart.ended_at_s), frame.at_x(restart.restart.answered_at_s));
    let content = html! {
        rect class="noise" x=(c(from)) y=(c(frame.top)) width=(c((to - from).max(1.0)))
            height=(c(frame.floor() - frame.top)) {}
        (frame.axes(
            &Axis { title: "seconds since the first exchange was due", ticks, format: format::whole },
            &Axis { title: "leases per second", ticks: 4, format: format::axis_rate },
        ))
        (plot::area(&class, &line(1), frame.floor()))
        (plot::line("generator", &line(0)))
        (plot::stretch(
            &class,
            &line(1),
            &[("server", restart.server.clone()), ("trial", restart.trial.to_string())],
            &words(restart),
        ))
    };
    frame.svg(size.name(), "Leases per second around the restart", "x", &content)
}

fn words(restart: &RestartResult) -> String {
    format!(
        "{}\noffered {}/s\ndatabase away {}\nfirst lease after {}\nlate or lost {}",
        name(restart),
        format::whole(restart.offered_per_s),
        short(restart.outage_s()),
        first_lease(restart),
        format::whole(restart.missed as f64),
    )
}

fn first_lease(restart: &RestartResult) -> String {
    restart.first_lease_s.map_or_else(|| "never".to_owned(), short)
}

/// Formats `seconds` to a hundredth.
fn short(seconds: f64) -> String {
    format!("{} s", format::trimmed(seconds, 2))
}

/// Draws the table of the figures of restarts, one row per trial.
pub(super) fn table(summary: &RunSummary) -> Markup {
    html! {
        table {
            (column_heads(&[
                Number("trial"), Text("server"), Number("offered/s"), Number("database away"),
                Number("first lease after"), Number("late or lost"), Number("as seconds of load"),
                Number("outside the outage"), Number("refused"), Number("wrong answers"),
                Number("answered again"),
            ]))
            tbody {
                @for restart in &summary.restarts {
                    tr {
                        td.n { (restart.trial) }
                        td { (name(restart)) }
                        td.n { (format::whole(restart.offered_per_s)) }
                        td.n { (short(restart.outage_s())) }
                        td.n { (first_lease(restart)) }
                        td.n { (format::whole(restart.missed as f64)) " of " (format::whole(restart.due as f64)) }
                        td.n { (short(restart.missed_s())) }
                        td.n { (format::whole(restart.missed_apart as f64)) }
                        td.n { (format::whole(restart.refused as f64)) }
                        td.n { (format::whole(restart.wrong as f64)) }
                        td.n { (format::whole(restart.answered_again as f64)) }
                    }
                }
            }
        }
    }
}
