//! Trains of successive frames of one flow: one large datagram that passes through the kernel's
//! stack once and is cut up by the interface, by the kernel in front of it, or after the other end
//! of a veth pair.
//!
//! Budget: one copy of a frame's payload, and of the headers once in 64 frames; nothing is
//! allocated after construction.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use netio::{FlushResult, FrameSender};
use packet_wire::checksum::{ChecksumAccumulator, checksum};
use packet_wire::{ipv6, protocol, udp};

use crate::flows::{Flow, Flows, NETWORK_AT, UDP_SUM_AT};

/// Greatest number of frames of a train: `UDP_MAX_SEGMENTS` of older kernels.
pub(crate) const TRAIN_FRAMES_MAX: usize = 64;
/// Length in bytes of the longest IP packet.
const PACKET_BYTES_MAX: usize = 65_535;

/// Frames that wait to be sent as trains: several of one UDP/IP flow as one large datagram.
pub(crate) struct Trains {
    sender: Box<FrameSender>,
    flows: Flows,
    /// Train (datagram of several frames) that further frames may still join; its bytes are in the
    /// sender's next slot.
    open: Option<OpenTrain>,
    /// Number of frames of each datagram that was queued and has not left.
    waiting: VecDeque<u32>,
    /// Number of datagrams that have left.
    datagrams: u64,
}

#[derive(Clone, Copy)]
struct OpenTrain {
    flow: Flow,
    /// Number of bytes of the train so far; the field `payload_bytes` counts those of the payload
    /// of each frame.
    len: usize,
    payload_bytes: usize,
    frames: usize,
}

impl OpenTrain {
    fn takes(&self, flow: Flow) -> bool {
        self.flow.number == flow.number
            && self.frames < TRAIN_FRAMES_MAX
            && self.len + self.payload_bytes <= NETWORK_AT + PACKET_BYTES_MAX
    }
}

impl Trains {
    pub(crate) fn new(sender: FrameSender, flows: Flows) -> Self {
        let waiting = VecDeque::with_capacity(sender.free());
        Self { sender: Box::new(sender), flows, open: None, waiting, datagrams: 0 }
    }

    pub(crate) const fn sender(&self) -> &FrameSender {
        &self.sender
    }

    /// Returns the number of frames that can wait in trains at a time.
    pub(crate) fn capacity(&self) -> usize {
        (self.sender.free() + self.waiting.len()) * TRAIN_FRAMES_MAX
    }

    /// Returns the number of datagrams (trains or single frames) that have left.
    pub(crate) const fn datagrams(&self) -> u64 {
        self.datagrams
    }

    /// Returns true if the trains have room for a frame of packet `index` now.
    pub(crate) fn has_room(&self, index: usize) -> bool {
        let joins = |open: OpenTrain| open.takes(self.flows.flow(index));
        self.sender.free() > usize::from(self.open.is_some_and(|open| !joins(open)))
    }

    /// Adds a frame of packet `index` to the open train or begins a new one; the caller has checked
    /// that there is room.
    pub(crate) fn push(&mut self, index: usize, frame: &[u8]) {
        let flow = self.flows.flow(index);
        if let Some(open) = self.open.as_mut().filter(|open| open.takes(flow)) {
            let slot = self.sender.slot().expect("an open train has a slot");
            let payload = &frame[flow.header_bytes..];
            slot[open.len..open.len + payload.len()].copy_from_slice(payload);
            open.len += payload.len();
            open.frames += 1;
            return;
        }
        self.close();
        let slot = self.sender.slot().expect("the caller has asked for room");
        slot[..frame.len()].copy_from_slice(frame);
        let payload_bytes = frame.len() - flow.header_bytes;
        self.open = Some(OpenTrain { flow, len: frame.len(), payload_bytes, frames: 1 });
    }

    /// Queues the open train to be sent; a train of one frame is sent as a plain frame.
    fn close(&mut self) {
        let Some(OpenTrain { flow, len, payload_bytes, frames }) = self.open.take() else { return };
        self.waiting.push_back(frames as u32);
        if frames == 1 {
            return self.sender.commit(len);
        }
        let slot = self.sender.slot().expect("an open train has a slot");
        seal(&mut slot[..len], flow);
        self.sender.commit_train(len, flow.transport_at, payload_bytes);
    }

    /// Passes the waiting trains to the kernel, without waiting itself, and returns the numbers of
    /// frames sent, refused and left.
    ///
    /// # Errors
    ///
    /// A train that the kernel refuses.
    pub(crate) fn flush(&mut self) -> io::Result<FlushResult> {
        self.close();
        let FlushResult { sent, refused, .. } = self.sender.flush();
        if refused > 0 {
            let message = "the kernel refused to segment a datagram: this needs Linux 6.2 and an \
                           interface that is up";
            return Err(io::Error::other(message));
        }
        self.datagrams += sent as u64;
        let sent = self.waiting.drain(..sent).map(|frames| frames as usize).sum();
        let left = self.waiting.iter().map(|frames| *frames as usize).sum();
        Ok(FlushResult { sent, refused, left })
    }
}

/// Changes the headers of a train's first frame to those of one datagram with all frames' payloads:
/// lengths, checksum of the IP header, and the sum of the pseudo-header instead of the UDP
/// checksum.
fn seal(train: &mut [u8], flow: Flow) {
    let datagram_bytes = train.len() - flow.transport_at;
    let packet_bytes = train.len() - NETWORK_AT;
    let (headers, datagram) = train.split_at_mut(flow.transport_at);
    let ip = &mut headers[NETWORK_AT..];
    let pseudo = if flow.is_v6 {
        let len = packet_bytes - ipv6::HEADER_LEN;
        ip[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        let address = |at: usize| {
            let octets: [u8; 16] = ip[at..at + 16].try_into().expect("16 octets");
            Ipv6Addr::from(octets)
        };
        ChecksumAccumulator::pseudo_v6(
            address(8),
            address(24),
            protocol::UDP,
            datagram_bytes as u32,
        )
    } else {
        ip[2..4].copy_from_slice(&(packet_bytes as u16).to_be_bytes());
        ip[10..12].fill(0);
        let sum = checksum(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
        ChecksumAccumulator::pseudo_v4(
            address(12),
            address(16),
            protocol::UDP,
            datagram_bytes as u16,
        )
    };
    datagram[4..6].copy_from_slice(&(datagram_bytes as u16).to_be_bytes());
    // Finishing a checksum complements it, which is left to the part that cuts the train up.
    datagram[UDP_SUM_AT..udp::HEADER_LEN].copy_from_slice(&(!pseudo.finish()).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{PacketParserSettings, compile};

    #[test]
    fn the_headers_of_a_train_are_those_of_the_whole() {
        for (text, ip_bytes) in
            [("{ udp(dp=7), \"ab\" }", 20), ("{ ipv6(), udp(dp=7), \"ab\" }", 40)]
        {
            let packets =
                compile(text.as_bytes(), &PacketParserSettings::default()).unwrap().packets;
            let flow = Flows::from_packets(&packets, false).unwrap().flow(0);
            let mut train = packets[0].octets.clone();
            train.extend(b"cdef");
            seal(&mut train, flow);
            let ip = &train[NETWORK_AT..];
            let len_octets = if flow.is_v6 { [ip[4], ip[5]] } else { [ip[2], ip[3]] };
            let len = if flow.is_v6 { 14 } else { 34 };
            assert_eq!(u16::from_be_bytes(len_octets), len);
            assert_eq!(ip[ip_bytes..ip_bytes + 6], [0, 0, 0, 7, 0, 14]);
            // Completed as a device would, the checksum is right.
            let sum = checksum(&ip[ip_bytes..]);
            train[NETWORK_AT + ip_bytes + 6..][..2].copy_from_slice(&sum.to_be_bytes());
            let whole = Flows::from_packets(
                &[crate::packet::PacketTemplate {
                    octets: train,
                    ..crate::packet::PacketTemplate::default()
                }],
                false,
            );
            assert!(whole.is_ok(), "{whole:?}");
        }
    }
}
