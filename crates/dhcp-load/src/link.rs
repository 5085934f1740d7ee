//! Link of simulated DHCP clients without a relay agent: each message leaves in an Ethernet frame
//! from its client's hardware address, and the generator reads replies to all clients from the
//! frames of the interface. The message names the frame's source and destination
//! ([`OutgoingMessage::endpoints`]).
//!
//! Budget: 1 `recvmmsg` and 1 `sendmmsg` per 64 frames, about 50 ns to open a frame and as much to
//! seal one; nothing is allocated after construction. The kernel's IP stack takes no part in
//! sending or receiving.

use std::io;
use std::net::Ipv4Addr;

use base::ByteWriter;
use netio::frame::TrainKind;
use netio::interface::Interface;
use netio::outbox::{STALL_CHECK_NS, STALL_LIMIT_NS};
use netio::send::SendCounts;
use netio::{Clock, FrameReceiver, FrameSender, NetError, PollFd, ReceivedFrame, poll};
use packet_wire::ethernet::{self, MacAddress};
use packet_wire::frame::{self, Endpoints};
use packet_wire::{PacketDefect, arp};

use crate::wire::OutgoingMessage;
use crate::wire::ReceivedDatagram;

/// Number of Ethernet frames received at a time.
const FRAMES: usize = 64;
/// Largest number of datagrams that the kernel hands over as one frame (UDP_SEGMENT).
const TRAIN_MAX: usize = 64;

/// Sender and receiver of the Ethernet frames of an interface, for clients on its link.
pub struct FrameLink {
    input: FrameLinkInput,
    output: FrameLinkOutput,
}

impl FrameLink {
    /// Opens `interface` for clients whose port is `port` and whose messages have up to
    /// `message_bytes` bytes. With `takes_arp` the link receives ARP requests, too.
    ///
    /// # Errors
    ///
    /// Fails with the kernel's refusal, `EPERM` without the capability `CAP_NET_RAW`, and when
    /// messages may be too long for the interface.
    pub fn open(
        interface: &Interface,
        port: u16,
        message_bytes: usize,
        takes_arp: bool,
    ) -> Result<Self, NetError> {
        let sender = FrameSender::open(interface)?;
        if frame::PACKET_HEADROOM + message_bytes > sender.mtu_bytes() {
            let mtu_bytes = sender.mtu_bytes();
            let cause = io::Error::other(format!("its packets have {mtu_bytes} bytes at most"));
            let tried = "send the longest message unbroken by";
            return Err(NetError::new(tried, interface.name.as_str(), cause));
        }
        let receiver = FrameReceiver::open_at_port(interface, port, takes_arp)?;
        Ok(Self { input: FrameLinkInput::new(receiver), output: FrameLinkOutput::new(sender) })
    }

    /// Returns the buffer for the next message to send; `None` when waiting messages must be sent
    /// first.
    pub(crate) fn slot(&mut self) -> Option<&mut [u8]> {
        self.output.slot()
    }

    /// Queues the message that the caller wrote into the slot for sending.
    pub(crate) fn push(&mut self, outgoing: OutgoingMessage) {
        self.output.push(outgoing);
    }

    /// Sends the waiting messages in frames, as [`netio::MessageOutbox::flush`] does.
    pub(crate) fn flush(&mut self, left: impl FnMut(u64, u64)) -> io::Result<()> {
        self.output.flush(left)
    }

    /// Receives waiting frames, as many as there is room for, and returns their number.
    pub(crate) fn receive(&mut self) -> io::Result<usize> {
        self.input.receive()
    }

    /// Returns the number of messages in the frames of the last [`FrameLink::receive`].
    pub(crate) const fn messages(&self) -> usize {
        self.input.messages.len()
    }

    /// Returns message `index` of the frames received last, with a buffer for the message that
    /// answers it; `None` when there is no such message or no free buffer.
    pub(crate) fn message(&mut self, index: usize) -> Option<(ReceivedDatagram<'_>, &mut [u8])> {
        Some((self.input.message(index)?, self.output.slot()?))
    }

    /// Answers the ARP requests in the frames received last, where `holder` returns the client that
    /// has the address. No other message may wait to be sent.
    pub(crate) fn answer_arp(&mut self, mut holder: impl FnMut(Ipv4Addr) -> Option<[u8; 6]>) {
        for question in self.input.questions.drain(..) {
            if let Some(mac) = holder(question.target) {
                let answer = question.answered_by(MacAddress(mac));
                self.output.push_arp(answer.target_mac, &answer);
            }
        }
    }

    /// Queues an announcement to all stations that the station `mac` has `address` now (RFC 5227
    /// section 3). There must be room.
    pub(crate) fn announce(&mut self, mac: [u8; 6], address: Ipv4Addr) {
        let message = arp::ArpMessage {
            operation: arp::REQUEST,
            sender_mac: MacAddress(mac),
            sender: address,
            target_mac: MacAddress::default(),
            target: address,
        };
        self.output.push_arp(MacAddress::BROADCAST, &message);
    }

    /// Returns the number of frames that the kernel dropped because the link's socket was full,
    /// since the interface was opened.
    pub(crate) fn drops(&mut self) -> io::Result<u64> {
        self.input.drops += self.input.receiver.take_drops()?;
        Ok(self.input.drops)
    }

    pub(crate) const fn counts(&self) -> SendCounts {
        self.output.counts
    }

    /// Returns the descriptor of the link's socket, to poll for replies.
    pub(crate) fn readable(&self) -> PollFd<'_> {
        PollFd::readable(&self.input.receiver)
    }
}

/// Position of a message in the frames received last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MessagePosition {
    frame: usize,
    at: usize,
    len: usize,
    endpoints: Option<Endpoints>,
    is_damaged: bool,
}

struct FrameLinkInput {
    receiver: FrameReceiver,
    messages: Vec<MessagePosition>,
    questions: Vec<arp::ArpMessage>,
    drops: u64,
}

impl FrameLinkInput {
    fn new(receiver: FrameReceiver) -> Self {
        let messages = Vec::with_capacity(FRAMES + TRAIN_MAX);
        Self { receiver, messages, questions: Vec::with_capacity(FRAMES), drops: 0 }
    }

    fn receive(&mut self) -> io::Result<usize> {
        self.messages.clear();
        self.questions.clear();
        let count = self.receiver.receive()?;
        for index in 0..count {
            let Some(frame) = self.receiver.frame(index) else { continue };
            if let Some(question) = question(frame.octets) {
                self.questions.push(question);
            } else {
                let messages = &mut self.messages;
                for_each_message(&frame, |position| {
                    messages.push(MessagePosition { frame: index, ..position })
                });
            }
        }
        Ok(count)
    }

    fn message(&self, index: usize) -> Option<ReceivedDatagram<'_>> {
        let MessagePosition { frame, at, len, endpoints, is_damaged } =
            *self.messages.get(index)?;
        let octets = &self.receiver.frame(frame)?.octets[at..at + len];
        Some(ReceivedDatagram { octets, endpoints, is_damaged })
    }
}

/// Returns the ARP request in a frame, unless its sender announces that the address is its own (RFC
/// 5227 section 3).
fn question(frame: &[u8]) -> Option<arp::ArpMessage> {
    let (header, payload) = ethernet::EthernetHeader::parse(frame).ok()?;
    let message = arp::ArpMessage::parse(payload).ok()?;
    let is_question = header.ether_type == ethernet::TYPE_ARP
        && message.operation == arp::REQUEST
        && message.sender != message.target;
    is_question.then_some(message)
}

/// Calls `each` with the position of every message in a frame that is no ARP: one, or the segments
/// of a frame that the kernel has joined (UDP_SEGMENT). A frame that cannot be parsed, or whose
/// checksum is wrong, is reported as damaged.
fn for_each_message(frame: &ReceivedFrame<'_>, mut each: impl FnMut(MessagePosition)) {
    let damaged = MessagePosition { frame: 0, at: 0, len: 0, endpoints: None, is_damaged: true };
    let Ok((endpoints, payload, is_sound)) = open(frame) else {
        if !is_arp(frame.octets) {
            each(damaged);
        }
        return;
    };
    let at = payload.as_ptr().addr() - frame.octets.as_ptr().addr();
    let segment = frame.train.filter(|train| train.kind == TrainKind::Udp);
    let segment_bytes = segment.map_or(payload.len(), |train| train.payload_bytes).max(1);
    let endpoints = Some(endpoints);
    let whole =
        MessagePosition { at, len: payload.len(), endpoints, is_damaged: !is_sound, ..damaged };
    if payload.len() <= segment_bytes {
        return each(whole);
    }
    for (number, octets) in payload.chunks(segment_bytes).enumerate() {
        each(MessagePosition { at: at + number * segment_bytes, len: octets.len(), ..whole });
    }
}

fn is_arp(frame: &[u8]) -> bool {
    ethernet::EthernetHeader::parse(frame)
        .is_ok_and(|(header, _)| header.ether_type == ethernet::TYPE_ARP)
}

/// Returns source and destination of the datagram in an Ethernet frame, its payload, and true if
/// its checksum is right. A checksum that the sender's kernel left to a device counts as right,
/// because the frame has not been on a wire.
fn open<'a>(frame: &ReceivedFrame<'a>) -> Result<(Endpoints, &'a [u8], bool), PacketDefect> {
    let (header, packet) = ethernet::EthernetHeader::parse(frame.octets)?;
    let datagram = frame::open_packet(packet)?;
    let endpoints = Endpoints {
        source_mac: header.source,
        destination_mac: header.destination,
        source: datagram.source,
        destination: datagram.destination,
    };
    let is_sound = frame.checksum.is_some() || datagram.is_checksum_right();
    Ok((endpoints, datagram.payload, is_sound))
}

/// Frame that waits to be sent: the number of its message, unless it is an ARP answer, and the
/// message's length in bytes.
#[derive(Clone, Copy, Debug)]
struct WaitingFrame {
    name: Option<u64>,
    bytes: u64,
}

struct FrameLinkOutput {
    sender: FrameSender,
    waiting: Vec<WaitingFrame>,
    /// Number of frames at the front of the queue that the kernel has sent or refused.
    settled: usize,
    counts: SendCounts,
}

impl FrameLinkOutput {
    fn new(sender: FrameSender) -> Self {
        let waiting = Vec::with_capacity(FRAMES);
        Self { sender, waiting, settled: 0, counts: SendCounts::default() }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.sender.slot().map(|slot| &mut slot[frame::HEADROOM..])
    }

    fn push(&mut self, outgoing: OutgoingMessage) {
        let endpoints = outgoing.endpoints.expect("clients on the link need a hardware address");
        let slot = self.sender.slot().expect("a message was written into a slot");
        let len = frame::seal(slot, outgoing.len, &endpoints);
        self.sender.commit(len);
        self.waiting.push(WaitingFrame { name: Some(outgoing.number), bytes: outgoing.len as u64 });
    }

    fn push_arp(&mut self, destination: MacAddress, message: &arp::ArpMessage) {
        let slot = self.sender.slot().expect("a batch of questions has as many answers");
        let mut writer = ByteWriter::new(slot);
        let header = ethernet::EthernetHeader {
            destination,
            source: message.sender_mac,
            tags: [None; ethernet::TAGS_MAX],
            ether_type: ethernet::TYPE_ARP,
        };
        header.emit(&mut writer);
        message.emit(&mut writer);
        let len = writer.len();
        self.sender.commit(len);
        self.waiting.push(WaitingFrame { name: None, bytes: 0 });
    }

    fn flush(&mut self, mut record_departure: impl FnMut(u64, u64)) -> io::Result<()> {
        let mut stalled_since_ns = None;
        while !self.sender.is_empty() {
            let now_ns = Clock::mono_ns();
            let sent = self.sender.flush();
            self.counts.calls += 1;
            self.settle(sent.sent + sent.refused, now_ns, &mut record_departure);
            if sent.left == 0 {
                continue;
            }
            self.counts.stalled += 1;
            let since_ns = *stalled_since_ns.get_or_insert(now_ns);
            if now_ns - since_ns > STALL_LIMIT_NS {
                self.sender.discard();
                let unsent = &self.waiting[self.settled..];
                let messages = unsent.iter().filter(|waiting| waiting.name.is_some());
                self.counts.refused += messages.count() as u64;
            } else {
                poll(&mut [PollFd::writable(&self.sender)], Some(STALL_CHECK_NS))?;
            }
        }
        self.waiting.clear();
        self.settled = 0;
        Ok(())
    }

    /// Records that the kernel sent or refused `count` more frames at `now_ns`; calls
    /// `record_departure` for those with DHCP messages, not for ARP answers.
    fn settle(&mut self, count: usize, now_ns: u64, record_departure: &mut impl FnMut(u64, u64)) {
        for slot in self.settled..self.settled + count {
            let WaitingFrame { name: Some(name), bytes } = self.waiting[slot] else { continue };
            if self.sender.refused().contains(&slot) {
                self.counts.refused += 1;
            } else {
                self.counts.sent += 1;
                self.counts.sent_bytes += bytes;
                record_departure(name, now_ns);
            }
        }
        self.settled += count;
    }
}

#[cfg(test)]
mod tests;
