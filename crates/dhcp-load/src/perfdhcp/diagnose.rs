//! Diagnostics of the switch `-x`, in perfdhcp's words.

use std::fmt::Write as _;

use base::time::seconds;

use super::args::{LeaseType, MaxDrops, PerfdhcpArgs, ThreadMode};
use super::dialect::ExchangeKind;
use super::persona::{DUID_MAX, Personas};
use super::report::PerfdhcpReport;
use super::run_addresses::RunAddresses;

fn joined(octets: &[u8], between: &str) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(between)
}

/// Returns the names of the given switches that have no value.
fn set_flags(args: &PerfdhcpArgs) -> impl Iterator<Item = &'static str> {
    let flags = [
        (args.broadcast, "broadcast"),
        (args.direct, "direct"),
        (args.broadcast_flag, "broadcast-flag"),
        (args.answer_arp, "answer-arp"),
        (args.rapid_commit, "rapid-commit"),
        (args.first_server, "use-first"),
        (args.threads == Some(ThreadMode::Single), "single-thread-mode"),
    ];
    flags.into_iter().filter_map(|(is_set, flag)| is_set.then_some(flag))
}

/// Returns the text for `-x a`: every setting of the run, printed before it.
pub(crate) fn settings(
    args: &PerfdhcpArgs,
    addresses: &RunAddresses,
    personas: &Personas,
    seed: u64,
) -> String {
    let mut text = String::from(if args.v6 { "IPv6\n" } else { "IPv4\n" });
    match (args.offer_only, args.v6) {
        (true, false) => text.push_str("DISCOVER-OFFER only\n"),
        (true, true) if args.rapid_commit => text.push_str("SOLICIT-REPLY only\n"),
        (true, true) => text.push_str("SOLICIT-ADVERTISE only\n"),
        (false, _) => {}
    }
    let option = match args.lease_type {
        LeaseType::AddressOnly => "IA_NA option",
        LeaseType::PrefixOnly => "IA_PD option",
        LeaseType::AddressAndPrefix => "IA_NA and IA_PD options",
    };
    let name = args.lease_type.name();
    let _ = writeln!(text, "lease-type={name} ({option} added to the client's request)");
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name}={value}");
        }
    };
    let number_text = |number: Option<u32>| number.map(|number| number.to_string());
    row("rate[1/s]", number_text(args.rate));
    row("renew-rate[1/s]", number_text(args.renew_rate));
    row("release-rate[1/s]", number_text(args.release_rate));
    row("report[s]", number_text(args.report_s));
    row("clients", number_text((args.clients > 0).then_some(args.clients)));
    for (index, count) in args.counts.iter().enumerate() {
        row(&format!("num-request[{index}]"), Some(count.to_string()));
    }
    row("test-period", number_text(args.period_s));
    for index in 0..2 {
        row(&format!("drop-time[{index}]"), Some(seconds(args.deadline_ns(index)).to_string()));
    }
    for limit in &args.max_drops {
        match limit {
            MaxDrops::Count(count) => row("max-drop", Some(count.to_string())),
            MaxDrops::Percent(share) => row("max-pdrop", Some(share.to_string())),
        }
    }
    row("preload", number_text((args.preload > 0).then_some(args.preload)));
    row("local-port", Some(addresses.local.port().to_string()));
    row("remote-port", Some(addresses.server.port().to_string()));
    row("seed", Some(seed.to_string()));
    let path =
        |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    row("mac-list-file", path(&args.mac_list));
    row("relay-addr-list-file", path(&args.relay_list));
    row("diagnostic-selectors", Some(args.diagnostics.clone()));
    row("wrapped", path(&args.wrapped));
    row("local-addr", Some(addresses.local.ip().to_string()));
    row("server", Some(addresses.server.ip().to_string()));
    for flag in set_flags(args) {
        let _ = writeln!(text, "{flag}");
    }
    let mut buffer = [0; DUID_MAX];
    let duid = joined(personas.duid(0, &mut buffer), "");
    let _ = writeln!(text, "Set MAC to {}\nSet DUID to {duid}", joined(&personas.mac(0), "::"));
    text
}

/// Returns the text for the other letters of `-x`, printed after the statistics: i, e, t, s, T, l.
pub(crate) fn after(args: &PerfdhcpArgs, report: &PerfdhcpReport) -> String {
    let mut text = String::new();
    if args.shows('i') {
        let _ = writeln!(text, "Short waits for packets: {}", report.loop_result.idle_turns);
    }
    if args.shows('t') {
        times(report, &mut text);
    }
    if args.shows('s')
        && let Some(server) = &report.trace.server
    {
        let _ = writeln!(text, "Server id: {}", server.replace(':', ""));
    }
    if args.shows('e') {
        let _ = writeln!(text, "{}", report.loop_result.reason.words());
    }
    if args.shows('T') {
        templates(report, &mut text);
    }
    if args.shows('l') {
        leases(report, &mut text);
    }
    text
}

fn times(report: &PerfdhcpReport, text: &mut String) {
    let clock = |ns: u64| {
        let us = ns.saturating_sub(report.loop_result.start_ns) / 1_000;
        let s = us / 1_000_000;
        format!("{:02}{:02}{:02}.{:06}", s / 3_600, s / 60 % 60, s % 60, us % 1_000_000)
    };
    for &kind in &report.kinds {
        let _ = writeln!(text, "***Timestamps for packets: {}***", report.names[kind.index()]);
        let rows = &report.trace.times[kind.index()];
        if rows.is_empty() {
            text.push_str("Unavailable! No packets received.\n");
        }
        for &(sent_ns, answered_ns) in rows {
            let answered = answered_ns.map_or_else(|| "never".into(), clock);
            let _ = writeln!(text, "sent / received: {} / {answered}", clock(sent_ns));
        }
        text.push('\n');
    }
}

fn templates(report: &PerfdhcpReport, text: &mut String) {
    let trace = &report.trace;
    let firsts = ExchangeKind::ALL.into_iter().flat_map(|kind| {
        let index = kind.index();
        [("sent", &trace.sent[index]), ("received", &trace.received[index])]
            .map(|(direction, message)| (report.names[index], direction, message))
    });
    for (name, direction, message) in firsts {
        let Some(octets) = message else { continue };
        let _ = writeln!(text, "First message {direction} of {name}, {} bytes:", octets.len());
        for (row, line) in octets.chunks(16).enumerate() {
            let _ = writeln!(text, "{:04x} {}", 16 * row, joined(line, " "));
        }
        text.push('\n');
    }
}

fn leases(report: &PerfdhcpReport, text: &mut String) {
    for &kind in &report.kinds {
        let rows = &report.trace.leases[kind.index()];
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, "***Leases for {}***", report.names[kind.index()]);
        // The second word is misspelled as in perfdhcp, because scripts look for it.
        text.push_str("client_id,adrress,prefix\n");
        for (client, address, len) in rows {
            let client = report.clients.get(client).map_or("", String::as_str);
            let prefix = if *len == 32 || *len == 128 { String::new() } else { len.to_string() };
            let _ = writeln!(text, "{client},{address},{prefix}");
        }
        text.push('\n');
    }
}
