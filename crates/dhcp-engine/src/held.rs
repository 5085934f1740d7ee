//! Messages that wait: for their client's transaction in flight to end, or for a row to settle.

use std::collections::VecDeque;

use crate::in_flight::ClientKeys;
use crate::protocol::Asked;

/// Length of the messages for which there is room from the start, octets.
const BUFFER_LEN: usize = 1500;
/// Messages longer than that which can be held at one time: 16 MiB of them at most.
const LONG_MAX: usize = 256;

/// What a held message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Another message of the same client, in flight now. The held one has not entered.
    Client,
    /// This row epoch. The message has entered.
    Epoch(u64),
    /// This batch of hosts that are looked up. The message has entered.
    Hosts(u64),
}

/// A held message without its octets.
#[derive(Clone, Copy, Debug)]
pub struct Held<I> {
    /// The client.
    pub keys: Option<ClientKeys>,
    /// How the message came in.
    pub ingress: I,
    /// Its type, and when it came.
    pub asked: Asked,
    /// What it waits for.
    pub waits_for: WaitsFor,
    /// Monotonic time at which it was held first.
    pub since_ns: u64,
}

/// A bounded queue of held messages, allocated once.
#[derive(Debug)]
pub struct HeldMessages<I> {
    buffers: Box<[Vec<u8>]>,
    free: Vec<u32>,
    queue: VecDeque<(Held<I>, u32)>,
}

impl<I> HeldMessages<I> {
    /// A queue for `capacity` messages.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        Self {
            buffers: (0..capacity).map(|_| Vec::with_capacity(BUFFER_LEN)).collect(),
            free: (0..capacity).rev().collect(),
            queue: VecDeque::with_capacity(capacity as usize),
        }
    }

    /// Messages held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// True when none is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Holds a copy of `octets`; false when there is no room.
    #[must_use]
    pub fn push(&mut self, held: Held<I>, octets: &[u8]) -> bool {
        let is_long = |buffer: &&Vec<u8>| buffer.capacity() > BUFFER_LEN;
        if octets.len() > BUFFER_LEN && self.buffers.iter().filter(is_long).count() >= LONG_MAX {
            return false;
        }
        let Some(index) = self.free.pop() else { return false };
        let buffer = &mut self.buffers[index as usize];
        buffer.clear();
        buffer.extend_from_slice(octets);
        self.queue.push_back((held, index));
        true
    }

    /// Takes the message at the front, to be put back or given back.
    pub fn take_first(&mut self) -> Option<(Held<I>, u32)> {
        self.queue.pop_front()
    }

    /// Puts a message back at the end.
    pub fn put_back(&mut self, held: Held<I>, index: u32) {
        self.queue.push_back((held, index));
    }

    /// The octets of a message taken; its buffer must be given back.
    pub fn take_octets(&mut self, index: u32) -> Vec<u8> {
        core::mem::take(&mut self.buffers[index as usize])
    }

    /// Gives a message's buffer back.
    pub fn give_octets_back(&mut self, index: u32, octets: Vec<u8>) {
        self.buffers[index as usize] = octets;
        self.release(index);
    }

    /// Makes a buffer free, and as short as the others.
    fn release(&mut self, index: u32) {
        shorten(&mut self.buffers[index as usize]);
        self.free.push(index);
    }

    /// Gives back the buffers of all messages that were taken and not given back, after a panic.
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

    /// Takes out every message held since before `oldest_ns`; `u64::MAX` empties it.
    pub fn abandon(&mut self, oldest_ns: u64, mut dropped: impl FnMut(&Held<I>)) {
        let (free, buffers) = (&mut self.free, &mut self.buffers);
        self.queue.retain(|(held, index)| {
            let stays = held.since_ns >= oldest_ns;
            if !stays {
                dropped(held);
                shorten(&mut buffers[*index as usize]);
                free.push(*index);
            }
            stays
        });
    }
}

/// Gives back the memory of a message that was longer than [`BUFFER_LEN`].
fn shorten(buffer: &mut Vec<u8>) {
    if buffer.capacity() > BUFFER_LEN {
        *buffer = Vec::with_capacity(BUFFER_LEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(since_ns: u64) -> Held<()> {
        Held {
            keys: None,
            ingress: (),
            asked: Asked::default(),
            waits_for: WaitsFor::Client,
            since_ns,
        }
    }

    #[test]
    fn it_is_bounded_and_gives_buffers_back() {
        let mut queue = HeldMessages::new(2);
        assert!(queue.push(held(1), b"one"));
        assert!(queue.push(held(2), b"two"));
        assert!(!queue.push(held(3), b"three"));
        let (first, index) = queue.take_first().unwrap();
        assert_eq!(first.since_ns, 1);
        let octets = queue.take_octets(index);
        assert_eq!(octets, b"one");
        queue.give_octets_back(index, octets);
        assert!(queue.push(held(3), b"three"));
        let mut dropped = 0;
        queue.abandon(u64::MAX, |_| dropped += 1);
        assert_eq!((dropped, queue.len()), (2, 0));
    }

    #[test]
    fn buffers_that_were_taken_and_lost_are_made_anew() {
        let mut queue = HeldMessages::new(2);
        assert!(queue.push(held(1), b"one") && queue.push(held(2), b"two"));
        let (_, index) = queue.take_first().unwrap();
        drop(queue.take_octets(index));
        assert!(!queue.push(held(3), b"three"));
        queue.restore();
        assert!(queue.push(held(3), b"three") && !queue.push(held(4), b"four"));
    }

    #[test]
    fn long_messages_are_held_too_and_their_memory_is_given_back() {
        let mut queue = HeldMessages::new(LONG_MAX as u32 + 2);
        let long = [7; 60_000];
        for _ in 0..2 {
            let mut held_count = 0;
            while queue.push(held(1), &long) {
                held_count += 1;
            }
            assert_eq!(held_count, LONG_MAX);
            assert!(queue.push(held(1), &[0; BUFFER_LEN]));
            let (_, index) = queue.take_first().unwrap();
            let octets = queue.take_octets(index);
            assert_eq!(octets, long);
            queue.give_octets_back(index, octets);
            queue.abandon(u64::MAX, |_| {});
            assert!(queue.buffers.iter().all(|buffer| buffer.capacity() == BUFFER_LEN));
        }
    }
}
