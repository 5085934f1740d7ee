//! Table of the document of 2012 with the new measurement, as a drawing (SVG) and as figures.

use maud::{Markup, html};
use report::format;

use crate::result::{SubjectResult, honest_average};
use crate::seeds::{self, HistoricalTable};
use crate::subject::{ChangeSafety, SubjectBackend, Tables, TransactionSharing};
use crate::workload::WorkloadStep;

/// Width of the drawing in its own units; the next constants are in these units as well.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 120.0;
const BAR: f64 = 9.0;
const LINE: f64 = 26.0;
const TOP: f64 = 8.0;
const FLOOR: f64 = 26.0;

/// Figures of one store in one safety mode, in 2012 and now: a value for each of the four steps.
struct Pair<'r> {
    mode: ChangeSafety,
    backend: SubjectBackend,
    values_2012: [Option<f64>; 4],
    values_now: [Option<f64>; 4],
    row: Option<&'r SubjectResult>,
}

/// Returns the result in `rows` that measured the same as `table` of 2012 did for the safety `mode`
/// and the store `backend`.
fn row_of<'r>(
    rows: &'r [SubjectResult],
    table: &HistoricalTable,
    mode: ChangeSafety,
    backend: SubjectBackend,
) -> Option<&'r SubjectResult> {
    rows.iter().find(|row| {
        let subject = &row.subject;
        (subject.tables, subject.backend, subject.mode) == (Tables::Ubench2012, backend, mode)
            && subject.is_compiled.is_none_or(|is_compiled| is_compiled == table.is_compiled)
            && (subject.concurrency, subject.sharing) == (1, TransactionSharing::Adaptive)
    })
}

fn pairs<'r>(table: &HistoricalTable, rows: &'r [SubjectResult]) -> Vec<Pair<'r>> {
    let mut pairs = Vec::new();
    for &mode in table.modes {
        for backend in seeds::BACKENDS.into_iter().chain([SubjectBackend::Pgsql]) {
            let row = row_of(rows, table, mode, backend);
            let then = WorkloadStep::FOUR.map(|step| {
                if table.has_rates {
                    seeds::per_s(table.is_compiled, mode, backend, step)
                } else {
                    seeds::seconds(table.is_compiled, mode, backend, step)
                }
            });
            let now = WorkloadStep::FOUR.map(|step| {
                let per_s = row?.step(step)?.per_s;
                Some(if table.has_rates {
                    per_s
                } else {
                    f64::from(seeds::operations(mode)) / per_s
                })
            });
            if row.is_some() || then[0].is_some() {
                pairs.push(Pair { mode, backend, values_2012: then, values_now: now, row });
            }
        }
    }
    pairs
}

/// Renders `table` of 2012 next to the results `rows` of the new measurement.
pub(super) fn comparison(table: &HistoricalTable, rows: &[SubjectResult]) -> Markup {
    let pairs = pairs(table, rows);
    let statements = if table.is_compiled { "compiled" } else { "plain" };
    let modes: Vec<&str> = table.modes.iter().map(|mode| mode.name()).collect();
    html! {
        figure data-chart={ "table-" (table.number) } {
            figcaption {
                h2 {
                    "Table " (table.number) ": " (statements) " statements, "
                    (modes.join(" and "))
                    @if table.has_rates { ", operations per second" } @else { ", seconds" }
                }
                p {
                    @if !table.has_rates {
                        "For " (format::whole(f64::from(seeds::operations(table.modes[0]))))
                        " operations of each step; the new times are scaled to this number. Less \
                         is better."
                    } @else {
                        "More is better."
                    }
                    " The axis is logarithmic. Pale bars: 2012."
                }
            }
            (drawing(table, &pairs))
            details open { summary { "Figures" } div class="scroll" { (figures(table, &pairs)) } }
        }
    }
}

/// Returns the index of the color of a store, which is the same in all tables.
fn color(backend: SubjectBackend) -> usize {
    SubjectBackend::ALL.iter().position(|&other| other == backend).unwrap_or(0)
}

/// Returns the exponents of the powers of ten below and above all values of `pairs`.
fn decades(pairs: &[Pair<'_>]) -> (f64, f64) {
    let values =
        pairs.iter().flat_map(|pair| pair.values_2012.iter().chain(&pair.values_now)).flatten();
    let (mut low, mut high) = (f64::MAX, f64::MIN_POSITIVE);
    for &value in values {
        (low, high) = (low.min(value), high.max(value));
    }
    (low.min(high).log10().floor(), high.log10().ceil())
}

fn drawing(table: &HistoricalTable, pairs: &[Pair<'_>]) -> Markup {
    let (low, high) = decades(pairs);
    let span = (high - low).max(1.0);
    let at =
        |value: f64| LEFT + ((value.log10() - low) / span).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    let lines = pairs.len() * WorkloadStep::FOUR.len();
    let floor = TOP + lines as f64 * LINE;
    let c = format::coordinate;
    html! {
        svg viewBox={ "0 0 " (c(WIDTH)) " " (c(floor + FLOOR)) } role="img"
            aria-label={ "Table " (table.number) " of 2012 and now" } {
            @for power in (low as i32)..=(high as i32) {
                @let x = at(10_f64.powi(power));
                line class="grid" x1=(c(x)) x2=(c(x)) y1=(c(TOP)) y2=(c(floor)) {}
                text class="tick" x=(c(x)) y=(c(floor + 18.0)) text-anchor="middle" {
                    (mark(table, power))
                }
            }
            @for (group, pair) in pairs.iter().enumerate() {
                @for (at_step, step) in WorkloadStep::FOUR.into_iter().enumerate() {
                    @let y = TOP + (group * 4 + at_step) as f64 * LINE;
                    text class="row-name" x="0" y=(c(y + LINE / 2.0)) dy="0.32em" {
                        @if at_step == 0 {
                            (pair.backend.name()) " " (pair.mode.name())
                        }
                    }
                    text class="tick" x=(c(LEFT - 10.0)) y=(c(y + LINE / 2.0)) dy="0.32em"
                        text-anchor="end" { (step.name()) }
                    g class={ "s" (color(pair.backend)) } {
                        (bar(table, "2012", pair.values_2012[at_step], y + 3.0, &at, 0.35))
                        (bar(table, "now", pair.values_now[at_step], y + 3.0 + BAR + 1.0, &at, 1.0))
                    }
                }
            }
        }
    }
}

fn mark(table: &HistoricalTable, power: i32) -> String {
    let value = 10_f64.powi(power);
    if table.has_rates { format::axis_rate(value) } else { format::duration_us(value * 1e6) }
}

/// Formats one value of a table, a time or a rate, for readers.
fn format_value(table: &HistoricalTable, value: f64) -> String {
    if table.has_rates { format::rate(value) } else { format::duration_us(value * 1e6) }
}

fn bar(
    table: &HistoricalTable,
    when: &str,
    value: Option<f64>,
    y: f64,
    at: &dyn Fn(f64) -> f64,
    opacity: f64,
) -> Markup {
    let c = format::coordinate;
    html! {
        @if let Some(value) = value {
            rect x=(c(LEFT)) y=(c(y)) width=(c(at(value) - LEFT)) height=(c(BAR))
                style={ "fill: var(--c); fill-opacity: " (opacity) } {
                title { (when) ": " (format_value(table, value)) }
            }
            text class="tick" x=(c(at(value) + 6.0)) y=(c(y + BAR / 2.0)) dy="0.35em"
                style="font-size: 10px" { (format_value(table, value)) }
        }
    }
}

fn figures(table: &HistoricalTable, pairs: &[Pair<'_>]) -> Markup {
    let cell =
        |value: Option<f64>| value.map_or_else(|| "—".to_owned(), |v| format_value(table, v));
    let average = |values: &[Option<f64>; 4]| {
        let whole: Option<Vec<f64>> = values.iter().copied().collect();
        whole.map(|values| values.iter().sum::<f64>() / 4.0)
    };
    html! {
        table {
            thead {
                tr {
                    th { "store" } th { "when" }
                    @for step in WorkloadStep::FOUR { th class="n" { (step.name()) } }
                    th class="n" title="mean of the four steps; misleading for rates" {
                        "average as printed"
                    }
                    th class="n" { "all operations divided by the total time, per second" }
                }
            }
            tbody {
                @for pair in pairs {
                    @if pair.values_2012[0].is_some() {
                        tr {
                            td { (pair.backend.name()) " " (pair.mode.name()) } td { "2012" }
                            @for value in pair.values_2012 { td class="n" { (cell(value)) } }
                            td class="n" { (cell(average(&pair.values_2012))) }
                            td class="n" {
                                (seeds::honest_average(table.is_compiled, pair.mode, pair.backend)
                                    .map_or_else(|| "—".to_owned(), format::rate))
                            }
                        }
                    }
                    @if let Some(row) = pair.row {
                        tr {
                            td { (pair.backend.name()) " " (pair.mode.name()) }
                            td title=(row.setting) { "now" }
                            @for value in pair.values_now { td class="n" { (cell(value)) } }
                            td class="n" { (cell(average(&pair.values_now))) }
                            td class="n" { (format::rate(honest_average(&row.steps_of(&WorkloadStep::FOUR)))) }
                        }
                    }
                }
            }
        }
    }
}
