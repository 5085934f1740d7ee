//! Loop of a `dccp perf` client or server: it waits, receives, feeds the connections and prints
//! their intervals.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::ToolResult;
use dccp::connection::ConnectionEvent;
use dccp::header::ResetCode;
use dccp_link::{ConnectionKey, DccpError, Driver, ScopedAddress};
use netio::Clock;
use netio::signal::Signals;

use super::flow::{FlowRequest, PerfFlow};
use super::report::{FlowDirectionResult, FlowEnd, PerfOutput};
use crate::debug::Observer;
use crate::probe::ProbeRecorder;

/// Largest number of times that the loop queues and stages packets between two checks for received
/// packets.
const ROUNDS_MAX: usize = 32;
/// Number of staged packets after which the session makes a system call to send them.
const STAGED_ENOUGH: usize = 64;
/// Longest time in nanoseconds until the loop notices a signal that arrives between a check and a
/// wait.
const LOOK_NS: u64 = 200_000_000;

/// Reason why a client's connection could not be made.
#[derive(Debug)]
pub(crate) enum ConnectFailure {
    /// Connection that one of its ends has ended.
    Ended(DccpError),
    /// Server that the network reports as unreachable, with the error number of Linux.
    Unreachable(i32),
    /// Server that did not answer in time.
    Silent,
}

/// All connections of a client or server, with their flows.
pub(crate) struct PerfSession {
    pub(crate) driver: Driver,
    pub(crate) output: PerfOutput,
    pub(crate) signals: Signals,
    /// Writer of a probe file with the figures of congestion control, if requested.
    pub(crate) recorder: Option<ProbeRecorder>,
    /// True without control messages: flows send only data, and count everything received as data.
    pub(crate) is_plain: bool,
    flows: BTreeMap<ConnectionKey, PerfFlow>,
    /// Observer that prints changes of connections for `--debug`; `None` without a topic.
    pub(crate) observer: Option<Observer>,
    flows_count: u32,
    interval_ns: Option<u64>,
    is_client: bool,
    /// True if the session can send more packets at once, without a wait.
    has_more: bool,
    /// Results of flows that have ended since [`PerfSession::take_ended`] was last called.
    ended: Vec<FlowEnd>,
    /// Reasons why connections could not be made.
    pub(crate) failures: Vec<ConnectFailure>,
}

impl PerfSession {
    pub(crate) fn new(
        driver: Driver,
        output: PerfOutput,
        interval: Option<Duration>,
        is_client: bool,
    ) -> ToolResult<Self> {
        let signals = Signals::for_command()?;
        // Departures are microseconds apart; a late wake-up delays them.
        let _ = netio::thread::set_timer_slack_ns(1);
        let interval_ns = interval.map(|interval| interval.as_nanos() as u64);
        Ok(Self {
            driver,
            output,
            signals,
            recorder: None,
            is_plain: false,
            observer: None,
            flows: BTreeMap::new(),
            flows_count: 0,
            interval_ns,
            is_client,
            has_more: false,
            ended: Vec::new(),
            failures: Vec::new(),
        })
    }

    /// Returns true if a signal has requested the session to stop.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.signals.stop().load(Ordering::Acquire)
    }

    pub(crate) fn add(&mut self, key: ConnectionKey, request: Option<FlowRequest>) {
        self.flows_count += 1;
        let flow = PerfFlow::new(self.flows_count, Clock::mono_ns(), request, self.is_plain);
        self.flows.insert(key, flow);
    }

    pub(crate) fn flows_count(&self) -> usize {
        self.flows.len()
    }

    /// Returns the results of flows that have ended since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<FlowEnd> {
        core::mem::take(&mut self.ended)
    }

    /// Ends the sending of all flows now; their results follow.
    pub(crate) fn end_now(&mut self) {
        let now_ns = Clock::mono_ns();
        for flow in self.flows.values_mut() {
            flow.end_now(now_ns);
        }
    }

    /// Ends every connection of the session with a Reset.
    pub(crate) fn abort_all(&mut self) {
        let (now_ns, cpu_ns) = (Clock::mono_ns(), Clock::process_cpu_ns());
        for (key, mut flow) in core::mem::take(&mut self.flows) {
            self.driver.with(&key, dccp::connection::Connection::abort);
            flow.ended(now_ns, None);
            if flow.started_ns.is_some() {
                self.ended.push(end_by_key(&flow, &key, self.is_client, cpu_ns));
            }
        }
        self.driver.stage(now_ns);
        self.driver.flush();
    }

    /// Runs one turn of the session's loop: waits for events and handles them.
    pub(crate) fn turn(&mut self) -> ToolResult<()> {
        let now_ns = Clock::mono_ns();
        let intervals = self.flows.values().filter(|flow| flow.started_ns.is_some());
        let intervals = intervals.filter_map(|flow| Some(flow.interval_ns + self.interval_ns?));
        let flows = self.flows.values().filter_map(PerfFlow::next_ns);
        let samples = self.recorder.iter().filter_map(|recorder| recorder.next_ns());
        let until_ns = intervals.chain(flows).chain(samples).chain([now_ns + LOOK_NS]).min();
        self.driver.wait(if self.has_more { Some(now_ns) } else { until_ns })?;
        let now_ns = Clock::mono_ns();
        self.driver.receive(now_ns);
        self.take_failures();
        let cpu_ns = Clock::process_cpu_ns();
        self.take_events(now_ns, cpu_ns);
        while self.driver.deliver(now_ns) {
            self.take_events(now_ns, cpu_ns);
        }
        self.feed(now_ns);
        self.record(now_ns)?;
        self.tick(now_ns)
    }

    /// Writes a line of the probe file for each connection that sends, when samples are due.
    fn record(&mut self, now_ns: u64) -> ToolResult<()> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        if !recorder.is_due(now_ns) {
            return Ok(());
        }
        for (key, flow) in &self.flows {
            let sending = flow.outgoing.as_ref().filter(|outgoing| outgoing.is_running());
            if let (Some(outgoing), Some(connection)) = (sending, self.driver.connection(key)) {
                recorder.sample(key, connection, outgoing.datagram_bytes(), outgoing.sent_bytes());
            }
        }
        recorder.write(now_ns)
    }

    /// Prints the changes of all connections, if `--debug` requests that.
    fn observe(&mut self, now_ns: u64) {
        let Some(observer) = &mut self.observer else { return };
        for key in self.flows.keys() {
            if let Some(connection) = self.driver.connection(key) {
                observer.print_changes(now_ns, key, connection);
            }
        }
    }

    fn take_failures(&mut self) {
        while let Some((key, cause)) = self.driver.poll_unreachable() {
            self.failures.push(ConnectFailure::Unreachable(cause.raw_os_error().unwrap_or(0)));
            self.flows.remove(&key);
        }
    }

    fn take_events(&mut self, now_ns: u64, cpu_ns: u64) {
        while let Some((key, event)) = self.driver.poll_event() {
            if event == ConnectionEvent::Connected && !self.flows.contains_key(&key) {
                self.add(key, None);
            }
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            match event {
                ConnectionEvent::Connected => {
                    if let Some(connection) = self.driver.connection(&key) {
                        flow.connected(now_ns, cpu_ns, connection);
                    }
                }
                ConnectionEvent::Received(datagram) => {
                    flow.received(now_ns, cpu_ns, &datagram, self.driver.connection(&key));
                    self.driver.recycle(&key, datagram);
                }
                ConnectionEvent::Reset(reset) if flow.started_ns.is_none() => {
                    let core = self.driver.connection(&key);
                    let error = DccpError::from_refusal(&key, reset, core);
                    self.failures.push(ConnectFailure::Ended(error));
                    flow.has_ended = true;
                }
                ConnectionEvent::Failed(reset) if flow.started_ns.is_none() => {
                    let core = self.driver.connection(&key);
                    self.failures.push(match reset.code {
                        ResetCode::Aborted => ConnectFailure::Silent,
                        _ => ConnectFailure::Ended(DccpError::from_failure(reset, core)),
                    });
                    flow.has_ended = true;
                }
                ConnectionEvent::Reset(reset) if reset.code == ResetCode::Closed => {
                    flow.ended(now_ns, None)
                }
                ConnectionEvent::Reset(reset) => {
                    let error = DccpError::from_reset(reset, self.driver.connection(&key));
                    flow.ended(now_ns, Some(&error));
                }
                ConnectionEvent::Failed(reset) => {
                    let error = DccpError::from_failure(reset, self.driver.connection(&key));
                    flow.ended(now_ns, Some(&error));
                }
                ConnectionEvent::Closed => flow.ended(now_ns, None),
            }
        }
    }

    /// Queues data that is due and sends packets in turns, because the send queue of a connection
    /// may be short.
    fn feed(&mut self, now_ns: u64) {
        let cpu_ns = Clock::process_cpu_ns();
        let mut staged = 0;
        self.has_more = false;
        for _ in 0..ROUNDS_MAX {
            let mut fed = 0;
            for (key, flow) in &mut self.flows {
                let feed = |connection: &mut _| flow.feed(now_ns, cpu_ns, connection);
                fed += self.driver.with(key, feed).unwrap_or(0);
            }
            let moved = self.driver.stage(now_ns);
            staged += moved;
            if staged >= STAGED_ENOUGH {
                staged = 0;
                if !self.driver.flush() {
                    return;
                }
            }
            if fed == 0 && moved == 0 {
                self.driver.flush();
                return;
            }
        }
        self.has_more = self.driver.flush();
    }

    fn tick(&mut self, now_ns: u64) -> ToolResult<()> {
        let cpu_ns = Clock::process_cpu_ns();
        let mut ended = Vec::new();
        for (key, flow) in &mut self.flows {
            let is_there = self.driver.with(key, |connection| flow.tick(now_ns, connection));
            flow.has_ended |= is_there.is_none();
            if let Some(interval_ns) = self.interval_ns
                && flow.has_interval(now_ns, interval_ns)
            {
                self.output.interval(flow, now_ns)?;
            }
            if flow.has_ended {
                ended.push(*key);
            }
        }
        self.observe(now_ns);
        for key in ended {
            if let Some(observer) = &mut self.observer {
                observer.forget(&key);
            }
            if let Some(flow) = self.flows.remove(&key)
                && flow.started_ns.is_some()
            {
                self.ended.push(end_by_key(&flow, &key, self.is_client, cpu_ns));
            }
        }
        self.driver.stage(now_ns);
        self.driver.flush();
        Ok(())
    }
}

/// Returns the result of a flow, as both ends saw it, with the addresses of its connection's key.
fn end_by_key(flow: &PerfFlow, key: &ConnectionKey, is_client: bool, cpu_ns: u64) -> FlowEnd {
    let with_scope = |address| ScopedAddress { address, scope: key.scope };
    let local = format!("{} port {}", with_scope(key.local), key.local_port);
    let remote = format!("{} port {}", with_scope(key.remote), key.remote_port);
    end_of(flow, [local, remote], is_client, cpu_ns)
}

/// Returns the result of a flow between two addresses, the local one first.
pub(super) fn end_of(
    flow: &PerfFlow,
    [local, remote]: [String; 2],
    is_client: bool,
    cpu_ns: u64,
) -> FlowEnd {
    let (here, there) = if is_client { ("client", "server") } else { ("server", "client") };
    let mut directions = Vec::new();
    if let Some(outgoing) = &flow.outgoing {
        let received = outgoing.report();
        directions.push(FlowDirectionResult {
            from: here,
            datagram_bytes: Some(outgoing.datagram_bytes()),
            ccid: Some(flow.ccids.0),
            sent: Some(outgoing.figures(cpu_ns)),
            received,
            bits_per_s: received.map(|received| received.bits_per_s()),
        });
    }
    if flow.receives() {
        let received = flow.incoming.figures(cpu_ns);
        directions.push(FlowDirectionResult {
            from: there,
            datagram_bytes: None,
            ccid: Some(flow.ccids.1),
            sent: flow.incoming.fin,
            received: Some(received),
            bits_per_s: Some(received.bits_per_s()),
        });
    }
    FlowEnd {
        flow: flow.id,
        local,
        remote,
        directions,
        failure: flow.failure.clone(),
        is_plain: flow.is_plain,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use dccp_link::{CarrierKind, CarrierOptions, ConnectionConfig, EndpointLimits, Peer};

    use super::super::message::TransferParameters;
    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const PORT: u16 = 5_001;
    /// Number of datagrams until buffers have their greatest size; `COUNTED` is the number while
    /// allocations are counted.
    const WARM: u64 = 20_000;
    const COUNTED: u64 = 20_000;

    fn session(is_client: bool) -> PerfSession {
        let options = CarrierOptions::towards(CarrierKind::Udp { port: 0 }, HERE);
        let driver = Driver::open(&options, EndpointLimits::default()).unwrap();
        let output = PerfOutput::new(true, "test", String::new(), String::new());
        PerfSession::new(driver, output, None, is_client).unwrap()
    }

    /// Sends data to the server at `udp_port` as fast as possible until `is_done` is set.
    fn send(udp_port: u16, is_done: &AtomicBool) {
        let mut client = session(true);
        let peer = Peer { address: HERE, port: PORT, udp_port };
        let key = client.driver.connect(peer, &ConnectionConfig::default(), &[]).unwrap();
        let order = TransferParameters {
            datagram_bytes: 1_000,
            // Longer than any machine takes: the test ends the sending.
            duration_ms: 3_600_000,
            octets: None,
            bits_per_s: None,
            settling_ms: 0,
        };
        client.add(key, Some(FlowRequest { forward: Some(order), reverse: None }));
        while !is_done.load(Ordering::Acquire) && client.flows_count() > 0 {
            client.turn().unwrap();
        }
    }

    fn read(server: &mut PerfSession, count: u64) {
        let mut read = 0;
        while read < count {
            server.turn().unwrap();
            read +=
                server.flows.values_mut().map(|flow| flow.incoming.step().datagrams).sum::<u64>();
        }
    }

    #[test]
    fn the_memory_of_datagrams_that_were_read_is_used_again() {
        let mut server = session(false);
        let config = ConnectionConfig::default();
        server.driver.listen(PORT, &config, vec![config.service_code]);
        let udp_port = server.driver.udp_port().unwrap();
        let is_done = AtomicBool::new(false);
        let counted = thread::scope(|scope| {
            scope.spawn(|| send(udp_port, &is_done));
            read(&mut server, WARM);
            let counted = allocation_counter::measure(|| read(&mut server, COUNTED));
            is_done.store(true, Ordering::Release);
            counted
        });
        // Losses on the way may make the core store more than before.
        assert!(counted.count_total < COUNTED / 100, "{counted:?}");
    }
}
