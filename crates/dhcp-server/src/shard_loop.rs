//! Loop of one shard: receive, handle, settle, send. This file is the whole packet path of the
//! daemon.
//!
//! With UDP segmentation a batch has up to 64 buffers of up to 64 messages that the kernel has
//! joined (`UDP_GRO`).
//!
//! A UDP listener has two sockets. The shard first reads the one with messages that continue an
//! exchange: the kernel drops messages that begin one when more arrive than can be served for
//! longer than a burst ([`SocketQueueState`]). A packet listener has one socket for broadcasts and
//! one for messages to the server's addresses, which is read first.
//!
//! Budget per batch of up to 128 messages: two `recvmmsg`, one `sendmmsg` per listener that has
//! replies, one `write` of the lease rows unless the durability `always` leaves that to the log
//! thread, one clock read; no allocation. The shard polls only when there was nothing to receive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Now;
use base::time::NS_PER_MS;
use dhcp_engine::shard::Shard;
use dhcp_engine::snapshot::Snapshot;
use dhcp_engine::{ArrivedDatagram, ReplySink};
use dhcp_lease::{LeaseStore, LeaseTable};
use netio::receive::DEFAULT_SLOTS;
use netio::{Clock, PacketRecvBatch, PacketSocket, PollFd, RecvBatch, UdpSocket, Waker};

use crate::events::EventReporter;
use crate::frames::FrameCounters;
use crate::latency::{Stopwatch, since_ns};
use crate::listeners::{
    BURST_BYTES, ListenerSet, ListenerSocket, ListenerSocketRole, ShardListener, SocketQueueState,
    SocketReadResult,
};
use crate::message_log::NoticeRecorder;
use crate::published::{PublishedValue, VersionedValue};
use crate::service::DaemonFamily;
use crate::service_switch::ServiceSwitch;
use crate::transmit::{Addressing, Batches, ReplyTransmitter};
use crate::watchdog::Pulses;

/// Size of the receive buffer for one datagram in bytes: relay agents may send as much as UDP
/// carries. Memory is used as far as it was ever filled; a multiple of 4 KiB would make all slots
/// begin in the same lines of the processor cache.
const SLOT_BYTES: usize = 65_536 + 64;
/// Interval between a shard's checks of expiry and deadlines, in nanoseconds.
const HOUSEKEEPING_NS: u64 = 50 * NS_PER_MS;
/// Maximum number of lease slots that one check of a shard may reclaim: 20,000 per second and
/// shard.
const SWEEP_BUDGET: u32 = 1_000;
/// Time that a stopping shard waits for replies whose rows are not durable yet, in nanoseconds.
const DRAIN_NS: u64 = 2_000 * NS_PER_MS;

/// State that a shard shares with the rest of the daemon.
pub(crate) struct SharedDaemonState<P: DaemonFamily> {
    /// True when the daemon, and so every shard, is to end.
    pub(crate) stop: AtomicBool,
    /// Switch of the service, which control commands (`dhcp-disable`) and the relationship with a
    /// partner turn off: the shards then read messages and do not answer them.
    pub(crate) service: ServiceSwitch,
    /// Configuration snapshot that the shards serve by.
    pub(crate) snapshot: PublishedValue<Snapshot<P>>,
    /// Listeners that the shards serve at.
    pub(crate) listeners: Arc<PublishedValue<ListenerSet>>,
    /// Lease table that all shards share.
    pub(crate) table: Arc<LeaseTable<P>>,
    /// Signs of life of the shards, for the service manager.
    pub(crate) pulses: Pulses,
}

/// Shard with all that its thread needs.
pub(crate) struct ShardThread<P: DaemonFamily, S> {
    /// Number of the shard, from 0.
    pub(crate) index: usize,
    pub(crate) shard: Shard<P, S>,
    pub(crate) waker: Arc<Waker>,
    pub(crate) frame_counters: Arc<FrameCounters>,
    pub(crate) addressing: Addressing,
    pub(crate) batches: Batches,
    /// True if the configuration sets the size of the sockets' receive queues, which then stays
    /// fixed.
    pub(crate) has_fixed_room: bool,
    pub(crate) stopwatch: Stopwatch,
    pub(crate) recorder: NoticeRecorder,
    pub(crate) event_reporter: EventReporter,
}

/// State of a shard's loop: its receive buffers and the times of its tasks.
struct ShardLoopState {
    datagrams: RecvBatch,
    packets: PacketRecvBatch,
    now: Now,
    housekeeping_due_ns: u64,
    drain_until_ns: Option<u64>,
}

/// Serves clients on the shard's thread until the daemon is to end, then until the outbox is empty
/// or [`DRAIN_NS`] have passed.
pub(crate) fn serve<P: DaemonFamily, S: LeaseStore<P>>(
    mut thread: ShardThread<P, S>,
    shared: &SharedDaemonState<P>,
) where
    for<'d> ReplyTransmitter<'d>: ReplySink<P>,
{
    let now = Clock::now();
    let mut state = ShardLoopState {
        datagrams: if thread.batches.segmentation() {
            RecvBatch::coalescing_into(DEFAULT_SLOTS)
        } else {
            RecvBatch::new(DEFAULT_SLOTS, SLOT_BYTES)
        },
        packets: PacketRecvBatch::default(),
        now,
        housekeeping_due_ns: now.mono_ns,
        drain_until_ns: None,
    };
    let mut snapshot = shared.snapshot.use_current(thread.index);
    // A command may have changed the configuration since the shard was made.
    thread.shard.reload(Arc::clone(&snapshot.value));
    let mut listeners = shared.listeners.use_current(thread.index);
    loop {
        thread.shard.set_interfaces(Arc::clone(&listeners.value.names));
        thread.batches.follow(listeners.value.of_shard(thread.index));
        if !serve_at(&listeners, &mut thread, &mut state, &mut snapshot, shared) {
            return;
        }
        shared.listeners.catch_up(thread.index, &mut listeners);
    }
}

/// Serves clients at `listeners` until they are replaced; returns false when it is time to end.
fn serve_at<P: DaemonFamily, S: LeaseStore<P>>(
    listeners: &VersionedValue<ListenerSet>,
    thread: &mut ShardThread<P, S>,
    state: &mut ShardLoopState,
    snapshot: &mut VersionedValue<Snapshot<P>>,
    shared: &SharedDaemonState<P>,
) -> bool
where
    for<'d> ReplyTransmitter<'d>: ReplySink<P>,
{
    let (shard, shard_listeners) = (&mut thread.shard, listeners.value.of_shard(thread.index));
    let addressing = Addressing { is_routed: listeners.value.is_routed, ..thread.addressing };
    let (batches, stopwatch) = (&mut thread.batches, &mut thread.stopwatch);
    thread.recorder.set_names(Arc::clone(&listeners.value.names));
    let mut replies = ReplyTransmitter::new(
        shard_listeners,
        batches,
        addressing,
        stopwatch,
        &mut thread.recorder,
    );
    let mut fds = poll_fds(shard_listeners, &thread.waker);
    let fixed = thread.has_fixed_room.then_some(SocketQueueState::FIXED);
    let mut queue_states: Vec<SocketQueueState> = shard_listeners
        .iter()
        .map(|listener| fixed.unwrap_or_else(|| enlarge_burst_queue(listener)))
        .collect();
    while !shared.listeners.has_changed(listeners) {
        let is_off = begin_turn(thread.index, shard, shared);
        replies.read_topic_levels();
        if shared.snapshot.has_changed(snapshot) {
            shared.snapshot.catch_up(thread.index, snapshot);
            shard.reload(Arc::clone(&snapshot.value));
        }
        let mut received = 0;
        if state.drain_until_ns.is_none() {
            for (listener, queue_state) in shard_listeners.iter().zip(&mut queue_states) {
                let frame_counters = &thread.frame_counters;
                let context = ListenerContext { listeners: &listeners.value, frame_counters };
                received += state.receive(listener, queue_state, context, shard, &mut replies);
            }
        }
        if received == 0 {
            state.now = Clock::now();
            replies.settle(state.now);
        }
        shard.end_batch(state.now, &mut replies);
        shard.count_unsent(replies.flush());
        let settled_epoch = shard.store().settled_epoch();
        thread.event_reporter.report(shared.table.waiting_events(), settled_epoch);
        if is_off && !shard.has_held_messages() {
            shared.service.rest(thread.index);
        }
        state.do_housekeeping(thread.index, shard, shared);
        if state.is_over(shard) {
            return false;
        }
        if received == 0 {
            // A failed wait only means that the next iteration comes early.
            let timeout_ns = state.housekeeping_due_ns.saturating_sub(state.now.mono_ns);
            netio::poll(&mut fds, Some(timeout_ns)).ok();
            thread.waker.drain();
            state.now = Clock::now();
            replies.settle(state.now);
        }
    }
    true
}

/// Begins a turn of a shard's loop. Returns true if the service is off, so that the turn begins no
/// transaction.
fn begin_turn<P: DaemonFamily, S: LeaseStore<P>>(
    index: usize,
    shard: &mut Shard<P, S>,
    shared: &SharedDaemonState<P>,
) -> bool {
    let is_off = shared.service.begin_turn(index);
    shard.set_disabled(is_off);
    shard.set_waiting_events(shared.table.waiting_events());
    is_off
}

/// Returns the objects that a shard polls: each of its sockets, for datagrams, and its waker.
fn poll_fds<'l>(listeners: &'l [Arc<ShardListener>], waker: &'l Waker) -> Vec<PollFd<'l>> {
    let express = listeners.iter().filter_map(|listener| listener.express.as_ref());
    let mut fds: Vec<PollFd<'l>> =
        listeners.iter().map(|listener| PollFd::readable(&listener.socket)).collect();
    fds.extend(express.map(PollFd::readable));
    fds.push(PollFd::readable(waker));
    fds
}

/// Enlarges the receive queue at the listener's socket that has room for bursts, and returns the
/// queue's state.
fn enlarge_burst_queue(listener: &ShardListener) -> SocketQueueState {
    if let Some(socket) = listener.socket_of(listener.burst_socket_role()) {
        socket.set_receive_buffer(BURST_BYTES);
    }
    SocketQueueState::default()
}

/// Listeners of all shards, and the counters of frames from packet sockets that the parser drops.
#[derive(Clone, Copy)]
struct ListenerContext<'l> {
    listeners: &'l ListenerSet,
    frame_counters: &'l FrameCounters,
}

/// Socket of a listener that may have messages.
#[derive(Clone, Copy)]
struct ReadableSocket<'l, S> {
    socket: &'l S,
    /// Listener to which the socket belongs.
    listener: &'l ShardListener,
    /// Role of the socket in the listener.
    role: ListenerSocketRole,
}

impl ShardLoopState {
    /// Receives and handles the messages that wait at `listener`, and returns their number.
    fn receive<P: DaemonFamily, S: LeaseStore<P>>(
        &mut self,
        listener: &ShardListener,
        queue_state: &mut SocketQueueState,
        context: ListenerContext<'_>,
        shard: &mut Shard<P, S>,
        replies: &mut ReplyTransmitter<'_>,
    ) -> usize
    where
        for<'d> ReplyTransmitter<'d>: ReplySink<P>,
    {
        let mut received = 0;
        for role in [ListenerSocketRole::Express, ListenerSocketRole::First] {
            let Some(socket) = listener.socket_of(role) else { continue };
            let has_burst_queue = role == listener.burst_socket_role();
            let patience_ns = if has_burst_queue { queue_state.max_age_ns() } else { None };
            let read = match socket {
                ListenerSocket::Udp(socket) => {
                    let readable = ReadableSocket { socket, listener, role };
                    self.receive_udp(readable, context.listeners, patience_ns, shard, replies)
                }
                ListenerSocket::Packet(socket) => {
                    let readable = ReadableSocket { socket, listener, role };
                    self.receive_packets(readable, context, patience_ns, shard, replies)
                }
            };
            if has_burst_queue {
                let bytes = queue_state.after_read(read, self.now.mono_ns, || socket.queue());
                bytes.into_iter().for_each(|bytes| socket.set_receive_buffer(bytes));
            }
            received += read.messages;
        }
        received
    }

    /// Receives and handles the messages that wait at a packet socket of a listener; drops those
    /// that waited for longer than `patience_ns`.
    fn receive_packets<P: DaemonFamily, S: LeaseStore<P>>(
        &mut self,
        readable: ReadableSocket<'_, PacketSocket>,
        context: ListenerContext<'_>,
        patience_ns: Option<u64>,
        shard: &mut Shard<P, S>,
        replies: &mut ReplyTransmitter<'_>,
    ) -> SocketReadResult
    where
        for<'d> ReplyTransmitter<'d>: ReplySink<P>,
    {
        // An error concerns the interface (it went down, for instance); the next call continues.
        let messages = self.packets.receive(readable.socket).unwrap_or(0);
        if messages > 0 {
            let now = self.begin_batch(patience_ns, shard, replies);
            let arrived = self.packets.iter().filter_map(|packet| {
                let since_ns = since_ns(now, packet.kernel_wall_ns);
                let ListenerContext { listeners, frame_counters } = context;
                let opened = P::open(&packet, listeners, readable.listener.id, frame_counters);
                opened.map(|(octets, ingress)| ArrivedDatagram { since_ns, octets, ingress })
            });
            shard.handle_all(now, arrived, replies);
        }
        SocketReadResult { messages, is_more: self.packets.is_full() }
    }

    /// Receives and handles the messages that wait at a UDP socket of a listener; drops those that
    /// waited for longer than `patience_ns`.
    fn receive_udp<P: DaemonFamily, S: LeaseStore<P>>(
        &mut self,
        readable: ReadableSocket<'_, UdpSocket>,
        listeners: &ListenerSet,
        patience_ns: Option<u64>,
        shard: &mut Shard<P, S>,
        replies: &mut ReplyTransmitter<'_>,
    ) -> SocketReadResult
    where
        for<'d> ReplyTransmitter<'d>: ReplySink<P>,
    {
        // An error concerns one datagram (an ICMP error, for instance); the next call continues.
        let messages = self.datagrams.receive(readable.socket).unwrap_or(0);
        if messages > 0 {
            let now = self.begin_batch(patience_ns, shard, replies);
            let arrived = self.datagrams.iter().filter_map(|datagram| {
                let since_ns = since_ns(now, datagram.kernel_wall_ns);
                let ingress = P::ingress(&datagram, listeners, readable.listener, readable.role)?;
                Some(ArrivedDatagram { since_ns, octets: datagram.octets, ingress })
            });
            shard.handle_all(now, arrived, replies);
        }
        SocketReadResult { messages, is_more: self.datagrams.is_full() }
    }

    /// Returns the time at which the shard received a batch, read from the clock. The shard will
    /// drop messages that arrived more than `patience_ns` earlier.
    fn begin_batch<P: DaemonFamily, S: LeaseStore<P>>(
        &mut self,
        patience_ns: Option<u64>,
        shard: &mut Shard<P, S>,
        replies: &mut ReplyTransmitter<'_>,
    ) -> Now {
        self.now = Clock::now();
        replies.settle(self.now);
        let since_ns = patience_ns.map_or(0, |wait_ns| self.now.mono_ns.saturating_sub(wait_ns));
        shard.set_drop_before(since_ns);
        self.now
    }

    fn do_housekeeping<P: DaemonFamily, S: LeaseStore<P>>(
        &mut self,
        index: usize,
        shard: &mut Shard<P, S>,
        shared: &SharedDaemonState<P>,
    ) {
        let now = self.now;
        if now.mono_ns < self.housekeeping_due_ns {
            return;
        }
        shared.pulses.beat(index);
        self.housekeeping_due_ns = now.mono_ns + HOUSEKEEPING_NS;
        let begun_ns = Clock::mono_ns();
        let swept = shard.housekeeping(now, SWEEP_BUDGET);
        if swept.reclaimed() > 0 {
            shared.table.spend_reclaim_time(Clock::mono_ns() - begun_ns);
        }
        if swept.is_more_due {
            self.housekeeping_due_ns = now.mono_ns + HOUSEKEEPING_NS / 10;
        }
        if self.drain_until_ns.is_none() && shared.stop.load(Ordering::Acquire) {
            self.drain_until_ns = Some(now.mono_ns + DRAIN_NS);
        }
    }

    fn is_over<P: DaemonFamily, S: LeaseStore<P>>(&self, shard: &Shard<P, S>) -> bool {
        self.drain_until_ns.is_some_and(|until| shard.is_idle() || self.now.mono_ns >= until)
    }
}
