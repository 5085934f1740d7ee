//! Conformance cases with the target as a client: the suite makes it connect, and is the server.

use std::time::Duration;

use dccp::header::{PacketType, ResetCode};
use dccp::option::{DccpOption, number};

use crate::conformance::answer::{TargetPacket, listed};
use crate::conformance::case::demand_growing_times;
use crate::conformance::context::{CLOSE_COMMAND, CONNECT_COMMAND, ConformanceContext};
use crate::conformance::negotiation::{change, confirm_of, confirms_for};
use crate::conformance::peer::{TesterConnection, option};
use crate::conformance::verdict::{CaseStopReason, Judged, demand};

/// Time within which a target's client must give up repeating its Request: longer than three
/// minutes, the example of RFC 4340 §8.1.1.
const GIVES_UP_WITHIN: Duration = Duration::from_secs(240);
const CCID: u8 = 1;
const SEND_NDP_COUNT: u8 = 7;

/// Returns a connection on which the target waits for the answer to its Request, and that Request.
fn await_request(bench: &ConformanceContext) -> Judged<(TesterConnection<'_>, TargetPacket)> {
    bench.needs_echo()?;
    let mut control = TesterConnection::open(bench)?;
    let mut peer = TesterConnection::new(bench);
    peer.is_agreeing = false;
    let words = format!("{} {}", bench.udp_port(0), peer.port);
    control.send_data(&[CONNECT_COMMAND, words.as_bytes()].concat());
    let request =
        peer.wait("a Request", |a| a.is(PacketType::Request)).map_err(|stop| match stop {
            CaseStopReason::Failed { .. } => CaseStopReason::not_applicable(
                "the target does not connect when the command asks it to",
            ),
            other => other,
        })?;
    peer.remote_port = request.header.source_port;
    Ok((peer, request))
}

/// Answers the target's Request with a Response that confirms all its Changes and has the options
/// `more`.
fn respond(peer: &mut TesterConnection<'_>, request: &TargetPacket, more: &[u8]) {
    let options = [&confirms_for(request, |_| true)[..], more].concat();
    let mut response = peer.next(PacketType::Response).options(&options);
    response.header.service_code = request.header.service_code;
    peer.send(&response);
}

fn is_ack(answer: &TargetPacket) -> bool {
    answer.is(PacketType::Ack) || answer.is(PacketType::DataAck)
}

/// Returns a connection on which the target has sent its first Ack, with its Request and that Ack.
fn part_open_with<'b>(
    bench: &'b ConformanceContext,
    more: &[u8],
) -> Judged<(TesterConnection<'b>, TargetPacket, TargetPacket)> {
    let (mut peer, request) = await_request(bench)?;
    respond(&mut peer, &request, more);
    let ack = peer.wait("an Ack for the Response", is_ack)?;
    peer.is_open = true;
    Ok((peer, request, ack))
}

pub(super) fn next_number(bench: &ConformanceContext) -> Judged {
    let (mut peer, request) = await_request(bench)?;
    let is_request = |a: &TargetPacket| a.is(PacketType::Request);
    let (again, _) = peer.wait_repeated("a repeated Request", is_request)?;
    let is_next = again.sequence() == request.sequence().next();
    let is_same = again.header.service_code == request.header.service_code;
    demand(is_next && is_same, "the next sequence number and the same service code", || {
        again.to_string()
    })
}

pub(super) fn backs_off(bench: &ConformanceContext) -> Judged {
    let (mut peer, _) = await_request(bench)?;
    let is_request = |a: &TargetPacket| a.is(PacketType::Request);
    demand_growing_times(|| peer.wait_repeated("a repeated Request", is_request).map(drop))?;
    let expected = "Reset 2 that acknowledges 0, when the client gives up";
    let (reset, _) = peer.wait_within(GIVES_UP_WITHIN, expected, |a| a.is(PacketType::Reset))?;
    let is_right = reset.reset_code() == Some(ResetCode::Aborted.number())
        && reset.header.acknowledgement == Some(0);
    demand(is_right, expected, || reset.to_string())
}

pub(super) fn no_answer(bench: &ConformanceContext) -> Judged {
    let (mut peer, _) = await_request(bench)?;
    for packet_type in [PacketType::Data, PacketType::Ack, PacketType::Sync] {
        let draft = peer.next(packet_type);
        peer.send(&draft);
        let words = format!("for {} to a client in REQUEST", packet_type.name());
        let reset = peer.wait_reset(ResetCode::PacketError, &words)?;
        let is_named = reset.header.reset.is_some_and(|r| r.data == [packet_type.number(), 0, 0]);
        demand(is_named, "the packet type in Data 1", || reset.to_string())?;
    }
    Ok(())
}

pub(super) fn other_response(bench: &ConformanceContext) -> Judged {
    let (mut peer, request) = await_request(bench)?;
    let mut wrong = peer.next(PacketType::Response).acknowledging(request.sequence().plus(1_000));
    wrong.header.service_code = request.header.service_code;
    peer.send(&wrong);
    peer.wait_reset(ResetCode::PacketError, "for a Response to another Request")?;
    respond(&mut peer, &request, &[]);
    peer.wait("an Ack for the right Response", is_ack)?;
    peer.is_open = true;
    Ok(())
}

pub(super) fn part_open(bench: &ConformanceContext) -> Judged {
    let (mut peer, _, first) = part_open_with(bench, &[])?;
    let (again, passed) =
        peer.wait_repeated("a repeated Ack, while the client receives nothing", is_ack)?;
    let has_data = passed.iter().any(|answer| answer.is(PacketType::Data));
    demand(!has_data, "no Data in PARTOPEN", || listed(&passed))?;
    let is_same = again.header.acknowledgement == first.header.acknowledgement;
    demand(is_same, "another acknowledgement of the Response", || again.to_string())
}

pub(super) fn second_response(bench: &ConformanceContext) -> Judged {
    let (mut peer, request, _) = part_open_with(bench, &[])?;
    respond(&mut peer, &request, &[]);
    let number = peer.sent.value();
    let acknowledges = |a: &TargetPacket| is_ack(a) && a.header.acknowledgement == Some(number);
    peer.wait("an Ack for the second Response", acknowledges).map(drop)
}

pub(super) fn sync_in_part_open(bench: &ConformanceContext) -> Judged {
    let (mut peer, ..) = part_open_with(bench, &[])?;
    peer.barrier()?;
    peer.wait_repeated("a repeated Ack: a Sync does not end PARTOPEN", is_ack)?;
    let ack = peer.next(PacketType::Ack);
    peer.send(&ack);
    peer.demand_quiet("for the Ack")
}

pub(super) fn cookies(bench: &ConformanceContext) -> Judged {
    let both = [&b"first cookie"[..], b"second cookie"].map(|c| option(DccpOption::InitCookie(c)));
    let cookies_of = |answer: &TargetPacket| -> Vec<u8> {
        let cookies = answer.raw_options().filter(|raw| raw.number == number::INIT_COOKIE);
        cookies.flat_map(|raw| option(DccpOption::InitCookie(raw.value))).collect()
    };
    let (mut peer, _, first) = part_open_with(bench, &both.concat())?;
    let has_both = |ack: &TargetPacket| {
        let words = "both Init Cookies in order on each packet of PARTOPEN";
        demand(cookies_of(ack) == both.concat(), words, || ack.to_string())
    };
    has_both(&first)?;
    has_both(&peer.wait_repeated("a repeated Ack", is_ack)?.0)?;
    let ack = peer.next(PacketType::Ack);
    peer.send(&ack);
    let sync = peer.next(PacketType::Sync);
    peer.send(&sync);
    let answer =
        peer.wait("a SyncAck", |a| a.acknowledges(PacketType::SyncAck, sync.header.sequence))?;
    demand(cookies_of(&answer).is_empty(), "no Init Cookie once the connection is open", || {
        answer.to_string()
    })
}

/// Refuses the feature `feature`, of which the target's Request has a Change, with an empty
/// Confirm.
fn refuse<'b>(bench: &'b ConformanceContext, feature: u8) -> Judged<TesterConnection<'b>> {
    let (mut peer, request) = await_request(bench)?;
    let changes = request.changes();
    let Some((kind, ..)) = changes.iter().find(|(_, changed, _)| *changed == feature) else {
        let why = format!("the target sends no Change of feature {feature}");
        return Err(CaseStopReason::not_applicable(why));
    };
    let others = confirms_for(&request, |other| other != feature);
    let options = [&others[..], &change(confirm_of(*kind), feature, &[])].concat();
    let mut response = peer.next(PacketType::Response).options(&options);
    response.header.service_code = request.header.service_code;
    peer.send(&response);
    Ok(peer)
}

pub(super) fn empty_confirm_of_ccid(bench: &ConformanceContext) -> Judged {
    let mut peer = refuse(bench, CCID)?;
    peer.wait_reset(ResetCode::OptionError, "for an empty Confirm of the CCID").map(drop)
}

pub(super) fn empty_confirm_of_ndp(bench: &ConformanceContext) -> Judged {
    let mut peer = refuse(bench, SEND_NDP_COUNT)?;
    peer.wait("an Ack for the Response", is_ack)?;
    peer.is_open = true;
    peer.demand_quiet("for an empty Confirm of Send NDP Count")
}

pub(super) fn client_closes(bench: &ConformanceContext) -> Judged {
    let (mut peer, ..) = part_open_with(bench, &[])?;
    let draft = peer.next(PacketType::DataAck).data(CLOSE_COMMAND);
    peer.send(&draft);
    peer.wait("Close", |a| a.is(PacketType::Close))?;
    let reset = peer.next(PacketType::Reset).reset(ResetCode::Closed);
    peer.send(&reset);
    peer.is_open = false;
    // That was a valid Reset, so the target does not answer it, and is in TIMEWAIT for later
    // packets.
    let ack = peer.next(PacketType::Ack);
    peer.send(&ack);
    peer.wait_reset(ResetCode::NoConnection, "in TIMEWAIT").map(drop)
}
