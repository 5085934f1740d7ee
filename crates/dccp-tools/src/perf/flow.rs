//! Flow of `dccp perf`: one connection of a measurement with the data that it sends and receives,
//! and its end.

use dccp_link::DccpError;

use super::conduit::Conduit;
use super::figures::FlowReceiver;
use super::message::{PerfMessage, TransferParameters};
use super::outgoing::FlowSender;

/// Time in nanoseconds between repetitions of the request for data, until data arrives.
const HELLO_NS: u64 = 250_000_000;
/// Time in nanoseconds that a receiver stays after its report, in case the report is lost.
const LINGER_NS: u64 = 1_000_000_000;
/// Time in nanoseconds after which a flow stops waiting for its connection to close.
const CLOSING_NS: u64 = 3_000_000_000;
/// Time in nanoseconds without a packet after which the other end counts as gone.
const SILENCE_NS: u64 = 30_000_000_000;

/// Request of a client: the data that a connection carries in each direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRequest {
    /// Parameters of the data that the client sends; `None` for none.
    pub(crate) forward: Option<TransferParameters>,
    /// Parameters of the data that the server sends; `None` for none.
    pub(crate) reverse: Option<TransferParameters>,
}

/// State of a flow: one connection of a measurement.
#[derive(Debug)]
pub(crate) struct PerfFlow {
    /// Number of the flow in the output, from 1 on.
    pub(crate) id: u32,
    /// Request of the client for the flow; `None` at a server.
    request: Option<FlowRequest>,
    /// True if the flow exchanges no control messages: it sends only data, and counts everything
    /// received as data.
    pub(crate) is_plain: bool,
    pub(crate) outgoing: Option<FlowSender>,
    pub(crate) incoming: FlowReceiver,
    hello_ns: Option<u64>,
    owes_report: bool,
    reported_ns: Option<u64>,
    heard_ns: u64,
    pub(crate) started_ns: Option<u64>,
    pub(crate) interval_ns: u64,
    has_last_interval: bool,
    closing_ns: Option<u64>,
    pub(crate) has_ended: bool,
    /// Reason why the flow ended early; `None` if it did not.
    pub(crate) failure: Option<String>,
    /// CCIDs of the congestion controls of the data that the flow sends and receives.
    pub(crate) ccids: (u8, u8),
    /// Latest known round-trip time of the connection, in nanoseconds.
    pub(crate) rtt_ns: Option<u64>,
}

impl PerfFlow {
    pub(crate) fn new(id: u32, now_ns: u64, request: Option<FlowRequest>, is_plain: bool) -> Self {
        Self {
            id,
            request,
            is_plain,
            outgoing: None,
            incoming: FlowReceiver::default(),
            hello_ns: None,
            owes_report: false,
            reported_ns: None,
            heard_ns: now_ns,
            started_ns: None,
            interval_ns: now_ns,
            has_last_interval: false,
            closing_ns: None,
            has_ended: false,
            failure: None,
            ccids: (0, 0),
            rtt_ns: None,
        }
    }

    /// Begins the flow, after its connection is open.
    pub(crate) fn connected(&mut self, now_ns: u64, cpu_ns: u64, connection: &impl Conduit) {
        self.started_ns = Some(now_ns);
        self.interval_ns = now_ns;
        self.heard_ns = now_ns;
        self.ccids = connection.ccids();
        if let Some(request) = self.request {
            let bytes_max = connection.data_bytes_max();
            self.outgoing = request.forward.map(|order| {
                let mut outgoing = FlowSender::new(now_ns, cpu_ns, &order, bytes_max);
                outgoing.is_plain = self.is_plain;
                outgoing
            });
            self.hello_ns = request.reverse.is_some().then_some(now_ns);
        }
    }

    /// Parses a received datagram as a message; without control messages all datagrams are data.
    fn read(&self, datagram: &[u8]) -> PerfMessage {
        match PerfMessage::read(datagram) {
            PerfMessage::Data(number) => PerfMessage::Data(number),
            _ if self.is_plain => PerfMessage::Plain,
            message => message,
        }
    }

    /// Processes a datagram that the flow received at `now_ns`.
    pub(crate) fn received(
        &mut self,
        now_ns: u64,
        cpu_ns: u64,
        datagram: &[u8],
        connection: Option<&impl Conduit>,
    ) {
        self.heard_ns = now_ns;
        match self.read(datagram) {
            PerfMessage::Data(number) => {
                self.incoming.count_datagram(now_ns, cpu_ns, Some(number), datagram.len());
                self.hello_ns = None;
            }
            PerfMessage::Plain => {
                self.incoming.count_datagram(now_ns, cpu_ns, None, datagram.len());
                self.hello_ns = None;
            }
            PerfMessage::Hello(order) => {
                if let (None, None, Some(connection)) = (self.request, &self.outgoing, connection) {
                    let bytes_max = connection.data_bytes_max();
                    self.outgoing = Some(FlowSender::new(now_ns, cpu_ns, &order, bytes_max));
                }
            }
            PerfMessage::Fin(sent) => {
                self.incoming.fin = self.incoming.fin.or(Some(sent));
                self.owes_report = true;
            }
            PerfMessage::Report(received) => {
                if let Some(outgoing) = &mut self.outgoing {
                    outgoing.reported(received);
                }
            }
        }
    }

    /// Queues the datagrams of the flow that are due. Returns their count.
    pub(crate) fn feed(
        &mut self,
        now_ns: u64,
        cpu_ns: u64,
        connection: &mut impl Conduit,
    ) -> usize {
        if self.started_ns.is_none() || self.closing_ns.is_some() {
            return 0;
        }
        let mut count = 0;
        if let (Some(at_ns), Some(order)) =
            (self.hello_ns, self.request.and_then(|request| request.reverse))
            && at_ns <= now_ns
            && connection.send(&PerfMessage::Hello(order).write(), u32::MAX).is_ok()
        {
            self.hello_ns = Some(now_ns + HELLO_NS);
            count += 1;
        }
        if self.owes_report {
            let report = PerfMessage::Report(self.incoming.figures(cpu_ns)).write();
            if connection.send(&report, u32::MAX).is_ok() {
                self.owes_report = false;
                self.reported_ns = Some(now_ns);
                count += 1;
            }
        }
        if let Some(outgoing) = &mut self.outgoing {
            count += outgoing.feed(now_ns, cpu_ns, connection);
        }
        self.rtt_ns = connection.rtt_ns();
        count
    }

    /// Updates the flow after time has passed: gives up late datagrams, closes a finished flow, and
    /// ends a flow whose other end is silent.
    pub(crate) fn tick(&mut self, now_ns: u64, connection: &mut impl Conduit) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.give_up_late(now_ns);
        }
        if let Some(at_ns) = self.closing_ns {
            // The measurement does not depend on the other end's answer.
            let is_over = connection.is_closed() || now_ns >= at_ns + CLOSING_NS;
            self.has_ended |= is_over;
            return;
        }
        if self.started_ns.is_none() {
            return;
        }
        let is_sending = self.outgoing.as_ref().is_some_and(|outgoing| !outgoing.is_over());
        if !is_sending && !self.is_plain && now_ns >= self.heard_ns + SILENCE_NS {
            let silence_s = SILENCE_NS / 1_000_000_000;
            self.failure = Some(format!("the other end sent nothing for {silence_s} s"));
            connection.abort();
            self.has_ended = true;
        } else if !is_sending && self.may_close(now_ns) {
            self.closing_ns = Some(now_ns);
            connection.close(now_ns);
        }
    }

    /// Returns true if this end of the flow must close the connection now.
    fn may_close(&self, now_ns: u64) -> bool {
        let has_sent = self.outgoing.is_some();
        match self.request {
            Some(FlowRequest { reverse: None, .. }) => has_sent,
            // The other end closes when it has the report; the report may be lost.
            Some(_) => self.reported_ns.is_some_and(|at_ns| now_ns >= at_ns + LINGER_NS),
            // A server that only had to send is done with the report.
            None => has_sent && self.incoming.first_ns().is_none(),
        }
    }

    /// Returns the time in nanoseconds at which [`PerfFlow::feed`] or [`PerfFlow::tick`] is due
    /// although no packet arrives.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        if let Some(at_ns) = self.closing_ns {
            return Some(at_ns + CLOSING_NS);
        }
        self.started_ns?;
        let sending = self.outgoing.as_ref().and_then(FlowSender::next_ns);
        let linger = self.reported_ns.map(|at_ns| at_ns + LINGER_NS);
        let silence = (!self.is_plain).then_some(self.heard_ns + SILENCE_NS);
        [sending, linger, self.hello_ns, silence].into_iter().flatten().min()
    }

    /// Ends the flow after a signal: the data sent so far is the measurement.
    pub(crate) fn end_now(&mut self, now_ns: u64) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.end_now(now_ns);
        }
    }

    /// Records the end of the flow's connection: `error` is the reason, unless the end answers a
    /// close.
    pub(crate) fn ended(&mut self, now_ns: u64, error: Option<&DccpError>) {
        self.has_ended = true;
        if let Some(error) = error
            && self.closing_ns.is_none()
            && self.failure.is_none()
        {
            self.failure = Some(error.to_string());
        }
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.cut_off(now_ns);
        }
    }

    /// Returns true if a report interval of the flow ends now: after its time, or because no more
    /// data follows.
    pub(crate) fn has_interval(&mut self, now_ns: u64, interval_ns: u64) -> bool {
        if self.started_ns.is_none() || self.has_last_interval {
            return false;
        }
        let passed_ns = now_ns.saturating_sub(self.interval_ns);
        let is_sending = self.outgoing.as_ref().is_some_and(FlowSender::is_running);
        let is_receiving = self.receives() && self.incoming.fin.is_none();
        if is_sending || is_receiving {
            return passed_ns >= interval_ns && !self.has_ended;
        }
        self.has_last_interval = self.outgoing.is_some() || self.receives();
        // A remainder shorter than 2 % of an interval gets no line of its own.
        self.has_last_interval && passed_ns > interval_ns / 50
    }

    /// Returns true if the flow has received data, or requested some.
    pub(crate) fn receives(&self) -> bool {
        let is_requested = self.request.is_some_and(|request| request.reverse.is_some());
        is_requested || self.incoming.first_ns().is_some() || self.incoming.fin.is_some()
    }
}
