//! The loop of one shard: receive, handle, settle, send. This file is the whole packet path of the
//! daemon; everything that it calls is testable without it.
//!
//! Budget per batch of up to 64 messages: one `recvmmsg`, one `sendmmsg` per door that has replies,
//! one `write` of the rows when the durability lets the shard write them itself, one clock read; no
//! allocation. It polls only when there was nothing to receive.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Now;
use base::time::NS_PER_MS;
use dhcp_engine::v4::{Ingress, Shard, Snapshot};
use dhcp_lease::v4::{LeaseStore, V4};
use netio::{Clock, Datagram, PacketRecvBatch, PollFd, RecvBatch, Waker};

use crate::doors::{Door, Doors, Socket};
use crate::frames::{self, FrameCounters};
use crate::published::{Published, Seen};
use crate::transmit::{Addressing, Batches, Replies};

/// How often expiry and deadlines are looked at.
const HOUSEKEEPING_NS: u64 = 50 * NS_PER_MS;
/// Slots that one housekeeping may reclaim: 20,000 a second and shard.
const SWEEP_BUDGET: u32 = 1_000;
/// How long a stopping shard waits for replies whose rows are on their way.
const DRAIN_NS: u64 = 2_000 * NS_PER_MS;

/// What a shard shares with the rest of the daemon.
pub(crate) struct Shared {
    /// Set when the daemon is to end.
    pub(crate) stop: AtomicBool,
    /// The configuration to serve.
    pub(crate) snapshot: Published<Snapshot>,
    /// The doors to serve at.
    pub(crate) doors: Arc<Published<Doors>>,
}

/// A shard with all that its thread needs.
pub(crate) struct Desk<S> {
    /// The shard's number.
    pub(crate) index: usize,
    pub(crate) shard: Shard<S>,
    pub(crate) waker: Arc<Waker>,
    pub(crate) frame_counters: Arc<FrameCounters>,
    pub(crate) addressing: Addressing,
    pub(crate) batches: Batches,
}

/// What was received, and when what is to be done.
struct Course {
    datagrams: RecvBatch,
    packets: PacketRecvBatch,
    now: Now,
    housekeeping_due_ns: u64,
    drain_until_ns: Option<u64>,
}

/// Serves until told to stop, then until the outbox is empty or [`DRAIN_NS`] have passed.
pub(crate) fn serve<S: LeaseStore<V4>>(mut desk: Desk<S>, shared: &Shared) {
    let now = Clock::now();
    let mut course = Course {
        datagrams: RecvBatch::default(),
        packets: PacketRecvBatch::default(),
        now,
        housekeeping_due_ns: now.mono_ns,
        drain_until_ns: None,
    };
    let mut snapshot = shared.snapshot.see(desk.index);
    let mut doors = shared.doors.see(desk.index);
    loop {
        desk.shard.set_interfaces(Arc::clone(&doors.value.names));
        desk.batches.follow(doors.value.of_shard(desk.index));
        if !serve_at(&doors, &mut desk, &mut course, &mut snapshot, shared) {
            return;
        }
        shared.doors.catch_up(desk.index, &mut doors);
    }
}

/// Serves at `doors` until there are others; false when it is time to end.
fn serve_at<S: LeaseStore<V4>>(
    doors: &Seen<Doors>,
    desk: &mut Desk<S>,
    course: &mut Course,
    snapshot: &mut Seen<Snapshot>,
    shared: &Shared,
) -> bool {
    let (shard, own) = (&mut desk.shard, doors.value.of_shard(desk.index));
    let mut replies = Replies::new(own, &mut desk.batches, desk.addressing);
    let mut fds: Vec<PollFd<'_>> = own.iter().map(|door| PollFd::readable(&door.socket)).collect();
    fds.push(PollFd::readable(&*desk.waker));
    while !shared.doors.has_changed(doors) {
        if shared.snapshot.has_changed(snapshot) {
            shared.snapshot.catch_up(desk.index, snapshot);
            shard.reload(Arc::clone(&snapshot.value));
        }
        let mut received = 0;
        if course.drain_until_ns.is_none() {
            for door in own {
                received +=
                    course.receive(door, &doors.value, &desk.frame_counters, shard, &mut replies);
            }
        }
        shard.end_batch(course.now, &mut replies);
        shard.count_given_up(replies.flush());
        course.keep_house(shard, shared);
        if course.is_over(shard) {
            return false;
        }
        if received == 0 {
            // A failed wait only means that the next look comes early.
            let timeout_ns = course.housekeeping_due_ns.saturating_sub(course.now.mono_ns);
            netio::poll(&mut fds, Some(timeout_ns)).ok();
            desk.waker.drain();
            course.now = Clock::now();
        }
    }
    true
}

impl Course {
    /// Takes in what waits at `door`; how many messages there were.
    fn receive<S: LeaseStore<V4>>(
        &mut self,
        door: &Door,
        doors: &Doors,
        frame_counters: &FrameCounters,
        shard: &mut Shard<S>,
        replies: &mut Replies<'_>,
    ) -> usize {
        // An error belongs to one datagram (an ICMP answer, say): the next call goes on.
        match &door.socket {
            Socket::Udp(socket) => {
                let received = self.datagrams.receive(socket).unwrap_or(0);
                self.now = Clock::now();
                for datagram in self.datagrams.iter() {
                    if let Some(ingress) = ingress(&datagram, door.id) {
                        shard.handle(self.now, datagram.octets, ingress, replies);
                    }
                }
                received
            }
            Socket::Packet(socket) => {
                let received = self.packets.receive(socket).unwrap_or(0);
                self.now = Clock::now();
                for packet in self.packets.iter() {
                    let opened = frames::open(&packet, doors, door.id, frame_counters);
                    if let Some((octets, ingress)) = opened {
                        shard.handle(self.now, octets, ingress, replies);
                    }
                }
                received
            }
        }
    }

    fn keep_house<S: LeaseStore<V4>>(&mut self, shard: &mut Shard<S>, shared: &Shared) {
        let now = self.now;
        if now.mono_ns < self.housekeeping_due_ns {
            return;
        }
        self.housekeeping_due_ns = now.mono_ns + HOUSEKEEPING_NS;
        let swept = shard.housekeeping(now, SWEEP_BUDGET);
        if swept.is_more_due {
            self.housekeeping_due_ns = now.mono_ns + HOUSEKEEPING_NS / 10;
        }
        if self.drain_until_ns.is_none() && shared.stop.load(Ordering::Acquire) {
            self.drain_until_ns = Some(now.mono_ns + DRAIN_NS);
        }
    }

    fn is_over<S: LeaseStore<V4>>(&self, shard: &Shard<S>) -> bool {
        self.drain_until_ns.is_some_and(|until| shard.is_idle() || self.now.mono_ns >= until)
    }
}

/// How a datagram came in; `None` for another family's, which an IPv4 socket does not get.
fn ingress(datagram: &Datagram<'_>, door: u16) -> Option<Ingress> {
    let SocketAddr::V4(source) = datagram.source else { return None };
    let local = match datagram.local {
        Some(IpAddr::V4(local)) => local,
        _ => Ipv4Addr::UNSPECIFIED,
    };
    // What is for us alone is sent to the address that we answer from.
    let is_broadcast = datagram.destination != datagram.local;
    Some(Ingress { source, local, interface: datagram.interface, is_broadcast, door })
}
