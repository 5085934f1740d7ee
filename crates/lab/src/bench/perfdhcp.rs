//! Debian's perfdhcp as the load generator: its command line, and its report as a record of
//! Godwit's own form, so that both generators are judged by the same rules.
//!
//! Values that perfdhcp does not report stay 0: latencies from due times, drops at its own socket.
//! Exchanges that it never began count as sent late, which makes a trial void beyond the rate that
//! it can send, as with Godwit's generator.

use measure::record::{ExchangeCounts, LOAD_SCHEMA, LoadRecord, MessageCounts};
use testbed::CommandLine;

use super::generator::GeneratorAddresses;
use crate::driver::perfdhcp::{PERFDHCP, dwell_s};
use crate::trial::TrialRequest;

/// Time that perfdhcp waits for answers at the end of a trial, in microseconds: later answers count
/// as lost.
const WAIT_US: &str = "300000";

/// Makes the command line of perfdhcp: whole exchanges of clients that only this trial has.
pub(super) fn command(
    addresses: GeneratorAddresses,
    request: &TrialRequest,
    clients: u32,
) -> CommandLine {
    let GeneratorAddresses { relay, server } = addresses;
    let [_, _, high, low] = request.number.to_be_bytes();
    CommandLine::new(PERFDHCP.0)
        .args(["-4", "-g", "single"])
        .args(["-l", &relay.ip().to_string(), "-L", &relay.port().to_string()])
        .args(["-N", &server.port().to_string()])
        .args(["-r", &format!("{:.0}", request.rate_per_s.round())])
        .args(["-p", &format!("{:.0}", dwell_s(request.dwell_s))])
        .args(["-R", &clients.to_string(), "-b", &format!("mac=02:70:{high:02x}:{low:02x}:00:00")])
        .args(["-W", WAIT_US])
        .arg(server.ip().to_string())
}

/// Converts the report of perfdhcp to a load record, for a trial at `rate_per_s` for `dwell_s` as
/// on its command line; `None` when there is no report.
pub(super) fn record(report: &str, rate_per_s: f64, dwell_s: f64) -> Option<LoadRecord> {
    let first = counts(report, "DISCOVER-OFFER")?;
    let second = counts(report, "REQUEST-ACK")?;
    let due = ((rate_per_s.round() * dwell_s) as u64).max(first.sent);
    // perfdhcp stops at the whole second, a message early or late: that is no lateness.
    let late_sends = (due - first.sent).saturating_sub(due / 1_000 + 1);
    let due = if late_sends == 0 { first.sent } else { due };
    let on_time = second.received.min(due);
    Some(LoadRecord {
        schema: LOAD_SCHEMA.to_owned(),
        tool: PERFDHCP.0.to_owned(),
        offered_per_s: rate_per_s.round(),
        duration_s: dwell_s,
        exchanges: ExchangeCounts {
            due,
            sent: first.sent,
            on_time,
            lost: due - on_time,
            ..ExchangeCounts::default()
        },
        messages: MessageCounts {
            sent: first.sent + second.sent,
            received: first.received + second.received,
            unmatched: first.orphans + second.orphans,
            ..MessageCounts::default()
        },
        completed_per_s: on_time as f64 / dwell_s,
        late_sends,
        generator_limited: late_sends > 0,
        generator_limited_reason: if late_sends > 0 {
            format!("perfdhcp began {} of {due} exchanges", first.sent)
        } else {
            String::new()
        },
        ..LoadRecord::default()
    })
}

/// Counts of the messages of one exchange type (such as DISCOVER-OFFER) in perfdhcp's report.
struct PerfdhcpReportCounts {
    sent: u64,
    received: u64,
    orphans: u64,
}

fn counts(report: &str, exchange: &str) -> Option<PerfdhcpReportCounts> {
    let head = format!("***Statistics for: {exchange}***");
    let lines: Vec<&str> =
        report.lines().skip_while(|line| line.trim() != head).skip(1).take(6).collect();
    let number = |label: &str| {
        let value = lines.iter().find_map(|line| line.strip_prefix(label))?;
        value.trim().parse().ok()
    };
    Some(PerfdhcpReportCounts {
        sent: number("sent packets:")?,
        received: number("received packets:")?,
        orphans: number("orphans:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Report written by perfdhcp 2.2.0 of Debian 12 for 2 s at 30 exchanges per second, loading
    /// `godwit dhcp4`.
    const REPORT: &str = include_str!("perfdhcp-report.txt");

    #[test]
    fn a_report_becomes_a_record() {
        let whole = record(REPORT, 30.0, 2.0).unwrap();
        assert_eq!((whole.exchanges.due, whole.exchanges.sent, whole.late_sends), (59, 59, 0));
        assert_eq!((whole.exchanges.on_time, whole.messages.received), (59, 118));
        let (first, second) = REPORT.split_once("REQUEST-ACK").unwrap();
        let second = second.replace("received packets: 59", "received packets: 57");
        let lossy = record(&format!("{first}REQUEST-ACK{second}"), 30.0, 2.0).unwrap();
        assert_eq!((lossy.exchanges.on_time, lossy.exchanges.lost), (57, 2));
        assert_eq!(lossy.completed_per_s, 28.5);
        assert_eq!(record(first, 30.0, 2.0), None);
    }

    #[test]
    fn what_it_did_not_begin_is_late() {
        let record = record(REPORT, 40.0, 2.0).unwrap();
        assert_eq!((record.exchanges.due, record.late_sends), (80, 20));
        assert!(record.generator_limited && record.exchanges.shortfall() > 0.25);
        assert_eq!(record.generator_limited_reason, "perfdhcp began 59 of 80 exchanges");
    }

    #[test]
    fn each_trial_has_clients_of_its_own() {
        let addresses = GeneratorAddresses {
            relay: "10.0.0.9:67".parse().unwrap(),
            server: "10.0.0.1:67".parse().unwrap(),
        };
        let request = TrialRequest { number: 258, ..TrialRequest::for_test(1_234.5, 0.5) };
        let words = command(addresses, &request, 1_000).to_string();
        assert_eq!(
            words,
            "perfdhcp -4 -g single -l 10.0.0.9 -L 67 -N 67 -r 1235 -p 1 -R 1000 \
             -b mac=02:70:01:02:00:00 -W 300000 10.0.0.1"
        );
    }
}
