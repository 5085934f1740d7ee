//! Conformance cases of CCID 3 (RFC 4342, RFC 5348).

use dccp::header::PacketType;
use dccp::option::{FeatureOption, number};

use crate::conformance::answer::TargetPacket;
use crate::conformance::case::{ConformanceCase, inside, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::negotiation::{FeatureChange, change, confirm_of};
use crate::conformance::peer::{TesterConnection, VECTORS};
use crate::conformance::verdict::{CaseStopReason, Judged, demand};

pub(super) const CASES: &[ConformanceCase] = &[
    outside(
        "TFRC-01",
        "RFC 4342 §6",
        "feedback has Elapsed Time or Timestamp Echo, Receive Rate and Loss Intervals",
        feedback,
    ),
    inside(
        "TFRC-02",
        "RFC 4342 §8.6",
        "Loss Intervals are as in the example of the RFC",
        "the example needs the history of one particular connection",
    ),
    inside(
        "TFRC-03",
        "RFC 4342 §8.6.1",
        "Skip Length is at most 3",
        "the suite cannot observe the sender's state",
    ),
    outside(
        "TFRC-04",
        "RFC 4342 §8.5",
        "without a loss the Loss Event Rate is 4294967295",
        no_loss_rate,
    ),
    outside(
        "TFRC-05",
        "RFC 4342 §8.1",
        "CCVal increases by at most five between consecutive packets",
        window_counter,
    ),
    outside(
        "TFRC-06",
        "RFC 4342 §6.1",
        "feedback is sent after four steps of CCVal, and after a new loss event",
        when_feedback,
    ),
    outside(
        "TFRC-07",
        "RFC 4342 §10.2",
        "losses within a round trip by CCVal are one loss event, later ones another",
        loss_events,
    ),
    inside(
        "TFRC-08",
        "RFC 5348 §4.3",
        "the rate at most doubles per round trip",
        "the suite cannot observe the allowed rate",
    ),
    inside(
        "TFRC-09",
        "RFC 5348 §4.4",
        "without feedback the rate halves",
        "the suite cannot observe the allowed rate",
    ),
    inside(
        "TFRC-10",
        "RFC 5348 §4.4",
        "an idle sender keeps its initial rate",
        "the suite cannot observe the allowed rate",
    ),
    inside(
        "TFRC-11",
        "RFC 5348 §6.3.1",
        "the first loss interval follows from the receive rate",
        "this depends on the target's round-trip time",
    ),
    inside(
        "TFRC-12",
        "RFC 5348 §6.3.1",
        "if the first packet is lost, the rate is half a packet per round trip",
        "this depends on the target's round-trip time",
    ),
    outside(
        "TFRC-13",
        "RFC 5348 §5.1",
        "packets reordered by one or two positions do not count as lost",
        reordered,
    ),
    inside(
        "TFRC-14",
        "RFC 4342 §6.1.1",
        "with NDP Count lost Acks do not count as losses",
        "Loss Intervals show this only in lengths that the target may choose",
    ),
    inside(
        "TFRC-15",
        "RFC 5348 §4.6",
        "a sender catches up on at most one round trip of unused time",
        "this depends on the target's round-trip time",
    ),
    outside(
        "TFRC-16",
        "RFC 4342 §8",
        "feedback without Loss Intervals, as Linux sends it, is accepted",
        linux_feedback,
    ),
    outside("TFRC-17", "RFC 4342 §8", "feedback options on Data are ignored", feedback_on_data),
];

const CCID: u8 = 1;
const SEND_LOSS_EVENT_RATE: u8 = 192;
/// Value of the Loss Event Rate option without a loss.
const NO_LOSS: [u8; 4] = [0xff; 4];
/// Bytes of one loss interval in a Loss Intervals option.
const INTERVAL_LEN: usize = 9;

fn is_feedback(answer: &TargetPacket) -> bool {
    answer.option(number::RECEIVE_RATE).is_some()
}

/// Opens a connection with CCID 3 in the direction that `kind` selects. Returns the connection and
/// the target's Response.
fn open(
    bench: &ConformanceContext,
    kind: FeatureOption,
) -> Judged<(TesterConnection<'_>, TargetPacket)> {
    open_with(bench, kind, &change(kind, CCID, &[3]))
}

fn open_with<'b>(
    bench: &'b ConformanceContext,
    kind: FeatureOption,
    changes: &[u8],
) -> Judged<(TesterConnection<'b>, TargetPacket)> {
    let mut peer = TesterConnection::new(bench);
    let response = peer.request(&[&VECTORS, changes].concat())?;
    let agreed = response.features(confirm_of(kind), CCID);
    if agreed.first().and_then(|value| value.first()) != Some(&3) {
        return Err(CaseStopReason::not_applicable("the target does not accept CCID 3"));
    }
    peer.complete()?;
    Ok((peer, response))
}

/// Opens a connection on which the suite sends with CCID 3, and the target's receiver reports the
/// Loss Event Rate option, too.
fn sending(bench: &ConformanceContext) -> Judged<TesterConnection<'_>> {
    // This stops the case if the target does not accept CCID 3.
    open(bench, FeatureOption::ChangeL)?;
    let (kind, feature) = (FeatureOption::ChangeR, SEND_LOSS_EVENT_RATE);
    let loss_rate = FeatureChange { kind, feature, value: &[1] };
    // While the CCID is not agreed yet, its features may be negotiated only after Mandatory
    // (§10.3).
    let ccid = change(FeatureOption::ChangeL, CCID, &[3]);
    let changes = [&[number::MANDATORY], &ccid[..], &loss_rate.change()].concat();
    let (mut peer, response) = open_with(bench, FeatureOption::ChangeL, &changes)?;
    let agreed = peer.agree_on(&response, loss_rate)?;
    if agreed.first() != Some(&1) {
        return Err(CaseStopReason::not_applicable("the target does not send Loss Event Rates"));
    }
    Ok(peer)
}

/// Sends data with the window counter `counter`. Returns the sequence number of the packet.
fn count(peer: &mut TesterConnection<'_>, counter: u8) -> u64 {
    let mut draft = peer.next(PacketType::Data).data(b"data of CCID 3");
    draft.header.ccval = counter & 0xf;
    peer.send(&draft);
    draft.header.sequence
}

/// Sends data with a window counter that makes the target send feedback, and waits for the
/// feedback.
fn send_for_feedback(peer: &mut TesterConnection<'_>, counter: u8) -> Judged<TargetPacket> {
    let number = count(peer, counter);
    peer.wait("feedback after four steps of CCVal", |answer| {
        is_feedback(answer) && answer.reaches(number)
    })
}

fn feedback(bench: &ConformanceContext) -> Judged {
    let (mut peer, _) = open(bench, FeatureOption::ChangeL)?;
    for counter in [0, 4, 8] {
        let answer = send_for_feedback(&mut peer, counter)?;
        let has_time = answer.option(number::ELAPSED_TIME).is_some()
            || answer.option(number::TIMESTAMP_ECHO).is_some();
        demand(has_time, "Elapsed Time or Timestamp Echo", || answer.to_string())?;
        let rate = answer.option(number::RECEIVE_RATE).map_or(0, <[u8]>::len);
        demand(rate == 4, "a Receive Rate of four bytes", || answer.to_string())?;
        let intervals = answer.option(number::LOSS_INTERVALS).map_or(0, <[u8]>::len);
        let is_whole = intervals > INTERVAL_LEN && intervals % INTERVAL_LEN == 1;
        demand(is_whole, "Loss Intervals: one byte, and nine bytes per interval", || {
            answer.to_string()
        })?;
    }
    Ok(())
}

fn no_loss_rate(bench: &ConformanceContext) -> Judged {
    let mut peer = sending(bench)?;
    for counter in [0, 4, 8] {
        let answer = send_for_feedback(&mut peer, counter)?;
        let rate = answer.option(number::LOSS_EVENT_RATE);
        demand(rate == Some(&NO_LOSS), "Loss Event Rate 4294967295", || answer.to_string())?;
    }
    Ok(())
}

fn window_counter(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let (mut peer, _) = open(bench, FeatureOption::ChangeR)?;
    let mut last: Option<u8> = None;
    for round in 0..8_u32 {
        let data = round.to_be_bytes();
        peer.send_data(&data);
        let answer = peer.wait("the echoed datagram", |a| a.has_data() && a.data == data)?;
        let counter = answer.header.ccval;
        let step = last.map_or(0, |last| counter.wrapping_sub(last) & 0xf);
        demand(step <= 5, "a step of at most five", || format!("{last:?}, then {counter}"))?;
        last = Some(counter);
        peer.acknowledge(&receive_rate(1_000_000));
    }
    Ok(())
}

fn receive_rate(bytes_per_s: u32) -> Vec<u8> {
    let head = [number::LOSS_EVENT_RATE, 6, 0xff, 0xff, 0xff, 0xff, number::RECEIVE_RATE, 6];
    [&head[..], &bytes_per_s.to_be_bytes()].concat()
}

fn when_feedback(bench: &ConformanceContext) -> Judged {
    let mut peer = sending(bench)?;
    send_for_feedback(&mut peer, 0)?;
    send_for_feedback(&mut peer, 4)?;
    let _lost = peer.next(PacketType::Data);
    for _ in 0..2 {
        count(&mut peer, 5);
    }
    // The third one after the hole makes it a loss.
    let last = count(&mut peer, 5);
    let answer = peer.wait("feedback at once for a new loss event", |answer| {
        is_feedback(answer) && answer.reaches(last)
    })?;
    let rate = answer.option(number::LOSS_EVENT_RATE);
    let has_loss = rate.is_some_and(|rate| rate != NO_LOSS);
    demand(has_loss, "a Loss Event Rate of less than 4294967295", || answer.to_string())
}

/// Returns the count of loss intervals in a feedback packet.
fn intervals(answer: &TargetPacket) -> Judged<usize> {
    let Some(value) = answer.option(number::LOSS_INTERVALS) else {
        return Err(CaseStopReason::not_applicable(
            "the target sends no Loss Intervals, which TFRC-01 requires",
        ));
    };
    Ok(value.len() / INTERVAL_LEN)
}

fn loss_events(bench: &ConformanceContext) -> Judged {
    let mut peer = sending(bench)?;
    send_for_feedback(&mut peer, 0)?;
    let lose = |peer: &mut TesterConnection<'_>, counter: u8| {
        let _lost = peer.next(PacketType::Data);
        for _ in 0..3 {
            count(peer, counter);
        }
    };
    lose(&mut peer, 4);
    let one = intervals(&send_for_feedback(&mut peer, 8)?)?;
    // At most four steps after the packet before the first hole.
    lose(&mut peer, 8);
    lose(&mut peer, 8);
    let two = intervals(&send_for_feedback(&mut peer, 12)?)?;
    // The counter goes around once, a whole round trip and more.
    for counter in [13, 14, 15, 0, 1, 2] {
        count(&mut peer, counter);
    }
    lose(&mut peer, 3);
    let three = intervals(&send_for_feedback(&mut peer, 7)?)?;
    let lengths = [one, two, three];
    let is_right = two == one + 1 && three == two + 1;
    demand(is_right, "one more interval per loss event, of one loss or two", || {
        format!("{lengths:?}")
    })
}

fn reordered(bench: &ConformanceContext) -> Judged {
    let mut peer = sending(bench)?;
    send_for_feedback(&mut peer, 0)?;
    for counter in [4, 8, 12] {
        let mut late = peer.next(PacketType::Data).data(b"overtaken");
        late.header.ccval = counter;
        for _ in 0..2 {
            count(&mut peer, counter);
        }
        peer.send(&late);
        for _ in 0..3 {
            count(&mut peer, counter);
        }
    }
    let answer = send_for_feedback(&mut peer, 0)?;
    let rate = answer.option(number::LOSS_EVENT_RATE);
    demand(rate == Some(&NO_LOSS), "no loss", || answer.to_string())
}

fn linux_feedback(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let (mut peer, _) = open(bench, FeatureOption::ChangeR)?;
    for round in 0..20_u32 {
        let data = round.to_be_bytes();
        peer.send_data(&data);
        peer.wait("the echoed datagram", |a| a.has_data() && a.data == data)?;
        peer.acknowledge(&receive_rate(1_000_000));
    }
    peer.demand_quiet("for feedback without Loss Intervals")
}

fn feedback_on_data(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let options = [&receive_rate(1)[..], &[number::LOSS_INTERVALS, 3, 9]].concat();
    let draft = peer.next(PacketType::Data).options(&options);
    peer.demand_accepted(&draft)
}
