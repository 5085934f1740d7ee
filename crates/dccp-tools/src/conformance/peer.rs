//! Suite's end of a connection with the target, controlled packet by packet. The end keeps its own
//! numbers and follows no rule by itself, with one exception: it confirms the target's Changes,
//! unless a case turns that off.

use std::time::{Duration, Instant};

use dccp::ack_vector::{AckVector, PacketState};
use dccp::header::checksum::covered_len;
use dccp::header::{DccpHeader, PacketType, Reset, ResetCode, ServiceCode};
use dccp::option::{DccpOption, DccpOptionWriter, number};
use dccp::sequence::SequenceNumber;

use super::answer::{TargetPacket, listed};
use super::context::ConformanceContext;
use super::negotiation::confirms_for;
use super::verdict::{CaseStopReason, Judged, demand};

/// Change options that request Ack Vectors in both directions (feature Send Ack Vector, RFC 4340
/// §11.5), as Linux sends them.
pub(super) const VECTORS: [u8; 8] = [34, 4, 6, 1, 32, 4, 6, 1];
/// Largest size of a packet, in bytes.
const PACKET_BYTES_MAX: usize = 9_000;
/// Number of Requests without any answer after which the suite stops waiting for a Response.
const REQUESTS: usize = 3;
/// Count of data packets that make a target acknowledge at once with the initial Ack Ratio.
const ACK_RATIO: usize = 2;
/// Largest number of echoed datagrams that may arrive before the awaited one.
const ECHOES_MAX: usize = 64;
/// Time within which a target repeats a packet for the first time: Linux does after three and six
/// seconds.
const REPETITION: Duration = Duration::from_secs(10);

/// Packet of the suite that is not sent yet.
#[derive(Clone, Debug)]
pub(super) struct UnsentPacket {
    pub(super) header: DccpHeader,
    pub(super) options: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl UnsentPacket {
    pub(super) fn options(mut self, options: &[u8]) -> Self {
        self.options = options.to_vec();
        self
    }

    pub(super) fn data(mut self, data: &[u8]) -> Self {
        self.data = data.to_vec();
        self
    }

    pub(super) const fn acknowledging(mut self, number: SequenceNumber) -> Self {
        self.header.acknowledgement = Some(number.value());
        self
    }

    pub(super) const fn reset(mut self, code: ResetCode) -> Self {
        self.header.reset = Some(Reset::plain(code));
        self
    }

    pub(super) const fn covering(mut self, coverage: u8) -> Self {
        self.header.coverage = coverage;
        self
    }

    /// Returns the packet with 24-bit sequence numbers.
    pub(super) const fn short(mut self) -> Self {
        self.header.is_extended = false;
        self
    }
}

/// Suite's end of one connection with the target.
pub(super) struct TesterConnection<'b> {
    context: &'b ConformanceContext,
    socket_index: usize,
    pub(super) port: u16,
    /// DCCP port of the target.
    pub(super) remote_port: u16,
    /// First sequence number of the suite's end.
    pub(super) first: SequenceNumber,
    /// Greatest sequence number that [`TesterConnection::next`] has used.
    pub(super) sent: SequenceNumber,
    /// Greatest sequence number received from the target.
    pub(super) received: SequenceNumber,
    /// Init Cookies of the target's Response, which the suite repeats on every packet until the
    /// connection is open (RFC 4340 §8.1.4).
    pub(super) cookies: Vec<u8>,
    /// Confirm options that answer the Changes of the target's Response.
    confirms: Vec<u8>,
    /// History of received packets, for Ack Vector options.
    vector: Option<AckVector>,
    /// True if the suite's end confirms the target's Changes as they arrive.
    pub(super) is_agreeing: bool,
    /// True if the handshake is over, as far as the suite's end knows.
    pub(super) is_open: bool,
    /// True if any packet of the target has arrived.
    has_heard: bool,
    /// True if the target has answered a Request of the suite, so that a Close should end its
    /// connection.
    is_begun: bool,
}

impl<'b> TesterConnection<'b> {
    /// Returns a connection that has sent no packet, with a DCCP port of its own.
    pub(super) fn new(bench: &'b ConformanceContext) -> Self {
        Self::at_socket(bench, 0, bench.take_port())
    }

    /// Returns a connection that has sent no packet, at the socket `socket_index` and with a DCCP
    /// port that another connection may have.
    pub(super) fn at_socket(bench: &'b ConformanceContext, socket_index: usize, port: u16) -> Self {
        let mut peer = Self {
            context: bench,
            socket_index,
            port,
            remote_port: bench.target().port,
            first: SequenceNumber::default(),
            sent: SequenceNumber::default(),
            received: SequenceNumber::default(),
            cookies: Vec::new(),
            confirms: Vec::new(),
            vector: None,
            is_agreeing: true,
            is_open: false,
            has_heard: false,
            is_begun: false,
        };
        peer.begin_at(bench.first_number());
        peer
    }

    /// Sets the sequence number of the suite's next packet to `first`.
    pub(super) const fn begin_at(&mut self, first: SequenceNumber) {
        self.first = first;
        self.sent = first.minus(1);
    }

    /// Opens a connection with the target that uses Ack Vectors in both directions.
    pub(super) fn open(bench: &'b ConformanceContext) -> Judged<Self> {
        Self::open_with(bench, &VECTORS)
    }

    /// Opens a connection with the target by a Request with the options `options`.
    pub(super) fn open_with(bench: &'b ConformanceContext, options: &[u8]) -> Judged<Self> {
        let mut peer = Self::new(bench);
        peer.request(options)?;
        peer.complete()?;
        Ok(peer)
    }

    /// Sends a Request with these options and waits for the Response. Like a client, it repeats the
    /// Request when no packet comes at all (RFC 4340 §8.1.1), because the network may lose a
    /// Request without a broken rule.
    pub(super) fn request(&mut self, options: &[u8]) -> Judged<TargetPacket> {
        self.request_with(options, &[])
    }

    /// Sends a Request like [`TesterConnection::request`], with data on it.
    pub(super) fn request_with(&mut self, options: &[u8], data: &[u8]) -> Judged<TargetPacket> {
        let mut tried = 0;
        let response = loop {
            let draft = self.next(PacketType::Request).options(options).data(data);
            self.send(&draft);
            let number = draft.header.sequence;
            let is_it = |a: &TargetPacket| a.acknowledges(PacketType::Response, number);
            tried += 1;
            match self.wait("a Response to the Request", is_it) {
                Ok(response) => break response,
                Err(CaseStopReason::Failed { .. }) if !self.has_heard && tried < REQUESTS => (),
                Err(stop) => return Err(stop),
            }
        };
        self.is_begun = true;
        let cookies = response.raw_options().filter(|raw| raw.number == number::INIT_COOKIE);
        if self.is_agreeing {
            self.confirms = confirms_for(&response, |_| true);
        }
        self.cookies = cookies.flat_map(|raw| option(DccpOption::InitCookie(raw.value))).collect();
        Ok(response)
    }

    /// Stops a case about a target in the state RESPOND if the target uses Init Cookies, because it
    /// then never is in that state.
    pub(super) fn needs_respond(&self) -> Judged {
        if self.cookies.is_empty() {
            return Ok(());
        }
        Err(CaseStopReason::not_applicable(
            "the target keeps no state until its Init Cookie is returned",
        ))
    }

    /// Returns the Ack that ends the handshake, with Init Cookies and Confirms.
    pub(super) fn final_ack(&mut self) -> UnsentPacket {
        // The next packet must answer the Changes of the Response (§6.6.1).
        let options = [&self.cookies[..], &self.confirms].concat();
        self.next(PacketType::Ack).options(&options)
    }

    /// Ends the handshake with an Ack, and waits until the target has processed it.
    pub(super) fn complete(&mut self) -> Judged {
        let ack = self.final_ack();
        self.send(&ack);
        self.is_open = true;
        self.barrier().map(drop)
    }

    /// Returns a packet of this type with the next sequence number.
    pub(super) fn next(&mut self, packet_type: PacketType) -> UnsentPacket {
        self.sent = self.sent.next();
        self.at(packet_type, self.sent)
    }

    /// Returns a packet of this type with the sequence number `sequence`. Data and DataAck have
    /// some data, because an empty datagram may look like the end of the connection to an
    /// application.
    pub(super) fn at(&self, packet_type: PacketType, sequence: SequenceNumber) -> UnsentPacket {
        let has = |has: bool, value: u64| has.then_some(value);
        let header = DccpHeader {
            source_port: self.port,
            destination_port: self.remote_port,
            acknowledgement: has(packet_type.has_acknowledgement(), self.received.value()),
            service_code: packet_type.has_service_code().then_some(self.context.service_code),
            reset: (packet_type == PacketType::Reset).then_some(Reset::plain(ResetCode::Aborted)),
            ..DccpHeader::new(packet_type, sequence.value())
        };
        let is_data = matches!(packet_type, PacketType::Data | PacketType::DataAck);
        let data = if is_data { b"data".to_vec() } else { Vec::new() };
        UnsentPacket { header, options: Vec::new(), data }
    }

    /// Returns the packet as bytes with a correct checksum.
    pub(super) fn encode(&self, draft: &UnsentPacket) -> Vec<u8> {
        let mut buffer = vec![0; PACKET_BYTES_MAX];
        let integrity = self.context.integrity();
        let len = draft.header.write(&draft.options, &draft.data, integrity, &mut buffer);
        buffer.truncate(len.expect("cases make packets that fit"));
        buffer
    }

    /// Returns the changed bytes of a packet with a corrected checksum.
    pub(super) fn seal(&self, mut octets: Vec<u8>) -> Vec<u8> {
        let header_len = (usize::from(octets[4]) * 4).min(octets.len());
        let data_len = octets.len() - header_len;
        let covered = covered_len(octets[5] & 0xf, header_len, data_len).unwrap_or(octets.len());
        octets[6..8].fill(0);
        if let Some(sum) = self.context.integrity().pseudo_header(octets.len()) {
            let checksum = sum.with(&octets[..covered]).finish();
            octets[6..8].copy_from_slice(&checksum.to_be_bytes());
        }
        octets
    }

    pub(super) fn send(&self, draft: &UnsentPacket) {
        self.send_octets(&self.encode(draft));
    }

    pub(super) fn send_octets(&self, octets: &[u8]) {
        self.context.send(self.socket_index, octets);
    }

    /// Sends data in the next packet. Returns the sequence number of the packet.
    pub(super) fn send_data(&mut self, data: &[u8]) -> u64 {
        let draft = self.next(PacketType::Data).data(data);
        self.send(&draft);
        draft.header.sequence
    }

    /// Acknowledges all received packets with an Ack that has an Ack Vector and the options `more`.
    pub(super) fn acknowledge(&mut self, more: &[u8]) {
        let draft = self.next(PacketType::Ack);
        let mut area = [0; 900];
        let mut options = DccpOptionWriter::new(&mut area);
        if let Some(vector) = &mut self.vector {
            vector.write(SequenceNumber::new(draft.header.sequence), &mut options);
        }
        let options = [more, options.written()].concat();
        self.send(&draft.options(&options));
    }

    /// Returns the next packet of the target for this connection that arrives within `timeout`.
    pub(super) fn receive(&mut self, timeout: Duration) -> Judged<Option<TargetPacket>> {
        let deadline = Instant::now() + timeout;
        let Some(answer) = self.context.receive(self.socket_index, self.port, deadline)? else {
            return Ok(None);
        };
        self.has_heard = true;
        let number = answer.sequence();
        let is_of_connection = !answer.is(PacketType::Reset);
        match &mut self.vector {
            Some(vector) if is_of_connection => {
                vector.record_arrival(number, false, false);
                self.received = self.received.max(number);
            }
            None if is_of_connection => {
                self.vector = Some(AckVector::new(number));
                self.received = number;
            }
            _ => (),
        }
        if answer.is(PacketType::Reset) {
            (self.is_open, self.is_begun) = (false, false);
        }
        if self.is_agreeing && self.is_open {
            self.agree(&answer);
        }
        Ok(Some(answer))
    }

    /// Confirms the Changes of a packet from the target.
    fn agree(&mut self, answer: &TargetPacket) {
        let options = confirms_for(answer, |_| true);
        if !options.is_empty() {
            let draft = self.next(PacketType::Ack).options(&options);
            self.send(&draft);
        }
    }

    /// Waits for a packet of the target for which `is_it` returns true, and skips others.
    pub(super) fn wait(
        &mut self,
        expected: &str,
        is_it: impl Fn(&TargetPacket) -> bool,
    ) -> Judged<TargetPacket> {
        self.wait_all(expected, is_it).map(|(answer, _)| answer)
    }

    /// Waits for a packet like [`TesterConnection::wait`], and returns the packets that arrived
    /// before it, too.
    pub(super) fn wait_all(
        &mut self,
        expected: &str,
        is_it: impl Fn(&TargetPacket) -> bool,
    ) -> Judged<(TargetPacket, Vec<TargetPacket>)> {
        self.wait_within(self.context.patience(), expected, is_it)
    }

    /// Waits for a packet that the target repeats, or sends first after a time of its own choice.
    pub(super) fn wait_repeated(
        &mut self,
        expected: &str,
        is_it: impl Fn(&TargetPacket) -> bool,
    ) -> Judged<(TargetPacket, Vec<TargetPacket>)> {
        self.wait_within(REPETITION.max(self.context.patience()), expected, is_it)
    }

    /// Waits for a packet like [`TesterConnection::wait_all`], at most for `time`.
    pub(super) fn wait_within(
        &mut self,
        time: Duration,
        expected: &str,
        is_it: impl Fn(&TargetPacket) -> bool,
    ) -> Judged<(TargetPacket, Vec<TargetPacket>)> {
        let deadline = Instant::now() + time;
        let mut passed = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                Some(answer) if is_it(&answer) => return Ok((answer, passed)),
                Some(answer) => passed.push(answer),
                None => {
                    let ms = time.as_millis();
                    let came = format!("{} within {ms} ms", listed(&passed));
                    return Err(CaseStopReason::failed(expected, came));
                }
            }
        }
    }

    /// Returns all packets of the target that arrive within `time`.
    pub(super) fn collect(&mut self, time: Duration) -> Judged<Vec<TargetPacket>> {
        let deadline = Instant::now() + time;
        let mut answers = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                Some(answer) => answers.push(answer),
                None => return Ok(answers),
            }
        }
    }

    /// Sends a Sync and waits for the SyncAck, so that no later packet can answer one sent before.
    /// Returns the packets that arrived before the SyncAck.
    pub(super) fn barrier(&mut self) -> Judged<Vec<TargetPacket>> {
        let sync = self.next(PacketType::Sync);
        self.send(&sync);
        let number = sync.header.sequence;
        let expected = "a SyncAck, which shows that the connection is alive";
        let began = Instant::now();
        let (_, passed) =
            self.wait_all(expected, |a| a.acknowledges(PacketType::SyncAck, number))?;
        self.context.record_sync_time(began.elapsed());
        Ok(passed)
    }

    /// Sends a packet and waits until the target has processed it. Returns the packets that arrived
    /// until then.
    pub(super) fn answers_to(&mut self, draft: &UnsentPacket) -> Judged<Vec<TargetPacket>> {
        self.send(draft);
        self.barrier()
    }

    /// Checks that the target answers the last packets neither with a Sync nor with a Reset.
    pub(super) fn demand_quiet(&mut self, what: &str) -> Judged {
        let passed = self.barrier()?;
        let is_objection = |a: &TargetPacket| a.is(PacketType::Sync) || a.is(PacketType::Reset);
        demand(!passed.iter().any(is_objection), &format!("no Sync and no Reset {what}"), || {
            listed(&passed)
        })
    }

    /// Waits for a Reset with the code `code`, with which the target ends the connection.
    pub(super) fn wait_reset(&mut self, code: ResetCode, what: &str) -> Judged<TargetPacket> {
        self.wait_reset_of(&[code], what)
    }

    /// Waits for a Reset like [`TesterConnection::wait_reset`], with one of several codes.
    pub(super) fn wait_reset_of(
        &mut self,
        codes: &[ResetCode],
        what: &str,
    ) -> Judged<TargetPacket> {
        let names: Vec<_> = codes.iter().map(|c| format!("{} ({c})", c.number())).collect();
        let expected = format!("Reset code {} {what}", names.join(" or "));
        let answer = self.wait(&expected, |a| a.is(PacketType::Reset))?;
        self.is_open = false;
        let came = || answer.to_string();
        let is_one = codes.iter().any(|code| answer.reset_code() == Some(code.number()));
        demand(is_one, &expected, came)?;
        Ok(answer)
    }

    /// Sends data packets that make the target send an acknowledgement with an Ack Vector, and
    /// returns it. The acknowledgement reports all packets sent before: the target chooses at which
    /// of them the Ack Ratio is reached (RFC 4341 §6.1).
    pub(super) fn report(&mut self) -> Judged<TargetPacket> {
        let first = self.send_data(b"report");
        for _ in 1..ACK_RATIO {
            self.send_data(b"report");
        }
        self.wait("an Ack Vector, as agreed", |answer| answer.reaches(first) && answer.has_vector())
    }

    /// Returns the state of the suite's packet `number` in the target's Ack Vector.
    fn reported(&mut self, number: u64) -> Judged<PacketState> {
        let report = self.report()?;
        // A packet that the vector does not reach counts as missing (§11.4).
        Ok(report.state_of(number, self.first).unwrap_or(PacketState::Missing))
    }

    /// Checks that the target's Ack Vector reports the packet `number` as received, or does not.
    pub(super) fn demand_reported(&mut self, number: u64, is_accepted: bool) -> Judged {
        let state = self.reported(number)?;
        let words = if is_accepted { "reported as received" } else { "not reported as received" };
        let expected = format!("packet {number} {words} by the Ack Vector");
        demand((state == PacketState::Received) == is_accepted, &expected, || format!("{state:?}"))
    }

    /// Checks that the target ignores the packet, changed by `change` and with a corrected
    /// checksum: the target does not answer, and does not report the packet as received.
    pub(super) fn demand_dropped(
        &mut self,
        draft: &UnsentPacket,
        change: impl FnOnce(&mut Vec<u8>),
    ) -> Judged {
        let mut octets = self.encode(draft);
        change(&mut octets);
        let octets = if octets.len() >= 12 { self.seal(octets) } else { octets };
        self.send_octets(&octets);
        self.demand_quiet("for a packet that must be ignored")?;
        self.demand_reported(self.sent_number(draft), false)
    }

    /// Checks that the target accepts the packet: it sends no Sync or Reset, and reports the packet
    /// as received.
    pub(super) fn demand_accepted(&mut self, draft: &UnsentPacket) -> Judged {
        self.send(draft);
        self.demand_quiet("for a packet that must be accepted")?;
        self.demand_reported(self.sent_number(draft), true)
    }

    /// Returns the sequence number of a packet in 48 bits, even if the packet has it in 24 bits.
    fn sent_number(&self, draft: &UnsentPacket) -> u64 {
        let number = SequenceNumber::new(draft.header.sequence);
        let is_short = !draft.header.is_extended;
        if is_short {
            SequenceNumber::extend(number.short(), self.sent).value()
        } else {
            number.value()
        }
    }

    /// Checks that the target's application sends the datagram `data` back before the next one, or
    /// does not.
    pub(super) fn demand_echo(&mut self, data: &[u8], is_delivered: bool) -> Judged {
        let mark = format!("mark {}", self.sent.value()).into_bytes();
        let draft = self.next(PacketType::DataAck).data(&mark);
        self.send(&draft);
        let passed = self.echoes_before(&mark)?;
        let came = passed.iter().any(|a| a.has_data() && a.data == data);
        let words = if is_delivered { "delivered" } else { "not delivered" };
        let expected = format!("the {} bytes of data {words} to the application", data.len());
        demand(came == is_delivered, &expected, || listed(&passed))
    }

    /// Waits until the target sends the datagram `mark` back, and acknowledges each datagram until
    /// then: the target's window holds back later datagrams while earlier ones are not
    /// acknowledged. Returns the packets that came before.
    fn echoes_before(&mut self, mark: &[u8]) -> Judged<Vec<TargetPacket>> {
        let mut passed = Vec::new();
        for _ in 0..ECHOES_MAX {
            let (answer, before) =
                self.wait_all("the next datagram echoed", TargetPacket::has_data)?;
            self.acknowledge(&[]);
            passed.extend(before);
            if answer.data == mark {
                return Ok(passed);
            }
            passed.push(answer);
        }
        Err(CaseStopReason::failed("the next datagram echoed", listed(&passed)))
    }

    /// Returns a Request for the service code `code`.
    pub(super) fn request_for(&mut self, code: ServiceCode) -> UnsentPacket {
        let mut draft = self.next(PacketType::Request);
        draft.header.service_code = Some(code);
        draft
    }
}

impl Drop for TesterConnection<'_> {
    fn drop(&mut self) {
        if self.is_open || self.is_begun {
            let close = self.next(PacketType::Close);
            self.send(&close);
        }
    }
}

/// Returns one DCCP option as bytes.
pub(super) fn option(option: DccpOption<'_>) -> Vec<u8> {
    let mut area = [0; 255];
    let mut options = DccpOptionWriter::new(&mut area);
    assert!(options.put(option), "cases make options that fit");
    options.written().to_vec()
}
