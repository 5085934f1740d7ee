//! Sending of packets: choice of the next packet, and its content.

use super::control::Control;
use super::{Connection, ConnectionState, Role};
use crate::ccid::{Clearance, PacketDeparture};
use crate::feature::{Feature, number};
use crate::header::checksum::crc32c;
use crate::header::{DccpHeader, OPTIONS_LEN_MAX, PacketType, Reset, ResetCode};
use crate::option::{DccpOption, DccpOptionWriter, elapsed_10us};
use crate::sequence::SequenceNumber;

/// Description of a packet that was written to the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Length of the written packet, in bytes.
    pub len: usize,
    /// True if the packet's IP header should permit the network to mark the packet: ECT(0).
    pub is_ecn_capable: bool,
}

/// Content of a packet to be sent, without the options that depend on the time.
struct PacketContent<'a> {
    packet_type: PacketType,
    /// Acknowledgement number of the packet; `None` for the greatest number received.
    acknowledgement: Option<SequenceNumber>,
    reset: Option<Reset>,
    data: &'a [u8],
}

impl<'a> PacketContent<'a> {
    const fn new(packet_type: PacketType, data: &'a [u8]) -> Self {
        Self { packet_type, acknowledgement: None, reset: None, data }
    }
}

impl Connection {
    /// Writes the connection's next packet to `buffer`, if one may leave now.
    ///
    /// # Panics
    ///
    /// Panics when `buffer` has no room for a packet
    /// ([`super::ConnectionConfig::packet_bytes_max`]).
    pub fn poll_transmit(&mut self, now_ns: u64, buffer: &mut [u8]) -> Option<Transmit> {
        if let Some(control) = self.controls.pop() {
            return Some(self.write_control(now_ns, control, buffer));
        }
        if !matches!(self.state, ConnectionState::PartOpen | ConnectionState::Open) {
            return None;
        }
        self.adapt_features();
        self.watch_features(now_ns);
        if self.state == ConnectionState::PartOpen {
            // The Confirms go first, and alone: they may not fit next to data.
            if self.is_ack_wanted {
                return Some(self.write(now_ns, &PacketContent::new(PacketType::Ack, &[]), buffer));
            }
            if core::mem::take(&mut self.is_sync_wanted) {
                return Some(self.write(
                    now_ns,
                    &PacketContent::new(PacketType::Sync, &[]),
                    buffer,
                ));
            }
        }
        if let Some(transmit) = self.write_data(now_ns, buffer) {
            self.close_if_drained(now_ns);
            return Some(transmit);
        }
        self.close_if_drained(now_ns);
        if let Some(control) = self.controls.pop() {
            return Some(self.write_control(now_ns, control, buffer));
        }
        self.is_ack_due(now_ns).then(|| {
            let draft = PacketContent::new(PacketType::Ack, &[]);
            self.write(now_ns, &draft, buffer)
        })
    }

    fn is_ack_due(&self, now_ns: u64) -> bool {
        let receiver = self.receiver.as_ref();
        let is_due = receiver.and_then(|r| r.ack_due_ns()).is_some_and(|due_ns| due_ns <= now_ns);
        let has_news = self.features.has_options() && self.state == ConnectionState::Open;
        self.is_ack_wanted || is_due || has_news
    }

    fn write_control(&mut self, now_ns: u64, control: Control, buffer: &mut [u8]) -> Transmit {
        let draft = match control {
            Control::Request => {
                let data = core::mem::take(&mut self.request_data);
                let transmit =
                    self.write(now_ns, &PacketContent::new(PacketType::Request, &data), buffer);
                self.request_data = data;
                return transmit;
            }
            Control::Response => PacketContent::new(PacketType::Response, &[]),
            Control::Close { packet_type } => PacketContent::new(packet_type, &[]),
            Control::Sync { packet_type, acknowledgement } => PacketContent {
                acknowledgement: Some(acknowledgement),
                ..PacketContent::new(packet_type, &[])
            },
            Control::Reset { reset, acknowledgement } => PacketContent {
                acknowledgement,
                reset: Some(reset),
                ..PacketContent::new(PacketType::Reset, &[])
            },
            Control::Reply(header) => {
                let len = header.write(&[], &[], self.path.integrity, buffer);
                let len = len.expect("the buffer has room for a packet");
                return Transmit { len, is_ecn_capable: false };
            }
        };
        self.write(now_ns, &draft, buffer)
    }

    /// Writes the next datagram if congestion control permits it, otherwise stores the time at
    /// which it will permit it.
    fn write_data(&mut self, now_ns: u64, buffer: &mut [u8]) -> Option<Transmit> {
        self.timers.clearance_ns = None;
        self.queue.next()?;
        if self.is_held_back() || !self.has_needed_vectors() {
            return None;
        }
        match self.sender.as_mut()?.clearance(now_ns) {
            Clearance::Now => (),
            Clearance::At(at_ns) => {
                self.timers.clearance_ns = Some(at_ns);
                return None;
            }
            Clearance::Blocked => return None,
        }
        let wants_ack = self.sender.as_ref().is_some_and(|sender| sender.wants_ack_of_acks());
        let is_ack =
            self.state == ConnectionState::PartOpen || wants_ack || self.is_ack_due(now_ns);
        let packet_type = if is_ack { PacketType::DataAck } else { PacketType::Data };
        let data = self.queue.pop()?;
        let transmit = self.write(now_ns, &PacketContent::new(packet_type, &data), buffer);
        self.queue.recycle(data);
        Some(transmit)
    }

    /// Returns true if the next datagram leaves no room for the Init Cookies and Confirms that
    /// every packet of PARTOPEN carries (RFC 4340 §8.1.4, §6.6.1). Such a datagram waits for OPEN.
    pub(super) fn is_held_back(&self) -> bool {
        if self.state != ConnectionState::PartOpen {
            return false;
        }
        let Some(data) = self.queue.next() else { return false };
        let mut area = [0; OPTIONS_LEN_MAX];
        let mut options = DccpOptionWriter::new(&mut area);
        self.write_cookies(&mut options);
        self.features.write_confirms(&mut options);
        if self.features.is_on(Feature::remote(number::CHECK_DATA_CHECKSUM)) {
            options.put(DccpOption::DataChecksum(0));
        }
        let header_len = DccpHeader::new(PacketType::DataAck, 0).fixed_len();
        let needed = header_len + options.len().next_multiple_of(4) + data.len();
        !options.is_empty() && needed > self.config.packet_bytes_max
    }

    /// Returns true if data need not wait for the feature Send Ack Vector. CCID 2 needs Ack Vectors
    /// (RFC 4341 §4): data waits while this end requests them, and a refusal ends the connection.
    fn has_needed_vectors(&mut self) -> bool {
        let vectors = Feature::remote(number::SEND_ACK_VECTOR);
        let needs_vectors = self.features.value(Feature::local(number::CCID)) == 2;
        if !needs_vectors || self.has_ack_vectors || self.features.is_on(vectors) {
            return true;
        }
        if !self.features.is_changing(vectors) {
            let reset = self.features.refuse(ResetCode::OptionError, vectors);
            self.fail(reset, true);
        }
        false
    }

    fn write_cookies(&self, options: &mut DccpOptionWriter<'_>) {
        for cookie in &self.init_cookies {
            options.put(DccpOption::InitCookie(cookie));
        }
    }

    /// Writes a packet with the next sequence number and all options that wait.
    fn write(&mut self, now_ns: u64, draft: &PacketContent<'_>, buffer: &mut [u8]) -> Transmit {
        let packet_type = draft.packet_type;
        let sequence = self.gss.next();
        let is_data = matches!(packet_type, PacketType::Data | PacketType::DataAck);
        let ccval = match &mut self.sender {
            Some(sender) if is_data => sender.ccval(now_ns),
            _ => 0,
        };
        let acknowledgement = draft.acknowledgement.unwrap_or(self.gsr).value();
        let header = DccpHeader {
            source_port: self.path.local_port,
            destination_port: self.path.remote_port,
            ccval,
            coverage: if is_data { self.coverage(draft.data.len()) } else { 0 },
            acknowledgement: packet_type.has_acknowledgement().then_some(acknowledgement),
            service_code: packet_type.has_service_code().then_some(self.config.service_code),
            reset: draft.reset,
            ..DccpHeader::new(packet_type, sequence.value())
        };
        let mut area = [0; OPTIONS_LEN_MAX];
        let used = header.fixed_len() + draft.data.len();
        let room = self.config.packet_bytes_max.saturating_sub(used).min(OPTIONS_LEN_MAX) / 4 * 4;
        let mut options = DccpOptionWriter::new(&mut area[..room]);
        self.write_options(now_ns, draft, sequence, &mut options);
        let len = header
            .write(options.written(), draft.data, self.path.integrity, buffer)
            .expect("the buffer has room for a packet");
        self.gss = sequence;
        self.windows.moved(self.gsr, self.gss);
        self.non_data_run = if packet_type.is_data_packet() { 0 } else { self.non_data_run + 1 };
        if let Some(sender) = &mut self.sender {
            let acknowledges = matches!(packet_type, PacketType::Ack | PacketType::DataAck);
            let data_len = is_data.then_some(draft.data.len());
            sender.sent(&PacketDeparture { now_ns, sequence, data_len, acknowledges });
        }
        let is_incapable = self.features.is_on(Feature::remote(number::ECN_INCAPABLE));
        let is_ecn_capable =
            self.config.is_ecn_capable && !is_incapable && self.state >= ConnectionState::PartOpen;
        Transmit { len, is_ecn_capable }
    }

    fn write_options(
        &mut self,
        now_ns: u64,
        draft: &PacketContent<'_>,
        sequence: SequenceNumber,
        options: &mut DccpOptionWriter<'_>,
    ) {
        let packet_type = draft.packet_type;
        let is_part_open = self.state == ConnectionState::PartOpen;
        if packet_type == PacketType::Reset {
            return;
        }
        if packet_type.carries_data()
            && self.features.is_on(Feature::remote(number::CHECK_DATA_CHECKSUM))
        {
            options.put(DccpOption::DataChecksum(crc32c(draft.data)));
        }
        let gives_back = is_part_open && self.role == Role::Client;
        if gives_back || packet_type == PacketType::Response {
            self.write_cookies(options);
        }
        // A client may receive only one of several Responses.
        let is_handshake = is_part_open || packet_type == PacketType::Response;
        self.features.write(packet_type, sequence, is_handshake, options);
        if packet_type.has_service_code() {
            let value = elapsed_10us(now_ns % (u64::from(u32::MAX) * 10_000));
            if options.put(DccpOption::Timestamp(value)) {
                self.stamp_sent = Some((value, now_ns));
            }
        }
        if let Some(stamp) = self.stamp {
            let elapsed_10us = elapsed_10us(now_ns.saturating_sub(stamp.arrived_ns));
            if options.put(DccpOption::TimestampEcho { echo: stamp.value, elapsed_10us }) {
                self.stamp = None;
            }
        }
        if self.non_data_run > 0 && self.features.is_on(Feature::local(number::SEND_NDP_COUNT)) {
            options.put(DccpOption::NdpCount(self.non_data_run));
        }
        if matches!(packet_type, PacketType::Ack | PacketType::DataAck) {
            self.write_acknowledgement(now_ns, packet_type, sequence, options);
        }
    }

    /// Writes the acknowledgement options of an Ack or DataAck: an Ack Vector if the other end
    /// wants one, and the options that its congestion control needs.
    fn write_acknowledgement(
        &mut self,
        now_ns: u64,
        packet_type: PacketType,
        sequence: SequenceNumber,
        options: &mut DccpOptionWriter<'_>,
    ) {
        self.is_ack_wanted = false;
        let before = options.len();
        // Congestion control that needs Ack Vectors gets them even without a request (§11.5).
        let is_needed = self.receiver.as_ref().is_some_and(|receiver| receiver.needs_ack_vector())
            || self.features.is_on(Feature::local(number::SEND_ACK_VECTOR));
        let is_written = match &mut self.ack_vector {
            Some(vector) if is_needed => {
                // The packet acknowledges GSR, which may be a packet that was not processed.
                vector.extend_to(self.gsr);
                vector.write(sequence, options)
            }
            _ => true,
        };
        if !is_written && packet_type == PacketType::DataAck {
            // No room next to the data: an Ack of its own follows.
            options.truncate(before);
            self.is_ack_wanted = true;
            return;
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.write(now_ns, options);
        }
        self.drops.write(sequence, self.gsr, options);
    }

    /// Returns the checksum coverage (CsCov) of a packet with `data_len` bytes of data: the
    /// configured value, but no less than the other end accepts and no more than the data
    /// (RFC 4340 §9.2.1).
    fn coverage(&self, data_len: usize) -> u8 {
        let least = self.features.value(Feature::remote(number::MINIMUM_CHECKSUM_COVERAGE)) as u8;
        if least == 0 || self.config.send_coverage == 0 {
            return 0;
        }
        let coverage = self.config.send_coverage.max(least);
        if (usize::from(coverage) - 1) * 4 <= data_len { coverage } else { 0 }
    }
}
