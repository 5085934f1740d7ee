//! Avalanche, a trial with all clients at once: `godwit perfdhcp --scenario avalanche` as the
//! generator of a trial, and its report as a load record.
//!
//! Clients without an answer send again as RFC 2131 section 4.1 says, and none gives up: the trial
//! measures the time until all have a lease. Repeated sends are late by design.

use std::path::Path;

use measure::record::{ExchangeCounts, LOAD_SCHEMA, LoadRecord, MessageCounts};
use serde_json::Value;
use testbed::CommandLine;

use super::generator::GeneratorAddresses;
use crate::family::AddressFamily;
use crate::trial::TrialRequest;

/// Name of the file with the generator's report, in the trial's folder.
pub(super) const REPORT: &str = "avalanche.json";
/// Factor by which the generator's time may exceed the time that the clients would need one after
/// the other: clients without an answer wait longer each time.
pub(super) const PATIENCE: f64 = 6.0;

/// Returns the number of clients in the avalanche trial of `request`: its rate times its length.
fn clients(request: &TrialRequest) -> u64 {
    ((request.rate_per_s * request.dwell_s) as u64).max(1)
}

/// Makes the `godwit perfdhcp` command that simulates all clients at once and leaves its `report`;
/// the clients are only in this trial.
pub(super) fn command(
    godwit: &Path,
    report: &Path,
    version: AddressFamily,
    addresses: GeneratorAddresses,
    request: &TrialRequest,
    seed: u64,
) -> CommandLine {
    let GeneratorAddresses { relay, server } = addresses;
    let [_, _, high, low] = request.number.to_be_bytes();
    let mut command =
        CommandLine::new(godwit.to_string_lossy()).args(["perfdhcp", "--scenario", "avalanche"]);
    command = match version {
        AddressFamily::V4 => command.args(["-4"]),
        AddressFamily::V6 => command.args(["-6", "-A", "1"]),
    };
    command
        .args(["-l", &relay.ip().to_string(), "-L", &relay.port().to_string()])
        .args(["-N", &server.port().to_string()])
        .args(["-R", &clients(request).to_string()])
        .args(["-b", &format!("mac=02:71:{high:02x}:{low:02x}:00:00")])
        .args(["-s", &seed.to_string()])
        .args(["--json", &report.to_string_lossy()])
        .arg(server.ip().to_string())
}

/// Converts the generator's report of an avalanche trial to a load record; `None` when there is no
/// report, or when clients were left without a lease.
pub(super) fn record(report: &str, request: &TrialRequest) -> Option<LoadRecord> {
    let report: Value = serde_json::from_str(report).ok()?;
    let number = |key: &str| report[key].as_u64().unwrap_or_default();
    let (due, leases) = (clients(request), number("leases"));
    let took_s = report["elapsed_s"].as_f64().filter(|&took_s| took_s > 0.0 && leases >= due)?;
    Some(LoadRecord {
        schema: LOAD_SCHEMA.to_owned(),
        tool: "godwit perfdhcp".to_owned(),
        offered_per_s: request.rate_per_s,
        duration_s: took_s,
        exchanges: ExchangeCounts { due, sent: due, on_time: due, ..ExchangeCounts::default() },
        messages: MessageCounts {
            sent: number("messages_sent"),
            received: number("messages_received"),
            ..MessageCounts::default()
        },
        completed_per_s: due as f64 / took_s,
        own_socket_drops: number("own_socket_drops"),
        conflicts: report["exchanges"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|exchange| exchange["conflict_count"].as_u64())
            .sum(),
        leases,
        ..LoadRecord::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(rate_per_s: f64) -> TrialRequest {
        TrialRequest { number: 258, ..TrialRequest::for_test(rate_per_s, 2.0) }
    }

    #[test]
    fn it_took_as_long_as_the_last_client() {
        let report = r#"{"leases": 500, "elapsed_s": 2.5, "messages_sent": 1400,
                         "messages_received": 1000, "own_socket_drops": 0}"#;
        let all = record(report, &load(250.0)).unwrap();
        assert_eq!((all.exchanges.on_time, all.duration_s, all.completed_per_s), (500, 2.5, 200.0));
        assert_eq!((all.messages.sent, all.late_sends), (1_400, 0));
        assert_eq!(record(report, &load(300.0)), None, "some clients have no lease");
        assert_eq!(record("", &load(250.0)), None);
    }

    #[test]
    fn each_trial_has_clients_of_its_own() {
        let addresses = GeneratorAddresses {
            relay: "10.0.0.9:67".parse().unwrap(),
            server: "10.0.0.1:67".parse().unwrap(),
        };
        let request = load(1_234.5);
        let (godwit, report) = (Path::new("godwit"), Path::new("avalanche.json"));
        let words = command(godwit, report, AddressFamily::V4, addresses, &request, 7).to_string();
        assert_eq!(
            words,
            "godwit perfdhcp --scenario avalanche -4 -l 10.0.0.9 -L 67 -N 67 -R 2469 \
             -b mac=02:71:01:02:00:00 -s 7 --json avalanche.json 10.0.0.1"
        );
    }
}
