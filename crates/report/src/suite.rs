//! Front page of a suite: figures against targets, then the results of each plan.

use maud::{Markup, html};

use crate::{format, page, plot};
use measure::suite::{PartResult, RowResult, SuiteSummary, TargetVerdict};

/// Returns the title of the browser's window with a suite's front page.
pub(super) fn title(summary: &SuiteSummary) -> String {
    format!("{} — godwit", summary.title)
}

/// Draws the body of the front page of a suite.
pub(super) fn body(summary: &SuiteSummary) -> Markup {
    let met = |verdicts: &[TargetVerdict]| {
        summary.rows.iter().filter(|r| verdicts.contains(&r.verdict)).count()
    };
    html! {
        (page::header(&format!("godwit lab · {}", summary.name), &summary.title, html! {
            (summary.started.replace('T', " ")) " · " (format::seconds(summary.duration_s))
            @if summary.is_quick { " · quick: shorter, so with wider intervals" }
        }))
        main {
            @if !summary.rows.is_empty() {
                section class="figures" data-chart="targets" {
                    h2 { "Targets" }
                    p {
                        (met(&[TargetVerdict::Met, TargetVerdict::MetByFigure])) " of " (summary.rows.len())
                        " met, " (met(&[TargetVerdict::NotMeasured])) " not measured"
                        @match met(&[TargetVerdict::NotJudged]) {
                            0 => "."
                            count => { ", " (count) " not judged." }
                        }
                    }
                    (targets(&summary.rows))
                }
            }
            @for part in &summary.parts { (plan(part)) }
        }
        footer { p { (summary.schema) } }
    }
}

fn targets(rows: &[RowResult]) -> Markup {
    html! {
        div class="scroll" {
            table class="stack" {
                thead {
                    tr {
                        th { "What" } th { "verdict" } th.n { "target" } th.n { "figure" }
                        th.n { "95 % interval" }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            td { (row.name) @if !row.of.is_empty() { br; span class="dim" { (row.of) } } }
                            td class=[is_short(row.verdict).then_some("attention")] {
                                (row.words())
                                @if !row.note.is_empty() { br; span class="dim" { (row.note) } }
                            }
                            td.n data-name="target" { (row.target) }
                            td.n data-name="figure" {
                                @if let Some(value) = row.value { (format::ratio_within(value, row.ends())) }
                            }
                            td.n data-name="95 % interval" {
                                @if let (Some(value), Some((low, high))) = (row.value, row.ends()) {
                                    (format::ratio_ends(value, low, high))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

const fn is_short(verdict: TargetVerdict) -> bool {
    matches!(verdict, TargetVerdict::Missed | TargetVerdict::MissedByFigure)
}

/// Draws the rates of one plan of a suite as bars, with that of the limit responder (a program that
/// returns every datagram).
fn plan(part: &PartResult) -> Markup {
    let most = part.lines.iter().filter_map(|line| line.leases_per_s).fold(0.0, f64::max);
    html! {
        section class="figures" data-chart=(part.plan) {
            h2 { @if part.title.is_empty() { (part.plan) } @else { (part.title) } }
            @if let Some(why) = &part.failed { p class="attention" { "Not run: " (why) } }
            @if !part.folder.is_empty() {
                p { a href=(format!("{}/report.html", part.folder)) { "report of " (part.plan) } }
            }
            @for warning in &part.warnings { p class="attention" { (warning) } }
            @if !part.lines.is_empty() {
                div class="scroll" {
                    table {
                        thead {
                            tr {
                                th { "line" } th { "" } th.n { "leases/s" } th.n { "per CPU-second" }
                                th.n { "p99 at half load" }
                            }
                        }
                        tbody {
                            @for (index, line) in part.lines.iter().enumerate() {
                                tr class=(plot::series_class(index)) {
                                    td {
                                        (line.server)
                                        @if !line.variant.is_empty() {
                                            " " span class="dim" { (line.variant) }
                                        }
                                    }
                                    td { (bar(line.leases_per_s.unwrap_or(0.0), most)) }
                                    td.n { (line.leases_per_s.map_or_else(|| "none".to_owned(), format::rate)) }
                                    td.n { (line.leases_per_cpu_s.map(format::rate).unwrap_or_default()) }
                                    td.n { (line.p99_half_us.map(format::duration_us).unwrap_or_default()) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Draws a bar whose length is the share of `value` in `most`.
fn bar(value: f64, most: f64) -> Markup {
    let width = format::coordinate(if most > 0.0 { value / most * 240.0 } else { 0.0 });
    html! {
        svg class="bar long" viewBox="0 0 240 8" aria-hidden="true" {
            rect class="part" width=(width) height="8" rx="3" {}
        }
    }
}
