//! Charts of processors and memory over the run, colored by the server that was being measured.

use maud::{Markup, html};

use crate::format;
use crate::plot::{self, Axis, ChartWidth, LIMIT_CLASS, PlotArea};
use crate::scale::AxisScale;
use crate::tables::ColumnHeading::{Number, Text};
use crate::tables::column_heads;
use measure::record::LIMIT_SERVER;
use measure::summary::{RunSummary, TimePoint, TrialRow};

/// Quantity that a chart draws over the run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TimelineQuantity {
    Cpu,
    Memory,
}

/// Points of the timeline in one trial.
struct TrialPoints<'s> {
    row: &'s TrialRow,
    class: String,
    points: &'s [TimePoint],
}

impl TrialPoints<'_> {
    /// Returns true if the server's use of processors is known in the trial.
    fn has_server_usage(&self) -> bool {
        self.row.server_cpu_s.is_some()
    }
}

fn trial_points(summary: &RunSummary) -> Vec<TrialPoints<'_>> {
    summary
        .timeline
        .chunk_by(|a, b| a.trial == b.trial)
        .filter_map(|points| {
            let row = summary.trials.iter().find(|row| row.number == points[0].trial)?;
            let position = summary.results.iter().position(|result| result.server == row.server);
            let class = match position {
                _ if row.server == LIMIT_SERVER => LIMIT_CLASS.to_owned(),
                position => plot::series_class(position.unwrap_or(0)),
            };
            Some(TrialPoints { row, class, points })
        })
        .collect()
}

/// Returns the number of processors that the server kept busy; 0 where it is unknown, and nothing
/// is to be drawn.
fn server_cpus(point: &TimePoint) -> f64 {
    point.server_cpus_busy.unwrap_or_default()
}

fn generator_cpus(point: &TimePoint) -> f64 {
    point.generator_cpus_busy
}

fn mib(point: &TimePoint) -> f64 {
    point.server_rss_bytes as f64 / f64::from(1 << 20)
}

/// Draws the chart of `quantity` over the run in both sizes, wide and narrow.
pub(super) fn chart(summary: &RunSummary, quantity: TimelineQuantity) -> Markup {
    let stretches = trial_points(summary);
    let most = summary.timeline.iter().fold(0.0_f64, |most, point| match quantity {
        TimelineQuantity::Cpu => {
            most.max(server_cpus(point)).max(point.generator_cpus_busy).max(1.0)
        }
        TimelineQuantity::Memory => most.max(mib(point)),
    });
    html! {
        @for size in ChartWidth::ALL {
            @let frame = frame(size, quantity, summary.duration_s, most);
            (drawing(&frame, size, quantity, &stretches))
        }
    }
}

fn frame(size: ChartWidth, quantity: TimelineQuantity, duration_s: f64, most: f64) -> PlotArea {
    let (width, left) = match size {
        ChartWidth::Wide => (960.0, 58.0),
        ChartWidth::Narrow => (380.0, 44.0),
    };
    let height = match quantity {
        TimelineQuantity::Cpu => 250.0,
        TimelineQuantity::Memory => 200.0,
    };
    // The time axis ends at the end of the run, not at the next round figure.
    let x = AxisScale::Linear { max: duration_s.max(1.0) };
    let y = AxisScale::linear(most, 4);
    PlotArea { width, height, left, right: 16.0, top: 34.0, bottom: 44.0, x, y }
}

fn drawing(
    frame: &PlotArea,
    size: ChartWidth,
    quantity: TimelineQuantity,
    stretches: &[TrialPoints<'_>],
) -> Markup {
    let positions = |read: fn(&TimePoint) -> f64, points: &[TimePoint]| -> Vec<(f64, f64)> {
        points.iter().map(|point| (frame.at_x(point.at_s), frame.at_y(read(point)))).collect()
    };
    let (title, name, read): (_, _, fn(&TimePoint) -> f64) = match quantity {
        TimelineQuantity::Cpu => ("processors busy", "Processors over the run", server_cpus),
        TimelineQuantity::Memory => ("server memory, MiB", "Memory over the run", mib),
    };
    let ticks = if size == ChartWidth::Wide { 10 } else { 5 };
    let content = html! {
        (frame.axes(
            &Axis { title: "seconds since the run began", ticks, format: format::whole },
            &Axis { title, ticks: 4, format: |value| format::trimmed(value, 2) },
        ))
        @if quantity == TimelineQuantity::Cpu {
            @for stretch in stretches {
                (plot::line("generator", &positions(generator_cpus, stretch.points)))
                (plot::line("stolen", &positions(|point| point.stolen_cpus, stretch.points)))
            }
        }
        @for stretch in stretches.iter().filter(|stretch| stretch.has_server_usage()) {
            (plot::area(&stretch.class, &positions(read, stretch.points), frame.floor()))
        }
        @for stretch in stretches.iter().filter(|of| of.has_server_usage() || quantity == TimelineQuantity::Cpu) {
            @let (class, read) = if stretch.has_server_usage() {
                (stretch.class.as_str(), read)
            } else {
                ("generator", generator_cpus as fn(&TimePoint) -> f64)
            };
            (plot::stretch(
                class,
                &positions(read, stretch.points),
                &[
                    ("server", stretch.row.server.clone()),
                    ("trial", stretch.row.number.to_string()),
                ],
                &words(stretch, quantity),
            ))
        }
    };
    frame.svg(size.name(), name, "x", &content)
}

fn words(stretch: &TrialPoints<'_>, quantity: TimelineQuantity) -> String {
    let row = stretch.row;
    let count = stretch.points.len() as f64;
    let mean = |read: fn(&TimePoint) -> f64| stretch.points.iter().map(read).sum::<f64>() / count;
    let head = format!(
        "trial {}: {}, {}\noffered {}/s",
        row.number,
        row.server,
        row.purpose.name(),
        format::whole(row.offered_per_s)
    );
    let server_busy = stretch.has_server_usage().then(|| mean(server_cpus));
    match quantity {
        TimelineQuantity::Cpu => format!(
            "{head}\nserver {} processors\ngenerator {}\nstolen {}",
            format::or_dash(server_busy, |busy| format::trimmed(busy, 2)),
            format::trimmed(mean(generator_cpus), 2),
            format::trimmed(mean(|point| point.stolen_cpus), 2),
        ),
        TimelineQuantity::Memory => {
            let most = stretch.points.iter().map(|point| point.server_rss_bytes).max();
            format!("{head}\nmemory {}", format::bytes(most.unwrap_or(0)))
        }
    }
}

/// Returns true if the use of processors by `server` is known in any of its trials.
fn has_server_usage(summary: &RunSummary, server: &str) -> bool {
    summary.trials.iter().any(|row| row.server == server && row.server_cpu_s.is_some())
}

/// Draws the legend of the servers' colors.
pub(super) fn legend(summary: &RunSummary, quantity: TimelineQuantity) -> Markup {
    html! {
        p class="legend" {
            @for (index, result) in summary.results.iter().enumerate() {
                @if has_server_usage(summary, &result.server) {
                    span class={ "key " (plot::series_class(index)) } { (result.server) }
                }
            }
            @if summary.limit.is_some() { span class={ "key " (LIMIT_CLASS) } { "limit" } }
            @if quantity == TimelineQuantity::Cpu {
                span class="key generator" { "generator" }
                span class="key stolen" { "stolen by the hypervisor" }
            }
        }
    }
}

/// Draws the table of the figures of processors and memory, one row per trial.
pub(super) fn table(summary: &RunSummary) -> Markup {
    html! {
        table {
            (column_heads(&[
                Number("trial"), Text("server"), Number("from"), Number("to"),
                Number("server processors"), Number("generator processors"), Number("stolen"),
                Number("memory"),
            ]))
            tbody {
                @for stretch in trial_points(summary) {
                    @let count = stretch.points.len() as f64;
                    @let mean = |read: fn(&TimePoint) -> f64| {
                        format::trimmed(stretch.points.iter().map(read).sum::<f64>() / count, 2)
                    };
                    @let has_server_usage = stretch.has_server_usage();
                    @let rss = if has_server_usage {
                        stretch.points.iter().map(|point| point.server_rss_bytes).max()
                    } else {
                        None
                    };
                    tr {
                        td.n { (stretch.row.number) }
                        td { (stretch.row.server) }
                        td.n { (format::trimmed(stretch.row.start_s, 1)) " s" }
                        td.n { (format::trimmed(stretch.row.end_s, 1)) " s" }
                        td.n { (format::or_dash(has_server_usage.then(|| mean(server_cpus)), |busy| busy)) }
                        td.n { (mean(generator_cpus)) }
                        td.n { (mean(|point| point.stolen_cpus)) }
                        td.n { (format::or_dash(rss, format::bytes)) }
                    }
                }
            }
        }
    }
}
