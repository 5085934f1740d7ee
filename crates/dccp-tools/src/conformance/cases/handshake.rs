//! Conformance cases of the beginning of connections (RFC 4340 §8.1).

use dccp::header::{PacketType, ResetCode, ServiceCode};
use dccp::option::number;

use super::active;
use crate::conformance::answer::{TargetPacket, listed};
use crate::conformance::case::{ConformanceCase, inside, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::peer::{TesterConnection, VECTORS};
use crate::conformance::verdict::{CaseStopReason, Judged, demand};

pub(super) const CASES: &[ConformanceCase] = &[
    outside("CON-01", "§8.1", "Request, Response and Ack open a connection", handshake),
    outside(
        "CON-02",
        "§8.1.3",
        "a closed port: Reset 7 or 3 (§8.5 step 2), with sequence numbers as in §8.3.1",
        closed_port,
    ),
    outside("CON-03", "§8.1.2", "another service code, and 4294967295: Reset 8", other_service),
    inside(
        "CON-04",
        "§8.1.3",
        "a full backlog: Reset 9",
        "the target would refuse all connections for some time",
    ),
    outside(
        "CON-05",
        "§8.1.3",
        "a repeated Request: another Response with the next sequence number",
        repeated_request,
    ),
    outside("CON-06", "§8.5", "Data before the Ack: Sync", data_too_early),
    outside("CON-07", "§8.1.5", "Data after the Ack is accepted", data_follows),
    outside(
        "CON-08",
        "§8.1.4",
        "a client returns Init Cookies in order until the connection is open",
        active::cookies,
    ),
    outside("CON-09", "§8.1.4", "a changed Init Cookie: Reset 10", changed_cookie),
    outside(
        "CON-10",
        "§8.1.1",
        "a client repeats its Request at growing intervals, then gives up with Reset 2",
        active::backs_off,
    ),
    outside(
        "CON-11",
        "§8.5",
        "Data, Ack or Sync to a client in REQUEST: Reset 4 with the packet type",
        active::no_answer,
    ),
    outside(
        "CON-12",
        "§8.5",
        "a Response to another Request: Reset 4, and the client still waits",
        active::other_response,
    ),
    outside(
        "CON-13",
        "§8.1.5",
        "in PARTOPEN a client sends no Data and repeats its Ack",
        active::part_open,
    ),
    outside("CON-14", "§8.5", "another Response in PARTOPEN: another Ack", active::second_response),
    outside("CON-15", "§8.5", "a Sync does not end PARTOPEN", active::sync_in_part_open),
    outside("CON-16", "§8.5", "a Request or Response in OPEN: Sync", late_handshake),
    outside(
        "CON-17",
        "§8.1.1",
        "data on a Request is delivered at most once, even if the Request is repeated",
        request_data,
    ),
    inside(
        "CON-18",
        "§5.6",
        "a client distinguishes Reset 7, 8 and 9",
        "a code that only applications see is not sent",
    ),
    outside(
        "CON-19",
        "§8.5",
        "a listener answers Reset 3 to all packets but Request and Reset, and nothing to a Reset",
        not_a_request,
    ),
    outside("CON-20", "§8.5", "in TIMEWAIT any packet draws Reset 3, also a Request", time_wait),
];

fn handshake(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    peer.demand_quiet("on an open connection")
}

fn closed_port(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    peer.remote_port ^= 0x4000;
    let request = peer.next(PacketType::Request);
    peer.send(&request);
    let codes = [ResetCode::ConnectionRefused, ResetCode::NoConnection];
    let reset = peer.wait_reset_of(&codes, "for a port without a listener")?;
    let numbers = (reset.header.sequence, reset.header.acknowledgement);
    let expected = "sequence number 0, and the Request acknowledged";
    demand(numbers == (0, Some(request.header.sequence)), expected, || reset.to_string())?;
    let is_swapped = reset.header.source_port == peer.remote_port;
    demand(is_swapped, "the ports of the Request, swapped", || reset.to_string())
}

fn other_service(bench: &ConformanceContext) -> Judged {
    let next = ServiceCode::new(bench.service_code.value().wrapping_add(1) & 0x7fff_ffff);
    for code in [next, ServiceCode::INVALID] {
        let mut peer = TesterConnection::new(bench);
        let request = peer.request_for(code);
        peer.send(&request);
        let reset = peer.wait_reset(ResetCode::BadServiceCode, "for another service code")?;
        let is_its = reset.header.acknowledgement == Some(request.header.sequence);
        demand(is_its, "the Request acknowledged", || reset.to_string())?;
    }
    Ok(())
}

fn repeated_request(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    let first = peer.request(&VECTORS)?;
    peer.needs_respond()?;
    let second = peer.request(&VECTORS)?;
    let is_next = second.sequence() == first.sequence().next();
    demand(is_next, "a Response with the next number", || second.to_string())?;
    peer.complete()
}

fn data_too_early(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    peer.request(&VECTORS)?;
    peer.needs_respond()?;
    let data = peer.next(PacketType::Data);
    peer.send(&data);
    let number = data.header.sequence;
    peer.wait("a Sync for Data before the Ack", |a| a.acknowledges(PacketType::Sync, number))?;
    peer.complete()
}

fn data_follows(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::Data).data(b"follows");
    peer.demand_accepted(&draft)
}

fn changed_cookie(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    let response = peer.request(&[])?;
    let Some(cookie) = response.option(number::INIT_COOKIE) else {
        return Err(CaseStopReason::not_applicable("the target sends no Init Cookies"));
    };
    let mut octets = cookie.to_vec();
    octets[0] ^= 1;
    let option = [&[number::INIT_COOKIE, octets.len() as u8 + 2], &octets[..]].concat();
    let ack = peer.next(PacketType::Ack).options(&option);
    peer.send(&ack);
    peer.wait_reset(ResetCode::BadInitCookie, "for a changed Init Cookie").map(drop)
}

fn late_handshake(bench: &ConformanceContext) -> Judged {
    for packet_type in [PacketType::Request, PacketType::Response] {
        let mut peer = TesterConnection::open(bench)?;
        let late = peer.next(packet_type);
        let answers = peer.answers_to(&late)?;
        let number = late.header.sequence;
        let has_sync = answers.iter().any(|a| a.acknowledges(PacketType::Sync, number));
        let expected = format!("a Sync for a {} in OPEN", packet_type.name());
        demand(has_sync, &expected, || listed(&answers))?;
    }
    Ok(())
}

fn request_data(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let mut peer = TesterConnection::new(bench);
    for _ in 0..2 {
        peer.request_with(&VECTORS, b"early")?;
        // Data kept from the Request is state, which a target with Init Cookies does not have
        // (§8.1.4).
        peer.needs_respond()?;
    }
    let ack = peer.final_ack();
    peer.send(&ack);
    peer.is_open = true;
    peer.send_data(b"later");
    let is_later = |a: &TargetPacket| a.has_data() && a.data == b"later";
    let (_, passed) = peer.wait_all("the later datagram echoed", is_later)?;
    let count = passed.iter().filter(|a| a.has_data() && a.data == b"early").count();
    // A target may refuse the data (§8.1.3).
    demand(count <= 1, "the data of the Request delivered once at most", || {
        format!("{count} times: {}", listed(&passed))
    })
}

fn not_a_request(bench: &ConformanceContext) -> Judged {
    use PacketType::{Ack, Close, CloseReq, Data, DataAck, Reset, Response, Sync, SyncAck};
    for packet_type in [Response, Data, Ack, DataAck, CloseReq, Close, Sync, SyncAck] {
        let mut peer = TesterConnection::new(bench);
        let reset = peer.next(Reset);
        peer.send(&reset);
        let draft = peer.next(packet_type);
        peer.send(&draft);
        let words = format!("for {} to a listener, and nothing for a Reset", packet_type.name());
        let answer = peer.wait_reset(ResetCode::NoConnection, &words)?;
        let is_its = answer.header.acknowledgement == Some(draft.header.sequence);
        demand(is_its, &words, || answer.to_string())?;
    }
    Ok(())
}

fn time_wait(bench: &ConformanceContext) -> Judged {
    for packet_type in [PacketType::Ack, PacketType::Request] {
        let mut peer = TesterConnection::open(bench)?;
        let reset = peer.next(PacketType::Reset);
        peer.send(&reset);
        peer.is_open = false;
        let draft = peer.next(packet_type);
        peer.send(&draft);
        let words = format!("for a {} in TIMEWAIT", packet_type.name());
        peer.wait_reset(ResetCode::NoConnection, &words)?;
    }
    Ok(())
}
