//! Chart of answered rates against the load of the server's processors: a mark per trial. The marks
//! of a server that gains nothing from more load form a cluster; a straight line up to 100 % is the
//! ideal.

use maud::{Markup, html};

use crate::format;
use crate::kernel;
use crate::load_curve::achieved_title;
use crate::plot::{self, Axis, ChartMark, ChartWidth, Label, PlotArea};
use crate::scale::AxisScale;
use crate::tables::ColumnHeading::{Number, Text};
use crate::tables::{column_heads, server_drops};
use measure::plan::{
    GIGABIT_BYTES_PER_S, MeasuredProtocol, QUERY_FRAME_BYTES, WIRE_BYTES, mbit_per_s,
};
use measure::summary::{RunSummary, TrialRow};

/// Series of the trials of one server, by offered rate.
struct ServerTrialSeries<'s> {
    name: &'s str,
    class: String,
    shape: usize,
    rows: Vec<&'s TrialRow>,
}

/// Returns the series of trials of every server, with the steps of its ramp.
fn series(summary: &RunSummary) -> Vec<ServerTrialSeries<'_>> {
    let all = summary.results.iter().enumerate().map(|(index, result)| {
        let is_drawn = |row: &&TrialRow| {
            row.server == result.server
                && row.variant == result.variant
                && row.void.is_empty()
                && row.purpose.is_at_a_rate()
                && row.server_load.is_some()
        };
        let mut rows: Vec<&TrialRow> = summary.trials.iter().filter(is_drawn).collect();
        rows.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
        ServerTrialSeries {
            name: &result.server,
            class: plot::series_class(index),
            shape: index,
            rows,
        }
    });
    all.filter(|series| !series.rows.is_empty()).collect()
}

/// Returns true if `summary` has no trials with a known processor load to draw.
pub(super) fn is_empty(summary: &RunSummary) -> bool {
    summary.plan.protocol.is_dhcp() || series(summary).is_empty()
}

fn frame(size: ChartWidth, series: &[ServerTrialSeries<'_>]) -> PlotArea {
    let (width, height, left, right) = match size {
        ChartWidth::Wide => (960.0, 430.0, 58.0, 118.0),
        ChartWidth::Narrow => (380.0, 340.0, 44.0, 16.0),
    };
    let all = series.iter().flat_map(|series| &series.rows);
    let most = all.map(|row| row.achieved_per_s).fold(0.0, f64::max);
    let y = AxisScale::linear(most, if size == ChartWidth::Wide { 6 } else { 4 });
    PlotArea {
        width,
        height,
        left,
        right,
        top: 34.0,
        bottom: 44.0,
        x: AxisScale::linear(100.0, 5),
        y,
    }
}

/// Draws the chart of answered rates against processor load in both sizes, wide and narrow.
pub(super) fn chart(summary: &RunSummary) -> Markup {
    let series = series(summary);
    html! {
        @for size in ChartWidth::ALL { (drawing(&frame(size, &series), size, &series, summary)) }
    }
}

fn drawing(
    frame: &PlotArea,
    size: ChartWidth,
    series: &[ServerTrialSeries<'_>],
    summary: &RunSummary,
) -> Markup {
    let (protocol, loss_percent) = (summary.plan.protocol, summary.plan.search.loss_percent);
    let ticks = if size == ChartWidth::Wide { 6 } else { 4 };
    let content = html! {
        (frame.axes(
            &Axis { title: "load of the server's processors, %", ticks: 5, format: format::whole },
            &Axis { title: achieved_title(protocol), ticks, format: format::axis_rate },
        ))
        (ceilings(frame, summary))
        @for series in series {
            @let positions: Vec<(f64, f64)> = series.rows.iter().map(|row| position(frame, row)).collect();
            (plot::line(&series.class, &positions))
        }
        @for series in series {
            @for row in &series.rows { (mark(frame, series, row, protocol, loss_percent)) }
        }
        (names(frame, series))
    };
    frame.svg(size.name(), "Answers against the load of the server's processors", "xy", &content)
}

/// Returns the processor load of the server in a trial that is drawn, 0 to 1.
fn load(row: &TrialRow) -> f64 {
    row.server_load.unwrap_or_default()
}

/// Draws level lines at the capacity of Gigabit Ethernet: queries in one direction, answers as
/// large as the observed ones in the other direction. Lines above the chart do not limit a rate.
fn ceilings(frame: &PlotArea, summary: &RunSummary) -> Markup {
    let answers = summary.trials.iter().filter_map(|row| {
        let sent = row.kernel?.server.sent;
        (sent.packets > 0).then(|| sent.bytes as f64 / sent.packets as f64)
    });
    // On loopback both directions are counted together, and without their headers; of a group only
    // one datagram has headers.
    let is_known = summary.environment.topology == "veth" && !summary.plan.dns.segmentation;
    let largest = answers.fold(0.0, f64::max);
    let answers = (is_known && largest > 0.0).then_some(("answers", largest));
    let lines = [("queries", QUERY_FRAME_BYTES)].into_iter().chain(answers);
    let lines = lines.map(|(of, bytes)| (of, GIGABIT_BYTES_PER_S / (bytes + WIRE_BYTES)));
    html! {
        @for (of, rate) in lines.filter(|(_, rate)| *rate <= frame.y.range().1) {
            @let y = frame.at_y(rate);
            @let (at, above) = (format::coordinate(y), format::coordinate(y - 5.0));
            line class="level limit" x1=(format::coordinate(frame.left)) y1=(at)
                x2=(format::coordinate(frame.end())) y2=(at) {}
            text class="region" x=(format::coordinate(frame.left + 6.0)) y=(above) {
                "Gigabit Ethernet: " (format::whole(rate)) " " (of) "/s"
            }
        }
    }
}

fn position(frame: &PlotArea, row: &TrialRow) -> (f64, f64) {
    (frame.at_x(load(row) * 100.0), frame.at_y(row.achieved_per_s))
}

/// Formats the offered rate of a trial, in both units for DNS.
fn offered(row: &TrialRow, protocol: MeasuredProtocol) -> String {
    let rate = format::whole(row.offered_per_s);
    if protocol.is_dhcp() {
        return format!("{rate}/s");
    }
    format!("{rate}/s ({} Mbit/s)", format::trimmed(mbit_per_s(row.offered_per_s), 1))
}

fn mark(
    frame: &PlotArea,
    series: &ServerTrialSeries<'_>,
    row: &TrialRow,
    protocol: MeasuredProtocol,
    loss_percent: f64,
) -> Markup {
    let is_within = row.loss * 100.0 <= loss_percent;
    ChartMark {
        class: &format!("{}{}", series.class, if is_within { "" } else { " beyond" }),
        shape: series.shape,
        at: position(frame, row),
        data: &[
            ("server", series.name.to_owned()),
            ("offered", format::trimmed(row.offered_per_s, 1)),
            ("achieved", format::trimmed(row.achieved_per_s, 1)),
            ("load", format::trimmed(load(row), 3)),
        ],
        title: format!(
            "{}\noffered {}\nachieved {}/s\nload {}\nmissed {}{}",
            series.name,
            offered(row, protocol),
            format::whole(row.achieved_per_s),
            format::percent(load(row)),
            format::percent(row.loss),
            if row.notes.is_empty() {
                String::new()
            } else {
                format!("\n{}", kernel::words(&row.notes))
            },
        ),
    }
    .draw()
}

fn names(frame: &PlotArea, series: &[ServerTrialSeries<'_>]) -> Markup {
    let labels = series
        .iter()
        .filter_map(|series| {
            let (x, y) = position(frame, series.rows.last()?);
            let width = plot::name_width(series.name);
            let at = (f64::min(x + 10.0, frame.width - width), y);
            Some(Label { class: series.class.clone(), text: series.name.to_owned(), at })
        })
        .collect();
    plot::labels(labels, 15.0, 8.0, frame.floor() - 6.0)
}

/// Draws the table of the figures of answered rates against processor load.
pub(super) fn table(summary: &RunSummary) -> Markup {
    let protocol = summary.plan.protocol;
    html! {
        table {
            (column_heads(&[
                Text("server"), Number("offered"), Number("achieved/s"), Number("missed"),
                Number("load"), Number("p50"), Number("p99"), Number("server drops"), Text("notes"),
            ]))
            tbody {
                @for series in series(summary) {
                    @for row in series.rows {
                        tr {
                            td { (series.name) }
                            td.n { (offered(row, protocol)) }
                            td.n { (format::whole(row.achieved_per_s)) }
                            td.n { (format::percent(row.loss)) }
                            td.n { (format::percent(load(row))) }
                            td.n { (format::percentile_us(row.p50_us)) }
                            td.n { (format::percentile_us(row.p99_us)) }
                            td.n { (server_drops(row)) }
                            td { (kernel::words(&row.notes)) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::record::{Purpose, SideCounts, TrafficCounts};
    use measure::summary::{KernelCounts, ServerResult, TrialNote};

    /// Makes a trial at a rate that is all answered, with answers of 113 bytes.
    fn summary(rate: f64) -> RunSummary {
        let sent = TrafficCounts { packets: 10, bytes: 1_130, ..TrafficCounts::default() };
        let server = SideCounts { sent, ..SideCounts::default() };
        let row = TrialRow {
            server: "knot".to_owned(),
            purpose: Purpose::Ramp,
            offered_per_s: rate,
            achieved_per_s: rate,
            server_load: Some(0.9),
            kernel: Some(KernelCounts { server, ..KernelCounts::default() }),
            notes: vec![TrialNote::InterruptBound],
            ..TrialRow::default()
        };
        let result = ServerResult { server: "knot".to_owned(), ..ServerResult::default() };
        let mut summary =
            RunSummary { results: vec![result], trials: vec![row], ..RunSummary::default() };
        summary.plan.protocol = MeasuredProtocol::Dns;
        summary.environment.topology = "veth".to_owned();
        summary
    }

    #[test]
    fn the_ceilings_of_both_ways_are_drawn_where_they_are_in_reach() {
        let drawn = chart(&summary(1_300_000.0)).into_string();
        for words in ["Ethernet: 1,146,789 queries/s", "Ethernet: 912,409 answers/s"] {
            // For a screen and for a phone.
            assert_eq!(drawn.matches(words).count(), 2, "{words}: {drawn}");
        }
        assert!(drawn.contains("processor busy with interrupts"), "{drawn}");
        assert!(!chart(&summary(300_000.0)).into_string().contains("Gigabit"));
        let mut on_loopback = summary(1_300_000.0);
        on_loopback.environment.topology = "loopback".to_owned();
        let drawn = chart(&on_loopback).into_string();
        assert!(drawn.contains("queries/s") && !drawn.contains("912,409"), "{drawn}");
        assert!(table(&on_loopback).into_string().contains("busy with interrupts"));
    }
}
