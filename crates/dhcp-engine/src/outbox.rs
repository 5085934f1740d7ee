//! Replies that a shard (server thread) holds until their lease rows are durable. The order is not
//! first-in-first-out: each reply leaves when the epoch of its own row has settled.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::in_flight::ClientKeys;
use crate::protocol::MeasuredRequest;

/// Length of a reply for which each slot of the outbox is allocated, in bytes: the payload of an
/// Ethernet frame.
const SLOT_LEN: usize = 1472;
/// Largest total length of all waiting replies that are longer than [`SLOT_LEN`], in bytes.
const LONG_BYTES_MAX: usize = 16 << 20;

/// Bounded set of the replies of a shard that wait for their rows, allocated once. `D` is the type
/// of a destination, `I` that of a message's ingress.
#[derive(Debug)]
pub struct Outbox<D, I> {
    slots: Box<[OutboxSlot<D, I>]>,
    /// Bytes of the slots' replies: [`SLOT_LEN`] bytes for each slot that was used at least once,
    /// with capacity for all slots: memory that no reply needed is never written.
    octets: Vec<u8>,
    free: Vec<u32>,
    by_epoch: BinaryHeap<Reverse<(u64, u32)>>,
    /// Total length of the waiting replies that are longer than a slot, in bytes.
    long_bytes: usize,
}

#[derive(Debug)]
struct OutboxSlot<D, I> {
    envelope: Option<Envelope<D, I>>,
    since_ns: u64,
    len: usize,
    /// Bytes of a reply that is longer than [`SLOT_LEN`]. Such replies are rare, so each has its
    /// own allocation.
    long: Option<Box<[u8]>>,
}

/// Data of a waiting reply apart from its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<D, I> {
    /// Destination that the reply is sent to.
    pub destination: D,
    /// Address and interface at which the reply's request was received.
    pub ingress: I,
    /// Keys of the client that is in flight until the reply leaves.
    pub keys: Option<ClientKeys>,
    /// Request that the waiting reply answers.
    pub request: MeasuredRequest,
    /// Position of the reply's kind in [`Protocol::SENT`](crate::Protocol::SENT).
    pub kind: usize,
}

impl<D: Copy, I: Copy> Outbox<D, I> {
    /// Returns an empty outbox for `capacity` replies.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        let slot = || OutboxSlot { envelope: None, since_ns: 0, len: 0, long: None };
        Self {
            slots: (0..capacity).map(|_| slot()).collect(),
            octets: Vec::with_capacity(capacity as usize * SLOT_LEN),
            free: (0..capacity).rev().collect(),
            by_epoch: BinaryHeap::with_capacity(capacity as usize),
            long_bytes: 0,
        }
    }

    /// Returns the number of replies that wait in the outbox.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_epoch.len()
    }

    /// Returns true if no reply waits in the outbox.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_epoch.is_empty()
    }

    /// Returns true if fewer than a quarter of the outbox's slots are free: then messages that
    /// begin an exchange should wait, and those that end one may still enter.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.free.len() * 4 < self.slots.len()
    }

    /// Copies the reply `octets` and holds it until the lease rows of `epoch` are durable; returns
    /// false when the outbox has no room.
    #[must_use]
    pub fn push(
        &mut self,
        epoch: u64,
        since_ns: u64,
        envelope: Envelope<D, I>,
        octets: &[u8],
    ) -> bool {
        let is_long = octets.len() > SLOT_LEN;
        if is_long && self.long_bytes + octets.len() > LONG_BYTES_MAX {
            return false;
        }
        let Some(index) = self.free.pop() else { return false };
        let slot = &mut self.slots[index as usize];
        if is_long {
            self.long_bytes += octets.len();
            slot.long = Some(octets.into());
        } else {
            let start = index as usize * SLOT_LEN;
            if self.octets.len() < start + SLOT_LEN {
                self.octets.resize(start + SLOT_LEN, 0);
            }
            self.octets[start..start + octets.len()].copy_from_slice(octets);
        }
        slot.len = octets.len();
        slot.since_ns = since_ns;
        slot.envelope = Some(envelope);
        self.by_epoch.push(Reverse((epoch, index)));
        true
    }

    /// Passes every waiting reply whose row epoch is at most `settled` to `send` with that epoch,
    /// lowest first, and removes it from the outbox.
    pub fn release(&mut self, settled: u64, mut send: impl FnMut(u64, Envelope<D, I>, &[u8])) {
        while let Some(&Reverse((epoch, index))) = self.by_epoch.peek() {
            if epoch > settled {
                break;
            }
            self.by_epoch.pop();
            let slot = &mut self.slots[index as usize];
            let long = slot.long.take();
            self.long_bytes -= long.as_ref().map_or(0, |octets| octets.len());
            if let Some(envelope) = slot.envelope {
                let start = index as usize * SLOT_LEN;
                let octets =
                    long.as_deref().unwrap_or_else(|| &self.octets[start..start + slot.len]);
                send(epoch, envelope, octets);
            }
            self.free.push(index);
        }
    }

    /// Removes every reply that has waited since before `oldest_ns` and passes it to `dropped`;
    /// `u64::MAX` empties the outbox.
    pub fn abandon(&mut self, oldest_ns: u64, mut dropped: impl FnMut(Envelope<D, I>)) {
        let (slots, free) = (&mut self.slots, &mut self.free);
        let long_bytes = &mut self.long_bytes;
        self.by_epoch.retain(|&Reverse((_, index))| {
            let slot = &mut slots[index as usize];
            let stays = slot.since_ns >= oldest_ns;
            if !stays {
                *long_bytes -= slot.long.take().map_or(0, |octets| octets.len());
                if let Some(envelope) = slot.envelope {
                    dropped(envelope);
                }
                free.push(index);
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(kind: usize) -> Envelope<(), ()> {
        Envelope {
            destination: (),
            ingress: (),
            keys: None,
            request: MeasuredRequest::default(),
            kind,
        }
    }

    #[test]
    fn replies_leave_by_epoch_and_not_before() {
        let mut outbox = Outbox::new(4);
        for (epoch, octet) in [(7, 1), (5, 2), (6, 3)] {
            assert!(outbox.push(epoch, epoch, envelope(1), &[octet]));
        }
        let mut sent = Vec::new();
        outbox.release(4, |_, _, octets| sent.push(octets[0]));
        assert!(sent.is_empty());
        outbox.release(6, |_, _, octets| sent.push(octets[0]));
        assert_eq!(sent, [2, 3]);
        assert_eq!(outbox.len(), 1);
    }

    #[test]
    fn it_is_bounded_and_gives_room_back() {
        let mut outbox = Outbox::new(2);
        assert!(outbox.push(1, 10, envelope(7), &[0]));
        assert!(!outbox.is_crowded());
        assert!(outbox.push(2, 20, envelope(8), &[1]));
        assert!(outbox.is_crowded());
        assert!(!outbox.push(3, 30, envelope(9), &[2]));
        let mut dropped = Vec::new();
        outbox.abandon(20, |envelope| dropped.push(envelope.kind));
        assert_eq!(dropped, [7]);
        assert!(outbox.push(3, 30, envelope(9), &[2]));
    }

    #[test]
    fn longer_replies_than_a_frame_holds_wait_too_and_are_bounded() {
        let mut outbox = Outbox::new(1_000);
        let octets: Vec<u8> = (0..60_000_u32).map(|n| n as u8).collect();
        let mut pushed = 0;
        while outbox.push(pushed, pushed, envelope(1), &octets) {
            pushed += 1;
        }
        assert_eq!(pushed as usize, LONG_BYTES_MAX / octets.len());
        assert!(outbox.push(0, 0, envelope(1), &octets[..SLOT_LEN]));
        let mut sent = Vec::new();
        outbox.release(9, |_, _, reply| sent.push(reply == octets));
        assert_eq!(sent.iter().filter(|is_whole| **is_whole).count(), 10);
        outbox.abandon(u64::MAX, |_| {});
        assert!(outbox.is_empty() && outbox.long_bytes == 0);
        assert!(outbox.push(1, 1, envelope(1), &octets));
    }
}
