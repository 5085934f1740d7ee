//! The loop of one shard: receive, handle, settle, send. This file is the whole packet path of the
//! daemon; everything that it calls is testable without it.
//!
//! Budget per batch of up to 64 messages: one `recvmmsg`, one `sendmmsg` per socket that has
//! replies, one `write` of the rows when the durability lets the shard write them itself, one
//! clock read; no allocation. It polls only when there was nothing to receive.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Now;
use base::time::NS_PER_MS;
use dhcp_engine::v4::{Ingress, Shard, Snapshot, Transmit};
use dhcp_lease::v4::{LeaseStore, V4};
use netio::{Clock, PollFd, RecvBatch, UdpSocket, Waker};

use crate::reload::SnapshotCell;

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
    pub(crate) snapshot: SnapshotCell,
}

/// Serves until told to stop, then until the outbox is empty or [`DRAIN_NS`] have passed.
pub(crate) fn serve<S: LeaseStore<V4>>(
    (index, shard): (usize, &mut Shard<S>),
    sockets: &[UdpSocket],
    waker: &Waker,
    shared: &Shared,
    mut replies: crate::transmit::Replies<'_>,
) {
    let mut batch = RecvBatch::default();
    let mut version = shared.snapshot.version();
    let mut now = Clock::now();
    let mut housekeeping_due_ns = now.mono_ns;
    let mut drain_until_ns = None;
    let mut fds: Vec<PollFd<'_>> = sockets.iter().map(PollFd::readable).collect();
    fds.push(PollFd::readable(waker));
    loop {
        reload_if_changed((index, shard), &shared.snapshot, &mut version);
        let mut received = 0;
        if drain_until_ns.is_none() {
            for (door, socket) in (0..).zip(sockets) {
                // An error belongs to one datagram (an ICMP answer, say): the next call goes on.
                received += batch.receive(socket).unwrap_or(0);
                now = Clock::now();
                handle_batch(shard, now, &batch, door, &mut replies);
            }
        }
        shard.end_batch(now, &mut replies);
        shard.count_given_up(replies.flush());
        if now.mono_ns >= housekeeping_due_ns {
            housekeeping_due_ns = now.mono_ns + HOUSEKEEPING_NS;
            let swept = shard.housekeeping(now, SWEEP_BUDGET);
            if swept.is_more_due {
                housekeeping_due_ns = now.mono_ns + HOUSEKEEPING_NS / 10;
            }
            if drain_until_ns.is_none() && shared.stop.load(Ordering::Acquire) {
                drain_until_ns = Some(now.mono_ns + DRAIN_NS);
            }
        }
        if drain_until_ns.is_some_and(|until| shard.is_idle() || now.mono_ns >= until) {
            return;
        }
        if received == 0 {
            // A failed wait only means that the next look comes early.
            let timeout_ns = housekeeping_due_ns.saturating_sub(now.mono_ns);
            netio::poll(&mut fds, Some(timeout_ns)).ok();
            waker.drain();
            now = Clock::now();
        }
    }
}

fn handle_batch<S: LeaseStore<V4>>(
    shard: &mut Shard<S>,
    now: Now,
    batch: &RecvBatch,
    door: u16,
    replies: &mut impl Transmit,
) {
    for datagram in batch.iter() {
        let SocketAddr::V4(source) = datagram.source else { continue };
        let local = match datagram.local {
            Some(IpAddr::V4(local)) => local,
            _ => Ipv4Addr::UNSPECIFIED,
        };
        let ingress = Ingress { source, local, door };
        shard.handle(now, datagram.octets, ingress, replies);
    }
}

fn reload_if_changed<S: LeaseStore<V4>>(
    (index, shard): (usize, &mut Shard<S>),
    cell: &SnapshotCell,
    version: &mut u64,
) {
    if cell.version() != *version {
        let (snapshot, new_version): (Arc<Snapshot>, u64) = cell.take(index);
        shard.reload(snapshot);
        *version = new_version;
    }
}
