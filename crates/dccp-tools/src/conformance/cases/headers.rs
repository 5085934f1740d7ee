//! Conformance cases of packet headers (RFC 4340 §5.1 to §5.7).

use dccp::header::{PacketType, ResetCode};

use super::sequences::SYNC_PERIOD;
use crate::conformance::answer::TargetPacket;
use crate::conformance::case::{ConformanceCase, outside};
use crate::conformance::context::ConformanceContext;
use crate::conformance::peer::{TesterConnection, VECTORS};
use crate::conformance::verdict::{Judged, demand};

pub(super) const CASES: &[ConformanceCase] = &[
    outside("HDR-01", "§5.1", "a packet of 11 bytes gets no answer", eleven_octets),
    outside(
        "HDR-02",
        "§5.1",
        "a packet with a Data Offset within the header is ignored",
        offset_too_small,
    ),
    outside(
        "HDR-03",
        "§5.1",
        "a packet with a Data Offset beyond its end is ignored",
        offset_too_large,
    ),
    outside(
        "HDR-04",
        "§5.1",
        "types 10 to 15: ignored, not acknowledged, no Reset",
        reserved_types,
    ),
    outside(
        "HDR-05",
        "§5.1",
        "24-bit sequence numbers on a packet type that must not have them: ignored",
        short_types,
    ),
    outside("HDR-06", "§5.1", "reserved bits that are set are ignored", reserved_bits),
    outside("HDR-07", "§5.1", "CCID 2 ignores CCVal", ccval),
    outside("HDR-08", "§5.4", "data on an Ack is padding and not delivered", data_on_ack),
    outside("HDR-09", "§5.4", "an empty Data is delivered as an empty datagram", empty_data),
    outside(
        "HDR-10",
        "§5.1",
        "packets have a complete header, zeros in reserved bits, X where required",
        forms,
    ),
    outside("HDR-11", "§5.6", "Data 1 to 3 of a Reset are as its code requires", reset_data),
    outside(
        "HDR-12",
        "§5.3",
        "a Response repeats the service code and acknowledges the Request",
        response,
    ),
];

/// Index of the header's byte with reserved bits, packet type and X.
const TYPE_AT: usize = 8;
/// Index of the reserved byte in a header with long sequence numbers.
const RESERVED_AT: usize = 9;
const DATA_OFFSET_AT: usize = 4;

fn eleven_octets(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::Data);
    peer.demand_dropped(&draft, |octets| octets.truncate(11))
}

fn offset_too_small(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    for packet_type in [PacketType::Data, PacketType::Ack, PacketType::DataAck] {
        let draft = peer.next(packet_type);
        peer.demand_dropped(&draft, |octets| octets[DATA_OFFSET_AT] -= 1)?;
    }
    let mut other = TesterConnection::new(bench);
    let request = other.next(PacketType::Request);
    let mut octets = other.encode(&request);
    octets[DATA_OFFSET_AT] = 4;
    other.send_octets(&other.seal(octets));
    let (_, passed) = {
        let request = other.next(PacketType::Request);
        other.send(&request);
        let number = request.header.sequence;
        other.wait_all("a Response to the next Request", |a| {
            a.acknowledges(PacketType::Response, number)
        })?
    };
    demand(passed.is_empty(), "nothing for the previous Request", || passed[0].to_string())
}

fn offset_too_large(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    for data in [&b""[..], b"abc"] {
        let draft = peer.next(PacketType::DataAck).data(data);
        peer.demand_dropped(&draft, |octets| octets[DATA_OFFSET_AT] = 7)?;
    }
    Ok(())
}

fn reserved_types(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    for number in 10..16 {
        let draft = peer.next(PacketType::Ack);
        peer.demand_dropped(&draft, |octets| octets[TYPE_AT] = number << 1 | 1)?;
    }
    Ok(())
}

fn short_types(bench: &ConformanceContext) -> Judged {
    use PacketType::{Close, CloseReq, Request, Reset, Response, Sync, SyncAck};
    let mut peer = TesterConnection::open(bench)?;
    for packet_type in [Request, Response, CloseReq, Close, Reset, Sync, SyncAck] {
        let draft = peer.next(packet_type);
        peer.demand_dropped(&draft, |octets| octets[TYPE_AT] &= !1)?;
    }
    Ok(())
}

fn reserved_bits(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::DataAck).data(b"reserved");
    let mut octets = peer.encode(&draft);
    octets[TYPE_AT] |= 0xe0;
    octets[RESERVED_AT] = 0xff;
    octets[16..18].fill(0xff);
    peer.send_octets(&peer.seal(octets));
    peer.demand_quiet("for reserved bits")?;
    peer.demand_reported(draft.header.sequence, true)
}

fn ccval(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::open(bench)?;
    let mut draft = peer.next(PacketType::Data).data(b"ccval");
    draft.header.ccval = 0xd;
    peer.send(&draft);
    peer.demand_quiet("for CCVal")?;
    peer.demand_reported(draft.header.sequence, true)
}

fn data_on_ack(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let mut peer = TesterConnection::open(bench)?;
    let draft = peer.next(PacketType::Ack).data(b"padding");
    peer.send(&draft);
    peer.demand_echo(b"padding", false)
}

fn empty_data(bench: &ConformanceContext) -> Judged {
    bench.needs_echo()?;
    let mut peer = TesterConnection::open(bench)?;
    peer.send_data(b"");
    peer.demand_echo(b"", true)
}

/// Checks the rules of RFC 4340 §5.1 that the parser does not check, for a packet of the target.
fn demand_form(answer: &TargetPacket) -> Judged {
    let octets = &answer.octets;
    let expected = "zeros in the reserved bits and bytes";
    let has_zeros = octets[TYPE_AT] & 0xe0 == 0
        && (!answer.header.is_extended || octets[RESERVED_AT] == 0)
        && (!answer.header.is_extended
            || answer.header.acknowledgement.is_none()
            || octets[16..18] == [0, 0])
        && (answer.header.is_extended
            || answer.header.acknowledgement.is_none()
            || octets[12] == 0);
    demand(has_zeros, expected, || format!("{octets:02x?}"))?;
    let is_plain = answer.has_data() || answer.header.ccval == 0;
    demand(is_plain, "CCVal 0 on packets without data", || answer.to_string())
}

fn forms(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    demand_form(&peer.request(&VECTORS)?)?;
    peer.complete()?;
    for _ in 0..4 {
        peer.send_data(b"form");
    }
    for answer in peer.barrier()? {
        demand_form(&answer)?;
    }
    let invalid = peer.at(PacketType::Data, peer.sent.plus(1 << 30));
    // A target that limits its Syncs may count from the beginning of a connection.
    peer.collect(SYNC_PERIOD)?;
    peer.send(&invalid);
    demand_form(&peer.wait("a Sync for a number far ahead", |a| a.is(PacketType::Sync))?)?;
    let sync = peer.next(PacketType::Sync);
    peer.send(&sync);
    demand_form(&peer.wait("a SyncAck", |a| a.is(PacketType::SyncAck))?)?;
    let close = peer.next(PacketType::Close);
    peer.send(&close);
    demand_form(&peer.wait_reset(ResetCode::Closed, "for Close")?)?;
    if bench.needs_echo().is_ok() {
        let mut peer = TesterConnection::open(bench)?;
        peer.send_data(b"form");
        demand_form(&peer.wait("the echoed datagram", TargetPacket::has_data)?)?;
        demand_form(&bench.close_from_target(&mut peer)?)?;
    }
    Ok(())
}

fn reset_data(bench: &ConformanceContext) -> Judged {
    let demand_data = |answer: &TargetPacket, data: [u8; 3]| {
        let expected = format!("Data 1 to 3 of the Reset {data:?}");
        let has = answer.header.reset.is_some_and(|reset| reset.data == data);
        demand(has, &expected, || answer.to_string())
    };
    let mut peer = TesterConnection::open(bench)?;
    let close = peer.next(PacketType::Close);
    peer.send(&close);
    demand_data(&peer.wait_reset(ResetCode::Closed, "for Close")?, [0; 3])?;
    let ack = peer.next(PacketType::Ack);
    peer.send(&ack);
    demand_data(&peer.wait_reset(ResetCode::NoConnection, "after the end")?, [0; 3])?;
    // An unknown option that is Mandatory, and the bytes after its length.
    let mut peer = TesterConnection::open(bench)?;
    let ack = peer.next(PacketType::Ack).options(&[1, 50, 5, 7, 8, 9]);
    peer.send(&ack);
    demand_data(&peer.wait_reset(ResetCode::MandatoryError, "for the option")?, [50, 7, 8])
}

fn response(bench: &ConformanceContext) -> Judged {
    let mut peer = TesterConnection::new(bench);
    let answer = peer.request(&[])?;
    let code = answer.header.service_code;
    demand(code == Some(bench.service_code), "the service code of the Request", || {
        answer.to_string()
    })
}
