//! Conformance cases of feature negotiation (RFC 4340 §6).

use std::time::Duration;

use dccp::header::{PacketType, ResetCode};
use dccp::option::{FeatureOption, number};
use dccp::sequence::SequenceNumber;

use super::active;
use crate::conformance::answer::{TargetPacket, listed};
use crate::conformance::case::{ConformanceCase, demand_growing_times, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::negotiation::{FeatureChange, change, confirm_of, wide};
use crate::conformance::peer::{TesterConnection, VECTORS};
use crate::conformance::verdict::{CaseStopReason, Judged, demand};
use FeatureOption::{ChangeL, ChangeR, ConfirmL, ConfirmR};

pub(super) const CASES: &[ConformanceCase] = &[
    outside(
        "FEAT-01",
        "§6.3.1",
        "the first value of the server's list that the client also has is chosen",
        reconciliation,
    ),
    outside(
        "FEAT-02",
        "§6.3.1",
        "the two lists share no value: the old value is confirmed",
        nothing_in_common,
    ),
    outside(
        "FEAT-03",
        "§6.3.1",
        "the two lists share no value, with Mandatory: Reset 6",
        nothing_in_common_mandatory,
    ),
    outside("FEAT-04", "§6.6.7", "an unknown feature: empty Confirm", unknown_feature),
    outside("FEAT-05", "§6.6.9", "an unknown feature with Mandatory: Reset 6", unknown_mandatory),
    outside(
        "FEAT-06",
        "§6.3.2",
        "Change L of a non-negotiable feature: the same value confirmed",
        non_negotiable,
    ),
    outside("FEAT-07", "§7.5.2", "Sequence Window 0, 31, 2^46: empty Confirm", impossible_windows),
    outside("FEAT-08", "§11.3", "Ack Ratio 0 is valid (erratum 1049)", ack_ratio_0),
    outside("FEAT-09", "§6.6.8", "a value of another length: empty Confirm", other_length),
    outside(
        "FEAT-10",
        "§6.3.2",
        "Change R of a non-negotiable feature: empty Confirm",
        not_the_owner,
    ),
    outside(
        "FEAT-11",
        "§6.6.8",
        "Confirm of a value that was not offered: Reset 5",
        value_not_offered,
    ),
    outside("FEAT-12", "§6.6.2", "an unexpected Confirm is ignored", unexpected_confirm),
    outside(
        "FEAT-13",
        "§6.6.7",
        "an empty Confirm for the CCID: Reset 5",
        active::empty_confirm_of_ccid,
    ),
    outside(
        "FEAT-14",
        "§6.6.7",
        "an empty Confirm for Send NDP Count: the connection continues",
        active::empty_confirm_of_ndp,
    ),
    outside(
        "FEAT-15",
        "§6.6.3",
        "an unanswered Change is repeated unchanged at growing intervals",
        repeated_change,
    ),
    outside("FEAT-16", "§6.6.4", "an older Change that arrives late is ignored", late_change),
    outside(
        "FEAT-17",
        "§6.6.4",
        "a Confirm that acknowledges less than the Change is ignored",
        old_confirm,
    ),
    outside(
        "FEAT-18",
        "§6.6.1",
        "a Change that crosses a Change is answered with the common value",
        crossing_changes,
    ),
    outside(
        "FEAT-19",
        "§6.6.3",
        "two Changes of one feature in one packet take effect in order",
        two_in_one,
    ),
    outside(
        "FEAT-20",
        "§6.6.3",
        "Confirms are sent on packets with an acknowledgement, and not on Data",
        confirms_on_acks,
    ),
    outside(
        "FEAT-21",
        "§10.3",
        "features of a CCID belong to one half-connection",
        of_half_connections,
    ),
    outside(
        "FEAT-22",
        "§10",
        "the CCID changes in OPEN, or the old one is confirmed",
        ccid_in_open,
    ),
    outside(
        "FEAT-23",
        "§12.1",
        "packets to an ECN Incapable end are not ECN-capable",
        ecn_incapable,
    ),
];

const CCID: u8 = 1;
const SEQUENCE_WINDOW: u8 = 3;
const ECN_INCAPABLE: u8 = 4;
const ACK_RATIO: u8 = 5;
const SEND_ACK_VECTOR: u8 = 6;
const SEND_LOSS_EVENT_RATE: u8 = 192;
/// Feature number that no target knows: one for experiments (RFC 4340 §19.4).
const UNKNOWN: u8 = 126;
/// Time in which a target sends its Changes, shorter than its wait to repeat them.
const MOMENT: Duration = Duration::from_millis(100);
/// CCID that no target has.
const NO_CCID: u8 = 250;

/// Returns the value of a packet's first Confirm of the feature `feature`.
fn confirm(answer: &TargetPacket, kind: FeatureOption, feature: u8) -> Judged<Vec<u8>> {
    let mut values = answer.features(kind, feature);
    if values.is_empty() {
        let expected = format!("{kind:?} of feature {feature}");
        return Err(CaseStopReason::failed(expected, answer.to_string()));
    }
    Ok(values.swap_remove(0))
}

fn demand_empty(
    bench: &ConformanceContext,
    kind: FeatureOption,
    feature: u8,
    value: &[u8],
) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let confirmed = peer.negotiate(kind, feature, value)?;
    let expected = format!("an empty Confirm of feature {feature}");
    demand(confirmed.is_empty(), &expected, || format!("value {confirmed:02x?}"))
}

fn reconciliation(bench: &ConformanceContext) -> Judged {
    for kind in [ChangeL, ChangeR] {
        for ours in [&[3, 2][..], &[2, 3], &[NO_CCID, 2]] {
            let mut peer = TesterConnection::new(bench);
            let answer = peer.request(&change(kind, CCID, ours))?;
            let value = confirm(&answer, confirm_of(kind), CCID)?;
            let (agreed, theirs) =
                value.split_first().map_or((None, &[][..]), |(a, t)| (Some(a), t));
            let right = theirs.iter().find(|value| ours.contains(value));
            let expected = "the first of the server's list that the suite's list also has, then \
                            that list";
            demand(agreed.is_some() && agreed == right, expected, || {
                format!("{value:?} for {ours:?}")
            })?;
        }
    }
    Ok(())
}

fn nothing_in_common(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    let answer = peer.request(&change(ChangeL, CCID, &[NO_CCID]))?;
    let value = confirm(&answer, ConfirmR, CCID)?;
    demand(value.first() == Some(&2), "the old value, 2", || format!("{value:?}"))
}

fn nothing_in_common_mandatory(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    let options = [&[number::MANDATORY], &change(ChangeL, CCID, &[NO_CCID])[..]].concat();
    let request = peer.next(PacketType::Request).options(&options);
    peer.send(&request);
    peer.wait_reset(ResetCode::MandatoryError, "for a CCID that does not exist").map(drop)
}

fn unknown_feature(bench: &ConformanceContext) -> Judged {
    demand_empty(bench, ChangeL, UNKNOWN, &[1])?;
    demand_empty(bench, ChangeR, UNKNOWN, &[1])
}

fn unknown_mandatory(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let options = [&[number::MANDATORY], &change(ChangeL, UNKNOWN, &[1])[..]].concat();
    let ack = peer.next(PacketType::Ack).options(&options);
    peer.send(&ack);
    peer.wait_reset(ResetCode::MandatoryError, "for a feature that does not exist").map(drop)
}

fn non_negotiable(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    for width in [32, 1_000, (1 << 46) - 1] {
        let value = peer.negotiate(ChangeL, SEQUENCE_WINDOW, &wide(width))?;
        demand(value == wide(width), "the same value", || format!("{value:02x?} for {width}"))?;
    }
    Ok(())
}

fn impossible_windows(bench: &ConformanceContext) -> Judged {
    [0, 31, 1 << 46]
        .into_iter()
        .try_for_each(|width| demand_empty(bench, ChangeL, SEQUENCE_WINDOW, &wide(width)))
}

fn ack_ratio_0(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let value = peer.negotiate(ChangeL, ACK_RATIO, &[0, 0])?;
    demand(value == [0, 0], "the same value, 0", || format!("{value:02x?}"))
}

fn other_length(bench: &ConformanceContext) -> Judged {
    demand_empty(bench, ChangeL, SEQUENCE_WINDOW, &[1, 0])
}

fn not_the_owner(bench: &ConformanceContext) -> Judged {
    demand_empty(bench, ChangeR, SEQUENCE_WINDOW, &wide(1_000))
}

/// Change option of the target that the suite has not answered.
struct PendingChange<'b> {
    peer: TesterConnection<'b>,
    kind: FeatureOption,
    feature: u8,
    value: Vec<u8>,
    /// Packet that carries the target's Change.
    answer: TargetPacket,
}

/// Opens a connection on which a Change of the target has no answer, without Ack Vectors: a target
/// that sends with CCID 2 must request them. The last Change is the pending one, because the target
/// only processes a Confirm that acknowledges it.
fn pending(bench: &ConformanceContext) -> Judged<PendingChange<'_>> {
    let mut peer = TesterConnection::new(bench);
    peer.is_agreeing = false;
    let response = peer.request(&[])?;
    let ack = peer.final_ack();
    peer.send(&ack);
    peer.is_open = true;
    let mut answers = vec![response];
    answers.extend(peer.collect(MOMENT)?);
    answers.extend(peer.barrier()?);
    let mut last = None;
    for (at, answer) in answers.iter().enumerate() {
        for change in answer.changes() {
            if !answers[..at].iter().any(|earlier| earlier.changes().contains(&change)) {
                last = Some((at, change));
            }
        }
    }
    let Some((at, (kind, feature, value))) = last else {
        return Err(CaseStopReason::not_applicable("the target sends no Change of a feature"));
    };
    Ok(PendingChange { peer, kind, feature, value, answer: answers.swap_remove(at) })
}

impl PendingChange<'_> {
    /// Returns the Confirm option that agrees to the pending Change of the target.
    fn agreement(&self) -> Vec<u8> {
        let is_list = !matches!(self.feature, SEQUENCE_WINDOW | ACK_RATIO);
        let first = if is_list { &self.value[..1] } else { &[] };
        change(confirm_of(self.kind), self.feature, &[first, &self.value].concat())
    }

    fn has_again(&self) -> impl Fn(&TargetPacket) -> bool + use<> {
        let (kind, feature) = (self.kind, self.feature);
        move |answer| !answer.features(kind, feature).is_empty()
    }
}

fn value_not_offered(bench: &ConformanceContext) -> Judged {
    let PendingChange { mut peer, kind, feature, value, .. } = pending(bench)?;
    let other = match feature {
        SEQUENCE_WINDOW | ACK_RATIO => value.iter().map(|octet| octet ^ 1).collect(),
        _ => vec![77, 77],
    };
    let ack = peer.next(PacketType::Ack).options(&change(confirm_of(kind), feature, &other));
    peer.send(&ack);
    peer.wait_reset(ResetCode::OptionError, "for a value that was not offered").map(drop)
}

fn unexpected_confirm(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let confirms = [change(ConfirmR, UNKNOWN, &[1, 1]), change(ConfirmL, 7, &[1, 1])].concat();
    let draft = peer.next(PacketType::Ack).options(&confirms);
    peer.demand_accepted(&draft)
}

fn repeated_change(bench: &ConformanceContext) -> Judged {
    let mut open = pending(bench)?;
    let has_again = open.has_again();
    demand_growing_times(|| {
        let (again, _) = open.peer.wait_repeated("the same Change repeated", &has_again)?;
        let value = again.features(open.kind, open.feature).swap_remove(0);
        demand(value == open.value, "the same Change repeated", || again.to_string())
    })
}

fn late_change(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let late = peer.next(PacketType::Ack).options(&change(ChangeL, SEQUENCE_WINDOW, &wide(300)));
    peer.negotiate(ChangeL, SEQUENCE_WINDOW, &wide(500))?;
    let passed = peer.answers_to(&late)?;
    let has_confirm = |a: &TargetPacket| !a.features(ConfirmR, SEQUENCE_WINDOW).is_empty();
    demand(!passed.iter().any(has_confirm), "no Confirm of the late Change", || listed(&passed))
}

fn old_confirm(bench: &ConformanceContext) -> Judged {
    let mut open = pending(bench)?;
    let has_again = open.has_again();
    let agreement = open.agreement();
    let before = SequenceNumber::new(open.answer.header.sequence).minus(1);
    let ack = open.peer.next(PacketType::Ack).options(&agreement).acknowledging(before);
    open.peer.send(&ack);
    open.peer.wait_repeated("the Change repeated, because the Confirm is too old", &has_again)?;
    let ack = open.peer.next(PacketType::Ack).options(&agreement);
    open.peer.send(&ack);
    open.peer.demand_quiet("for the Confirm")
}

fn crossing_changes(bench: &ConformanceContext) -> Judged {
    let PendingChange { mut peer, kind, feature, value, .. } = pending(bench)?;
    if feature != SEND_ACK_VECTOR || kind != ChangeR {
        return Err(CaseStopReason::not_applicable("the target does not request Ack Vectors"));
    }
    let confirmed = peer.negotiate(ChangeL, feature, &value)?;
    let expected = "the value that both ends requested";
    demand(confirmed.first() == value.first(), expected, || format!("{confirmed:?} for {value:?}"))
}

fn two_in_one(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let both = [200, 300].map(|width| change(ChangeL, SEQUENCE_WINDOW, &wide(width))).concat();
    let answer = peer.draw_confirms(ChangeL, SEQUENCE_WINDOW, &both)?;
    let confirmed = answer.features(ConfirmR, SEQUENCE_WINDOW);
    demand(confirmed == [wide(200), wide(300)], "Confirms of 200, then 300", || answer.to_string())
}

fn confirms_on_acks(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    for width in [200, 300, 400, 500] {
        let change = change(ChangeL, SEQUENCE_WINDOW, &wide(width));
        let draft = peer.next(PacketType::DataAck).options(&change).data(b"and data");
        peer.send(&draft);
    }
    let has_confirm = |a: &TargetPacket| !a.features(ConfirmR, SEQUENCE_WINDOW).is_empty();
    let last =
        |a: &TargetPacket| a.features(ConfirmR, SEQUENCE_WINDOW).contains(&wide(500).to_vec());
    let (answer, passed) = peer.wait_all("a Confirm of the last Change", last)?;
    for answer in passed.iter().chain([&answer]).filter(|answer| has_confirm(answer)) {
        let is_right = answer.header.acknowledgement.is_some() && !answer.is(PacketType::Data);
        demand(is_right, "Confirms only on packets with an acknowledgement", || {
            answer.to_string()
        })?;
    }
    Ok(())
}

fn of_half_connections(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    let ours = FeatureChange { kind: ChangeR, feature: SEND_LOSS_EVENT_RATE, value: &[1] };
    let theirs = FeatureChange { kind: ChangeL, ..ours };
    // The Request proposes CCID 3 for the suite's data and 2 for the target's. Until they are
    // agreed, no option may concern their features (§10.3); CCID 2 has been in use before.
    let ccids = [change(ChangeL, CCID, &[3]), change(ChangeR, CCID, &[2])];
    let options = [&theirs.change()[..], &ccids.concat()].concat();
    let answer = peer.request(&options)?;
    let agreed = [confirm(&answer, ConfirmR, CCID)?, confirm(&answer, ConfirmL, CCID)?];
    if agreed.map(|value| value.first().copied()) != [Some(3), Some(2)] {
        return Err(CaseStopReason::not_applicable(
            "the target does not accept CCID 3 in one direction and CCID 2 in the other",
        ));
    }
    peer.complete()?;
    let ours = peer.agree_on(&answer, ours)?;
    let expected = "Confirm L of 1 from the receiver of CCID 3";
    demand(ours.first() == Some(&1), expected, || format!("{ours:?}"))?;
    let theirs = peer.agree_on(&answer, theirs)?;
    let expected = "an empty Confirm R from the sender of CCID 2";
    demand(theirs.is_empty(), expected, || format!("{theirs:?}"))
}

fn ccid_in_open(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    for wanted in [3, 2] {
        let value = peer.negotiate(ChangeL, CCID, &[wanted])?;
        let is_known = value.first().is_some_and(|ccid| [2, 3].contains(ccid));
        demand(is_known, "a CCID, the new or the old one", || format!("{value:?}"))?;
    }
    peer.demand_quiet("for changing the CCID")
}

fn ecn_incapable(bench: &ConformanceContext) -> Judged {
    if bench.is_udp() || !bench.target().address.is_ipv4() {
        return Err(CaseStopReason::not_applicable(
            "the suite can read ECN bits only over IPv4 without UDP",
        ));
    }
    let incapable = FeatureChange { kind: ChangeL, feature: ECN_INCAPABLE, value: &[1] };
    let (mut peer, _) = TesterConnection::open_asking(bench, &VECTORS, incapable)?;
    for _ in 0..4 {
        peer.send_data(b"not to be marked");
    }
    let passed = peer.barrier()?;
    let is_bare = |answer: &TargetPacket| answer.ecn == Some(0);
    demand(passed.iter().all(is_bare), "ECN bits 00", || listed(&passed))
}
