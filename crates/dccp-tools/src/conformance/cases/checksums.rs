//! Conformance cases of checksums and their coverage (RFC 4340 §9), and of the exceptions of RFC
//! 6773.

use dccp::header::checksum::crc32c;
use dccp::header::{PacketType, ResetCode};
use dccp::option::{DccpOption, FeatureOption, number};

use crate::conformance::answer::TargetPacket;
use crate::conformance::case::{ConformanceCase, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::negotiation::{FeatureChange, change};
use crate::conformance::peer::{TesterConnection, VECTORS, option};
use crate::conformance::verdict::{CaseStopReason, Judged, demand};

pub(super) const CASES: &[ConformanceCase] = &[
    outside(
        "CSUM-01",
        "§9.1",
        "a packet with a wrong checksum is dropped silently",
        wrong_checksum,
    ),
    outside("CSUM-02", "§9.1", "data of odd length is accepted", odd_lengths),
    outside("CSUM-03", "§9.1", "the checksum covers the pseudo-header of IPv6", over_ipv6),
    outside(
        "CSUM-04",
        "§9.2",
        "CsCov 1, once negotiated: corrupted data is accepted",
        changed_data,
    ),
    outside("CSUM-05", "§9.2", "CsCov 15 with short data: dropped", coverage_past_the_end),
    outside(
        "CSUM-06",
        "§9.2.1",
        "CsCov 1, not negotiated: acknowledged, data delivered or reported as dropped",
        not_agreed,
    ),
    outside(
        "CSUM-07",
        "§9.2.1",
        "a minimum coverage of 4 accepts CsCov 4 and 0 but not 3",
        minimum_of_4,
    ),
    outside(
        "CSUM-08",
        "§9.2.1",
        "sent packets have at least the negotiated coverage",
        covers_enough,
    ),
    outside(
        "CSUM-09",
        "§9.3",
        "Data Checksum: correct accepted, wrong reported, of another length ignored",
        data_checksums,
    ),
    outside(
        "CSUM-10",
        "§9.3.1",
        "Mandatory Change R(Check Data Checksum): confirmed, or Reset 6",
        ask_for_checking,
    ),
    outside(
        "CSUM-11",
        "RFC 6773 §3.1",
        "over UDP the DCCP checksum field is ignored",
        field_in_udp,
    ),
];

const CHECKSUM_AT: usize = 6;
/// Index of the header's byte with CCVal and CsCov.
const COVERAGE_AT: usize = 5;
const MINIMUM_COVERAGE: u8 = 8;
const CHECK_DATA_CHECKSUM: u8 = 9;
/// Bit that marks a block of Data Dropped with a Drop Code (RFC 4340 §11.7).
const DROPPED: u8 = 0x80;

fn needs_ip(bench: &ConformanceContext) -> Judged {
    if bench.is_udp() {
        return Err(CaseStopReason::not_applicable("over UDP the DCCP checksum is not used"));
    }
    Ok(())
}

fn wrong_checksum(bench: &ConformanceContext) -> Judged {
    needs_ip(bench)?;
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::Data).data(b"wrong");
    let mut octets = peer.encode(&draft);
    octets[CHECKSUM_AT] ^= 0x55;
    peer.send_octets(&octets);
    peer.demand_quiet("for a wrong checksum")?;
    peer.demand_reported(draft.header.sequence, false)
}

fn odd_lengths(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let is_echoing = bench.needs_echo().is_ok();
    for len in [1, 3, 7, 255] {
        let data = vec![0xa5; len];
        let draft = peer.next(PacketType::Data).data(&data);
        peer.send(&draft);
        if is_echoing {
            peer.demand_echo(&data, true)?;
        } else {
            peer.demand_reported(draft.header.sequence, true)?;
        }
    }
    Ok(())
}

fn over_ipv6(bench: &ConformanceContext) -> Judged {
    needs_ip(bench)?;
    if bench.target().address.is_ipv4() {
        return Err(CaseStopReason::not_applicable("the target is reached over IPv4"));
    }
    odd_lengths(bench)
}

/// Opens a connection whose target accepts packets with the checksum coverage `minimum`.
fn covering<'b>(bench: &'b ConformanceContext, minimum: u8) -> Judged<TesterConnection<'b>> {
    let (kind, feature) = (FeatureOption::ChangeR, MINIMUM_COVERAGE);
    let change = FeatureChange { kind, feature, value: &[minimum] };
    let (peer, agreed) = TesterConnection::open_asking(bench, &VECTORS, change)?;
    if agreed.first() != Some(&minimum) {
        let why = format!("the target does not accept a Minimum Checksum Coverage of {minimum}");
        return Err(CaseStopReason::not_applicable(why));
    }
    Ok(peer)
}

fn changed_data(bench: &ConformanceContext) -> Judged {
    let mut peer = covering(bench, 1)?;
    let draft = peer.next(PacketType::DataAck).data(b"changed on the way").covering(1);
    let mut octets = peer.encode(&draft);
    *octets.last_mut().expect("the packet has data") ^= 0x20;
    peer.send_octets(&octets);
    peer.demand_quiet("for data that the checksum does not cover")?;
    peer.demand_reported(draft.header.sequence, true)?;
    if bench.needs_echo().is_ok() {
        peer.send(&peer.at(PacketType::DataAck, peer.sent.next()).data(b"x").covering(1));
        peer.sent = peer.sent.next();
        peer.demand_echo(b"x", true)?;
    }
    Ok(())
}

fn coverage_past_the_end(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::Data).data(b"abc");
    peer.demand_dropped(&draft, |octets| octets[COVERAGE_AT] |= 15)
}

/// Returns true if the target's packet reports a drop with the Drop Code `code`.
fn has_drop(answer: &TargetPacket, code: u8) -> bool {
    let blocks = answer.option(number::DATA_DROPPED).unwrap_or(&[]);
    blocks.iter().any(|block| block & 0xf0 == DROPPED | code << 4)
}

/// Checks that the target reports data as dropped with the Drop Code `code`, and does not deliver
/// it to its application.
fn demand_drop(
    bench: &ConformanceContext,
    peer: &mut TesterConnection<'_>,
    data: &[u8],
    code: u8,
) -> Judged {
    let expected = format!("Data Dropped with code {code}");
    // With this packet, the Ack Ratio is reached.
    peer.send_data(b"next");
    let report = peer.wait(&expected, |answer| has_drop(answer, code))?;
    let number = peer.sent.minus(1).value();
    let state = report.state_of(number, peer.first);
    demand(
        state == Some(dccp::ack_vector::PacketState::Received),
        "the packet reported as received",
        || report.to_string(),
    )?;
    if bench.needs_echo().is_ok() { peer.demand_echo(data, false) } else { Ok(()) }
}

fn not_agreed(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::Data).data(b"half covered").covering(1);
    peer.send(&draft);
    peer.demand_quiet("for partial coverage")?;
    demand_drop(bench, &mut peer, b"half covered", 0)
}

fn minimum_of_4(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let mut peer = covering(bench, 4)?;
    for (coverage, is_accepted) in [(3, false), (4, true), (0, true)] {
        let data = format!("data with coverage {coverage}").into_bytes();
        let draft = peer.next(PacketType::Data).data(&data).covering(coverage);
        peer.send(&draft);
        peer.demand_echo(&data, is_accepted)?;
    }
    Ok(())
}

fn covers_enough(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let (kind, feature) = (FeatureOption::ChangeL, MINIMUM_COVERAGE);
    let change = FeatureChange { kind, feature, value: &[4] };
    let (mut peer, _) = TesterConnection::open_asking(bench, &VECTORS, change)?;
    peer.send_data(&[7; 40]);
    let answer = peer.wait("the echoed datagram", TargetPacket::has_data)?;
    let coverage = answer.header.coverage;
    demand(coverage == 0 || coverage >= 4, "CsCov 0, or 4 and more", || answer.to_string())
}

fn data_checksums(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let (kind, feature) = (FeatureOption::ChangeR, CHECK_DATA_CHECKSUM);
    let change = FeatureChange { kind, feature, value: &[1] };
    let (mut peer, agreed) = TesterConnection::open_asking(bench, &VECTORS, change)?;
    if agreed.first() != Some(&1) {
        return Err(CaseStopReason::not_applicable("the target does not check Data Checksums"));
    }
    let right = option(DccpOption::DataChecksum(crc32c(b"right")));
    let draft = peer.next(PacketType::Data).data(b"right").options(&right);
    peer.send(&draft);
    peer.demand_echo(b"right", true)?;
    let cut = &right[..5];
    let draft =
        peer.next(PacketType::Data).data(b"ignored").options(&[&[44, 5], &cut[2..]].concat());
    peer.send(&draft);
    peer.demand_echo(b"ignored", true)?;
    let draft = peer.next(PacketType::Data).data(b"wrong").options(&right);
    peer.send(&draft);
    demand_drop(bench, &mut peer, b"wrong", 3)
}

fn ask_for_checking(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    let changes = change(FeatureOption::ChangeR, CHECK_DATA_CHECKSUM, &[1]);
    let request =
        peer.next(PacketType::Request).options(&[&[number::MANDATORY], &changes[..]].concat());
    peer.send(&request);
    let is_answer = |a: &TargetPacket| a.is(PacketType::Response) || a.is(PacketType::Reset);
    let answer = peer.wait("Confirm L of 1, or Reset 6", is_answer)?;
    let confirms = answer.features(FeatureOption::ConfirmL, CHECK_DATA_CHECKSUM);
    let is_confirmed = confirms.first().is_some_and(|value| value.first() == Some(&1));
    let is_refused = answer.reset_code() == Some(ResetCode::MandatoryError.number());
    demand(is_confirmed || is_refused, "Confirm L of 1, or Reset 6", || answer.to_string())
}

fn field_in_udp(bench: &ConformanceContext) -> Judged {
    if !bench.is_udp() {
        return Err(CaseStopReason::not_applicable("this case needs DCCP over UDP"));
    }
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::Data).data(b"any checksum");
    let mut octets = peer.encode(&draft);
    octets[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&[0xde, 0xad]);
    peer.send_octets(&octets);
    peer.demand_quiet("for the checksum field")?;
    peer.demand_reported(draft.header.sequence, true)
}
