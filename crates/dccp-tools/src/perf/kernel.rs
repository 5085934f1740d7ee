//! Client and server of `dccp perf` over the kernel's own DCCP: the same flows, with the kernel's
//! sockets.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use base::{ToolError, ToolResult};
use dccp::connection::SendError;
use dccp_link::{ConnectionConfig, DccpError};
use netio::signal::Signals;
use netio::{Clock, DccpSocket, PollFd};

use super::conduit::Conduit;
use super::flow::{FlowRequest, PerfFlow};
use super::outgoing::FlowSender;
use super::report::{FlowEnd, PerfOutput};
use super::session::end_of;
use super::{DccpPerfArgs, client};
use crate::kernel;
use crate::outcome::DccpCommandOutcome;

/// Longest time in nanoseconds until the loop notices a signal that arrives between a check and a
/// wait.
const LOOK_NS: u64 = 200_000_000;
/// Time in nanoseconds after which a full send queue of the kernel is tried again; `poll(2)` does
/// not report free room in it.
const RETRY_NS: u64 = 1_000_000;
/// Largest number of datagrams read from one connection before the other connections are served.
const READ_MAX: usize = 128;
/// Time in nanoseconds between two reads of a connection's round-trip time.
const RTT_NS: u64 = 200_000_000;
/// Length of the longest datagram that IP carries, in bytes.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// DCCP socket of the kernel as the connection of a flow.
struct KernelConduit {
    /// Kernel's DCCP socket of the connection; `None` once it is closed.
    socket: Option<DccpSocket>,
    /// CCIDs of the congestion controls of the data sent and received, as agreed in the handshake.
    ccids: (u8, u8),
    /// Largest datagram in bytes that the path permitted when the connection began.
    data_bytes_max: usize,
    /// Last round-trip time that the kernel reported, which it does for CCID 3 alone.
    rtt_ns: Option<u64>,
    /// Time at which the round-trip time is read again.
    rtt_due_ns: u64,
}

impl KernelConduit {
    fn new(socket: DccpSocket) -> Self {
        let ccids = (socket.tx_ccid().unwrap_or(0), socket.rx_ccid().unwrap_or(0));
        let data_bytes_max = kernel::packet_bytes_max(&socket).unwrap_or(0);
        Self { socket: Some(socket), ccids, data_bytes_max, rtt_ns: None, rtt_due_ns: 0 }
    }

    /// Reads the round-trip time of the connection, seldom: it costs a system call.
    fn refresh_rtt(&mut self, now_ns: u64) {
        if now_ns >= self.rtt_due_ns
            && let Some(socket) = &self.socket
        {
            self.rtt_due_ns = now_ns + RTT_NS;
            let rtt_us = socket.tfrc_rtt_us().unwrap_or(0);
            self.rtt_ns = (rtt_us > 0).then(|| u64::from(rtt_us) * 1_000);
        }
    }
}

impl Conduit for KernelConduit {
    fn ccids(&self) -> (u8, u8) {
        self.ccids
    }

    fn data_bytes_max(&self) -> usize {
        let path_max =
            self.socket.as_ref().and_then(|socket| kernel::packet_bytes_max(socket).ok());
        path_max.unwrap_or(self.data_bytes_max)
    }

    fn send(&mut self, datagram: &[u8], _priority: u32) -> Result<(), SendError> {
        let Some(socket) = &self.socket else { return Err(SendError::Closed) };
        socket.send(datagram).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => SendError::QueueFull,
            // The kernel returns this error for a datagram longer than the path permits now.
            _ if datagram.len() > self.data_bytes_max() => SendError::TooLong,
            _ => SendError::Closed,
        })
    }

    fn has_queued(&self) -> bool {
        let queued = self.socket.as_ref().and_then(|socket| socket.queued_bytes().ok());
        queued.unwrap_or(0) > 0
    }

    fn rtt_ns(&self) -> Option<u64> {
        self.rtt_ns
    }

    fn is_closed(&self) -> bool {
        self.socket.is_none()
    }

    fn close(&mut self, _now_ns: u64) {
        self.socket = None;
    }

    fn abort(&mut self) {
        if let Some(socket) = self.socket.take() {
            socket.abort();
        }
    }
}

/// One connection of a client or server, with its flow.
struct Member {
    conduit: KernelConduit,
    flow: PerfFlow,
    /// Addresses of this end and of the other end, as text.
    addresses: [String; 2],
}

/// All connections of a client or server over the kernel's DCCP.
struct KernelSession {
    signals: Signals,
    output: PerfOutput,
    interval_ns: Option<u64>,
    is_client: bool,
    is_plain: bool,
    members: Vec<Member>,
    flows_count: u32,
    ended: Vec<FlowEnd>,
    /// True if the session can send more datagrams at once, without a wait.
    has_more: bool,
    buffer: Vec<u8>,
}

/// Runs the client or server that the flags name, over the kernel's DCCP.
///
/// # Errors
///
/// Returns an error when a flag needs Godwit's own stack, or the kernel refuses a socket or a
/// connection.
pub(super) fn run(
    args: &DccpPerfArgs,
    config: &ConnectionConfig,
) -> ToolResult<DccpCommandOutcome> {
    let refused = [
        (args.search, "--search"),
        (args.probe.is_some(), "--probe"),
        (!args.link.debug.is_empty(), "--debug"),
    ];
    if let Some((_, flag)) = refused.into_iter().find(|(is_set, _)| *is_set) {
        let text = format!(
            "{flag} needs Godwit's own stack: the kernel does not show the state of its \
                     connections"
        );
        return Err(ToolError::Usage(text));
    }
    match &args.client {
        Some(host) => run_client(args, host, config),
        None => run_server(args, config),
    }
}

fn run_client(
    args: &DccpPerfArgs,
    host: &str,
    config: &ConnectionConfig,
) -> ToolResult<DccpCommandOutcome> {
    let to = args.link.destination(host)?;
    let mut session = KernelSession::new(args, "client")?;
    let (address, ports) = (to.address(), args.link.describe_ports());
    session.output.line(&format!("Connecting to {host} ({address}), {ports}"))?;
    let server = to.socket_address();
    let options = kernel::options(&args.link, config);
    let deadline_ns = Clock::mono_ns() + config.connect_timeout_ns;
    for _ in 0..args.parallel {
        let socket = DccpSocket::connect(server, &options)
            .map_err(|error| kernel::explain(error, to.peer))?;
        loop {
            let mut files = [PollFd::writable(&socket), PollFd::readable(&session.signals)];
            netio::poll(&mut files, Some(LOOK_NS)).map_err(failed)?;
            let is_open = files[0].is_writable();
            if let Some(cause) = socket.take_error().map_err(failed)? {
                return Err(kernel::refusal(to.peer, cause).into());
            }
            if session.is_interrupted() {
                socket.abort();
                return Ok(DccpCommandOutcome::Interrupted);
            }
            if is_open {
                break;
            }
            if Clock::mono_ns() >= deadline_ns {
                socket.abort();
                return Err(client::no_answer_error(args, to, config));
            }
        }
        if let (Some(len), Ok(max)) = (args.len, kernel::packet_bytes_max(&socket))
            && usize::from(len) > max
        {
            let text = format!("-l {len}: the path takes datagrams of at most {max} bytes");
            return Err(ToolError::Usage(text));
        }
        session.add(socket, server, Some(args.flow_request()));
    }
    let mut is_interrupted = false;
    while !session.members.is_empty() {
        session.turn(None)?;
        if session.is_interrupted() && !is_interrupted {
            is_interrupted = true;
            session.abort_all();
        }
    }
    session.ended.sort_by_key(|flow| flow.flow);
    let KernelSession { mut output, ended, .. } = session;
    output.summary(&ended)?;
    Ok(if is_interrupted {
        DccpCommandOutcome::Interrupted
    } else {
        client::command_outcome(args, &ended)
    })
}

fn run_server(args: &DccpPerfArgs, config: &ConnectionConfig) -> ToolResult<DccpCommandOutcome> {
    let listener = kernel::listen(&args.link, config, u16::MAX)?;
    let mut session = KernelSession::new(args, "server")?;
    let describe_ports = format!("Server listening on {}", args.link.describe_ports());
    session.output.line(&describe_ports)?;
    if args.json {
        netio::stderr::print_line(&describe_ports);
    }
    loop {
        session.turn(Some(&listener))?;
        let is_interrupted = session.is_interrupted();
        if is_interrupted {
            session.abort_all();
        }
        if session.members.is_empty() && !session.ended.is_empty() {
            let mut ended = core::mem::take(&mut session.ended);
            ended.sort_by_key(|flow| flow.flow);
            session.output.summary(&ended)?;
            if args.one_off && !is_interrupted {
                return Ok(DccpCommandOutcome::Done);
            }
        }
        if is_interrupted {
            return Ok(DccpCommandOutcome::Interrupted);
        }
    }
}

impl KernelSession {
    fn new(args: &DccpPerfArgs, role: &'static str) -> ToolResult<Self> {
        let signals = Signals::for_command()?;
        let interval_ns = args.interval().map(|interval: Duration| interval.as_nanos() as u64);
        Ok(Self {
            signals,
            output: args.output(role),
            interval_ns,
            is_client: args.client.is_some(),
            is_plain: args.plain,
            members: Vec::new(),
            flows_count: 0,
            ended: Vec::new(),
            has_more: false,
            buffer: vec![0; DATAGRAM_BYTES_MAX],
        })
    }

    fn is_interrupted(&self) -> bool {
        self.signals.stop().load(std::sync::atomic::Ordering::Acquire)
    }

    fn add(&mut self, socket: DccpSocket, remote: SocketAddr, request: Option<FlowRequest>) {
        let address_text = |address: SocketAddr| {
            format!("{} port {}", address.ip().to_canonical(), address.port())
        };
        let local = socket.local_address().map_or_else(|_| "?".to_owned(), address_text);
        self.flows_count += 1;
        let (now_ns, cpu_ns) = (Clock::mono_ns(), Clock::process_cpu_ns());
        let mut flow = PerfFlow::new(self.flows_count, now_ns, request, self.is_plain);
        let conduit = KernelConduit::new(socket);
        flow.connected(now_ns, cpu_ns, &conduit);
        self.members.push(Member { conduit, flow, addresses: [local, address_text(remote)] });
    }

    /// Runs one turn of the session's loop: waits for events and handles them.
    fn turn(&mut self, listener: Option<&DccpSocket>) -> ToolResult<()> {
        self.wait(listener)?;
        if let Some(listener) = listener {
            self.accept(listener)?;
        }
        self.receive();
        let (now_ns, cpu_ns) = (Clock::mono_ns(), Clock::process_cpu_ns());
        self.has_more = false;
        for Member { conduit, flow, .. } in &mut self.members {
            conduit.refresh_rtt(now_ns);
            let fed = flow.feed(now_ns, cpu_ns, conduit);
            let sending = flow.outgoing.as_ref().filter(|outgoing| outgoing.is_running());
            self.has_more |= fed > 0 && sending.is_some_and(|outgoing| !outgoing.is_blocked());
            flow.tick(now_ns, conduit);
        }
        self.end_intervals(now_ns)?;
        self.take_ended(cpu_ns);
        Ok(())
    }

    fn wait(&self, listener: Option<&DccpSocket>) -> ToolResult<()> {
        let now_ns = Clock::mono_ns();
        let mut until_ns = now_ns + if self.has_more { 0 } else { LOOK_NS };
        for Member { flow, .. } in &self.members {
            let is_blocked = flow.outgoing.as_ref().is_some_and(FlowSender::is_blocked);
            let interval_ns = self.interval_ns.map(|interval_ns| flow.interval_ns + interval_ns);
            let retry_ns = is_blocked.then_some(now_ns + RETRY_NS);
            let times = [flow.next_ns(), interval_ns, retry_ns];
            until_ns = times.into_iter().flatten().fold(until_ns, u64::min);
        }
        let sockets = self.members.iter().filter_map(|member| member.conduit.socket.as_ref());
        let mut files: Vec<_> = sockets.chain(listener).map(PollFd::readable).collect();
        files.push(PollFd::readable(&self.signals));
        netio::poll(&mut files, Some(until_ns.saturating_sub(now_ns))).map_err(failed)?;
        Ok(())
    }

    fn accept(&mut self, listener: &DccpSocket) -> ToolResult<()> {
        loop {
            match listener.accept() {
                Ok((socket, remote)) => self.add(socket, remote, None),
                Err(error) if is_nothing_yet(&error) => return Ok(()),
                Err(error) => {
                    return Err(ToolError::Failed(format!("cannot accept a connection: {error}")));
                }
            }
        }
    }

    fn receive(&mut self) {
        let cpu_ns = Clock::process_cpu_ns();
        for Member { conduit, flow, .. } in &mut self.members {
            for _ in 0..READ_MAX {
                let Some(socket) = &conduit.socket else { break };
                let now_ns = Clock::mono_ns();
                match socket.receive(&mut self.buffer) {
                    Ok(0) if socket.has_ended().unwrap_or(true) => {
                        flow.ended(now_ns, None);
                        break;
                    }
                    Ok(len) => {
                        let datagram = self.buffer.get(..len).unwrap_or(&self.buffer);
                        flow.received(now_ns, cpu_ns, datagram, Some(&*conduit));
                    }
                    Err(error) if is_nothing_yet(&error) => break,
                    Err(error) => {
                        flow.ended(now_ns, Some(&kernel::connection_error(error)));
                        break;
                    }
                }
            }
        }
    }

    fn end_intervals(&mut self, now_ns: u64) -> ToolResult<()> {
        let Some(interval_ns) = self.interval_ns else { return Ok(()) };
        for Member { flow, .. } in &mut self.members {
            if flow.has_interval(now_ns, interval_ns) {
                self.output.interval(flow, now_ns)?;
            }
        }
        Ok(())
    }

    fn take_ended(&mut self, cpu_ns: u64) {
        let (ended, running) = core::mem::take(&mut self.members)
            .into_iter()
            .partition(|member| member.flow.has_ended);
        self.members = running;
        let ended: Vec<Member> = ended;
        for Member { flow, addresses, .. } in ended {
            self.ended.push(end_of(&flow, addresses, self.is_client, cpu_ns));
        }
    }

    /// Ends every connection of the session with a Reset.
    fn abort_all(&mut self) {
        let now_ns = Clock::mono_ns();
        for Member { conduit, flow, .. } in &mut self.members {
            conduit.abort();
            flow.ended(now_ns, None);
        }
        self.take_ended(Clock::process_cpu_ns());
    }
}

fn is_nothing_yet(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn failed(cause: io::Error) -> DccpError {
    kernel::connection_error(cause)
}
