//! Page of `godwit capacity`: operations per second against leases, a line for each lease time, and
//! the rate of a measured server.

use maud::{Markup, html};

use crate::plot::{self, Axis, ChartMark, ChartWidth, Label, PlotArea};
use crate::scale::AxisScale;
use crate::{format, page};
use measure::capacity::{CapacityCell, CapacityChart, CapacityLine};

/// Title of the browser's window with the capacity page.
pub(super) const TITLE: &str = "Operations per second — godwit";

/// Draws the body of the capacity page from `chart`.
pub(super) fn body(chart: &CapacityChart) -> Markup {
    html! {
        (page::header(
            "godwit capacity",
            "Operations per second that this number of leases causes",
            facts(chart),
        ))
        main {
            section class="figures" data-chart="capacity" {
                h2 { "Operations per second" }
                @if !drawn(chart).is_empty() {
                    @for size in ChartWidth::ALL { (drawing(size, chart)) }
                }
                div class="scroll" { (table(chart)) }
                @for note in &chart.notes { p { (note) } }
            }
        }
        footer { p { "godwit.capacity.v1" } }
    }
}

/// Lists the assumptions behind the numbers of the capacity chart.
fn facts(chart: &CapacityChart) -> String {
    let habits = &chart.habits;
    let mut facts = vec![format!(
        "clients renew after {} of their lease time",
        format::percent(habits.t1_share)
    )];
    let mut add = |amount: f64, words: String| {
        if amount > 0.0 {
            facts.push(words);
        }
    };
    let churn = format::percent(habits.churn_per_day);
    add(habits.churn_per_day, format!("{churn} are replaced in a day"));
    let chatty = format::percent(habits.chatty_share);
    let times = format::trimmed(habits.chatty_times, 1);
    add(habits.chatty_share, format!("{chatty} renew {times} times as often"));
    add(habits.api_per_s, format!("{} commands/s", format::trimmed(habits.api_per_s, 1)));
    let each = habits.sharing.operations_per_lease();
    add(
        each - 1.0,
        format!("{} operations of the busiest server per lease", format::trimmed(each, 1)),
    );
    facts.join(" · ")
}

/// Returns the lines of the capacity chart that are drawn: those with a rate above 0.
fn drawn(chart: &CapacityChart) -> Vec<&CapacityLine> {
    let has_points =
        |line: &&CapacityLine| line.cells.iter().any(|cell| cell.operations_per_s() > 0.0);
    chart.lines.iter().filter(has_points).collect()
}

fn drawing(size: ChartWidth, chart: &CapacityChart) -> Markup {
    let lines = drawn(chart);
    let cells = || lines.iter().flat_map(|line| &line.cells);
    let bounds = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        AxisScale::log(low, values.iter().copied().fold(low, f64::max))
    };
    let leases: Vec<f64> = cells().map(|cell| cell.leases as f64).collect();
    let rates = cells().map(CapacityCell::operations_per_s).chain(chart.measured_per_s);
    // Rates below one operation in a thousand seconds do not matter for planning.
    let rates: Vec<f64> = rates.map(|rate| rate.max(1e-3)).collect();
    let (width, height, left, right) = match size {
        ChartWidth::Wide => (960.0, 430.0, 58.0, 118.0),
        ChartWidth::Narrow => (380.0, 340.0, 44.0, 16.0),
    };
    let (x, y) = (bounds(&leases), bounds(&rates));
    let frame = PlotArea { width, height, left, right, top: 34.0, bottom: 44.0, x, y };
    let axis = |title| Axis {
        title,
        ticks: if size == ChartWidth::Wide { 9 } else { 4 },
        format: rate_tick,
    };
    let content = html! {
        (frame.axes(&axis("leases"), &axis("operations/s")))
        @if let Some(rate) = chart.measured_per_s { (measured(&frame, rate)) }
        @for (index, line) in lines.iter().enumerate() {
            (plot::line(&plot::series_class(index), &plot_points(&frame, line)))
            @for cell in &line.cells { (mark(&frame, index, line, cell)) }
        }
        (names(&frame, size, &lines))
    };
    frame.svg(size.name(), "Operations per second against leases", "xy", &content)
}

/// Formats a rate on the axis of the capacity chart, where many rates are far below 1 per second.
fn rate_tick(rate: f64) -> String {
    if rate < 1.0 { format::trimmed(rate, 3) } else { format::axis_rate(rate) }
}

fn plot_points(frame: &PlotArea, line: &CapacityLine) -> Vec<(f64, f64)> {
    let position =
        |cell: &CapacityCell| (frame.at_x(cell.leases as f64), frame.at_y(cell.operations_per_s()));
    line.cells.iter().map(position).collect()
}

/// Draws a level line in the capacity chart at `rate`, a measured server's operations per second,
/// with its figure.
fn measured(frame: &PlotArea, rate: f64) -> Markup {
    let y = frame.at_y(rate);
    let label = Label {
        class: plot::LIMIT_CLASS.to_owned(),
        text: format!("measured: {}/s", format::rate(rate)),
        at: (frame.left + 6.0, y - 8.0),
    };
    html! {
        line class={ "level " (plot::LIMIT_CLASS) } x1=(format::coordinate(frame.left))
            y1=(format::coordinate(y)) x2=(format::coordinate(frame.end()))
            y2=(format::coordinate(y)) {}
        (plot::labels(vec![label], 15.0, frame.top - 8.0, frame.floor() - 8.0))
    }
}

fn mark(frame: &PlotArea, index: usize, line: &CapacityLine, cell: &CapacityCell) -> Markup {
    let rate = cell.operations_per_s();
    ChartMark {
        class: &plot::series_class(index),
        shape: index,
        at: (frame.at_x(cell.leases as f64), frame.at_y(rate)),
        data: &[
            ("leases", cell.leases.to_string()),
            ("time", line.lease_time.clone()),
            ("operations", format::trimmed(rate, 3)),
        ],
        title: format!(
            "{} leases of {}\n{} operations/s",
            format::whole(cell.leases as f64),
            line.lease_time,
            format::trimmed(rate, 3)
        ),
    }
    .draw()
}

/// Writes the lease time of every line of the chart next to its last point.
fn names(frame: &PlotArea, size: ChartWidth, lines: &[&CapacityLine]) -> Markup {
    let label = |(index, line): (usize, &&CapacityLine)| {
        let &(x, y) = plot_points(frame, line).last()?;
        let at = if size == ChartWidth::Wide { (x + 10.0, y) } else { (x - 44.0, y - 8.0) };
        Some(Label { class: plot::series_class(index), text: line.lease_time.clone(), at })
    };
    let labels = lines.iter().enumerate().filter_map(label).collect();
    plot::labels(labels, 15.0, 8.0, frame.floor() - 6.0)
}

fn table(chart: &CapacityChart) -> Markup {
    let rows = chart.lines.first().map_or(0, |line| line.cells.len());
    let is_too_much = |cell: &CapacityCell| {
        chart.measured_per_s.is_some_and(|rate| cell.operations_per_s() > rate)
    };
    html! {
        table {
            thead {
                tr {
                    th.n { "leases" }
                    @for line in &chart.lines { th.n { (line.lease_time) } }
                }
            }
            tbody {
                @for row in 0..rows {
                    tr {
                        td.n { (chart.lines[0].cells[row].leases) }
                        @for line in &chart.lines {
                            @let cell = &line.cells[row];
                            td class=(if is_too_much(cell) { "n attention" } else { "n" }) {
                                @if cell.rounded() == 0 { "-" } @else { (cell.rounded()) }
                            }
                        }
                    }
                }
            }
        }
    }
}
