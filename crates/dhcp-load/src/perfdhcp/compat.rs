//! Text of perfdhcp 2.2, line by line, for scripts that parse it. The words are perfdhcp's; the
//! numbers are this generator's: replies on time count as received, all other requests as drops.

use std::fmt::Write as _;

use base::general;

use super::account::ExchangeAccount;
use super::args::{PerfdhcpArgs, PerfdhcpScenario, ThreadMode};
use super::dialect::ExchangeKind;
use super::report::PerfdhcpReport;
use super::text::rate_name;

/// Returns perfdhcp's line about threads, which follows from the number of processors unless `-g`
/// sets the mode.
pub(crate) fn threads(args: &PerfdhcpArgs, cpus: usize) -> &'static str {
    let is_multi = args.threads.map_or(cpus > 1, |mode| mode == ThreadMode::Multi);
    if is_multi { "Multi-thread mode enabled.\n" } else { "" }
}

/// Returns perfdhcp's count of received replies of one kind of exchange.
fn received(account: &ExchangeAccount) -> u64 {
    account.on_time() + account.rejected()
}

fn exchange(report: &PerfdhcpReport, kind: ExchangeKind, is_first: bool, text: &mut String) {
    let account = &report.accounts[kind.index()];
    let is_awaited = report.is_awaited[kind.index()];
    let sent = account.sent();
    let drops = if is_awaited { account.failed() - account.rejected() } else { 0 };
    let ratio = 100.0 * drops as f64 / sent as f64;
    let ratio = match (sent, is_first) {
        (0, _) => "-nan".into(),
        (_, true) => general(ratio),
        // perfdhcp prints this ratio with the precision that it set for delays.
        (_, false) => format!("{ratio:.3}"),
    };
    let conflicts = report.conflicts[kind.index()].conflicts;
    let _ = writeln!(text, "***Statistics for: {}***", report.names[kind.index()]);
    let _ = writeln!(text, "sent packets: {sent}\nreceived packets: {}", received(account));
    let _ =
        writeln!(text, "drops: {drops}\ndrops ratio: {ratio} %\norphans: {}", account.unmatched);
    let _ = writeln!(text, "rejected leases: {}", account.rejected());
    let _ = writeln!(text, "non unique addresses: {conflicts}\n");
    let delays = account.ledger.latency_sent();
    let ms = |ns: f64| format!("{:.3} ms", ns / 1e6);
    let rows = [
        ("min delay", delays.min().map(|ns| ms(ns as f64))),
        ("avg delay", delays.mean().map(ms)),
        ("max delay", delays.max().map(|ns| ms(ns as f64))),
        ("std deviation", delays.max().map(|_| ms(account.delay_deviation_ns()))),
    ];
    for (name, value) in rows {
        let _ = writeln!(text, "{name}: {}", value.unwrap_or_else(|| "n/a".into()));
    }
    // The generator discards no request before it has been watched long enough.
    text.push_str("collected packets: 0\n\n");
}

/// Returns the text of a finished run in perfdhcp's form.
pub(crate) fn whole(args: &PerfdhcpArgs, report: &PerfdhcpReport) -> String {
    let mut text = String::from("***Rate statistics***\n");
    let name = rate_name(args);
    let _ = write!(text, "Rate: {} {name}/second", general(report.completed_per_s()));
    match args.rate {
        Some(rate) => {
            let _ = writeln!(text, ", expected rate: {rate}\n");
        }
        None => text.push('\n'),
    }
    let _ = writeln!(text, "***Malformed Packets***\nMalformed packets: {}", report.malformed);
    for (index, &kind) in report.kinds.iter().enumerate() {
        exchange(report, kind, index == 0, &mut text);
    }
    if args.scenario == PerfdhcpScenario::Avalanche {
        avalanche(args, report, &mut text);
    }
    text
}

/// Appends perfdhcp's lines about an avalanche to `text`.
pub(crate) fn avalanche(args: &PerfdhcpArgs, report: &PerfdhcpReport, text: &mut String) {
    let took_us = (report.loop_result.end_ns - report.loop_result.start_ns) / 1_000;
    let (s, us) = (took_us / 1_000_000, took_us % 1_000_000);
    let sum = |count: fn(&ExchangeAccount) -> u64| report.accounts.iter().map(count).sum::<u64>();
    let resent = sum(|account| account.resent);
    let _ = writeln!(
        text,
        "It took {:02}:{:02}:{:02}.{us:06} to provision {} clients. ",
        s / 3_600,
        s / 60 % 60,
        s % 60,
        args.clients
    );
    let _ = writeln!(text, "Requests sent + resent: {}", sum(ExchangeAccount::sent) + resent);
    let _ = writeln!(text, "Requests resent: {resent}");
    let _ = writeln!(text, "Responses received: {}", sum(received));
}
