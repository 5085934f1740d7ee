//! Tables of the report: trials, environment and command lines.

use maud::{Markup, html};

use self::ColumnHeading::{Number, Text};
use crate::format;
use measure::record::{LIMIT_SERVER, VoidReason};
use measure::summary::{RunSummary, TrialRow};

/// Heading of a column of a table, by the kind of its cells.
pub(super) enum ColumnHeading {
    /// Heading of words, which are aligned to the left.
    Text(&'static str),
    /// Heading of numbers, which are aligned to the right.
    Number(&'static str),
}

/// Draws the head of a table with `columns`.
pub(super) fn column_heads(columns: &[ColumnHeading]) -> Markup {
    html! {
        thead {
            tr {
                @for column in columns {
                    @match column {
                        Text(heading) => th { (heading) },
                        Number(heading) => th.n { (heading) },
                    }
                }
            }
        }
    }
}

/// Draws the table of every trial in the order of the run; void ones are highlighted, with their
/// reasons.
pub(super) fn trials(summary: &RunSummary) -> Markup {
    let voids = summary.trials.iter().filter(|row| !row.void.is_empty()).count();
    html! {
        @if !summary.trials.is_empty() {
            section class="trials" {
                h2 { "Trials" }
                p {
                    (summary.trials.len()) " trials, " (voids) " void."
                    @if voids > 0 { " " (reasons(summary)) }
                }
                details {
                    summary { "All trials" }
                    div class="scroll" {
                        table id="trials" {
                            (column_heads(&[
                                Number("no."), Text("server"), Text("for"), Number("round"),
                                Number("offered/s"), Number("achieved/s"), Number("missed"),
                                Number("queued too long"), Number("p50"), Number("p99"),
                                Number("CPU"), Number("stolen"), Number("server drops"),
                                Text("outcome"),
                            ]))
                            tbody { @for row in &summary.trials { (trial(row)) } }
                        }
                    }
                }
            }
        }
    }
}

fn trial(row: &TrialRow) -> Markup {
    let is_void = !row.void.is_empty();
    html! {
        tr class=[is_void.then_some("void")] data-server=(row.server) data-purpose=(row.purpose.name())
            data-void=(is_void) {
            td.n { (row.number) }
            td { (row.server) @if !row.variant.is_empty() { span.dim { " " (row.variant) } } }
            td { (row.purpose.name()) }
            td.n { (row.round.saturating_add(1)) }
            td.n { (format::whole(row.offered_per_s)) }
            td.n { (format::whole(row.achieved_per_s)) }
            td.n { (format::percent(row.loss)) }
            td.n { (format::percent(row.behind)) }
            td.n { (format::percentile_us(row.p50_us)) }
            td.n { (format::percentile_us(row.p99_us)) }
            td.n { (format::or_dash(row.server_cpu_s, |cpu_s| format::trimmed(cpu_s, 2) + " s")) }
            td.n { (format::percent(row.steal_share)) }
            td.n { (server_drops(row)) }
            td {
                @if is_void {
                    "void: "
                    @for (index, reason) in row.void.iter().enumerate() {
                        @if index > 0 { ", " }
                        (reason)
                    }
                } @else if row.meets { "met" } @else { "missed" }
                @for note in &row.notes { span.dim { "; " (note) } }
            }
        }
    }
}

/// Formats the number of datagrams dropped at the server's sockets in a trial.
pub(super) fn server_drops(row: &TrialRow) -> String {
    format::or_dash(row.server_socket_drops, |drops| format::whole(drops as f64))
}

/// Draws the list of the reasons why trials were void, per server.
fn reasons(summary: &RunSummary) -> Markup {
    let mut parts = Vec::new();
    for result in summary.results.iter().filter(|result| result.voids > 0) {
        let why: Vec<String> = result
            .void_reasons
            .iter()
            .map(|(reason, count)| format!("{count} × {reason}"))
            .collect();
        parts.push(format!("{}: {}", result.server, why.join(", ")));
    }
    let of_limit = |row: &&TrialRow| row.server == LIMIT_SERVER && !row.void.is_empty();
    let limit: Vec<&VoidReason> =
        summary.trials.iter().filter(of_limit).flat_map(|row| &row.void).collect();
    if !limit.is_empty() {
        parts.push(format!("limit: {} ×, first {}", limit.len(), limit[0]));
    }
    html! { (parts.join("; ")) @if !parts.is_empty() { "." } }
}

/// Draws the table of the costs of flushes to the disks during the run; nothing when they were not
/// measured.
pub(super) fn flushes(summary: &RunSummary) -> Markup {
    let is_one = summary.flushes.windows(2).all(|pair| pair[0].disk == pair[1].disk);
    html! {
        @if !summary.flushes.is_empty() {
            section class="flushes" {
                h2 { "The disk" }
                p {
                    "Time of a small append with a flush (fdatasync), measured at most a minute "
                    "before each trial. A store whose leases survive more than a crash of its own "
                    "process pays this for each commit."
                }
                div class="scroll" {
                    table {
                        thead {
                            tr {
                                th.n { "at" }
                                @if !is_one { th { "disk of" } }
                                th.n { "median" }
                                th.n { "shortest" }
                                th.n { "longest" }
                                th.n { "appends" }
                            }
                        }
                        tbody {
                            @for flush in &summary.flushes {
                                tr {
                                    td.n { (format::trimmed(flush.at_s, 0)) " s" }
                                    @if !is_one { td { (flush.disk) } }
                                    td.n { (format::duration_us(flush.median_us)) }
                                    td.n { (format::duration_us(flush.min_us)) }
                                    td.n { (format::duration_us(flush.max_us)) }
                                    td.n { (flush.count) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Draws the table of the environment of the run.
pub(super) fn environment(summary: &RunSummary) -> Markup {
    let environment = &summary.environment;
    let memory = (environment.memory_bytes > 0).then(|| format::bytes(environment.memory_bytes));
    let processors = match (environment.cpus, environment.cpu_model.as_str()) {
        (0, model) => model.to_owned(),
        (count, "") => count.to_string(),
        (count, model) => format!("{count} × {model}"),
    };
    let rows = [
        ("Godwit", environment.godwit.clone()),
        ("commit", environment.commit.clone()),
        ("profile", environment.profile.clone()),
        ("system", environment.os.clone()),
        ("kernel", environment.kernel.clone()),
        ("processors", processors),
        ("memory", memory.unwrap_or_default()),
        ("hypervisor", environment.virtualization.clone()),
        ("topology", environment.topology.clone()),
    ];
    html! {
        section class="environment" {
            h2 { "Environment" }
            dl class="facts-list" {
                @for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
                    dt { (name) } dd { (value) }
                }
                @for (name, version) in &environment.servers {
                    dt { (name) } dd { (version) }
                }
                @for (name, value) in &environment.settings {
                    dt { code { (name) } } dd { (value) }
                }
            }
        }
    }
}

/// Draws the list of the exact command lines of the run.
pub(super) fn commands(summary: &RunSummary) -> Markup {
    let generator = |row: &TrialRow| row.commands.get("generator").cloned();
    html! {
        section class="commands" {
            h2 { "Command lines" }
            @for command in &summary.commands {
                p class="whose" { (command.whose) }
                pre { code { (command.command) } }
            }
            @if summary.trials.iter().any(|row| generator(row).is_some()) {
                details {
                    summary { "The generator, trial by trial" }
                    @for row in &summary.trials {
                        @if let Some(command) = generator(row) {
                            p class="whose" { "trial " (row.number) ", " (row.server) }
                            pre { code { (command) } }
                        }
                    }
                }
            }
        }
    }
}
