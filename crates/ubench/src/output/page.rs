//! Report of a benchmark as one HTML page: tables 3.1 to 3.6 of the document of 2012 with the new
//! figures next to them, the gain by group commit, and the results of all measured stores.

mod tables;

use maud::{Markup, html};
use measure::statistics::RatioInterval;
use report::{document, format, header};

use crate::result::{SubjectResult, UbenchReport};
use crate::seeds;

/// Renders `report` as an HTML page. The same report always yields the same bytes.
///
/// # Panics
///
/// Never: a report can always be written as JSON.
pub fn page(report: &UbenchReport) -> String {
    let body = html! {
        (head(report))
        main {
            (notes(report))
            @for table in &seeds::TABLES { (tables::comparison(table, &report.rows)) }
            (group_commit(report))
            (rows(&report.rows))
            (method(report))
        }
        footer { p { "godwit " (report.godwit) " · " (report.schema) } }
    };
    document("Lease stores — godwit", "report", &serde_json::to_string(report), &body)
}

fn head(report: &UbenchReport) -> Markup {
    let machine = &report.machine;
    header(
        "godwit ubench",
        "Lease stores, in 2012 and now",
        html! {
            (machine.cpu_model) " · " (machine.cpus) " processors · Linux " (machine.kernel)
            " · files in " (machine.folder)
            @for database in &machine.databases { " · " (database) }
            " · " (report.runs) " runs · " (format::seconds(report.duration_s))
        },
    )
}

fn notes(report: &UbenchReport) -> Markup {
    html! {
        section class="notes" {
            h2 { "Before comparing" }
            ul {
                li {
                    "The figures of 2012 come from an i7-2600K at 3.40 GHz with a disk of 7,200 \
                     rotations "
                    "per minute, ext4, MySQL 5.5.24 and SQLite 3.7.9, the new ones from the \
                     machine "
                    "above: they differ by the machines, too. PostgreSQL was not measured in 2012."
                }
                li {
                    "In 2012 plain and compiled statements also differed in how the program was "
                    "compiled, so tables 3.4 to 3.6 show neither effect alone."
                }
                @if report.injected_flush_ms > 0.0 {
                    li {
                        "Each flush of memfile and SQLite was made to take "
                        (format::trimmed(report.injected_flush_ms, 3)) " ms longer."
                    }
                }
                @for note in &report.notes { li { (note) "." } }
            }
        }
    }
}

/// Formats a latency in microseconds, with decimals for one below a microsecond.
fn latency(us: f64) -> String {
    if us < 10.0 { format!("{us:.2} µs") } else { format::duration_us(us) }
}

fn ratio(interval: Option<RatioInterval>) -> String {
    let Some(interval) = interval else { return "—".to_owned() };
    let ends = format!("{} to {}", format::ratio(interval.low), format::ratio(interval.high));
    match interval.pairs {
        1 => format::ratio(interval.ratio),
        _ => format!("{} ({ends})", format::ratio(interval.ratio)),
    }
}

fn group_commit(report: &UbenchReport) -> Markup {
    html! {
        @if !report.group_commit.is_empty() {
            section class="figures" {
                h2 { "Group commit" }
                p class="dim" {
                    "Ratios of rates within this run, with 95 % intervals over the runs. 64 \
                     operations in "
                    "flight wait for flushes; at most 64 can share one."
                }
                div class="scroll" {
                    table {
                        thead {
                            tr {
                                th { "store" } th { "step" }
                                th class="n" { "ratio to the rate without durability" }
                                th class="n" { "ratio to one operation at a time" }
                                th class="n" { "share of 64 changes per flush" }
                                th class="n" { "changes per flush" }
                                th class="n" { "cost of a flush" }
                            }
                        }
                        tbody {
                            @for group in &report.group_commit {
                                tr {
                                    td { (group.backend.name()) }
                                    td { (group.step.map_or("all changes", |step| step.name())) }
                                    td class="n" { (ratio(group.of_async)) }
                                    td class="n" { (ratio(group.of_single)) }
                                    td class="n" { (group.of_bound.map_or_else(|| "—".to_owned(), format::ratio)) }
                                    td class="n" {
                                        (group.changes_per_flush.map_or_else(|| "—".to_owned(), format::ratio))
                                    }
                                    td class="n" { (format::duration_us(group.flush_us)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn rows(rows: &[SubjectResult]) -> Markup {
    html! {
        section class="figures" {
            h2 { "All rows" }
            div class="scroll" {
                table {
                    thead {
                        tr {
                            th { "store" } th { "setting" } th class="n" { "records" } th { "step" }
                            th class="n" { "per second" } th class="n" { "95 % interval" }
                            th class="n" { "p50" } th class="n" { "p99" } th class="n" { "p99.9" }
                            th class="n" { "misses" } th class="n" { "flushes" } th class="n" { "a flush" }
                        }
                    }
                    tbody { @for row in rows { (steps(row)) } }
                }
            }
        }
    }
}

fn steps(row: &SubjectResult) -> Markup {
    html! {
        @for (at, step) in row.steps.iter().enumerate() {
            tr {
                td { @if at == 0 { (row.subject) } }
                td { @if at == 0 { (row.setting) } }
                td class="n" { @if at == 0 { (format::whole(f64::from(row.records))) } }
                td { (step.step.name()) }
                td class="n" { (format::rate(step.per_s)) }
                td class="n" {
                    @if step.interval.has_interval() {
                        (format::rate(step.interval.low)) " to " (format::rate(step.interval.high))
                    }
                }
                td class="n" { (latency(step.latency.p50_us)) }
                td class="n" { (latency(step.latency.p99_us)) }
                td class="n" { (latency(step.latency.p999_us)) }
                td class="n" { (step.misses) }
                td class="n" {
                    @if at == 0 { @if let Some(flushes) = row.counts.flushes { (flushes) } }
                }
                td class="n" {
                    @if at == 0 {
                        @if let Some(cost) = &row.flush { (format::duration_us(cost.median_us)) }
                    }
                }
            }
        }
    }
}

fn method(report: &UbenchReport) -> Markup {
    html! {
        section class="method" {
            h2 { "How it was measured" }
            p {
                "Rows are measured in turn, run after run; a shorter warm-up run, which does not \
                 count, may come first. "
                "Every run begins with an empty store. A rate is all operations divided by the \
                 total time. The "
                "order of updates and searches comes from seed " (report.seed)
                "; one search in ten looks for a missing record."
            }
            p {
                "Kea's tables are used as the DHCP server uses them: the lease table in memory, and "
                "a thread that writes the rows of many operations at once. An operation is "
                "complete when its row is as durable as the setting promises. The tables of \
                 dhcp-ubench of 2012 get "
                "one statement for each operation."
            }
            p {
                "Before each run the cost of a flush is measured in the folder of the files. \
                 Flushes of "
                "files are counted when they are requested; databases count their own flushes."
            }
        }
    }
}
