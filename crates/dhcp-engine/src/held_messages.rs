//! Messages that a shard (server thread) holds until another message of their client is done, until
//! a lease row is durable, or until a host look-up ends.

use std::collections::VecDeque;

use crate::in_flight::ClientKeys;
use crate::protocol::MeasuredRequest;

/// Largest number of messages that a shard may hold at one time.
pub const HELD_CAPACITY: u32 = 4096;
/// Length of the messages for which a shard allocates each buffer at the start, in bytes.
const BUFFER_LEN: usize = 1500;
/// Largest number of messages longer than [`BUFFER_LEN`] that can be held at one time: together at
/// most 16 MiB.
const LONG_MAX: usize = 256;

/// Event that a message held by a shard waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// End of another message of the same client, which is in flight now. The held message has not
    /// entered the set of clients in flight.
    Client,
    /// Settlement of this row epoch: its lease rows are as durable as configured. The held
    /// message's client is in flight.
    Epoch(u64),
    /// Answer to the batch of host look-ups with this number. The held message's client is in
    /// flight.
    Hosts(u64),
}

/// Held message without its bytes, which are in a buffer of the queue.
#[derive(Clone, Copy, Debug)]
pub struct HeldMessage<I> {
    /// Keys of the client in [`InFlight`](crate::in_flight::InFlight).
    pub keys: Option<ClientKeys>,
    /// Address and interface at which the held message was received.
    pub ingress: I,
    /// Type of the held message and the time at which it was received.
    pub request: MeasuredRequest,
    /// Event that the held message waits for.
    pub waits_for: WaitsFor,
    /// Monotonic time at which the shard held the message first, in nanoseconds.
    pub since_ns: u64,
}

/// Bounded queue of the messages that a shard holds, allocated once.
#[derive(Debug)]
pub struct HeldMessages<I> {
    buffers: Box<[Vec<u8>]>,
    free: Vec<u32>,
    queue: VecDeque<(HeldMessage<I>, u32)>,
}

impl<I> HeldMessages<I> {
    /// Returns an empty queue with buffers for `capacity` messages.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        Self {
            buffers: (0..capacity).map(|_| Vec::with_capacity(BUFFER_LEN)).collect(),
            free: (0..capacity).rev().collect(),
            queue: VecDeque::with_capacity(capacity as usize),
        }
    }

    /// Returns the number of messages in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if the queue holds no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Appends a message with a copy of its bytes `octets` to the queue; returns false when the
    /// queue is full.
    #[must_use]
    pub fn push(&mut self, message: HeldMessage<I>, octets: &[u8]) -> bool {
        let is_long = |buffer: &&Vec<u8>| buffer.capacity() > BUFFER_LEN;
        if octets.len() > BUFFER_LEN && self.buffers.iter().filter(is_long).count() >= LONG_MAX {
            return false;
        }
        let Some(index) = self.free.pop() else { return false };
        let buffer = &mut self.buffers[index as usize];
        buffer.clear();
        buffer.extend_from_slice(octets);
        self.queue.push_back((message, index));
        true
    }

    /// Takes the message at the front of the queue, with the index of its buffer. The caller puts
    /// the message or its buffer back.
    pub fn take_first(&mut self) -> Option<(HeldMessage<I>, u32)> {
        self.queue.pop_front()
    }

    /// Puts a message that was taken back at the end of the queue.
    pub fn put_back(&mut self, message: HeldMessage<I>, index: u32) {
        self.queue.push_back((message, index));
    }

    /// Returns the bytes of a taken message, by the index of its buffer; the caller must give the
    /// buffer back.
    pub fn take_octets(&mut self, index: u32) -> Vec<u8> {
        core::mem::take(&mut self.buffers[index as usize])
    }

    /// Gives the buffer of a taken message back to its place at `index`.
    pub fn give_octets_back(&mut self, index: u32, octets: Vec<u8>) {
        self.buffers[index as usize] = octets;
        self.release(index);
    }

    /// Marks the buffer at `index` as free, and shrinks it to [`BUFFER_LEN`].
    fn release(&mut self, index: u32) {
        shorten(&mut self.buffers[index as usize]);
        self.free.push(index);
    }

    /// Restores the buffers of all messages that were taken and not given back, after a panic.
    pub fn restore(&mut self) {
        let mut is_known = vec![false; self.buffers.len()];
        let queued = self.queue.iter().map(|&(_, index)| index);
        queued.chain(self.free.iter().copied()).for_each(|index| is_known[index as usize] = true);
        for (index, buffer) in (0..).zip(self.buffers.iter_mut()) {
            if !is_known[index as usize] {
                *buffer = Vec::with_capacity(BUFFER_LEN);
                self.free.push(index);
            }
        }
    }

    /// Removes every message from the queue that is held since before `oldest_ns`; `u64::MAX`
    /// empties the queue.
    pub fn abandon(&mut self, oldest_ns: u64, mut dropped: impl FnMut(&HeldMessage<I>)) {
        let (free, buffers) = (&mut self.free, &mut self.buffers);
        self.queue.retain(|(message, index)| {
            let stays = message.since_ns >= oldest_ns;
            if !stays {
                dropped(message);
                shorten(&mut buffers[*index as usize]);
                free.push(*index);
            }
            stays
        });
    }
}

/// Shrinks the buffer of a message that was longer than [`BUFFER_LEN`].
fn shorten(buffer: &mut Vec<u8>) {
    if buffer.capacity() > BUFFER_LEN {
        *buffer = Vec::with_capacity(BUFFER_LEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(since_ns: u64) -> HeldMessage<()> {
        HeldMessage {
            keys: None,
            ingress: (),
            request: MeasuredRequest::default(),
            waits_for: WaitsFor::Client,
            since_ns,
        }
    }

    #[test]
    fn it_is_bounded_and_gives_buffers_back() {
        let mut queue = HeldMessages::new(2);
        assert!(queue.push(message(1), b"one"));
        assert!(queue.push(message(2), b"two"));
        assert!(!queue.push(message(3), b"three"));
        let (first, index) = queue.take_first().unwrap();
        assert_eq!(first.since_ns, 1);
        let octets = queue.take_octets(index);
        assert_eq!(octets, b"one");
        queue.give_octets_back(index, octets);
        assert!(queue.push(message(3), b"three"));
        let mut dropped = 0;
        queue.abandon(u64::MAX, |_| dropped += 1);
        assert_eq!((dropped, queue.len()), (2, 0));
    }

    #[test]
    fn buffers_that_were_taken_and_lost_are_made_anew() {
        let mut queue = HeldMessages::new(2);
        assert!(queue.push(message(1), b"one") && queue.push(message(2), b"two"));
        let (_, index) = queue.take_first().unwrap();
        drop(queue.take_octets(index));
        assert!(!queue.push(message(3), b"three"));
        queue.restore();
        assert!(queue.push(message(3), b"three") && !queue.push(message(4), b"four"));
    }

    #[test]
    fn long_messages_are_held_too_and_their_memory_is_given_back() {
        let mut queue = HeldMessages::new(LONG_MAX as u32 + 2);
        let long = [7; 60_000];
        for _ in 0..2 {
            let mut message_count = 0;
            while queue.push(message(1), &long) {
                message_count += 1;
            }
            assert_eq!(message_count, LONG_MAX);
            assert!(queue.push(message(1), &[0; BUFFER_LEN]));
            let (_, index) = queue.take_first().unwrap();
            let octets = queue.take_octets(index);
            assert_eq!(octets, long);
            queue.give_octets_back(index, octets);
            queue.abandon(u64::MAX, |_| {});
            assert!(queue.buffers.iter().all(|buffer| buffer.capacity() == BUFFER_LEN));
        }
    }
}
