//! Conformance cases of the end of connections (RFC 4340 §8.3).

use std::time::Duration;

use dccp::header::{PacketType, ResetCode};

use super::active;
use crate::conformance::answer::listed;
use crate::conformance::case::{ConformanceCase, demand_growing_times, inside, outside};
use crate::conformance::context::{CLOSE_COMMAND, ConformanceContext};
use crate::conformance::peer::TesterConnection;
use crate::conformance::verdict::{CaseStopReason, Judged, demand};

pub(super) const CASES: &[ConformanceCase] = &[
    outside(
        "CLS-01",
        "§8.3",
        "a client closes with Close and remembers the connection",
        active::client_closes,
    ),
    outside(
        "CLS-02",
        "§8.3",
        "a server closes with CloseReq, and answers Close with Reset 1",
        server_closes,
    ),
    inside(
        "CLS-03",
        "§8.3",
        "a server that holds TIMEWAIT state sends Close",
        "this depends on a setting of the target's application",
    ),
    outside(
        "CLS-04",
        "§8.3",
        "CloseReq is repeated at growing intervals until it is answered",
        repeated_close,
    ),
    outside("CLS-05", "§8.5", "CloseReq to a server: Sync", close_req_to_server),
    outside("CLS-06", "§8.3", "CloseReq and Close that cross end the connection", crossing),
    outside("CLS-07", "§8.3", "a Reset is not answered, and ends the connection", reset_in_open),
    outside("CLS-08", "§8.3", "Data after CloseReq draws no Reset", data_while_closing),
    inside(
        "CLS-09",
        "§8.3",
        "queued data is sent before the Close",
        "the suite cannot observe the target's send queue",
    ),
    outside(
        "CLS-10",
        "§8.3.1",
        "the Reset for short sequence numbers has zeros above their 24 bits",
        short_without_connection,
    ),
];

fn demand_close_req(answer: &crate::conformance::answer::TargetPacket) -> Judged {
    if answer.is(PacketType::Close) {
        return Err(CaseStopReason::not_applicable(
            "the target holds TIMEWAIT state itself and sends Close",
        ));
    }
    demand(answer.is(PacketType::CloseReq), "CloseReq", || answer.to_string())
}

fn end(peer: &mut TesterConnection<'_>) -> Judged {
    let close = peer.next(PacketType::Close);
    peer.send(&close);
    peer.wait_reset(ResetCode::Closed, "for Close").map(drop)
}

fn server_closes(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    demand_close_req(&bench.close_from_target(&mut peer)?)?;
    end(&mut peer)?;
    let ack = peer.next(PacketType::Ack);
    peer.send(&ack);
    peer.wait_reset(ResetCode::NoConnection, "because the server keeps no state").map(drop)
}

fn repeated_close(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let first = bench.close_from_target(&mut peer)?;
    let packet_type = first.header.packet_type;
    demand_growing_times(|| {
        let expected = "the same packet repeated until it is answered";
        peer.wait_repeated(expected, |a| a.is(packet_type)).map(drop)
    })?;
    end(&mut peer)
}

fn close_req_to_server(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::CloseReq);
    let answers = peer.answers_to(&draft)?;
    let number = draft.header.sequence;
    let has_sync = answers.iter().any(|a| a.acknowledges(PacketType::Sync, number));
    demand(has_sync, "a Sync for CloseReq to a server", || listed(&answers))
}

fn crossing(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let mut peer = TesterConnection::open(bench)?;
    peer.send_data(CLOSE_COMMAND);
    end(&mut peer)
}

fn reset_in_open(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let reset = peer.next(PacketType::Reset);
    peer.send(&reset);
    peer.is_open = false;
    let ack = peer.next(PacketType::Ack);
    peer.send(&ack);
    let answer = peer.wait_reset(
        ResetCode::NoConnection,
        "for an Ack after a Reset, and no answer to the Reset",
    )?;
    let is_its = answer.header.acknowledgement == Some(ack.header.sequence);
    demand(is_its, "no answer to the Reset itself", || answer.to_string())
}

fn data_while_closing(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    bench.close_from_target(&mut peer)?;
    for _ in 0..3 {
        peer.send_data(b"late");
    }
    let answers = peer.collect(Duration::from_millis(50))?;
    let has_reset = answers.iter().any(|answer| answer.is(PacketType::Reset));
    demand(!has_reset, "no Reset for Data after CloseReq", || listed(&answers))?;
    end(&mut peer)
}

fn short_without_connection(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    let mut draft = peer.next(PacketType::Ack).short();
    draft.header.sequence = 0x12_3456;
    draft.header.acknowledgement = Some(0xab_cdef);
    peer.send(&draft);
    let reset = peer
        .wait_reset(ResetCode::NoConnection, "for short sequence numbers without a connection")?;
    let numbers = (reset.header.sequence, reset.header.acknowledgement);
    demand(numbers == (0xab_cdf0, Some(0x12_3456)), "zeros above 24 bits", || reset.to_string())
}
