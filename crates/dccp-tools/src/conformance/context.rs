//! State that all conformance cases share: the sockets, sequence numbers, and facts about the
//! target.

use std::cell::{Cell, RefCell, RefMut};
use std::time::{Duration, Instant};

use base::Random;
use dccp::header::{Integrity, PacketType, ServiceCode};
use dccp::sequence::SequenceNumber;
use netio::{Clock, NetError};

use super::answer::TargetPacket;
use super::peer::TesterConnection;
use super::verdict::{CaseStopReason, Judged, PacketLogLine};
use super::wire::{ConformanceTarget, TargetTransport};
use crate::options::CarrierName;

/// Datagram that makes Godwit's responder close the connection.
pub(super) const CLOSE_COMMAND: &[u8] = b"godwit:close";
/// Beginning of a datagram that makes Godwit's responder connect to the tester, at the UDP and the
/// DCCP port that follow in the datagram.
pub(super) const CONNECT_COMMAND: &[u8] = b"godwit:connect ";

/// Time to wait for an answer, as a multiple of the longest time in which the target answered a
/// Sync.
const SLOWEST_TIMES: u32 = 8;

/// State that all conformance cases share: sockets, sequence numbers, facts about the target.
pub(super) struct ConformanceContext {
    wire: RefCell<TargetTransport>,
    random: RefCell<Random>,
    pub(super) service_code: ServiceCode,
    /// Least time to wait for an answer of the target.
    patience: Duration,
    /// Longest time in which the target has answered a Sync.
    slowest: Cell<Duration>,
    is_echoing: Cell<Option<bool>>,
}

impl ConformanceContext {
    pub(super) fn open(
        target: ConformanceTarget,
        service_code: ServiceCode,
        patience: Duration,
    ) -> Result<Self, NetError> {
        Ok(Self {
            wire: RefCell::new(TargetTransport::open(target)?),
            random: RefCell::new(Random::from_seed(Clock::mono_ns())),
            service_code,
            patience,
            slowest: Cell::new(Duration::ZERO),
            is_echoing: Cell::new(None),
        })
    }

    /// Returns the time to wait for an answer of the target: longer if the target or the path to it
    /// has been slow.
    pub(super) fn patience(&self) -> Duration {
        self.patience.max(self.slowest.get() * SLOWEST_TIMES)
    }

    /// Records the time in which the target has answered a Sync.
    pub(super) fn record_sync_time(&self, time: Duration) {
        self.slowest.set(self.slowest.get().max(time));
    }

    fn wire(&self) -> RefMut<'_, TargetTransport> {
        self.wire.borrow_mut()
    }

    pub(super) fn target(&self) -> ConformanceTarget {
        self.wire().target
    }

    pub(super) fn is_udp(&self) -> bool {
        self.target().carrier == CarrierName::Udp
    }

    /// Returns true if packets for the suite reach the target's DCCP as well, because both share
    /// the address of one host over IP.
    pub(super) fn shares_host_with_target(&self) -> bool {
        let wire = self.wire();
        wire.target.carrier == CarrierName::Raw && wire.local == wire.target.address
    }

    pub(super) fn integrity(&self) -> Integrity {
        self.wire().integrity()
    }

    pub(super) fn take_port(&self) -> u16 {
        self.wire().take_port()
    }

    pub(super) fn open_another_socket(&self) -> Judged<usize> {
        Ok(self.wire().open_another_socket()?)
    }

    pub(super) fn udp_port(&self, socket_index: usize) -> u16 {
        self.wire().udp_port(socket_index)
    }

    pub(super) fn send(&self, socket_index: usize, octets: &[u8]) {
        self.wire().send(socket_index, octets);
    }

    pub(super) fn receive(
        &self,
        socket_index: usize,
        port: u16,
        deadline: Instant,
    ) -> Judged<Option<TargetPacket>> {
        self.wire().receive(socket_index, port, deadline)
    }

    pub(super) fn take_log(&self) -> Vec<PacketLogLine> {
        self.wire().take_log()
    }

    /// Returns a random first sequence number far from the wrap-around at 2^48.
    pub(super) fn first_number(&self) -> SequenceNumber {
        SequenceNumber::new((1 << 40) + self.random.borrow_mut().below(1 << 46))
    }

    /// Stops a case unless the target's application sends received data back.
    pub(super) fn needs_echo(&self) -> Judged {
        let is_echoing = match self.is_echoing.get() {
            Some(known) => known,
            None => self.ask_for_echo()?,
        };
        self.is_echoing.set(Some(is_echoing));
        if is_echoing {
            Ok(())
        } else {
            Err(CaseStopReason::not_applicable(
                "the application at the target does not send datagrams back",
            ))
        }
    }

    fn ask_for_echo(&self) -> Judged<bool> {
        let mut peer = TesterConnection::open(self)?;
        peer.send_data(b"is there an echo?");
        match peer.wait("an echo", |a| a.has_data() && a.data == b"is there an echo?") {
            Ok(_) => Ok(true),
            Err(CaseStopReason::Failed { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Makes the target's application close the connection. Returns the packet with which the
    /// target closes it.
    pub(super) fn close_from_target(
        &self,
        peer: &mut TesterConnection<'_>,
    ) -> Judged<TargetPacket> {
        self.needs_echo()?;
        peer.send_data(CLOSE_COMMAND);
        let is_close = |a: &TargetPacket| a.is(PacketType::CloseReq) || a.is(PacketType::Close);
        let is_it = |a: &TargetPacket| is_close(a) || (a.has_data() && a.data == CLOSE_COMMAND);
        let answer = peer.wait("CloseReq or Close, after the command to the application", is_it)?;
        if is_close(&answer) {
            Ok(answer)
        } else {
            Err(CaseStopReason::not_applicable(
                "the application at the target does not close when the command asks it to",
            ))
        }
    }
}
