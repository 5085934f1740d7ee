//! Tests that the conformance suite finds broken rules: a relay breaks each rule on purpose, which
//! must fail the rule's case, for its own reason.

use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use base::ToolError;
use dccp::header::{DccpPacket, Integrity, PacketType};
use dccp_tools::conformance::{ConformanceCaseResult, ConformanceVerdict, run_cases};

use crate::conformance::relay::{Change, FaultPacketChanges, FaultRelay};
use crate::conformance::{all_pass, service, udp_target};

/// Times to wait for an answer of the listener, one try after the other. The first is long enough
/// for loopback; a fault that makes the target silent costs this time. If a case did not fail as it
/// should, the machine may have held it up before the fault happened.
const PATIENCES: [Duration; 5] = [
    Duration::from_millis(400),
    Duration::from_secs(4),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(120),
];
/// Index of the header byte with the type; the constants after it index other bytes with faults.
const TYPE_AT: usize = 8;
const SEQUENCE_END: usize = 15;
const ACKNOWLEDGEMENT_END: usize = 23;
const SERVICE_CODE_AT: usize = 24;
const RESET_CODE_AT: usize = 24;
const RESET_DATA_AT: usize = 25;

/// Fault of the target: a rule of RFC 4340 that its packets break.
struct ConformanceFault {
    case: &'static str,
    /// Mistake of an implementation with this fault, in words.
    what: &'static str,
    /// Word that the case's verdict must contain: a part of the broken expectation.
    expected: &'static str,
    changes: FaultPacketChanges,
}

pub(super) const fn nothing(_: &mut Vec<u8>) {}

pub(super) const fn once(_: &[u8]) -> usize {
    1
}

/// Returns a fault that changes the listener's answers by `backward`.
const fn answers(
    case: &'static str,
    what: &'static str,
    expected: &'static str,
    backward: Change,
) -> ConformanceFault {
    ConformanceFault {
        case,
        what,
        expected,
        changes: FaultPacketChanges { forward: nothing, backward, copies: once },
    }
}

/// Returns a fault in the listener's reading of packets, made by changing the suite's packets by
/// `forward`.
const fn reads(
    case: &'static str,
    what: &'static str,
    expected: &'static str,
    forward: Change,
) -> ConformanceFault {
    ConformanceFault {
        case,
        what,
        expected,
        changes: FaultPacketChanges { forward, backward: nothing, copies: once },
    }
}

pub(super) fn is(octets: &[u8], packet_type: PacketType) -> bool {
    octets.len() > TYPE_AT && octets[TYPE_AT] >> 1 & 0xf == packet_type.number()
}

fn is_reset(octets: &[u8], code: u8) -> bool {
    is(octets, PacketType::Reset) && octets[RESET_CODE_AT] == code
}

/// Returns true if the suite made a packet that RFC 4340 §8.5 step 1 drops.
fn is_malformed(octets: &[u8]) -> bool {
    DccpPacket::parse(octets, Integrity::Carrier).is_err()
}

/// Returns the range of the options' bytes in the packet `octets`.
pub(super) fn options(octets: &[u8]) -> Range<usize> {
    DccpPacket::parse(octets, Integrity::Carrier).map_or(0..0, |packet| {
        let header_len = packet.header.fixed_len();
        header_len..header_len + packet.options.len()
    })
}

/// Calls `change` with the number and the value of each option of the packet that has the number
/// `number`.
pub(super) fn each_option(
    octets: &mut [u8],
    number: u8,
    mut change: impl FnMut(&mut u8, &mut [u8]),
) {
    let range = options(octets);
    let mut rest = &mut octets[range];
    while let Some((kind, tail)) = rest.split_first_mut() {
        if *kind < 32 {
            rest = tail;
            continue;
        }
        let Some((&mut len, _)) = tail.split_first_mut() else { return };
        let (value, tail) = tail[1..].split_at_mut(usize::from(len) - 2);
        if *kind == number {
            change(kind, value);
        }
        rest = tail;
    }
}

/// Changes the number of each option `number` of the packet to an unknown one.
fn hide(octets: &mut [u8], number: u8) {
    each_option(octets, number, |kind, _| *kind = 50);
}

/// Drops the packet if it has this type, by making it empty.
fn drop_packets(octets: &mut Vec<u8>, packet_type: PacketType) {
    if is(octets, packet_type) {
        octets.clear();
    }
}

fn set_type(octets: &mut [u8], packet_type: PacketType) {
    octets[TYPE_AT] = packet_type.number() << 1 | 1;
}

const FAULTS: &[ConformanceFault] = &[
    reads("HDR-01", "reads past the end", "ignored", |octets| {
        if octets.len() == 11 {
            octets.extend([0; 5]);
        }
    }),
    reads("HDR-02", "does not look at Data Offset", "not reported", |octets| {
        if is_malformed(octets) && octets[4] < 7 {
            octets[4] += 1;
        }
    }),
    reads("HDR-03", "cuts Data Offset to the packet", "not reported", |octets| {
        if is_malformed(octets) && octets[4] == 7 {
            octets[4] = 6;
        }
    }),
    reads("HDR-04", "takes a reserved type for an Ack", "not reported", |octets| {
        if octets[TYPE_AT] >> 1 & 0xf > 9 {
            set_type(octets, PacketType::Ack);
        }
    }),
    reads("HDR-05", "takes short numbers on a Close", "alive", |octets| {
        if is(octets, PacketType::Close) {
            octets[TYPE_AT] |= 1;
        }
    }),
    reads("HDR-06", "drops what has reserved bits", "reported as received", |octets| {
        if octets[TYPE_AT] & 0xe0 != 0 {
            octets.clear();
        }
    }),
    reads("HDR-08", "delivers the padding of an Ack", "not delivered", |octets| {
        if is(octets, PacketType::Ack) && octets.ends_with(b"padding") {
            set_type(octets, PacketType::DataAck);
        }
    }),
    answers("HDR-10", "sets reserved bits", "reserved", |octets| octets[TYPE_AT] |= 0x20),
    answers("HDR-11", "puts something into the data of Reset Closed", "Data 1 to 3", |octets| {
        if is_reset(octets, 1) {
            octets[RESET_DATA_AT] = 9;
        }
    }),
    answers("HDR-12", "does not repeat the service code", "service code", |octets| {
        if is(octets, PacketType::Response) {
            octets[SERVICE_CODE_AT] ^= 1;
        }
    }),
    reads("CSUM-05", "does not look at CsCov", "not reported", |octets| octets[5] &= 0xf0),
    answers("CSUM-06", "does not report dropped data", "Data Dropped", |octets| hide(octets, 40)),
    reads("OPT-01", "resets for an unknown option", "alive", |octets| {
        each_option(octets, 127, |kind, _| *kind = 1);
    }),
    answers("OPT-02", "has another Reset code", "code 6", |octets| {
        if is_reset(octets, 6) {
            octets[RESET_CODE_AT] = 5;
        }
    }),
    answers("OPT-03", "passes over Mandatory at the end", "code 5", |octets| {
        if is_reset(octets, 5) {
            octets.clear();
        }
    }),
    answers("OPT-10", "loses options behind padding", "Timestamp Echo", |octets| hide(octets, 42)),
    answers("FEAT-01", "takes the client's choice", "first of the server's list", |octets| {
        each_option(octets, 35, |_, value| value[1] = 3);
    }),
    answers("FEAT-04", "says nothing to unknown features", "Confirm", |octets| hide(octets, 35)),
    answers("FEAT-06", "confirms another value", "same value", |octets| {
        each_option(octets, 35, |_, value| *value.last_mut().unwrap() ^= 1);
    }),
    answers("SEQ-01", "asks nothing about invalid numbers", "Sync", |octets| {
        drop_packets(octets, PacketType::Sync);
    }),
    answers("SEQ-06", "acknowledges another number in a Sync", "Sync", |octets| {
        if is(octets, PacketType::Sync) {
            octets[ACKNOWLEDGEMENT_END] ^= 1;
        }
    }),
    answers("SEQ-08", "does not answer a Sync", "SyncAck", |octets| {
        drop_packets(octets, PacketType::SyncAck);
    }),
    ConformanceFault {
        case: "SEQ-10",
        what: "sends Syncs without a limit",
        expected: "one to four Syncs",
        changes: FaultPacketChanges {
            forward: nothing,
            backward: nothing,
            copies: |octets| if is(octets, PacketType::Sync) { 9 } else { 1 },
        },
    },
    reads("SEQ-14", "takes short numbers for whole ones", "ignored", |octets| {
        if octets[TYPE_AT] & 1 == 0 {
            octets[TYPE_AT] |= 1;
            let number = [octets[9], octets[10], octets[11]];
            octets.splice(9..12, [0; 7]);
            octets[13..16].copy_from_slice(&number);
            octets[4] += 1;
        }
    }),
    answers("SEQ-18", "counts one too few", "NDP Count", |octets| {
        each_option(octets, 37, |_, value| *value.last_mut().unwrap() -= 1);
    }),
    answers("CON-02", "numbers a Reset without a connection", "sequence number 0", |octets| {
        if is_reset(octets, 7) {
            octets[SEQUENCE_END] = 1;
        }
    }),
    answers("CON-03", "refuses for another reason", "code 8", |octets| {
        if is_reset(octets, 8) {
            octets[RESET_CODE_AT] = 7;
        }
    }),
    answers("CON-05", "repeats the number of a Response", "next number", |octets| {
        if is(octets, PacketType::Response) {
            octets[SEQUENCE_END] = 7;
        }
    }),
    answers("CON-16", "resets for a late Request", "Sync for a Request", |octets| {
        drop_packets(octets, PacketType::Sync);
    }),
    ConformanceFault {
        case: "CON-17",
        what: "delivers the data of a Request twice",
        expected: "delivered once",
        changes: FaultPacketChanges {
            forward: nothing,
            backward: nothing,
            copies: |octets| if octets.ends_with(b"early") { 2 } else { 1 },
        },
    },
    answers("CON-19", "has no answer to strangers", "code 3", |octets| {
        if is_reset(octets, 3) {
            octets.clear();
        }
    }),
    answers("CLS-02", "closes a server with Reset alone", "CloseReq", |octets| {
        drop_packets(octets, PacketType::CloseReq);
    }),
    answers("CLS-10", "invents the upper half of short numbers", "zeros above", |octets| {
        if is_reset(octets, 3) {
            octets[10] = 1;
        }
    }),
    answers("ACK-01", "reports what never came", "Missing", |octets| {
        each_option(octets, 38, |_, runs| runs.iter_mut().for_each(|run| *run &= 0x3f));
    }),
    reads("ACK-12", "goes on to send to nobody", "no data", |octets| hide(octets, 40)),
    answers("TFRC-01", "leaves Loss Intervals out", "Loss Intervals", |octets| hide(octets, 193)),
    answers("TFRC-04", "tells of losses that were none", "Loss Event Rate", |octets| {
        each_option(octets, 192, |_, value| value[0] = 0);
    }),
];

/// Runs the case of the fault `fault` through a relay that makes it. Fails when the target does not
/// answer at all within `patience`.
fn run(fault: &ConformanceFault, patience: Duration) -> Result<ConformanceCaseResult, ToolError> {
    let relay = FaultRelay::start(fault.changes);
    let only = [fault.case.to_owned()];
    let target = udp_target(relay.udp_port);
    let outcomes = run_cases(target, service(), patience, &only, |_| Ok(()))?;
    Ok(outcomes.into_iter().next().unwrap())
}

#[test]
fn each_broken_rule_turns_its_case_red() {
    assert!(FAULTS.len() >= 20);
    let wrong = Mutex::new(Vec::new());
    // Most of the time is waiting for answers that do not come.
    std::thread::scope(|scope| {
        for share in FAULTS.chunks(FAULTS.len().div_ceil(4)) {
            let wrong = &wrong;
            scope.spawn(move || {
                for fault in share {
                    let is_red = |outcome: &Result<ConformanceCaseResult, ToolError>| {
                        let verdict = outcome.as_ref().map(|outcome| &outcome.verdict);
                        matches!(verdict, Ok(ConformanceVerdict::Fail { expected, .. })
                            if expected.contains(fault.expected))
                    };
                    let mut outcome = run(fault, PATIENCES[0]);
                    for patience in &PATIENCES[1..] {
                        if !is_red(&outcome) {
                            outcome = run(fault, *patience);
                        }
                    }
                    if !is_red(&outcome) {
                        let verdict = outcome.map(|outcome| outcome.verdict);
                        let text = format!("{} ({}): {verdict:?}", fault.case, fault.what);
                        wrong.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_relay_alone_turns_nothing_red() {
    let relay =
        FaultRelay::start(FaultPacketChanges { forward: nothing, backward: nothing, copies: once });
    let cases: Vec<_> = FAULTS.iter().map(|fault| fault.case.to_owned()).collect();
    all_pass(udp_target(relay.udp_port), &cases, FAULTS.len());
}
