//! Section on the kernel's counters in each trial, with notes: reasons for wrong figures, and
//! places where load was lost.

use maud::{Markup, html};

use crate::format;
use crate::tables::ColumnHeading::{Number, Text};
use crate::tables::{column_heads, server_drops};
use measure::record::{SideCounts, TrafficCounts};
use measure::summary::{RunSummary, TrialNote, TrialRow};

/// Returns true if `summary` has neither counters of the kernel nor notes to show. Records of
/// versions that did not count have none.
fn is_empty(summary: &RunSummary) -> bool {
    summary.trials.iter().all(|row| row.kernel.is_none() && row.notes.is_empty())
}

/// Joins the notes on a trial to one text.
pub(super) fn words(notes: &[TrialNote]) -> String {
    let words: Vec<&str> = notes.iter().map(|note| note.words()).collect();
    words.join("; ")
}

/// Draws the section with the notes of all servers and the counters of all trials.
pub(super) fn section(summary: &RunSummary) -> Markup {
    html! {
        @if !is_empty(summary) {
            section class="kernel" {
                h2 { "What the kernel counted" }
                @let notes = notes(summary);
                @if !notes.is_empty() {
                    p { "Effects that distort figures, and places where load was lost:" }
                    ul { @for note in notes { li { (note) } } }
                }
                details {
                    summary { "Counters of all trials" }
                    p {
                        "Packets of the server's interface are counted from before the start of "
                        "the generator until after its end. Program and kernel: the processor time "
                        "of the server's processes, and of the generator's; interrupts are counted "
                        "separately."
                    }
                    div class="scroll" { (table(summary)) }
                }
            }
        }
    }
}

/// Returns the notes on each server's trials as sentences: in how many trials, and from which rate
/// on.
fn notes(summary: &RunSummary) -> Vec<String> {
    let mut lines = Vec::new();
    let mut servers: Vec<&str> = Vec::new();
    for row in &summary.trials {
        if !servers.contains(&row.server.as_str()) {
            servers.push(&row.server);
        }
    }
    for server in servers {
        for note in TrialNote::ALL {
            let has = |row: &&TrialRow| row.server == server && row.notes.contains(&note);
            let rates = summary.trials.iter().filter(has).map(|row| row.offered_per_s);
            let (count, lowest) = rates
                .fold((0, f64::INFINITY), |(count, lowest), rate| (count + 1, lowest.min(rate)));
            if count > 0 {
                let trials = if count == 1 { "trial" } else { "trials" };
                let from = format::whole(lowest);
                lines.push(format!("{server}: {note}, in {count} {trials}, from {from}/s on"));
            }
        }
    }
    lines
}

fn table(summary: &RunSummary) -> Markup {
    html! {
        table id="kernel" {
            (column_heads(&[
                Number("no."), Text("server"), Text("for"), Number("offered/s"),
                Number("packets in"), Number("packets out"), Number("interface drops"),
                Number("backlog drops"), Number("server drops"), Number("generator drops"),
                Number("server: program"), Number("kernel"), Number("interrupts"),
                Number("generator: program"), Number("kernel"), Text("notes"),
            ]))
            tbody { @for row in &summary.trials { (line(row)) } }
        }
    }
}

fn line(row: &TrialRow) -> Markup {
    let kernel = row.kernel.unwrap_or_default();
    let count = |count: u64| format::whole(count as f64);
    let seconds = |seconds: f64| format!("{} s", format::trimmed(seconds, 2));
    // A server that runs elsewhere has no known counters.
    let server = row.server_load.map(|_| kernel.server);
    let of_server =
        |what: fn(&SideCounts) -> u64| format::or_dash(server, |side| count(what(&side)));
    let server_seconds =
        |what: fn(&SideCounts) -> f64| format::or_dash(server, |side| seconds(what(&side)));
    let dropped = |side: &SideCounts| {
        let of = |traffic: &TrafficCounts| traffic.drops + traffic.errors;
        of(&side.received) + of(&side.sent)
    };
    html! {
        tr data-server=(row.server) data-purpose=(row.purpose.name()) {
            td.n { (row.number) }
            td { (row.server) @if !row.variant.is_empty() { span.dim { " " (row.variant) } } }
            td { (row.purpose.name()) }
            td.n { (format::whole(row.offered_per_s)) }
            td.n { (of_server(|side| side.received.packets)) }
            td.n { (of_server(|side| side.sent.packets)) }
            td.n { (count(dropped(&kernel.server) + dropped(&kernel.generator))) }
            td.n { (count(kernel.softnet_drops)) }
            td.n { (server_drops(row)) }
            td.n { (count(kernel.generator_socket_drops)) }
            td.n { (server_seconds(|side| side.user_s)) }
            td.n { (server_seconds(|side| side.system_s)) }
            td.n { (format::or_dash(server, |_| format::percent(kernel.softirq_share))) }
            td.n { (seconds(kernel.generator.user_s)) }
            td.n { (seconds(kernel.generator.system_s)) }
            td { (words(&row.notes)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::summary::KernelCounts;

    #[test]
    fn notes_and_counters_are_told_by_server_and_trial() {
        assert_eq!(section(&RunSummary::default()).into_string(), "");
        let kernel = |packets| KernelCounts {
            server: SideCounts {
                received: TrafficCounts { packets, ..TrafficCounts::default() },
                ..SideCounts::default()
            },
            ..KernelCounts::default()
        };
        let row = |server: &str, rate, packets, notes: &[TrialNote]| TrialRow {
            server: server.to_owned(),
            offered_per_s: rate,
            server_load: Some(0.5),
            kernel: Some(kernel(packets)),
            notes: notes.to_vec(),
            ..TrialRow::default()
        };
        let (full, wrong) = (TrialNote::ServerSocketFull, TrialNote::Wrong);
        let trials = vec![
            row("knot", 900.0, 1_234_567, &[full, wrong]),
            row("knot", 500.0, 2, &[full]),
            row("bind", 500.0, 3, &[]),
            TrialRow { server_load: None, ..row("elsewhere", 500.0, 7_654_321, &[]) },
        ];
        let text = section(&RunSummary { trials, ..RunSummary::default() }).into_string();
        for words in [
            "knot: queries dropped at the server's full sockets, in 2 trials, from 500/s on",
            "knot: answers to another query, in 1 trial, from 900/s on",
            "1,234,567",
            "sockets; answers to another query",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("bind: "));
        assert!(!text.contains("7,654,321"), "what nobody saw: {text}");
    }
}
