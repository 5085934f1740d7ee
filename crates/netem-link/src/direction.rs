//! One direction of a link: a thread that moves packets from one interface through the core to the
//! other interface.
//!
//! Budget: three system calls (`ppoll`, `recvmmsg`, `sendmmsg`) and two readings of the clock per
//! batch of up to 64 frames; per packet two copies of its bytes, an entry of a heap, and a checksum
//! if the sender's kernel left it out. Nothing is allocated once the link has held its largest
//! number of packets, and no lock is taken: orders come through a channel that is read after a
//! wake-up only.
//!
//! Timing: a packet never leaves before its time. It leaves late by the wake-up of a `ppoll`
//! without timer slack and the batch that is under way: tens of microseconds on an idle machine,
//! well below a millisecond as long as a processor is free. The thread does not spin. The lateness
//! of packets is measured and reported ([`crate::report::Lateness`]).

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

use base::Histogram;
use netem::{EmulatedLink, LinkSettings};
use netio::frame::FRAME_BYTES_MAX;
use netio::{Clock, NetError, PollFd, Waker, poll, thread};

use crate::ecn;
use crate::ends::{LinkInput, LinkSockets};
use crate::offload;
use crate::outlet::FrameOutlet;
use crate::report::{DirectionReport, Lateness, MachineCounts};

/// Interval in nanoseconds between tries to send through an interface that accepts no frames.
const STUCK_RETRY_NS: u64 = 200_000;
/// Largest lateness of a packet that the histogram distinguishes, in nanoseconds; a longer one
/// counts as this value, except that the maximum is exact.
const LATENESS_MAX_NS: u64 = 1_000_000_000;
/// Error number `ENETDOWN` of Linux: the interface is down.
const DOWN: i32 = 100;
/// Interval in nanoseconds between checks of an interface that is down: the kernel does not report
/// its removal.
const DOWN_LOOK_NS: u64 = 100_000_000;

/// Order to the thread that moves the packets of one direction of a link.
pub(crate) enum DirectionOrder {
    /// Order to use other settings of the link from now on.
    Change(Box<LinkSettings>),
    /// Order to send a report of the direction over this channel.
    Show(SyncSender<DirectionReport>),
    /// Order to end the direction's thread.
    Stop,
}

/// Names of a link's direction (`forward`, `backward`) and its two interfaces, for reports.
#[derive(Clone, Debug)]
pub(crate) struct DirectionNames {
    pub(crate) name: &'static str,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// State of one direction of a link, which its thread owns.
pub(crate) struct LinkDirection {
    names: DirectionNames,
    link: EmulatedLink,
    input: LinkInput,
    output: FrameOutlet,
    scratch: Box<[u8]>,
    orders: Receiver<DirectionOrder>,
    waker: Arc<Waker>,
    received_bytes: u64,
    machine: MachineCounts,
    lateness: Histogram,
    /// True if the input interface went down and no packet has arrived since.
    is_down: bool,
}

/// Reasons why the wait of a direction's thread ended.
#[derive(Clone, Copy, Debug)]
struct WakeReasons {
    by_input: bool,
    by_order: bool,
}

impl LinkDirection {
    pub(crate) fn new(
        names: DirectionNames,
        link: EmulatedLink,
        sockets: LinkSockets,
        orders: Receiver<DirectionOrder>,
        waker: Arc<Waker>,
    ) -> Self {
        Self {
            names,
            link,
            input: sockets.input,
            output: FrameOutlet::new(sockets.output),
            scratch: vec![0; FRAME_BYTES_MAX].into_boxed_slice(),
            orders,
            waker,
            received_bytes: 0,
            machine: MachineCounts::default(),
            lateness: Histogram::up_to(LATENESS_MAX_NS),
            is_down: false,
        }
    }

    /// Moves packets of the direction until an order ends it; returns the final report.
    ///
    /// # Errors
    ///
    /// The input interface is gone, or its socket failed.
    pub(crate) fn run(mut self) -> Result<DirectionReport, NetError> {
        // With timer slack the kernel wakes the thread 50 us late on purpose. If the slack cannot
        // be set, the report shows it.
        thread::set_timer_slack_ns(1).ok();
        thread::set_name(&format!("netem-{}", self.names.name)).ok();
        let mut woken = WakeReasons { by_input: true, by_order: true };
        while self.turn(woken)? {
            woken = self.wait()?;
        }
        self.output.close();
        Ok(self.report())
    }

    /// Handles packets that are due, orders to the thread, and received frames; returns false if
    /// the thread must stop.
    fn turn(&mut self, woken: WakeReasons) -> Result<bool, NetError> {
        let now_ns = Clock::mono_ns();
        self.note_lateness(now_ns);
        if woken.by_order && self.handle_orders(now_ns) {
            return Ok(false);
        }
        // Due packets leave before new ones come, so that they take no room from them.
        self.link.handle_timeout(now_ns);
        self.output.pass(&mut self.link, now_ns);
        if woken.by_input {
            self.receive_frames(now_ns)?;
        }
        self.output.flush(now_ns);
        if self.is_down && self.input.is_interface_gone() {
            let cause = io::Error::other("the interface was removed");
            return Err(NetError::new("continue to receive on", &self.names.from, cause));
        }
        Ok(true)
    }

    /// Records the lateness of a packet in the link whose due time has passed.
    fn note_lateness(&mut self, now_ns: u64) {
        if !self.output.is_stuck()
            && let Some(due_ns) = self.link.poll_timeout()
            && due_ns <= now_ns
        {
            self.lateness.record(now_ns - due_ns);
        }
    }

    /// Carries out the orders to the thread; returns true if one of them is
    /// [`DirectionOrder::Stop`].
    fn handle_orders(&mut self, now_ns: u64) -> bool {
        self.waker.drain();
        loop {
            match self.orders.try_recv() {
                Ok(DirectionOrder::Change(settings)) => self.link.change(now_ns, *settings),
                // The receiver of the report may be gone.
                Ok(DirectionOrder::Show(answer)) => drop(answer.try_send(self.report())),
                Err(TryRecvError::Empty) => return false,
                Ok(DirectionOrder::Stop) | Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    /// Receives a batch of frames and passes their packets into the link.
    fn receive_frames(&mut self, now_ns: u64) -> Result<(), NetError> {
        let count = match self.input.receive() {
            Ok(count) => count,
            Err(error) if error.raw_os_error() == Some(DOWN) => {
                self.machine.downs += 1;
                self.is_down = true;
                return Ok(());
            }
            Err(error) => return Err(NetError::new("receive on", &self.names.from, error)),
        };
        self.is_down &= count == 0;
        let framing = self.input.framing();
        for index in 0..count {
            let Some(frame) = self.input.frame(index) else { continue };
            let (link, output) = (&mut self.link, &mut self.output);
            let received_bytes = &mut self.received_bytes;
            let unpacked = offload::unpack(&frame, &mut self.scratch, |packet| {
                *received_bytes += packet.len() as u64;
                link.handle_datagram(now_ns, ecn::read(packet, framing), packet);
                // Packets enter one by one, as on a wire: packets that leave at once never fill the
                // link.
                output.pass(link, now_ns);
            });
            match (unpacked, frame.train, frame.checksum) {
                (Err(offload::FrameDescriptionError), ..) => self.machine.unreadable += 1,
                (Ok(()), Some(_), _) => self.machine.trains += 1,
                (Ok(()), None, Some(_)) => self.machine.checksums += 1,
                (Ok(()), None, None) => {}
            }
        }
        Ok(())
    }

    /// Waits for a frame, an order, or the due time of the link's next packet.
    fn wait(&self) -> Result<WakeReasons, NetError> {
        let timeout_ns = if self.output.is_stuck() {
            Some(STUCK_RETRY_NS)
        } else {
            let due_ns = self.link.poll_timeout();
            due_ns.map(|due_ns| due_ns.saturating_sub(Clock::mono_ns()))
        };
        let longest_ns = self.is_down.then_some(DOWN_LOOK_NS);
        let timeout_ns = timeout_ns.into_iter().chain(longest_ns).min();
        let mut fds = [PollFd::readable(&self.input), PollFd::readable(&*self.waker)];
        poll(&mut fds, timeout_ns).map_err(NetError::on("wait for frames on", &self.names.from))?;
        Ok(WakeReasons { by_input: fds[0].is_readable(), by_order: fds[1].is_readable() })
    }

    /// Returns the report of this direction of the link so far.
    fn report(&mut self) -> DirectionReport {
        self.machine.missed += self.input.take_drops();
        let us = |quantile: f64| self.lateness.quantile(quantile).unwrap_or(0) / 1_000;
        let lateness = Lateness {
            count: self.lateness.count(),
            median_us: us(0.5),
            p99_us: us(0.99),
            max_us: us(1.0),
        };
        let machine = MachineCounts {
            truncated: self.input.truncated(),
            refused: self.output.refused(),
            unreadable: self.machine.unreadable + self.input.unreadable(),
            ..self.machine
        };
        let names = self.names.clone();
        let report = DirectionReport {
            name: names.name.to_owned(),
            from: names.from,
            to: names.to,
            settings: self.link.settings().to_string(),
            received_bytes: self.received_bytes,
            machine,
            lateness,
            ..DirectionReport::default()
        };
        report.with_counters(self.link.counters(), self.link.backlog())
    }
}

#[cfg(test)]
mod tests;
