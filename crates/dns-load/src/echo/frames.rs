//! Responder on an interface itself: it reads queries from frames (`packet(7)`) and answers in
//! frames (AF_XDP, or `packet(7)` where that is not available), in batches, bypassing the kernel's
//! UDP.
//!
//! Budget: one `recvmmsg`, one `sendto` and one clock reading per up to 64 frames; nothing is
//! allocated after construction.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use base::{ByteWriter, Random};
use netio::responder::ResponderCounts;
use netio::{
    Clock, FrameReceiver, NetError, PollFd, UdpOptions, UdpSocket, filter, interface, poll,
};
use packet_wire::ethernet::MacAddress;
use packet_wire::{ethernet, ipv4, ipv6, protocol, udp};

use super::frame_output::FrameOutput;
use super::report::EchoThreadResult;
use super::respond::AnswerOutput;
use super::{EchoReport, EchoSettings, EchoWorker};
use crate::datagrams::FrameDatagrams;

/// Interval at which a responder without queries checks whether it must stop, in nanoseconds.
const STOP_CHECK_NS: u64 = 20_000_000;
/// Largest number of answers of the responder to one query.
const ANSWERS_MAX: usize = 2;
/// Largest number of receive calls of the responder after the stop flag was set: it answers queries
/// that came before, and no flood of queries prevents its end.
const LAST_RECEIVES: u32 = 4_096;

/// Responder to frames of an interface: its sockets are open, but it does not answer yet.
pub struct FrameResponder {
    settings: EchoSettings,
    /// Name of the interface whose frames the responder answers.
    name: String,
    mac: Option<MacAddress>,
    input: FrameReceiver,
    output: FrameOutput,
    /// UDP socket that occupies the responder's port if the address is the kernel's, so that the
    /// kernel does not report the port as unreachable (ICMP).
    _quiet: Option<UdpSocket>,
    counts: ResponderCounts,
}

impl FrameResponder {
    /// Opens the responder's sockets on the interface called `name`. Answers come from
    /// `settings.listen`, which need not be an address of this machine. There is one thread, and
    /// faults that hold answers back do not happen.
    ///
    /// # Errors
    ///
    /// Fails when the interface does not exist, or the kernel refuses a socket: `EPERM` without the
    /// capability `CAP_NET_RAW`, `EADDRINUSE` when another process answers there.
    pub fn open(settings: EchoSettings, name: &str) -> Result<Self, NetError> {
        let interface = interface::named(name).map_err(NetError::on("find the interface", name))?;
        let quiet = match UdpSocket::open(&UdpOptions::at(settings.listen)) {
            Ok(socket) => {
                let listen = settings.listen.to_string();
                filter::take_nothing(&socket).map_err(NetError::on("filter", listen))?;
                Some(socket)
            }
            Err(error) if error.cause().kind() == ErrorKind::AddrNotAvailable => None,
            Err(error) => return Err(error),
        };
        let input = FrameReceiver::open(&interface)?;
        let output = FrameOutput::open(&interface)?;
        let mac = interface.mac.map(MacAddress);
        let counts = ResponderCounts::default();
        Ok(Self { settings, name: name.to_owned(), mac, input, output, _quiet: quiet, counts })
    }

    /// Answers queries until `stop` is set and the queries that came before are answered; returns
    /// the counts.
    ///
    /// # Errors
    ///
    /// Fails with the error that the kernel reports for the interface or the processor.
    pub fn run(mut self, stop: &AtomicBool) -> Result<EchoReport, NetError> {
        let random = Random::from_seed(self.settings.seed).fork(0);
        let mut echo = EchoWorker::new(self.settings.faults, random);
        netio::thread::prepare_for_timing("dns-echo-frames", self.settings.cpus.first().copied())?;
        let cannot = NetError::on("answer on", self.name.clone());
        self.answer(&mut echo, stop).map_err(cannot)?;
        let mut report = EchoReport::new(&self.settings, self.settings.listen);
        report.interface = Some(self.name);
        report.add(EchoThreadResult {
            socket: self.counts,
            echo: echo.counts(),
            delayed_answers: echo.delayed_count(),
        });
        Ok(report)
    }

    fn answer(&mut self, echo: &mut EchoWorker, stop: &AtomicBool) -> io::Result<()> {
        let mut receives_left = LAST_RECEIVES;
        while receives_left > 0 {
            let is_ending = stop.load(Ordering::Relaxed);
            let frame_count = self.input.receive()?;
            let now_ns = Clock::mono_ns();
            for index in 0..frame_count {
                self.answer_frame(index, now_ns, echo)?;
            }
            self.flush()?;
            if is_ending {
                receives_left = if frame_count == 0 { 0 } else { receives_left - 1 };
            } else if frame_count == 0 && !self.settings.busy {
                poll(&mut [PollFd::readable(&self.input)], Some(STOP_CHECK_NS))?;
            }
        }
        self.counts.too_long = self.input.truncated();
        self.counts.socket_drops = self.input.take_drops()?;
        Ok(())
    }

    /// Answers the queries in frame `index` of the frames received last.
    fn answer_frame(&mut self, index: usize, now_ns: u64, echo: &mut EchoWorker) -> io::Result<()> {
        let listen = self.settings.listen;
        let is_to_listener = |_, destination| destination == listen;
        let frame = self.input.frame(index);
        let Some(queries) =
            frame.and_then(|frame| FrameDatagrams::from_frame(frame, is_to_listener))
        else {
            return Ok(());
        };
        for query in queries.payloads() {
            if self.output.free() < ANSWERS_MAX {
                self.output.flush(&mut self.counts)?;
            }
            self.counts.received += 1;
            let source = self.mac.unwrap_or(queries.ethernet.destination);
            let mut answers =
                FrameAnswerOutput { output: &mut self.output, queries: &queries, listen, source };
            echo.take_query(now_ns, queries.source, query, &mut answers);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush(&mut self.counts)
    }
}

/// Output of the responder's answers to the queries of one frame.
struct FrameAnswerOutput<'a> {
    output: &'a mut FrameOutput,
    queries: &'a FrameDatagrams<'a>,
    listen: SocketAddr,
    source: MacAddress,
}

impl AnswerOutput for FrameAnswerOutput<'_> {
    fn push(&mut self, destination: SocketAddr, len: usize, write: impl FnOnce(&mut [u8])) -> bool {
        let Some(slot) = self.output.slot() else { return false };
        let query = self.queries.ethernet;
        let ethernet =
            ethernet::EthernetHeader { destination: query.source, source: self.source, ..query };
        let ip_bytes = if self.listen.is_ipv4() { ipv4::HEADER_LEN } else { ipv6::HEADER_LEN };
        let payload_at = ethernet.len() + ip_bytes + udp::HEADER_LEN;
        let (headers, payload) = slot[..payload_at + len].split_at_mut(payload_at);
        write(payload);
        let mut writer = ByteWriter::new(headers);
        ethernet.emit(&mut writer);
        let datagram_bytes = udp::HEADER_LEN + len;
        match (self.listen.ip(), destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                ipv4::Header::new(protocol::UDP, from, to).emit(datagram_bytes, &mut writer);
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                ipv6::Header::new(protocol::UDP, from, to).emit(datagram_bytes, &mut writer);
            }
            // A query's source has the family of the address that the query was sent to.
            _ => return false,
        }
        writer.put(&udp::header_for(self.listen, destination, payload));
        self.output.commit(payload_at + len);
        true
    }
}
