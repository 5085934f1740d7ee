//! Conformance cases of options in general (RFC 4340 §5.8).

use dccp::header::{PacketType, ResetCode};
use dccp::option::{DccpOption, FeatureOption, number};

use crate::conformance::answer::{TargetPacket, listed};
use crate::conformance::case::{ConformanceCase, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::negotiation::{change, wide};
use crate::conformance::peer::{TesterConnection, option};
use crate::conformance::verdict::{Judged, demand};

pub(super) const CASES: &[ConformanceCase] = &[
    outside("OPT-01", "§5.8", "unknown options are ignored", unknown_options),
    outside(
        "OPT-02",
        "§5.8.2",
        "Mandatory and an unknown option: Reset 6 with the option's number",
        mandatory_unknown,
    ),
    outside("OPT-03", "§5.8.2", "Mandatory at the end: Reset 5", mandatory_last),
    outside("OPT-04", "§5.8.2", "Mandatory twice: Reset 5", mandatory_twice),
    outside("OPT-05", "§5.8.2", "Mandatory before Padding is accepted", mandatory_padding),
    outside(
        "OPT-06",
        "§5.8",
        "an impossible length ends the list; the options before it count",
        impossible_lengths,
    ),
    outside("OPT-07", "§5.8.2", "Mandatory on Data is ignored", mandatory_on_data),
    outside(
        "OPT-08",
        "§5.8",
        "options that are not allowed on Data are ignored there",
        not_for_data,
    ),
    outside("OPT-09", "§11.4", "an Ack Vector on a Request is ignored", vector_on_request),
    outside(
        "OPT-10",
        "§5.8",
        "options may begin at any byte, with padding between them",
        unaligned,
    ),
    outside("OPT-11", "§13.1", "a Timestamp of another length is ignored", short_timestamp),
    outside(
        "OPT-12",
        "§5.8",
        "the options of a Reset are processed: Reset 6, once",
        options_of_reset,
    ),
    outside("OPT-13", "§5.8", "a thousand bytes of options are accepted", many_options),
];

/// Value of a Timestamp option that the suite looks for in the target's Timestamp Echo.
const STAMP: u32 = 0x0102_0304;

fn demand_reset(
    bench: &ConformanceContext,
    options: &[u8],
    code: ResetCode,
    data: [u8; 3],
) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let ack = peer.next(PacketType::Ack).options(options);
    peer.send(&ack);
    let answer = peer.wait_reset(code, "for the options")?;
    let has_data = answer.header.reset.is_some_and(|reset| reset.data == data);
    demand(has_data, &format!("Data 1 to 3 of {data:?}"), || answer.to_string())
}

fn demand_ignored(bench: &ConformanceContext, packet_type: PacketType, options: &[u8]) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(packet_type).options(options);
    peer.demand_accepted(&draft)
}

fn has_stamp(answer: &TargetPacket) -> bool {
    answer.option(number::TIMESTAMP_ECHO).is_some_and(|echo| echo.starts_with(&STAMP.to_be_bytes()))
}

fn unknown_options(bench: &ConformanceContext) -> Judged {
    demand_ignored(bench, PacketType::Ack, &[50, 2, 127, 3, 1, 31])
}

fn mandatory_unknown(bench: &ConformanceContext) -> Judged {
    demand_reset(bench, &[1, 50, 5, 7, 8, 9], ResetCode::MandatoryError, [50, 7, 8])?;
    demand_reset(bench, &[0, 1, 127, 3, 4], ResetCode::MandatoryError, [127, 4, 0])
}

fn mandatory_last(bench: &ConformanceContext) -> Judged {
    demand_reset(bench, &[0, 0, 0, number::MANDATORY], ResetCode::OptionError, [1, 0, 0])
}

fn mandatory_twice(bench: &ConformanceContext) -> Judged {
    demand_reset(bench, &[1, 1, 0, 0], ResetCode::OptionError, [1, 0, 0])
}

fn mandatory_padding(bench: &ConformanceContext) -> Judged {
    demand_ignored(bench, PacketType::Ack, &[1, 0, 0, 0])
}

/// Checks that the target echoes the Timestamp in `options` and has no objection to the other
/// options.
fn demand_stamp(bench: &ConformanceContext, options: &[u8]) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    for _ in 0..2 {
        let draft = peer.next(PacketType::DataAck).options(options).data(b"time");
        peer.send(&draft);
    }
    peer.wait("a Timestamp Echo of 01020304", has_stamp)?;
    peer.demand_quiet("for the options after the Timestamp")
}

fn impossible_lengths(bench: &ConformanceContext) -> Judged {
    let stamp = option(DccpOption::Timestamp(STAMP));
    for len in [0, 1, 200] {
        // The bytes after the length would reset the connection if the target read them.
        let tail = [50, len, number::MANDATORY, number::MANDATORY];
        demand_stamp(bench, &[&stamp[..], &tail].concat())?;
    }
    Ok(())
}

fn mandatory_on_data(bench: &ConformanceContext) -> Judged {
    demand_ignored(bench, PacketType::Data, &[1, 50, 2, 0])
}

fn not_for_data(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let window = change(FeatureOption::ChangeL, 3, &wide(200));
    // Data Dropped with code 1: a target that accepted it would send no more data.
    let beside = [38, 3, 0, 36, 4, 1, 2, 40, 3, 0x90, 43, 4, 0, 1];
    let draft = peer.next(PacketType::Data).options(&[&window[..], &beside].concat());
    let passed = peer.answers_to(&draft)?;
    let has_confirm = |a: &TargetPacket| !a.features(FeatureOption::ConfirmR, 3).is_empty();
    demand(!passed.iter().any(has_confirm), "no Confirm of a Change on Data", || listed(&passed))?;
    peer.demand_reported(draft.header.sequence, true)?;
    if bench.needs_echo().is_ok() {
        peer.send_data(b"goes on");
        peer.demand_echo(b"goes on", true)?;
    }
    Ok(())
}

fn vector_on_request(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    peer.request(&[38, 4, 0, 0xc0])?;
    peer.complete()
}

fn unaligned(bench: &ConformanceContext) -> Judged {
    let stamp = option(DccpOption::Timestamp(STAMP));
    demand_stamp(bench, &[&[0], &stamp[..], &[0, 0, 37, 3, 1]].concat())
}

fn short_timestamp(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::DataAck).options(&[41, 5, 1, 2, 3]).data(b"time");
    let passed = peer.answers_to(&draft)?;
    let is_wrong =
        |a: &TargetPacket| a.is(PacketType::Reset) || a.option(number::TIMESTAMP_ECHO).is_some();
    demand(!passed.iter().any(is_wrong), "no Reset and no Timestamp Echo", || listed(&passed))?;
    peer.demand_reported(draft.header.sequence, true)
}

fn options_of_reset(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let reset = peer.next(PacketType::Reset).options(&[1, 50, 2, 0]);
    peer.send(&reset);
    peer.wait_reset(ResetCode::MandatoryError, "for the option of a Reset")?;
    // Any other answer to the Reset comes before the answer to this Ack.
    let ack = peer.next(PacketType::Ack);
    peer.send(&ack);
    peer.wait_reset(ResetCode::NoConnection, "because the connection has ended").map(drop)
}

fn many_options(bench: &ConformanceContext) -> Judged {
    let longest: Vec<u8> = [50, 249].into_iter().chain([0; 247]).collect();
    demand_ignored(bench, PacketType::Ack, &longest.repeat(4))
}
