//! Packets of the protocol itself that wait for [`super::Connection::poll_transmit`], and Resets
//! that answer packets without a connection (RFC 4340 §8.3.1).

use std::collections::VecDeque;

use crate::header::{DccpHeader, DccpPacket, PacketType, Reset};
use crate::sequence::SequenceNumber;

/// Largest number of packets of the protocol itself (such as Sync, Close, Reset) that wait to be
/// sent; more are dropped, because the other end repeats packets that need an answer.
const CONTROLS_MAX: usize = 16;

/// Packet of the protocol itself, without application data of its own, that waits to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    /// Request: the client's first packet, or its repetition.
    Request,
    /// Response: the server's answer to a Request.
    Response,
    /// Sync or SyncAck with its own acknowledgement number.
    Sync { packet_type: PacketType, acknowledgement: SequenceNumber },
    /// Close or CloseReq: the packet with which this end closes the connection.
    Close { packet_type: PacketType },
    /// Reset with which this end ends the connection.
    Reset {
        reset: Reset,
        /// Acknowledgement number of the Reset; `None` for the greatest number received.
        acknowledgement: Option<SequenceNumber>,
    },
    /// Reset without a connection: its numbers follow from the packet that it answers.
    Reply(DccpHeader),
}

/// Queue of the protocol's own packets that wait to be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Controls {
    waiting: VecDeque<Control>,
}

impl Controls {
    pub(super) fn push(&mut self, control: Control) {
        if self.waiting.len() < CONTROLS_MAX {
            self.waiting.push_back(control);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn pop(&mut self) -> Option<Control> {
        self.waiting.pop_front()
    }

    /// Replaces all waiting packets of the protocol with a Reset, which makes them pointless.
    pub(super) fn reset(&mut self, reset: Reset, acknowledgement: Option<SequenceNumber>) {
        self.waiting.clear();
        self.waiting.push_back(Control::Reset { reset, acknowledgement });
    }

    /// Replaces all waiting packets with the Reset of a client that has no answer from its server:
    /// the Reset acknowledges number 0 (RFC 4340 §8.1.1).
    pub(super) fn reset_unanswered(&mut self, reset: Reset) {
        self.reset(reset, Some(SequenceNumber::new(0)));
    }
}

/// Returns the Reset that answers a packet outside of any connection: its numbers follow from the
/// packet's (RFC 4340 §8.3.1). Returns `None` for a Reset, which is never answered.
#[must_use]
pub fn reply_without_connection(packet: &DccpPacket<'_>, reset: Reset) -> Option<DccpHeader> {
    let header = &packet.header;
    if header.packet_type == PacketType::Reset {
        return None;
    }
    // The upper half of short numbers is unknown and sent as 0.
    let sequence = match header.acknowledgement {
        Some(number) => SequenceNumber::new(number).next().value(),
        None => 0,
    };
    let mask = if header.is_extended { u64::MAX } else { 0x00ff_ffff };
    Some(DccpHeader {
        source_port: header.destination_port,
        destination_port: header.source_port,
        acknowledgement: Some(header.sequence),
        reset: Some(reset),
        ..DccpHeader::new(PacketType::Reset, sequence & mask)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::ResetCode;

    #[test]
    fn cls_10_a_reply_to_short_numbers_has_zeros_above_them() {
        let header = DccpHeader {
            source_port: 1,
            destination_port: 2,
            is_extended: false,
            acknowledgement: Some(0xff_ffff),
            ..DccpHeader::new(PacketType::Ack, 0x12_3456)
        };
        let packet = DccpPacket { header, options: &[], data: &[] };
        let reset = Reset::plain(ResetCode::NoConnection);
        let reply = reply_without_connection(&packet, reset).unwrap();
        assert_eq!((reply.source_port, reply.destination_port), (2, 1));
        assert_eq!((reply.sequence, reply.acknowledgement), (0, Some(0x12_3456)));
        assert!(reply.is_extended);
        let long = DccpPacket {
            header: DccpHeader { is_extended: true, packet_type: PacketType::Sync, ..header },
            ..packet
        };
        let reply = reply_without_connection(&long, reset).unwrap();
        assert_eq!(reply.sequence, 0x100_0000);
        let data = DccpHeader { acknowledgement: None, ..DccpHeader::new(PacketType::Data, 9) };
        let reply =
            reply_without_connection(&DccpPacket { header: data, ..packet }, reset).unwrap();
        assert_eq!((reply.sequence, reply.acknowledgement), (0, Some(9)));
        let reset_packet = DccpPacket { header: reply, ..packet };
        assert_eq!(reply_without_connection(&reset_packet, reset), None);
    }
}
