//! Tests of reports without a reply, and of the settings in a document.

use clap::Parser;

use super::*;
use crate::leases::LeaseLog;
use crate::perfdhcp::dialect4::Dialect4;
use crate::perfdhcp::plan;
use crate::v4::template::Dhcp4MessageExtras;

fn parsed(words: &str) -> PerfdhcpArgs {
    PerfdhcpArgs::try_parse_from(words.split(' ')).unwrap()
}

/// Returns the report of a run in which the kernel took `sent` messages and refused `refused`.
fn report(args: &PerfdhcpArgs, sent: u64, refused: u64) -> PerfdhcpReport {
    let mut outcome = GeneratorOutcome::none(SendingEndReason::Requests);
    outcome.leases = [(); 2].map(|()| LeaseLog::with_capacity(0));
    outcome.loop_result.sends.sent = sent;
    outcome.loop_result.sends.refused = refused;
    let ledger = &mut outcome.accounts[0].ledger;
    for _ in 0..sent + refused {
        ledger.record_due();
        ledger.record_end(ExchangeClass::Lost);
    }
    for _ in 0..sent {
        ledger.record_sent(1, 1);
    }
    let extras = Dhcp4MessageExtras::default();
    let links = vec!["127.0.0.1".parse().unwrap()];
    let dialect = Dialect4::new(plan::personas(args).unwrap(), links, &extras, false);
    PerfdhcpReport::from_outcome(args, 1, None, outcome, &dialect, 0)
}

#[test]
fn a_silence_is_explained_once_in_the_same_words() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let args = parsed(&format!("perfdhcp -l 127.0.0.1 -N {port} 127.0.0.1"));
    let addresses = RunAddresses::from_args(&args).unwrap();
    for (sent, refused, expected) in [
        (20, 0, Some("no answer at all: is 127.0.0.1")),
        (0, 20, Some("the kernel refused all 20 messages from 127.0.0.1:67 to 127.0.0.1")),
        (0, 0, None),
    ] {
        let mut report = report(&args, sent, refused);
        report.explain_silence(&args, &addresses);
        let reason = report.silence.as_deref();
        assert_eq!(reason.is_some(), expected.is_some(), "{reason:?}");
        assert!(reason.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{reason:?}");
        assert_eq!(report.warnings, report.silence.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_silence_of_several_generators_is_explained() {
    let args = parsed("perfdhcp --generators a,b -R 5 192.0.2.1");
    for (sent, refused, expected) in [
        (
            20,
            0,
            "no answer at all to any generator: is SERVER up, and does it have a subnet for \
                 each of",
        ),
        (0, 20, "the kernels of the generators refused all messages: does each of"),
    ] {
        let mut whole = report(&args, sent, refused);
        for (host, local) in [("a", "192.0.2.5:67"), ("b", "192.0.2.6:67")] {
            whole.generators.push(GeneratorResult {
                host: host.into(),
                local: local.into(),
                report: report(&args, sent, refused),
                clock: base::Offset { ns: 0, uncertainty_ns: 0 },
                clock_after: None,
                notice_ns: 0,
            });
        }
        whole.explain_silence_of_generators();
        let reason = whole.silence.unwrap();
        assert!(reason.starts_with(expected), "{reason}");
        assert!(reason.contains("192.0.2.5:67, 192.0.2.6:67"), "{reason}");
    }
}

#[test]
fn a_document_has_every_setting() {
    let args = parsed(
        "perfdhcp -C ; --compat --pcap x --pcap-failed --hdr y --interface eth7 --server-mac \
         02:00:00:00:00:0a 192.0.2.1",
    );
    let settings = settings(&args, None);
    for (key, value) in [
        ("separator", json!(";")),
        ("compat", json!(true)),
        ("pcap", json!("x")),
        ("pcap_failed", json!(true)),
        ("hdr", json!("y")),
        ("server_mac", json!("02:00:00:00:00:0a")),
    ] {
        assert_eq!(settings[key], value, "{key}");
    }
}
