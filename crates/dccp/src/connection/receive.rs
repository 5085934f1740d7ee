//! Processing of a packet that a connection received, in the steps of RFC 4340 §8.5. Steps 2 and 3
//! are the endpoint's as far as they look for a connection; step 8 is in `options`.

use super::control::{Control, reply_without_connection};
use super::options::ReceivedOptions;
use super::{Connection, ConnectionEvent, ConnectionState, Ecn, Role};
use crate::ack_vector::dropped::DropCode;
use crate::ack_vector::{AckVector, ArrivalEffect, PacketState, Runs};
use crate::ccid::{Feedback, PacketArrival};
use crate::feature::{Feature, number};
use crate::header::checksum::crc32c;
use crate::header::{DccpPacket, PacketType, Reset, ResetCode};
use crate::option::DccpOptionIterator;
use crate::sequence::{SequenceNumber, Windows};

/// Round trips after the last valid packet in which the number of a Sync must lie within the window
/// (RFC 4340 §7.5.3).
const ACTIVE_RTTS: u64 = 3;

/// Received packet with its sequence and acknowledgement numbers in 48 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct IncomingPacket<'a> {
    pub(super) now_ns: u64,
    pub(super) ecn: Ecn,
    pub(super) packet: DccpPacket<'a>,
    pub(super) sequence: SequenceNumber,
    pub(super) acknowledgement: Option<SequenceNumber>,
    /// Greatest sequence number that this end had received before this packet.
    pub(super) previous: SequenceNumber,
}

impl IncomingPacket<'_> {
    pub(super) const fn packet_type(&self) -> PacketType {
        self.packet.header.packet_type
    }
}

impl Connection {
    /// Processes a datagram that begins with the DCCP header. Counts a malformed one (step 1).
    pub fn handle_datagram(&mut self, now_ns: u64, ecn: Ecn, octets: &[u8]) {
        match DccpPacket::parse(octets, self.path.integrity.reversed()) {
            Ok(packet) => self.handle_packet(now_ns, ecn, &packet),
            Err(reason) => self.counts.malformed[reason.index()] += 1,
        }
    }

    /// Processes a packet that [`DccpPacket::parse`] has checked: steps 4 to 16 of RFC 4340 §8.5.
    pub fn handle_packet(&mut self, now_ns: u64, ecn: Ecn, packet: &DccpPacket<'_>) {
        if matches!(self.state, ConnectionState::Closed | ConnectionState::TimeWait) {
            self.answer_without_connection(packet, Reset::plain(ResetCode::NoConnection));
            return;
        }
        if self.state == ConnectionState::Request && !self.step_4_request(packet) {
            return;
        }
        let Some(incoming) = self.extend(now_ns, ecn, packet) else { return };
        if !self.step_5_sync(&incoming) || !self.step_6_sequence(&incoming) {
            return;
        }
        if self.is_unexpected(&incoming) {
            self.counts.unexpected += 1;
            self.sync(now_ns, PacketType::Sync, incoming.sequence);
            return;
        }
        self.last_valid_ns = Some(now_ns);
        if self.are_confirms_obsolete(&incoming) {
            self.features.forget_confirms();
        }
        let heard = match self.step_8_options(&incoming) {
            Ok(heard) => heard,
            Err(reset) => return self.fail(reset, true),
        };
        if incoming.packet_type() == PacketType::Reset {
            return self.step_9_reset(&incoming);
        }
        self.steps_10_to_12_open(&incoming);
        let novelty = self.notify_ccids(&incoming, &heard);
        self.steps_13_to_15_control(&incoming);
        // The network may double packets; the application gets each once.
        if novelty != Some(ArrivalEffect::Known) {
            self.step_16_data(&incoming, &heard);
        }
        self.watch_features(now_ns);
    }

    /// Returns true if the Confirms that every packet of the handshake repeats are no longer
    /// needed: the other end has received them, or requests them anew with this packet.
    fn are_confirms_obsolete(&self, incoming: &IncomingPacket<'_>) -> bool {
        let is_new = incoming.sequence.is_after(incoming.previous);
        match (self.state, incoming.packet_type()) {
            (ConnectionState::Respond | ConnectionState::PartOpen, PacketType::Sync) => false,
            (ConnectionState::Respond, PacketType::Request)
            | (ConnectionState::PartOpen, PacketType::Response) => is_new,
            (ConnectionState::Respond | ConnectionState::PartOpen, _) => true,
            _ => false,
        }
    }

    fn answer_without_connection(&mut self, packet: &DccpPacket<'_>, reset: Reset) {
        if let Some(header) = reply_without_connection(packet, reset) {
            self.controls.push(Control::Reply(header));
        }
    }

    /// Checks a packet at a client that waits for a Response: only a Response or Reset that
    /// acknowledges its Request passes (RFC 4340 §8.5 step 4). Returns true when the packet goes on
    /// to the next step.
    fn step_4_request(&mut self, packet: &DccpPacket<'_>) -> bool {
        let header = &packet.header;
        let answers = header.acknowledgement.is_some_and(|number| {
            let window = self.windows.acknowledgement(self.gss);
            window.contains(SequenceNumber::new(number))
        });
        let is_answer = matches!(header.packet_type, PacketType::Response | PacketType::Reset);
        if !is_answer || !answers {
            self.answer_without_connection(packet, Reset::about_packet(header.packet_type));
            return false;
        }
        let isr = SequenceNumber::new(header.sequence);
        self.windows = Windows::new(self.iss, isr, 100);
        self.features.set_first_received(isr);
        // One less, so that a Reset passes step 6, too.
        self.gsr = isr.minus(1);
        true
    }

    /// Returns a packet with its numbers extended to 48 bits; `None` when they are short without
    /// permission (RFC 4340 §7.6, §8.5 step 6).
    fn extend<'a>(
        &self,
        now_ns: u64,
        ecn: Ecn,
        packet: &DccpPacket<'a>,
    ) -> Option<IncomingPacket<'a>> {
        let header = &packet.header;
        let (sequence, acknowledgement) = if header.is_extended {
            (SequenceNumber::new(header.sequence), header.acknowledgement.map(SequenceNumber::new))
        } else {
            if !self.features.is_on(Feature::remote(number::ALLOW_SHORT_SEQNOS)) {
                return None;
            }
            let acknowledgement = header.acknowledgement;
            (
                SequenceNumber::extend(header.sequence, self.gsr),
                acknowledgement.map(|short| SequenceNumber::extend(short, self.gss)),
            )
        };
        let previous = self.gsr;
        Some(IncomingPacket { now_ns, ecn, packet: *packet, sequence, acknowledgement, previous })
    }

    /// Moves the windows to the numbers of a Sync or SyncAck whose acknowledgement number is valid
    /// (RFC 4340 §8.5 step 5). While the connection is active, its sequence number must lie within
    /// the window (§7.5.3).
    fn step_5_sync(&mut self, incoming: &IncomingPacket<'_>) -> bool {
        if !matches!(incoming.packet_type(), PacketType::Sync | PacketType::SyncAck) {
            return true;
        }
        let window = self.windows.sequence(self.gsr);
        let acknowledged = self.windows.acknowledgement(self.gss);
        let active_ns = ACTIVE_RTTS * self.rtt_or_default_ns();
        let is_active =
            self.last_valid_ns.is_some_and(|last_ns| incoming.now_ns < last_ns + active_ns);
        let is_valid = incoming.acknowledgement.is_some_and(|number| acknowledged.contains(number))
            && incoming.sequence.distance_from(window.low) >= 0
            && (!is_active || window.contains(incoming.sequence));
        if is_valid {
            self.gsr = self.gsr.max(incoming.sequence);
        } else {
            self.counts.sequence_invalid += 1;
        }
        is_valid
    }

    /// Checks that a packet's numbers are within their windows, and sends a Sync if not
    /// (RFC 4340 §8.5 step 6).
    fn step_6_sequence(&mut self, incoming: &IncomingPacket<'_>) -> bool {
        let mut window = self.windows.sequence(self.gsr);
        let mut acknowledged = self.windows.acknowledgement(self.gss);
        let packet_type = incoming.packet_type();
        if matches!(packet_type, PacketType::CloseReq | PacketType::Close | PacketType::Reset) {
            window.low = self.gsr.next();
            acknowledged.low = self.gar;
        }
        let is_valid = window.contains(incoming.sequence)
            && incoming.acknowledgement.is_none_or(|number| acknowledged.contains(number));
        if is_valid {
            self.gsr = self.gsr.max(incoming.sequence);
            if let Some(number) = incoming.acknowledgement
                && packet_type != PacketType::Sync
            {
                self.gar = self.gar.max(number);
            }
            self.windows.moved(self.gsr, self.gss);
            return true;
        }
        self.counts.sequence_invalid += 1;
        // The acknowledgement number of a Sync tells the sender of a Reset which numbers to use
        // (§7.5.4).
        let number = if packet_type == PacketType::Reset { self.gsr } else { incoming.sequence };
        self.sync(incoming.now_ns, PacketType::Sync, number);
        false
    }

    /// Returns true if the connection's state does not accept the packet type (RFC 4340 §8.5 step
    /// 7).
    fn is_unexpected(&self, incoming: &IncomingPacket<'_>) -> bool {
        let is_late = self.state >= ConnectionState::Open
            && self.osr.is_some_and(|osr| incoming.sequence.distance_from(osr) >= 0);
        match incoming.packet_type() {
            PacketType::CloseReq => self.role == Role::Server,
            PacketType::Response => self.role == Role::Server || is_late,
            PacketType::Request => self.role == Role::Client || is_late,
            PacketType::Data => self.state == ConnectionState::Respond,
            _ => false,
        }
    }

    fn sync(&mut self, now_ns: u64, packet_type: PacketType, acknowledgement: SequenceNumber) {
        let period_ns = self.config.sync_period_ns;
        let may_send = self.last_sync_ns.is_none_or(|last_ns| now_ns >= last_ns + period_ns);
        if may_send {
            self.last_sync_ns = Some(now_ns);
            self.controls.push(Control::Sync { packet_type, acknowledgement });
        }
    }

    /// Processes a Reset, with which the other end has ended the connection (RFC 4340 §8.5 step 9).
    fn step_9_reset(&mut self, incoming: &IncomingPacket<'_>) {
        if let Some(reset) = incoming.packet.header.reset {
            self.features.note_reset(&reset);
            self.events.push_back(ConnectionEvent::Reset(reset));
        }
        self.start_time_wait(incoming.now_ns);
    }

    /// Advances the handshake by a packet (RFC 4340 §8.5 steps 10 to 12).
    fn steps_10_to_12_open(&mut self, incoming: &IncomingPacket<'_>) {
        let now_ns = incoming.now_ns;
        match (self.state, incoming.packet_type()) {
            (ConnectionState::Request, _) => {
                self.state = ConnectionState::PartOpen;
                self.handshake_number = incoming.sequence;
                self.install_ccids(now_ns, incoming.sequence);
                self.start_part_open(now_ns);
                self.is_ack_wanted = true;
                // The application may send from now on (§8.1.5). A server without data may send
                // nothing until it gets the client's.
                self.events.push_back(ConnectionEvent::Connected);
            }
            (ConnectionState::Respond, PacketType::Request) => {
                self.handshake_number = self.handshake_number.max(incoming.sequence);
                let first = self.handshake_number.next();
                self.ack_vector.get_or_insert_with(|| AckVector::before(first));
                self.request_features_as_server();
                self.features.repeat();
                self.controls.push(Control::Response);
                self.start_respond(now_ns);
            }
            // A Sync shows that the client has not received the Response in order.
            (ConnectionState::Respond, PacketType::Sync) => (),
            (ConnectionState::Respond, _) => {
                // The packet that opens may have overtaken others since the Request (§11.4).
                self.install_ccids(now_ns, self.handshake_number.next());
                self.open(incoming);
                self.events.push_back(ConnectionEvent::Connected);
                if let Some(data) = self.early_data.take() {
                    self.events.push_back(ConnectionEvent::Received(data));
                }
                // The client leaves PARTOPEN with the next packet from here.
                self.is_ack_wanted = true;
            }
            (ConnectionState::PartOpen, PacketType::Response) => self.is_ack_wanted = true,
            (ConnectionState::PartOpen, packet_type) if packet_type != PacketType::Sync => {
                self.open(incoming);
            }
            _ => (),
        }
    }

    fn open(&mut self, incoming: &IncomingPacket<'_>) {
        self.osr = Some(incoming.sequence);
        self.state = ConnectionState::Open;
        self.timers.stop();
        self.init_cookies.clear();
    }

    /// Reports a packet and its acknowledgement to the congestion controls of both directions.
    /// Returns the packet's novelty, once the handshake is over.
    fn notify_ccids(
        &mut self,
        incoming: &IncomingPacket<'_>,
        heard: &ReceivedOptions,
    ) -> Option<ArrivalEffect> {
        let is_marked = incoming.ecn == Ecn::Marked;
        let is_nonce = incoming.ecn == Ecn::Capable1;
        let novelty =
            self.ack_vector.as_mut()?.record_arrival(incoming.sequence, is_marked, is_nonce);
        if self.state == ConnectionState::Respond {
            return None;
        }
        if novelty != ArrivalEffect::Known {
            self.notify_receiver(incoming, heard, is_marked, novelty == ArrivalEffect::Next);
        }
        self.notify_sender(incoming, heard);
        Some(novelty)
    }

    fn notify_receiver(
        &mut self,
        incoming: &IncomingPacket<'_>,
        heard: &ReceivedOptions,
        is_marked: bool,
        is_in_order: bool,
    ) {
        let (now_ns, packet_type) = (incoming.now_ns, incoming.packet_type());
        let counts_runs = self.features.is_on(Feature::remote(number::SEND_NDP_COUNT));
        let non_data = counts_runs.then(|| heard.ndp_count.unwrap_or(0));
        let is_data = matches!(packet_type, PacketType::Data | PacketType::DataAck);
        if let Some(receiver) = &mut self.receiver {
            receiver.record_arrival(&PacketArrival {
                now_ns,
                sequence: incoming.sequence,
                data_len: is_data.then_some(incoming.packet.data.len()),
                ccval: incoming.packet.header.ccval,
                is_marked,
                ndp_count: non_data,
                is_in_order,
            });
        }
        let loss = self.reverse.record_arrival(incoming.sequence, incoming.previous, non_data);
        if let Some(had_data) = loss
            && let Some(sender) = &mut self.sender
        {
            sender.reverse_loss(now_ns, had_data);
        }
    }

    fn notify_sender(&mut self, incoming: &IncomingPacket<'_>, heard: &ReceivedOptions) {
        let (now_ns, packet_type) = (incoming.now_ns, incoming.packet_type());
        let (Some(sender), Some(ack_vector)) = (&mut self.sender, &mut self.ack_vector) else {
            return;
        };
        let Some(acknowledgement) = incoming.acknowledgement else { return };
        if matches!(packet_type, PacketType::Ack | PacketType::DataAck) {
            let options = incoming.packet.options;
            let elapsed_ns = heard.elapsed_ns;
            sender.feedback(&Feedback { now_ns, acknowledgement, options, elapsed_ns });
            ack_vector.acknowledged(acknowledgement, acknowledgement);
            self.drops.acknowledged(acknowledgement, acknowledgement);
            let runs = Runs::new(acknowledgement, self.iss, DccpOptionIterator::new(options));
            for run in runs.filter(|run| run.state != PacketState::Missing) {
                ack_vector.acknowledged(run.low, run.high);
                self.drops.acknowledged(run.low, run.high);
            }
        }
    }

    /// Processes a CloseReq, Close or Sync: starts to close, closes, or answers with a SyncAck
    /// (RFC 4340 §8.5 steps 13 to 15).
    fn steps_13_to_15_control(&mut self, incoming: &IncomingPacket<'_>) {
        match incoming.packet_type() {
            PacketType::CloseReq if self.state < ConnectionState::CloseReq => {
                self.start_closing(incoming.now_ns, ConnectionState::Closing);
            }
            PacketType::Close => {
                self.controls.reset(Reset::plain(ResetCode::Closed), None);
                self.events.push_back(ConnectionEvent::Closed);
                self.finish();
            }
            // A Sync within the windows is answered without a rate limit.
            PacketType::Sync => self.controls.push(Control::Sync {
                packet_type: PacketType::SyncAck,
                acknowledgement: incoming.sequence,
            }),
            _ => (),
        }
    }

    /// Passes a packet's data to the application (RFC 4340 §8.5 step 16): data of Requests and
    /// Responses once (§8.1.2), data of a Request when the handshake is over.
    fn step_16_data(&mut self, incoming: &IncomingPacket<'_>, heard: &ReceivedOptions) {
        let packet_type = incoming.packet_type();
        let data = incoming.packet.data;
        let is_handshake = packet_type.has_service_code();
        if !packet_type.carries_data() || (is_handshake && data.is_empty()) {
            return;
        }
        let coverage = incoming.packet.header.coverage;
        let least = self.features.value(Feature::local(number::MINIMUM_CHECKSUM_COVERAGE));
        let is_covered = coverage == 0 || (least > 0 && u64::from(coverage) >= least);
        let code = if (is_handshake && self.has_request_data) || !is_covered {
            Some(DropCode::ProtocolConstraints)
        } else if heard.data_checksum.is_some_and(|expected| expected != crc32c(data)) {
            Some(DropCode::Corrupt)
        } else if !self.is_receiving {
            Some(DropCode::ApplicationNotListening)
        } else if self.waiting_datagrams + self.held_datagrams >= self.config.receive_queue_len {
            self.counts.receive_queue_full += 1;
            Some(DropCode::ReceiveBuffer)
        } else {
            None
        };
        if let Some(code) = code {
            self.drops.dropped(incoming.sequence, code);
            return;
        }
        self.has_request_data |= is_handshake;
        self.waiting_datagrams += 1;
        if self.state == ConnectionState::Respond {
            // The network may have repeated a Request of a connection that ended long ago. Its
            // client then resets this connection, and its data must not reach the application
            // again.
            self.early_data = Some(data.to_vec());
            return;
        }
        let mut datagram = self.spare.pop().unwrap_or_default();
        datagram.clear();
        datagram.extend_from_slice(data);
        self.events.push_back(ConnectionEvent::Received(datagram));
    }
}
