//! Conformance cases of acknowledgements (RFC 4340 §11) and CCID 2 (RFC 4341).

use std::time::Duration;

use dccp::ack_vector::PacketState;
use dccp::header::{PacketType, ResetCode};
use dccp::option::{FeatureOption, number};

use crate::conformance::answer::{TargetPacket, listed};
use crate::conformance::case::{ConformanceCase, inside, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::negotiation::change;
use crate::conformance::peer::TesterConnection;
use crate::conformance::verdict::{Judged, demand};

pub(super) const CASES: &[ConformanceCase] = &[
    outside("ACK-01", "§11.4", "an Ack Vector reports what arrived and what did not", vector),
    outside(
        "ACK-02",
        "§11.4.1",
        "a packet that arrives late is then reported as received",
        late_arrival,
    ),
    outside(
        "ACK-03",
        "§11.4.2",
        "the target does not repeat an acknowledged Ack Vector",
        shortened,
    ),
    outside(
        "ACK-04",
        "§11.4",
        "an Ack Vector that extends before the first packet: ignored, or Reset 5",
        before_the_first,
    ),
    outside("ACK-05", "RFC 4341 §6.1.2", "one acknowledgement per Ack Ratio packets", ack_ratio),
    inside(
        "ACK-06",
        "RFC 4341 §6.1",
        "a missing packet is reported at once",
        "only its time distinguishes this report from a delayed acknowledgement",
    ),
    outside(
        "ACK-07",
        "RFC 4341 §5",
        "the initial congestion window is at most four packets",
        first_window,
    ),
    inside(
        "ACK-08",
        "RFC 4341 §5",
        "the congestion window is halved at most once per window",
        "the suite cannot observe the congestion window",
    ),
    inside(
        "ACK-09",
        "RFC 4341 §5",
        "after a timeout the congestion window is one packet",
        "the timeout takes longer than a case may take",
    ),
    inside(
        "ACK-10",
        "RFC 4341 §6.1.2",
        "the Ack Ratio doubles when acknowledgements are lost",
        "this needs a path that holds a whole window of packets",
    ),
    inside(
        "ACK-11",
        "RFC 4341 §6.2",
        "the sender acknowledges acknowledgements once per window",
        "this needs data in one direction, and the target's application answers each datagram",
    ),
    outside(
        "ACK-12",
        "§11.7.2",
        "no data is sent to an application that has closed the connection",
        nobody_listens,
    ),
    inside(
        "ACK-13",
        "§11.6",
        "Slow Receiver stops the growth of the window for a round trip",
        "the suite cannot observe the congestion window",
    ),
    inside(
        "ACK-14",
        "§12.2",
        "an ECN mark is reported, and halves the window",
        "the suite sends no packets with ECN marks",
    ),
    outside(
        "ACK-15",
        "RFC 4341 §4",
        "no data before Send Ack Vector is confirmed",
        no_data_before_vectors,
    ),
];

const ACK_RATIO: u8 = 5;
/// Time in which the target would send data if neither its congestion window nor a missing packet
/// blocked it.
const SHORT: Duration = Duration::from_millis(60);

fn demand_state(
    answer: &TargetPacket,
    peer: &TesterConnection<'_>,
    number: u64,
    state: PacketState,
) -> Judged {
    let reported = answer.state_of(number, peer.first);
    let expected = format!("packet {number} reported as {state:?}");
    demand(reported == Some(state), &expected, || format!("{reported:?} by {answer}"))
}

fn vector(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let first = peer.send_data(b"one");
    let _lost = [peer.next(PacketType::Data), peer.next(PacketType::Data)];
    let second = peer.send_data(b"two");
    let answer = peer.report()?;
    demand_state(&answer, &peer, first, PacketState::Received)?;
    demand_state(&answer, &peer, first + 1, PacketState::Missing)?;
    demand_state(&answer, &peer, first + 2, PacketState::Missing)?;
    demand_state(&answer, &peer, second, PacketState::Received)
}

fn late_arrival(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let late = peer.next(PacketType::Data).data(b"late");
    let answer = peer.report()?;
    demand_state(&answer, &peer, late.header.sequence, PacketState::Missing)?;
    peer.send(&late);
    let answer = peer.report()?;
    demand_state(&answer, &peer, late.header.sequence, PacketState::Received)
}

/// Returns the number of bytes in the Ack Vectors of a packet.
fn vector_len(answer: &TargetPacket) -> usize {
    let vectors = answer
        .raw_options()
        .filter(|raw| matches!(raw.number, number::ACK_VECTOR_0 | number::ACK_VECTOR_1));
    vectors.map(|raw| raw.value.len()).sum()
}

fn shortened(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    for _ in 0..15 {
        // Every second packet is lost: a byte of the vector for each packet.
        let _lost = peer.next(PacketType::Data);
        peer.send_data(b"alternating");
    }
    let long = vector_len(&peer.report()?);
    demand(long >= 30, "one byte per change of state, 30 bytes or more", || format!("{long}"))?;
    peer.acknowledge(&[]);
    peer.barrier()?;
    let short = vector_len(&peer.report()?);
    demand(short < long / 2, "a short Ack Vector, since the long one was acknowledged", || {
        format!("{long} bytes, then {short}")
    })
}

fn before_the_first(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    // The vector covers four times 64 packets, but the target has sent only a few.
    let draft = peer.next(PacketType::Ack).options(&[number::ACK_VECTOR_0, 6, 63, 63, 63, 63]);
    peer.send(&draft);
    let sync = peer.next(PacketType::Sync);
    peer.send(&sync);
    let is_end = |a: &TargetPacket| a.is(PacketType::SyncAck) || a.is(PacketType::Reset);
    let answer = peer.wait("a SyncAck, or Reset 5", is_end)?;
    let is_right = answer.is(PacketType::SyncAck)
        || answer.reset_code() == Some(ResetCode::OptionError.number());
    demand(is_right, "a SyncAck, or Reset 5", || answer.to_string())
}

fn ack_ratio(bench: &ConformanceContext) -> Judged {
    for (ratio, packets, least, most) in [(1_u8, 4, 4, 8), (4, 8, 2, 5)] {
        let mut peer = TesterConnection::open(bench)?;
        let value = peer.negotiate(FeatureOption::ChangeL, ACK_RATIO, &[0, ratio])?;
        demand(value == [0, ratio], "a Confirm of the Ack Ratio", || format!("{value:?}"))?;
        let first = peer.sent.next().value();
        let mut answers = Vec::new();
        let mut last = first;
        for _ in 0..packets {
            last = peer.send_data(b"ratio");
            // Packets that the target processes together may be acknowledged together.
            answers.extend(peer.barrier()?);
        }
        let acknowledges = |a: &TargetPacket| {
            (a.is(PacketType::Ack) || a.is(PacketType::DataAck)) && a.reaches(first)
        };
        if !answers.iter().any(|a| acknowledges(a) && a.reaches(last)) {
            let is_last = |a: &TargetPacket| acknowledges(a) && a.reaches(last);
            let (answer, passed) = peer.wait_all("the last packet acknowledged", is_last)?;
            answers.extend(passed);
            answers.push(answer);
        }
        let count = answers.iter().filter(|answer| acknowledges(answer)).count();
        // A datagram that comes back may acknowledge at any time.
        let bare = answers.iter().filter(|a| acknowledges(a) && a.is(PacketType::Ack)).count();
        let expected =
            format!("{least} to {most} acknowledgements of {packets} packets at Ack Ratio {ratio}");
        demand(least <= count && bare <= most, &expected, || listed(&answers))?;
    }
    Ok(())
}

fn first_window(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let mut peer = TesterConnection::open(bench)?;
    for _ in 0..12 {
        peer.send_data(b"a window of them");
    }
    peer.wait("an echoed datagram", TargetPacket::has_data)?;
    let more = peer.collect(SHORT)?;
    let count = more.iter().filter(|answer| answer.has_data()).count() + 1;
    demand(count <= 4, "at most four packets before an acknowledgement", || listed(&more))
}

fn nobody_listens(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let mut peer = TesterConnection::open(bench)?;
    peer.send_data(b"before");
    let back = peer.wait("the echoed datagram", TargetPacket::has_data)?;
    // Code 1 for the packet that is acknowledged, which has the data.
    peer.received = back.sequence();
    let draft = peer.next(PacketType::Ack).options(&[number::DATA_DROPPED, 3, 0x90]);
    peer.send(&draft);
    peer.barrier()?;
    peer.send_data(b"after");
    let answers = peer.collect(SHORT)?;
    let has_data = answers.iter().any(TargetPacket::has_data);
    demand(!has_data, "no data after Data Dropped with code 1", || listed(&answers))?;
    peer.barrier().map(drop)
}

fn no_data_before_vectors(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let mut peer = TesterConnection::new(bench);
    peer.is_agreeing = false;
    peer.request(&change(FeatureOption::ChangeR, 6, &[1]))?;
    peer.complete()?;
    peer.send_data(b"is there data?");
    let answers = peer.collect(SHORT)?;
    let has_data = answers.iter().any(TargetPacket::has_data);
    demand(!has_data, "no data before the Confirm of Send Ack Vector", || listed(&answers))?;
    peer.is_agreeing = true;
    peer.wait("the echoed datagram, after the Confirm", TargetPacket::has_data).map(drop)
}
