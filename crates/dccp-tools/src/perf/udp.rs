//! Plain UDP of `dccp perf -u`: the same datagrams without DCCP, in the same batches and with the
//! same segmentation and coalescing. It measures what path and machine carry, as a reference for
//! DCCP's rates.
//!
//! There is no handshake and no congestion control, so a path that is too slow loses datagrams;
//! only data that the receiver read counts. Budget: one system call for up to 128 datagrams, no
//! allocation while data flows.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{ToolError, ToolResult};
use netio::signal::Signals;
use netio::{Clock, PollFd, RecvBatch, SendBatch, UdpOptions, UdpSocket, poll};

use super::figures::{FlowReceiver, ReceivedDataFigures, SentDataFigures};
use super::message::PerfMessage;
use super::report::{FlowDirectionResult, FlowEnd, PerfOutput};
use super::{DATAGRAM_BYTES, DccpPerfArgs};
use crate::outcome::DccpCommandOutcome;

/// Size of the UDP socket's buffers in bytes, equal to those of sockets that carry DCCP.
const BUFFER_BYTES: usize = 4 << 20;
const SEND_SLOTS: usize = 128;
/// Longest time in nanoseconds until the loop notices a signal that arrives between a check and a
/// wait.
const LOOK_NS: u64 = 200_000_000;
/// Time in nanoseconds between repetitions of the end message; `FIN_TRIES` is the number of
/// repetitions.
const FIN_NS: u64 = 200_000_000;
const FIN_TRIES: u32 = 50;
/// Largest number of senders that the UDP server counts at a time; it ignores others.
const FLOWS_MAX: usize = 1_024;
/// Largest size of a control message in bytes.
const MESSAGE_BYTES_MAX: usize = 9_000;

fn open(bind: SocketAddr) -> ToolResult<UdpSocket> {
    let opened = UdpSocket::open(&UdpOptions {
        coalesce: true,
        receive_buffer_bytes: Some(BUFFER_BYTES),
        send_buffer_bytes: Some(BUFFER_BYTES),
        ..UdpOptions::at(bind)
    });
    Ok(opened?)
}

/// Runs the UDP server: counts received datagrams of any number of senders, and prints the results.
pub(super) fn serve(args: &DccpPerfArgs) -> ToolResult<DccpCommandOutcome> {
    let any: IpAddr =
        if args.link.v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let own = args.bind.unwrap_or_else(|| any.into()).with_port(args.link.udp_port);
    let socket = open(own)?;
    let signals = Signals::for_command()?;
    let mut output = args.output("server");
    let listening = format!("Server listening on UDP port {}", args.link.udp_port);
    output.line(&listening)?;
    if args.json {
        netio::stderr::print_line(&listening);
    }
    let mut readers = Readers::new();
    while !signals.stop().load(Ordering::Acquire) {
        poll(&mut [PollFd::readable(&socket)], Some(LOOK_NS))
            .map_err(|error| ToolError::failed("wait", error))?;
        let ended = readers.read(&socket);
        if !ended.is_empty() {
            output.summary(&ended)?;
            if args.one_off {
                return Ok(DccpCommandOutcome::Done);
            }
        }
    }
    let ended = readers.end_all(&socket);
    if !ended.is_empty() {
        output.summary(&ended)?;
    }
    Ok(DccpCommandOutcome::Interrupted)
}

/// Flows that the UDP server counts, by the sender's address.
struct Readers {
    batch: RecvBatch,
    answers: SendBatch,
    flows: BTreeMap<SocketAddr, FlowReceiver>,
    /// Last report that was sent, in case its sender has not received it.
    last_report: Option<(SocketAddr, ReceivedDataFigures)>,
    count: u32,
}

impl Readers {
    fn new() -> Self {
        Self {
            batch: RecvBatch::coalescing(),
            answers: SendBatch::new(1, MESSAGE_BYTES_MAX, false),
            flows: BTreeMap::new(),
            last_report: None,
            count: 0,
        }
    }

    /// Reads all datagrams that wait in the socket, and counts them. Returns the results of flows
    /// that have ended.
    fn read(&mut self, socket: &UdpSocket) -> Vec<FlowEnd> {
        let mut ended = Vec::new();
        // Errors that are reported here concern earlier answers: the batch is empty then.
        while self.batch.receive(socket).unwrap_or(0) > 0 {
            let (now_ns, cpu_ns) = (Clock::mono_ns(), Clock::process_cpu_ns());
            let mut fins = Vec::new();
            for datagram in self.batch.iter() {
                let (source, len) = (datagram.source, datagram.octets.len());
                let number = match PerfMessage::read(datagram.octets) {
                    PerfMessage::Data(number) => Some(number),
                    PerfMessage::Plain => None,
                    PerfMessage::Fin(sent) => {
                        fins.push((source, sent));
                        continue;
                    }
                    PerfMessage::Hello(_) | PerfMessage::Report(_) => continue,
                };
                if self.flows.len() < FLOWS_MAX || self.flows.contains_key(&source) {
                    let flow = self.flows.entry(source).or_default();
                    flow.count_datagram(now_ns, cpu_ns, number, len);
                }
            }
            for (source, sent) in fins {
                ended.extend(self.end(socket, source, sent));
            }
        }
        ended
    }

    /// Ends the flow of a sender that has sent its end message, and answers with a report. Returns
    /// `None` if it had ended before.
    fn end(
        &mut self,
        socket: &UdpSocket,
        source: SocketAddr,
        sent: SentDataFigures,
    ) -> Option<FlowEnd> {
        let last_report = self.last_report.filter(|(known, _)| *known == source);
        if let (Some((_, received)), false) = (last_report, self.flows.contains_key(&source)) {
            self.send_report(socket, source, received);
            return None;
        }
        // All of its data may be lost.
        let mut flow = self.flows.remove(&source).unwrap_or_default();
        flow.fin = Some(sent);
        let received = flow.figures(Clock::process_cpu_ns());
        self.last_report = Some((source, received));
        self.send_report(socket, source, received);
        Some(self.flow_end(socket, source, Some(sent), received))
    }

    fn send_report(&mut self, socket: &UdpSocket, to: SocketAddr, received: ReceivedDataFigures) {
        let message = PerfMessage::Report(received).write();
        let slot = self.answers.slot().expect("the last one was flushed or discarded");
        slot[..message.len()].copy_from_slice(&message);
        self.answers.commit(message.len(), to, None);
        self.answers.flush(socket);
        // A sender without a report sends its end message again.
        self.answers.discard();
    }

    fn flow_end(
        &mut self,
        socket: &UdpSocket,
        source: SocketAddr,
        sent: Option<SentDataFigures>,
        received: ReceivedDataFigures,
    ) -> FlowEnd {
        self.count += 1;
        let local = socket.local_address().map_or_else(|_| String::new(), |own| own.to_string());
        let direction = direction(None, sent, Some(received));
        let (flow, remote) = (self.count, source.to_string());
        FlowEnd { flow, local, remote, directions: vec![direction], failure: None, is_plain: false }
    }

    /// Returns the results of all flows whose senders have not reported their end.
    fn end_all(&mut self, socket: &UdpSocket) -> Vec<FlowEnd> {
        let cpu_ns = Clock::process_cpu_ns();
        let flows = core::mem::take(&mut self.flows).into_iter();
        flows
            .map(|(source, flow)| self.flow_end(socket, source, None, flow.figures(cpu_ns)))
            .collect()
    }
}

fn direction(
    datagram_bytes: Option<usize>,
    sent: Option<SentDataFigures>,
    received: Option<ReceivedDataFigures>,
) -> FlowDirectionResult {
    let bits_per_s = received.map(|received| received.bits_per_s());
    FlowDirectionResult { from: "client", datagram_bytes, ccid: None, sent, received, bits_per_s }
}

/// Runs the UDP client: sends for the requested time, then requests the server's report.
pub(super) fn send(args: &DccpPerfArgs, host: &str) -> ToolResult<DccpCommandOutcome> {
    let destination = args.link.destination(host)?;
    let (address, udp_port) = (destination.address(), destination.peer.udp_port);
    let to = address.with_port(udp_port);
    let any: IpAddr = match to.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = open(args.bind.unwrap_or_else(|| any.into()).with_port(0))?;
    let signals = Signals::for_command()?;
    let mut output = args.output("client");
    output.line(&format!("Sending to {host} ({address}), UDP port {udp_port}"))?;
    let datagram_bytes = args.len.map_or(DATAGRAM_BYTES, usize::from);
    let sent = send_data(&socket, to, datagram_bytes, args.time, &signals)?;
    let received = request_report(&socket, to, sent)?;
    let Some(received) = received else {
        return Err(ToolError::Failed(format!(
            "no answer from {to}; does `godwit dccp perf -u -s` run there?"
        )));
    };
    summarize(
        &mut output,
        &socket,
        to,
        direction(Some(datagram_bytes), Some(sent), Some(received)),
    )?;
    if signals.stop().load(Ordering::Acquire) {
        return Ok(DccpCommandOutcome::Interrupted);
    }
    Ok(if received.datagrams > 0 {
        DccpCommandOutcome::Done
    } else {
        DccpCommandOutcome::FellShort
    })
}

fn summarize(
    output: &mut PerfOutput,
    socket: &UdpSocket,
    to: SocketAddr,
    direction: FlowDirectionResult,
) -> ToolResult<()> {
    let local = socket
        .local_address()
        .map_err(|error| ToolError::failed("get the local address", error))?;
    let (local, remote) = (local.to_string(), to.to_string());
    output.summary(&[FlowEnd {
        flow: 1,
        local,
        remote,
        directions: vec![direction],
        failure: None,
        is_plain: false,
    }])
}

/// Sends UDP datagrams for `time`, as fast as the socket accepts them; returns the counted figures.
fn send_data(
    socket: &UdpSocket,
    to: SocketAddr,
    datagram_bytes: usize,
    time: Duration,
    signals: &Signals,
) -> ToolResult<SentDataFigures> {
    let slot_bytes = datagram_bytes.max(1);
    let mut batch = SendBatch::new(SEND_SLOTS, slot_bytes, socket.supports_segmentation());
    let (begun_ns, cpu_ns) = (Clock::mono_ns(), Clock::process_cpu_ns());
    let ends_ns = begun_ns + time.as_nanos() as u64;
    let mut number = 0;
    let mut now_ns = begun_ns;
    while now_ns < ends_ns && !signals.stop().load(Ordering::Relaxed) {
        while let Some(slot) = batch.slot() {
            let datagram = &mut slot[..datagram_bytes];
            PerfMessage::number(datagram, number);
            batch.commit(datagram_bytes, to, None);
            number += 1;
        }
        while batch.flush(socket).left > 0 {
            poll(&mut [PollFd::writable(socket)], Some(LOOK_NS))
                .map_err(|error| ToolError::failed("wait for room in the send buffer", error))?;
        }
        now_ns = Clock::mono_ns();
    }
    let counts = batch.counts();
    if counts.sent == 0 {
        let cause = batch.last_refusal().unwrap_or_else(|| std::io::ErrorKind::TimedOut.into());
        return Err(ToolError::failed(format_args!("send to {to}"), cause));
    }
    let seconds = (now_ns - begun_ns) as f64 / 1e9;
    let cpu = (Clock::process_cpu_ns() - cpu_ns) as f64 / 1e9 / seconds;
    let bytes = counts.sent * datagram_bytes as u64;
    Ok(SentDataFigures { datagrams: counts.sent, bytes, never_sent: counts.refused, seconds, cpu })
}

/// Sends the end message until the server has reported. Returns the report; `None` if none arrives.
fn request_report(
    socket: &UdpSocket,
    to: SocketAddr,
    sent: SentDataFigures,
) -> ToolResult<Option<ReceivedDataFigures>> {
    let message = PerfMessage::Fin(sent).write();
    let mut batch = SendBatch::new(1, MESSAGE_BYTES_MAX, false);
    let mut answers = RecvBatch::coalescing();
    for _ in 0..FIN_TRIES {
        if let Some(slot) = batch.slot() {
            slot[..message.len()].copy_from_slice(&message);
            batch.commit(message.len(), to, None);
        }
        batch.flush(socket);
        batch.discard();
        poll(&mut [PollFd::readable(socket)], Some(FIN_NS))
            .map_err(|error| ToolError::failed("wait", error))?;
        while answers.receive(socket).unwrap_or(0) > 0 {
            for datagram in answers.iter().filter(|datagram| datagram.source == to) {
                if let PerfMessage::Report(received) = PerfMessage::read(datagram.octets) {
                    return Ok(Some(received));
                }
            }
        }
    }
    Ok(None)
}
