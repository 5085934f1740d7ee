//! Conformance cases of sequence numbers, their windows and Syncs (RFC 4340 §7).

use std::time::Duration;

use dccp::header::{PacketType, ResetCode};
use dccp::option::{DccpOption, DccpOptionIterator, FeatureOption, number};
use dccp::sequence::SequenceNumber;

use super::active;
use crate::conformance::answer::{TargetPacket, listed};
use crate::conformance::case::{ConformanceCase, inside, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::negotiation::{FeatureChange, change, wide};
use crate::conformance::peer::{TesterConnection, UnsentPacket, VECTORS};
use crate::conformance::verdict::{CaseStopReason, Judged, demand};

pub(super) const CASES: &[ConformanceCase] = &[
    outside(
        "SEQ-01",
        "§7.5.1",
        "sequence numbers from SWL to SWH are valid, others draw a Sync",
        sequence_window,
    ),
    outside(
        "SEQ-02",
        "§7.5.1",
        "acknowledgements from AWL to AWH are valid, others draw a Sync",
        acknowledgement_window,
    ),
    outside(
        "SEQ-03",
        "§7.5.3",
        "an old Close, CloseReq or Reset draws a Sync; for a Reset it acknowledges GSR",
        old_ends,
    ),
    outside("SEQ-04", "§7.5.1", "sequence numbers before the first are invalid", before_the_first),
    outside("SEQ-05", "§7.1", "sequence numbers wrap around at 2^48", around),
    outside(
        "SEQ-06",
        "§7.5.4",
        "the Sync for invalid Data acknowledges it; the window stays",
        sync_for_data,
    ),
    outside("SEQ-07", "§7.5.4", "an invalid Sync or SyncAck draws nothing", invalid_syncs),
    outside(
        "SEQ-08",
        "§5.7",
        "a Sync draws a SyncAck that acknowledges it, and moves the window",
        sync_moves,
    ),
    inside(
        "SEQ-09",
        "§7.5.3",
        "an active connection checks Syncs strictly",
        "a connection is active for three round trips, microseconds on a short path, and may check \
         loosely afterwards",
    ),
    outside(
        "SEQ-10",
        "§7.5.4",
        "at most eight Syncs per second; invalid packets without a Sync are still rejected",
        sync_limit,
    ),
    outside(
        "SEQ-11",
        "§7.5.6",
        "after a burst of losses Sync and SyncAck resynchronize both ends",
        burst,
    ),
    outside("SEQ-12", "§7.5.6", "a blind attack with Data changes nothing", blind_attack),
    outside(
        "SEQ-13",
        "§7.5.6",
        "a half-open connection: Sync for the Request, and a Reset ends it",
        half_open,
    ),
    outside(
        "SEQ-14",
        "§7.6.1",
        "short sequence numbers that were not negotiated: dropped silently",
        short_not_allowed,
    ),
    outside(
        "SEQ-15",
        "§7.6",
        "short sequence numbers, once negotiated, are extended across their wraparound",
        short_allowed,
    ),
    outside(
        "SEQ-16",
        "§7.5.2",
        "a wider Sequence Window applies from its Confirm on",
        wider_window,
    ),
    outside(
        "SEQ-17",
        "§8.1.1",
        "a repeated Request has the next sequence number",
        active::next_number,
    ),
    outside(
        "SEQ-18",
        "§7.7",
        "NDP Count is the number of packets without data in a row, in as many bytes as needed",
        ndp_count,
    ),
];

/// Initial Sequence Window of both ends (RFC 4340 §7.5.2), in packets.
const WIDTH: u64 = 100;
/// Count of valid sequence numbers below the greatest received (GSR, RFC 4340 §7.5.1); `ABOVE` is
/// the count above it.
const BELOW: u64 = WIDTH / 4 - 1;
const ABOVE: u64 = WIDTH * 3 / 4;
/// Time that is longer than the wait between two Syncs of a target that sends eight Syncs per
/// second.
pub(super) const SYNC_PERIOD: Duration = Duration::from_millis(150);
/// Packets after a burst of losses within which both ends must accept each other's numbers again.
const BURST_TRIES: usize = 10;
const ALLOW_SHORT_SEQNOS: u8 = 2;
const SEQUENCE_WINDOW: u8 = 3;
const SEND_NDP_COUNT: u8 = 7;

/// Opens a connection whose windows have moved past its first sequence number.
fn settled(bench: &ConformanceContext) -> Judged<TesterConnection<'_>> {
    let mut peer = TesterConnection::open(bench)?;
    peer.sent = peer.sent.plus(ABOVE - 10);
    peer.barrier()?;
    Ok(peer)
}

/// Sends a packet, and returns the target's answers to it. Afterwards both ends know each other's
/// greatest sequence numbers.
fn answers_at(
    peer: &mut TesterConnection<'_>,
    draft: &UnsentPacket,
    is_valid: bool,
) -> Judged<Vec<TargetPacket>> {
    if !is_valid {
        // A target that limits its Syncs may count from the beginning of a connection.
        peer.collect(SYNC_PERIOD)?;
    }
    peer.send(draft);
    let number = SequenceNumber::new(draft.header.sequence);
    if is_valid {
        peer.sent = peer.sent.max(number);
    }
    peer.barrier()
}

fn has_sync(answers: &[TargetPacket], acknowledging: u64) -> bool {
    answers.iter().any(|answer| answer.acknowledges(PacketType::Sync, acknowledging))
}

fn demand_sync(
    answers: &[TargetPacket],
    acknowledging: u64,
    is_wanted: bool,
    about: &str,
) -> Judged {
    let words = if is_wanted { "a Sync" } else { "no Sync" };
    let expected = format!("{words} that acknowledges {acknowledging} for {about}");
    demand(has_sync(answers, acknowledging) == is_wanted, &expected, || listed(answers))
}

fn sequence_window(bench: &ConformanceContext) -> Judged {
    use PacketType::{Ack, Close, Data, DataAck, Sync};
    for packet_type in [Data, Ack, DataAck, Sync] {
        for (edge, is_valid) in [("SWL-1", false), ("SWL", true), ("SWH", true), ("SWH+1", false)] {
            let mut peer = settled(bench)?;
            let number = match edge {
                "SWL-1" => peer.sent.minus(BELOW + 1),
                "SWL" => peer.sent.minus(BELOW),
                "SWH" => peer.sent.plus(ABOVE),
                _ => peer.sent.plus(ABOVE + 1),
            };
            let draft = peer.at(packet_type, number);
            if packet_type == Sync {
                if edge != "SWH+1" {
                    demand_sync_edge(&mut peer, &draft, is_valid, edge)?;
                }
                continue;
            }
            let answers = answers_at(&mut peer, &draft, is_valid)?;
            let about = format!("{} at {edge}", packet_type.name());
            demand_sync(&answers, number.value(), !is_valid, &about)?;
        }
    }
    let mut peer = settled(bench)?;
    let ahead = peer.at(Close, peer.sent.plus(ABOVE + 1));
    let answers = answers_at(&mut peer, &ahead, false)?;
    demand_sync(&answers, ahead.header.sequence, true, "Close at SWH+1")?;
    peer.send(&peer.at(Close, peer.sent.plus(ABOVE)));
    peer.wait_reset(ResetCode::Closed, "for Close at SWH").map(drop)
}

/// Checks that the target answers a valid Sync with a SyncAck, and an invalid one with nothing, not
/// even a Sync.
fn demand_sync_edge(
    peer: &mut TesterConnection<'_>,
    draft: &UnsentPacket,
    is_valid: bool,
    edge: &str,
) -> Judged {
    let answers = answers_at(peer, draft, is_valid)?;
    let number = draft.header.sequence;
    let is_answered = answers.iter().any(|a| a.acknowledges(PacketType::SyncAck, number));
    let words = if is_valid { "a SyncAck" } else { "nothing" };
    demand(is_answered == is_valid, &format!("{words} for Sync at {edge}"), || listed(&answers))
}

fn acknowledgement_window(bench: &ConformanceContext) -> Judged {
    for (edge, is_valid) in [("AWL-1", false), ("AWL", true), ("AWH", true), ("AWH+1", false)] {
        let mut peer = TesterConnection::open(bench)?;
        // A target that may not change its Sequence Window keeps the first one.
        peer.is_agreeing = false;
        for _ in 0..WIDTH + 10 {
            peer.barrier()?;
        }
        let greatest = peer.received;
        let number = match edge {
            "AWL-1" => greatest.minus(WIDTH),
            "AWL" => greatest.minus(WIDTH - 1),
            "AWH" => greatest,
            _ => greatest.plus(1),
        };
        if !is_valid {
            peer.collect(SYNC_PERIOD)?;
        }
        let draft = peer.next(PacketType::Ack).acknowledging(number);
        peer.send(&draft);
        if !is_valid {
            // The target did not accept the number, so the next packet may use it again.
            peer.wait(&format!("a Sync for an Ack that acknowledges {edge}"), |a| {
                a.acknowledges(PacketType::Sync, draft.header.sequence)
            })?;
        }
        let answers = peer.barrier()?;
        demand_sync(&answers, draft.header.sequence, false, &format!("acknowledging {edge}"))?;
    }
    Ok(())
}

fn old_ends(bench: &ConformanceContext) -> Judged {
    use PacketType::{Close, CloseReq, Reset};
    for packet_type in [Close, CloseReq, Reset] {
        let mut peer = settled(bench)?;
        let greatest = peer.sent;
        let old = peer.at(packet_type, greatest);
        let answers = answers_at(&mut peer, &old, false)?;
        // A Sync for a Reset names GSR, which the Reset's sender needs (§7.5.4); here they are
        // equal.
        demand_sync(
            &answers,
            greatest.value(),
            true,
            "a sequence number that was received before",
        )?;
        peer.demand_quiet("afterwards")?;
    }
    let mut peer = settled(bench)?;
    let greatest = peer.sent;
    let ahead = peer.at(Reset, greatest.plus(ABOVE + 7));
    let answers = answers_at(&mut peer, &ahead, false)?;
    demand_sync(&answers, greatest.value(), true, "Reset ahead of the window (GSR)")?;
    let mut peer = settled(bench)?;
    let acknowledged = peer.received;
    let ack = peer.next(PacketType::Ack);
    peer.answers_to(&ack)?;
    let close = peer.next(Close).acknowledging(acknowledged.minus(1));
    let answers = answers_at(&mut peer, &close, false)?;
    demand_sync(&answers, close.header.sequence, true, "Close that acknowledges less than before")
}

fn before_the_first(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.at(PacketType::Data, peer.first.minus(1));
    let answers = answers_at(&mut peer, &draft, false)?;
    demand_sync(&answers, draft.header.sequence, true, "the number before the Request's")
}

fn around(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    peer.begin_at(SequenceNumber::new((1 << 48) - 4));
    peer.request(&VECTORS)?;
    peer.complete()?;
    for _ in 0..6 {
        let draft = peer.next(PacketType::Data).data(b"around");
        peer.demand_accepted(&draft)?;
    }
    demand(peer.sent.value() < 1 << 20, "sequence numbers that wrapped around", || {
        peer.sent.to_string()
    })
}

fn sync_for_data(bench: &ConformanceContext) -> Judged {
    let mut peer = settled(bench)?;
    let ahead = peer.at(PacketType::Data, peer.sent.plus(10_000));
    let answers = answers_at(&mut peer, &ahead, false)?;
    demand_sync(&answers, ahead.header.sequence, true, "Data far ahead")?;
    let draft = peer.next(PacketType::Data);
    peer.demand_accepted(&draft)
}

fn invalid_syncs(bench: &ConformanceContext) -> Judged {
    use PacketType::{Sync, SyncAck};
    for packet_type in [Sync, SyncAck] {
        let mut peer = settled(bench)?;
        let low = peer.at(packet_type, peer.sent.minus(BELOW + 1));
        let unsent = peer.at(packet_type, peer.sent.next()).acknowledging(peer.received.plus(500));
        for draft in [low, unsent] {
            let answers = answers_at(&mut peer, &draft, false)?;
            let is_for_it =
                |a: &TargetPacket| a.header.acknowledgement == Some(draft.header.sequence);
            let is_objection =
                |a: &TargetPacket| matches!(a.header.packet_type, Sync | PacketType::Reset);
            let is_quiet =
                !answers.iter().any(|a| (a.is(SyncAck) && is_for_it(a)) || is_objection(a));
            demand(is_quiet, "nothing for an invalid Sync or SyncAck", || listed(&answers))?;
        }
    }
    Ok(())
}

fn sync_moves(bench: &ConformanceContext) -> Judged {
    let mut peer = settled(bench)?;
    peer.sent = peer.sent.plus(ABOVE - 5);
    peer.barrier()?;
    peer.sent = peer.sent.plus(ABOVE - 5);
    let draft = peer.next(PacketType::Data);
    peer.demand_accepted(&draft)
}

fn sync_limit(bench: &ConformanceContext) -> Judged {
    let mut peer = settled(bench)?;
    for ahead in 0..40 {
        peer.send(&peer.at(PacketType::Data, peer.sent.plus(5_000 + ahead)));
    }
    let answers = peer.collect(Duration::from_millis(300))?;
    let syncs = answers.iter().filter(|answer| answer.is(PacketType::Sync)).count();
    // The limit is 8 Syncs per second: in 300 ms at most 3 after the first.
    demand((1..=4).contains(&syncs), "one to four Syncs in 300 ms", || format!("{syncs}"))?;
    let draft = peer.next(PacketType::Data);
    peer.demand_accepted(&draft)
}

fn burst(bench: &ConformanceContext) -> Judged {
    let mut peer = settled(bench)?;
    peer.sent = peer.sent.plus(500);
    // While the connection is active, a target may check the SyncAck as strictly as Data (§7.5.3).
    // It is active for three round trips, of 200 ms if none is measured.
    let mut answers = Vec::new();
    for _ in 0..BURST_TRIES {
        let late = peer.next(PacketType::Data);
        peer.send(&late);
        answers = peer.collect(SYNC_PERIOD)?;
        let number = late.header.sequence;
        let Some(sync) = answers.iter().find(|a| a.acknowledges(PacketType::Sync, number)) else {
            break;
        };
        let answer = peer.next(PacketType::SyncAck).acknowledging(sync.sequence());
        peer.send(&answer);
    }
    let expected = "after a Sync and a SyncAck no Sync for the next Data";
    demand(!answers.iter().any(|a| a.is(PacketType::Sync)), expected, || listed(&answers))?;
    let draft = peer.next(PacketType::Data);
    peer.demand_accepted(&draft)
}

fn blind_attack(bench: &ConformanceContext) -> Judged {
    let mut peer = settled(bench)?;
    for _ in 0..20 {
        let guess = bench.first_number();
        peer.send(&peer.at(PacketType::Data, guess).data(b"attack"));
    }
    let answers = peer.barrier()?;
    let has_reset = answers.iter().any(|answer| answer.is(PacketType::Reset));
    demand(!has_reset, "no Reset for a blind attack", || listed(&answers))?;
    let draft = peer.next(PacketType::Data);
    peer.demand_accepted(&draft)
}

fn half_open(bench: &ConformanceContext) -> Judged {
    let mut peer = settled(bench)?;
    // The host was restarted and has lost the connection; it happens to choose the same port.
    let first = bench.first_number();
    let request = peer.at(PacketType::Request, first);
    peer.send(&request);
    let mut sync = peer.wait("a Sync for a Request on a half-open connection", |a| {
        a.acknowledges(PacketType::Sync, first.value())
    })?;
    // It answers each Sync as §8.3.1 says: the first Reset is out of the window and draws GSR.
    peer.is_open = false;
    for _ in 0..2 {
        peer.collect(SYNC_PERIOD)?;
        let number = SequenceNumber::new(sync.header.acknowledgement.unwrap_or(0)).next();
        let reset = peer.at(PacketType::Reset, number).reset(ResetCode::PacketError);
        peer.send(&reset.acknowledging(sync.sequence()));
        let answers = peer.collect(SYNC_PERIOD)?;
        match answers.into_iter().find(|answer| answer.is(PacketType::Sync)) {
            Some(next) => sync = next,
            None => break,
        }
    }
    let ack = peer.at(PacketType::Ack, first.plus(9));
    peer.send(&ack);
    peer.wait_reset(ResetCode::NoConnection, "because the connection has ended").map(drop)
}

fn short_not_allowed(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::Data).short();
    peer.demand_dropped(&draft, |_| ())
}

fn short_allowed(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    peer.begin_at(SequenceNumber::new((7 << 40) | 0xff_fff8));
    let allow_short = change(FeatureOption::ChangeL, ALLOW_SHORT_SEQNOS, &[1]);
    let answer = peer.request(&[&VECTORS, &allow_short[..]].concat())?;
    let confirmed = answer.features(FeatureOption::ConfirmR, ALLOW_SHORT_SEQNOS);
    if confirmed.first().and_then(|value| value.first()) != Some(&1) {
        return Err(CaseStopReason::not_applicable(
            "the target does not allow short sequence numbers",
        ));
    }
    peer.complete()?;
    for _ in 0..6 {
        for packet_type in [PacketType::Data, PacketType::DataAck] {
            let draft = peer.next(packet_type).short();
            peer.demand_accepted(&draft)?;
        }
    }
    Ok(())
}

fn wider_window(bench: &ConformanceContext) -> Judged {
    let mut peer = settled(bench)?;
    let ahead = peer.at(PacketType::Data, peer.sent.plus(600));
    let answers = answers_at(&mut peer, &ahead, false)?;
    demand_sync(
        &answers,
        ahead.header.sequence,
        true,
        "a sequence number ahead, before the Confirm",
    )?;
    peer.negotiate(FeatureOption::ChangeL, SEQUENCE_WINDOW, &wide(1_000))?;
    peer.collect(SYNC_PERIOD)?;
    let ahead = peer.at(PacketType::Data, peer.sent.plus(600));
    let answers = answers_at(&mut peer, &ahead, true)?;
    demand_sync(
        &answers,
        ahead.header.sequence,
        false,
        "a sequence number ahead, after the Confirm",
    )
}

fn ndp_count(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let (kind, feature) = (FeatureOption::ChangeR, SEND_NDP_COUNT);
    let change = FeatureChange { kind, feature, value: &[1] };
    let (mut peer, agreed) = TesterConnection::open_asking(bench, &VECTORS, change)?;
    if agreed.first() != Some(&1) {
        return Err(CaseStopReason::not_applicable("the target does not send NDP Counts"));
    }
    peer.send_data(b"before");
    let mut last = peer.wait("the echoed datagram", TargetPacket::has_data)?.sequence();
    for syncs in [0, 3, 300] {
        for _ in 0..syncs {
            peer.barrier()?;
        }
        peer.send_data(b"count");
        let answer = peer.wait("the echoed datagram", TargetPacket::has_data)?;
        let run = answer.sequence().distance_from(last) as u64 - 1;
        let expected = (run > 0).then_some(run);
        let count = DccpOptionIterator::new(&answer.options).find_map(|raw| match raw.option {
            DccpOption::NdpCount(count) => Some(count),
            _ => None,
        });
        let words = format!("NDP Count {expected:?} after {run} packets without data");
        demand(count == expected || (run == 0 && count == Some(0)), &words, || answer.to_string())?;
        let octets = answer.option(number::NDP_COUNT).map_or(0, <[u8]>::len);
        demand(run <= 255 || octets == 2, "two bytes above 255", || format!("{octets}"))?;
        last = answer.sequence();
        peer.acknowledge(&[]);
    }
    Ok(())
}
