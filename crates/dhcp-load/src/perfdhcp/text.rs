//! Text of a perfdhcp run: perfdhcp's sections with the full ledger, and parts that both texts
//! share.

use std::fmt::Write as _;

use base::time::seconds;
use base::{Histogram, general};
use load::ExchangeClass;
use measure::record::samples_for;

use super::account::ExchangeAccount;
use super::args::{PerfdhcpArgs, PerfdhcpScenario};
use super::compat;
use super::dialect::ExchangeKind;
use super::report::PerfdhcpReport;
use crate::fault::{ReplyFault, ServerRefusal};

/// Returns the name of the exchanges that the rate of the run counts.
pub(crate) const fn rate_name(args: &PerfdhcpArgs) -> &'static str {
    match (args.offer_only, args.v6, args.rapid_commit) {
        (false, ..) => "4-way exchanges",
        (true, false, _) => "DISCOVER-OFFER",
        (true, true, false) => "Solicit-Advertise",
        (true, true, true) => "Solicit-Reply",
    }
}

/// Switches without a value for the output, the generators and the network path, which the text of
/// a run does not repeat.
const OUTPUT_BARE: [&str; 3] = ["--compat", "--live", "--pcap-failed"];
/// Switches with a value for the output, the generators and the network path, which the text of a
/// run does not repeat.
const OUTPUT: [&str; 8] = [
    "--json",
    "--hdr",
    "--pcap",
    "--generators",
    "--ssh-command",
    "--remote-godwit",
    "--interface",
    "--server-mac",
];
/// Long switches of `godwit perfdhcp` without a value; the command line may abbreviate them.
const LONG_BARE: [&str; 3] = ["--direct", "--broadcast-flag", "--answer-arp"];
/// Letters of perfdhcp's switches without a value.
const BARE: &str = "146BchiuvV";

/// Returns the command line as perfdhcp repeats it: every switch apart from its value. Godwit's own
/// switches for the output are left out.
fn repeated(words: &[String]) -> String {
    let (mut switches, mut rest) = (String::new(), String::new());
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(a, b)| (a, Some(b)));
        if OUTPUT_BARE.contains(&name) || (OUTPUT.contains(&name) && value.is_some()) {
            continue;
        }
        if OUTPUT.contains(&name) {
            words.next();
            continue;
        }
        if word.starts_with("--") {
            let _ = write!(switches, " {word}");
            let is_bare = LONG_BARE.iter().any(|bare| bare.starts_with(name));
            if let Some(value) = words.next_if(|_| value.is_none() && !is_bare) {
                let _ = write!(switches, " {value}");
            }
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            let _ = write!(rest, " {word}");
            continue;
        };
        for (at, letter) in letters.char_indices() {
            let _ = write!(switches, " -{letter}");
            if BARE.contains(letter) {
                continue;
            }
            let attached = &letters[at + letter.len_utf8()..];
            let value =
                if attached.is_empty() { words.next().map(String::as_str) } else { Some(attached) };
            let _ = write!(switches, " {}", value.unwrap_or_default());
            break;
        }
    }
    switches + &rest
}

/// Returns the beginning of both texts of a run; `words` follow the name of the program.
pub(crate) fn head(args: &PerfdhcpArgs, words: &[String], cpus: usize) -> String {
    let mut text = String::new();
    if args.separator.is_none() {
        let scenario = match args.scenario {
            PerfdhcpScenario::Basic => "basic",
            PerfdhcpScenario::Avalanche => "avalanche",
            PerfdhcpScenario::Lifecycle => "lifecycle",
        };
        let _ = writeln!(text, "Running: perfdhcp{}", repeated(words));
        let _ = writeln!(text, "Scenario: {scenario}.");
        if args.compat {
            text += compat::threads(args, cpus);
        }
    }
    text
}

/// Counts of a periodic report, by column and kind of exchange: sent, on time, overdue, rejected.
pub(crate) type Standing = [Vec<u64>; 4];

/// Returns the counts of a periodic report from `accounts`, for the exchanges in `kinds`.
pub(crate) fn standing(
    kinds: &[ExchangeKind],
    accounts: &[ExchangeAccount; ExchangeKind::COUNT],
) -> Standing {
    let of = |count: fn(&ExchangeAccount) -> u64| {
        kinds.iter().map(|kind| count(&accounts[kind.index()])).collect::<Vec<_>>()
    };
    [
        of(ExchangeAccount::sent),
        of(ExchangeAccount::on_time),
        of(|account| account.overdue),
        of(ExchangeAccount::rejected),
    ]
}

/// Returns the line of a periodic report with these counts.
pub(crate) fn periodic(args: &PerfdhcpArgs, standing: &Standing) -> String {
    let texts = |counts: &Vec<u64>| counts.iter().map(u64::to_string).collect::<Vec<_>>();
    let columns = standing.each_ref().map(texts);
    match &args.separator {
        Some(separator) => columns.concat().join(separator),
        None => {
            let [sent, received, drops, rejected] = columns.map(|column| column.join("/"));
            format!("sent: {sent}; received: {received}; drops: {drops}; rejected: {rejected}")
        }
    }
}

/// Formats percentiles of a latency histogram in milliseconds.
fn percentiles(histogram: &Histogram) -> String {
    let or_dash = |ns: Option<u64>, dash: &str| {
        ns.map_or_else(|| dash.to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6))
    };
    let ms = |ns: Option<u64>| or_dash(ns, "n/a");
    let at = |quantile| {
        let has_enough_samples = histogram.count() >= samples_for(quantile);
        or_dash(if has_enough_samples { histogram.quantile(quantile) } else { None }, "-")
    };
    format!(
        "min {}, p50 {}, p90 {}, p99 {}, p99.9 {}, max {} ms",
        ms(histogram.min()),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        ms(histogram.max())
    )
}

fn exchange(report: &PerfdhcpReport, kind: ExchangeKind, text: &mut String) {
    let account = &report.accounts[kind.index()];
    let ledger = &account.ledger;
    let is_awaited = report.is_awaited[kind.index()];
    let _ = writeln!(text, "***Statistics for: {}***", report.names[kind.index()]);
    let unsent = ledger.due() - ledger.sent();
    let mut rows = vec![("sent packets", ledger.sent(), true), ("not sent", unsent, unsent > 0)];
    let refused = |how: ServerRefusal| account.refusals[how.index()];
    if is_awaited {
        rows.extend([
            ("on time", account.on_time(), true),
            ("late", ledger.count(ExchangeClass::Late), true),
            ("lost", ledger.count(ExchangeClass::Lost), true),
            ("DHCPNAK", refused(ServerRefusal::Nak), true),
            ("rejected", account.rejected(), true),
            ("invalid", ledger.count(ExchangeClass::Invalid), true),
            ("wrong client", ledger.count(ExchangeClass::WrongClient), true),
            ("in flight", ledger.in_flight(), true),
        ]);
    }
    let conflicts = &report.conflicts[kind.index()];
    rows.extend([
        ("duplicates", account.duplicates, true),
        ("orphans", account.unmatched, true),
        ("malformed", account.malformed, account.malformed > 0),
        ("sent again", account.resent, account.resent > 0),
        ("no lease available", account.without_lease, account.without_lease > 0),
        ("non unique addresses", conflicts.conflicts, true),
    ]);
    for (name, count, _) in rows.into_iter().filter(|row| row.2) {
        let _ = writeln!(text, "{name}: {count}");
    }
    for how in
        ServerRefusal::ALL.into_iter().filter(|&how| how != ServerRefusal::Nak && refused(how) > 0)
    {
        let _ = writeln!(text, "  rejected with {}: {}", how.name(), refused(how));
    }
    for fault in ReplyFault::ALL.into_iter().filter(|fault| account.faults[fault.index()] > 0) {
        let _ = writeln!(text, "  invalid for {}: {}", fault.name(), account.faults[fault.index()]);
    }
    for conflict in &conflicts.examples {
        let _ = writeln!(
            text,
            "  {} was given to {} while {} had it",
            conflict.address, conflict.second, conflict.first
        );
    }
    if is_awaited {
        let _ = writeln!(text, "delay from due:  {}", percentiles(ledger.latency_due()));
        let _ = writeln!(text, "delay from sent: {}", percentiles(ledger.latency_sent()));
        if let Some(mean_ns) = ledger.latency_sent().mean() {
            let [mean, deviation] =
                [mean_ns, account.delay_deviation_ns()].map(|ns| format!("{:.3}", ns / 1e6));
            let _ = writeln!(text, "                 average {mean}, std deviation {deviation} ms");
        }
    } else {
        text.push_str("no server answers it\n");
    }
    text.push('\n');
}

/// Returns the text of a finished run, with the full ledger.
pub(crate) fn whole(args: &PerfdhcpArgs, report: &PerfdhcpReport) -> String {
    let mut text = String::from("***Rate statistics***\n");
    let name = rate_name(args);
    let _ = write!(text, "Rate: {} {name}/second", general(report.completed_per_s()));
    if let Some(rate) = args.rate {
        let _ = write!(text, ", expected rate: {rate}");
    }
    let begun = report.accounts[0].ledger.due();
    let _ = writeln!(
        text,
        ", offered: {} ({begun} in {:.3} s)",
        general(report.offered_per_s()),
        report.sending_s
    );
    if report.overtime_s > 0.0 {
        let _ = writeln!(
            text,
            "The server took {:.3} s longer than the offer: the rate is that of {} exchanges in \
             {:.3} s",
            report.overtime_s,
            report.counted,
            report.sending_s + report.overtime_s
        );
    }
    let done = &report.loop_result;
    let _ = writeln!(text, "Leases at the end: {}\n", report.leases);
    text.push_str("***Malformed Packets***\n");
    let _ = writeln!(text, "Malformed packets: {}", report.malformed);
    let _ = writeln!(text, "Too short packets: {}\n", report.too_short);
    for &kind in &report.kinds {
        exchange(report, kind, &mut text);
    }
    text.push_str("***Generator***\n");
    let _ = writeln!(
        text,
        "late sends: {}, own socket drops: {}, refused by the kernel: {}, not sent for lack of \
         buffer space: {}",
        report.late_sends(),
        done.socket_drops,
        done.sends.refused,
        report.local_limit
    );
    if let Some(link) = report.link {
        let _ = writeln!(
            text,
            "on the link: {} messages by broadcast, {} by unicast, {} for others, {} ARP answers",
            link.broadcast, link.unicast, link.overheard, link.arp_answered
        );
    }
    for generator in &report.generators {
        let _ = writeln!(text, "{}", generator.line());
    }
    if report.preloaded[0] > 0 {
        let [sent, answered] = report.preloaded;
        let _ = writeln!(text, "preload: {sent} sent, {answered} answers");
    }
    let elapsed_s = seconds(done.end_ns - done.start_ns);
    let cpu_s = seconds(done.cpu_ns);
    let _ = writeln!(text, "seed: {}, {cpu_s:.3} CPU s in {elapsed_s:.3} s", report.seed);
    if let Some(reasons) = report.limit() {
        let _ = writeln!(text, "GENERATOR LIMITED: {reasons}");
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_significant_digits_like_a_stream_of_cpp() {
        // Texts as C++ prints them.
        for (value, expected) in [
            (71.284_345, "71.2843"),
            (100.0, "100"),
            (0.0, "0"),
            (9.547_738_693, "9.54774"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_012_345_67, "1.23457e-05"),
            (999_999.5, "1e+06"),
            (0.5, "0.5"),
            (123_456.0, "123456"),
        ] {
            assert_eq!(general(value), expected);
        }
    }

    #[test]
    fn the_command_line_is_repeated_switch_by_switch() {
        let words = "-4 -r100 --compat 127.0.0.1 -iB -n 5 --json x -xa --scenario=basic";
        let words: Vec<String> = words.split(' ').map(Into::into).collect();
        assert_eq!(repeated(&words), " -4 -r 100 -i -B -n 5 -x a --scenario=basic 127.0.0.1");
        let words = "--scenario avalanche --direct -R 200 --answer all --shape poisson";
        let words: Vec<String> = words.split(' ').map(Into::into).collect();
        let expected = " --scenario avalanche --direct -R 200 --answer --shape poisson all";
        assert_eq!(repeated(&words), expected);
    }
}
