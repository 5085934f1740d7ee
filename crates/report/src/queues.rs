//! Queues in which messages waited: for each line of a plan about queues, the receive buffers and
//! queueing disciplines that really existed, with their drops at the highest rate and beyond it.

use maud::{Markup, html};

use crate::format;
use crate::tables::ColumnHeading::{Number, Text};
use crate::tables::{column_heads, server_drops};
use measure::record::{Purpose, Qdisc, Queues};
use measure::summary::{RunSummary, TrialRow};

/// Returns the trials of a server's variant (way to run it) that the section on queues shows: the
/// best confirmed one, then those of its load curve.
fn rows<'s>(summary: &'s RunSummary, server: &str, variant: &str) -> Vec<&'s TrialRow> {
    let of_it = || {
        summary.trials.iter().filter(|row| {
            (row.server.as_str(), row.variant.as_str()) == (server, variant)
                && row.void.is_empty()
                && row.queues.is_some()
        })
    };
    let confirmed = of_it().filter(|row| row.purpose == Purpose::Confirm && row.meets);
    let best = confirmed.max_by(|a, b| a.achieved_per_s.total_cmp(&b.achieved_per_s));
    let mut points: Vec<&TrialRow> = of_it().filter(|row| row.purpose == Purpose::Curve).collect();
    points.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    best.into_iter().chain(points).collect()
}

/// Draws the section on queues; nothing in plans that do not vary receive buffers or queueing
/// disciplines.
pub(super) fn section(summary: &RunSummary) -> Markup {
    html! {
        @if summary.trials.iter().any(|row| row.queues.is_some()) {
            section class="figures" {
                h2 { "Where messages waited" }
                p {
                    "Queues as measured at the highest confirmed rate and at the points of the "
                    "load curve. Receive buffers are bytes of the kernel's memory, of which a "
                    "short datagram takes 768 and more, at the beginning and at the end of the "
                    "trial. Drops are those of the trial; a packet at a queueing discipline may be "
                    "a group of datagrams, and one without a queue counts no packets."
                }
                div class="scroll" { (table(summary)) }
            }
        }
    }
}

fn table(summary: &RunSummary) -> Markup {
    html! {
        table id="queues" {
            (column_heads(&[
                Text("server"), Text("for"), Number("offered/s"), Number("achieved/s"),
                Number("p50"), Number("p99"), Number("sockets"), Number("receive buffer"),
                Number("dropped there"), Text("to the server"), Number("packets"),
                Number("dropped"), Text("from the server"), Number("packets"), Number("dropped"),
            ]))
            tbody {
                @for result in &summary.results {
                    @for row in rows(summary, &result.server, &result.variant) { (line(row)) }
                }
            }
        }
    }
}

fn line(row: &TrialRow) -> Markup {
    let none = Queues::default();
    let queues = row.queues.as_ref().unwrap_or(&none);
    html! {
        tr data-server=(row.server) data-purpose=(row.purpose.name()) {
            td { (row.server) @if !row.variant.is_empty() { span.dim { " " (row.variant) } } }
            td { (row.purpose.name()) }
            td.n { (format::whole(row.offered_per_s)) }
            td.n { (format::whole(row.achieved_per_s)) }
            td.n { (format::percentile_us(row.p50_us)) }
            td.n { (format::percentile_us(row.p99_us)) }
            td.n { (queues.sockets) }
            td.n { (buffer(queues)) }
            td.n { (server_drops(row)) }
            (qdisc(queues.to_server.as_ref()))
            (qdisc(queues.from_server.as_ref()))
        }
    }
}

/// Formats the size of the sockets' receive buffers: `208 KiB`, or both ends where sockets differ
/// or changed.
fn buffer(queues: &Queues) -> String {
    let (least, most) = (queues.receive_buffer_least_bytes, queues.receive_buffer_most_bytes);
    let range = if least == most {
        memory(least)
    } else {
        format!("{} to {}", memory(least), memory(most))
    };
    format::or_dash((queues.sockets > 0).then_some(range), |range| range)
}

/// Formats the size of a receive buffer in bytes: `64 KiB`, `16 MiB`.
fn memory(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    if bytes < MIB {
        format!("{} KiB", format::trimmed(bytes as f64 / 1024.0, 1))
    } else {
        format!("{} MiB", format::trimmed(bytes as f64 / MIB as f64, 1))
    }
}

fn qdisc(qdisc: Option<&Qdisc>) -> Markup {
    let count = |count: fn(&Qdisc) -> u64| {
        format::or_dash(qdisc, |qdisc| format::whole(count(qdisc) as f64))
    };
    let name = format::or_dash(qdisc, |qdisc| match qdisc.limit_packets {
        0 => qdisc.kind.clone(),
        limit => format!("{}, {} packets", qdisc.kind, format::whole(limit as f64)),
    });
    html! {
        td { (name) }
        td.n { (count(|qdisc| qdisc.packets)) }
        td.n { (count(|qdisc| qdisc.drops)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::record::VoidReason;
    use measure::summary::ServerResult;

    #[test]
    fn each_line_tells_what_its_queues_were_at_the_maximum_and_beyond() {
        assert_eq!(section(&RunSummary::default()).into_string(), "");
        let qdisc = Qdisc {
            kind: "pfifo".to_owned(),
            limit_packets: 1_000,
            packets: 4_321,
            drops: 17,
            ..Qdisc::default()
        };
        let queues = Queues {
            sockets: 2,
            receive_buffer_least_bytes: 8 << 20,
            receive_buffer_most_bytes: 64 << 20,
            to_server: Some(qdisc),
            from_server: None,
        };
        let row = |purpose, offered_per_s: f64, meets| TrialRow {
            server: "godwit-plain".to_owned(),
            purpose,
            offered_per_s,
            achieved_per_s: offered_per_s,
            meets,
            server_socket_drops: Some(55),
            queues: Some(queues.clone()),
            ..TrialRow::default()
        };
        let void =
            TrialRow { void: vec![VoidReason::Steal], ..row(Purpose::Curve, 7_777.0, false) };
        let trials = vec![
            row(Purpose::Search, 111.0, true),
            row(Purpose::Confirm, 222.0, true),
            row(Purpose::Confirm, 333.0, true),
            row(Purpose::Curve, 666.0, false),
            row(Purpose::Curve, 444.0, false),
            void,
        ];
        let result = ServerResult { server: "godwit-plain".to_owned(), ..Default::default() };
        let summary = RunSummary { trials, results: vec![result], ..RunSummary::default() };
        let text = section(&summary).into_string();
        let cell = |of: &str| format!("<td class=\"n\">{of}</td>");
        let at = |of: &str| text.find(&cell(of));
        assert!(at("333") < at("444") && at("444") < at("666"), "{text}");
        for absent in ["111", "222", "7,777"] {
            assert_eq!(at(absent), None, "{absent}");
        }
        for words in ["8 MiB to 64 MiB", "pfifo, 1,000 packets", "4,321", ">17<", ">55<"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
