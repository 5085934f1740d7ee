//! Queue of the datagrams of a connection that wait to be sent.

use std::collections::VecDeque;

use super::config::QueuePolicy;

#[derive(Clone, Debug)]
struct PrioritizedDatagram {
    data: Vec<u8>,
    priority: u32,
}

/// Send queue with a largest length and an order.
#[derive(Clone, Debug)]
pub(super) struct SendQueue {
    waiting: VecDeque<PrioritizedDatagram>,
    /// Memory of datagrams that have left the send queue, reused for later ones; together with the
    /// waiting datagrams never more than `len_max`.
    spare: Vec<Vec<u8>>,
    len_max: usize,
    policy: QueuePolicy,
}

impl SendQueue {
    pub(super) const fn new(len_max: usize, policy: QueuePolicy) -> Self {
        Self { waiting: VecDeque::new(), spare: Vec::new(), len_max, policy }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.spare = Vec::new();
    }

    /// Adds a copy of a datagram to the send queue. Returns false when there is no room for it.
    pub(super) fn push(&mut self, data: &[u8], priority: u32) -> bool {
        if self.waiting.len() >= self.len_max {
            let QueuePolicy::Priority = self.policy else { return false };
            let lowest = self.waiting.iter().enumerate().rev().min_by_key(|(_, w)| w.priority);
            let dropped = match lowest.map(|(index, waiting)| (index, waiting.priority)) {
                Some((index, lowest)) if lowest < priority => self.waiting.remove(index),
                _ => return false,
            };
            self.recycle(dropped.map(|waiting| waiting.data).unwrap_or_default());
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(data);
        self.waiting.push_back(PrioritizedDatagram { data: copy, priority });
        true
    }

    /// Takes back the memory of a datagram that has left the send queue.
    pub(super) fn recycle(&mut self, data: Vec<u8>) {
        if self.waiting.len() + self.spare.len() < self.len_max {
            self.spare.push(data);
        }
    }

    /// Returns the datagram that leaves next, without removing it.
    pub(super) fn next(&self) -> Option<&[u8]> {
        self.next_index().map(|index| &self.waiting[index].data[..])
    }

    /// Removes and returns the datagram that leaves next.
    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        let index = self.next_index()?;
        self.waiting.remove(index).map(|waiting| waiting.data)
    }

    fn next_index(&self) -> Option<usize> {
        match self.policy {
            QueuePolicy::Simple => (!self.waiting.is_empty()).then_some(0),
            // The first one of the highest priority.
            QueuePolicy::Priority => {
                let highest = self.waiting.iter().map(|waiting| waiting.priority).max()?;
                self.waiting.iter().position(|waiting| waiting.priority == highest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(mut queue: SendQueue) -> Vec<u8> {
        core::iter::from_fn(|| queue.pop()).map(|data| data[0]).collect()
    }

    #[test]
    fn the_simple_policy_keeps_order_and_refuses() {
        let mut queue = SendQueue::new(2, QueuePolicy::Simple);
        assert!(queue.push(&[1], 0) && queue.push(&[2], 9) && !queue.push(&[3], 10));
        assert_eq!(drain(queue), [1, 2]);
    }

    #[test]
    fn the_priority_policy_sends_the_highest_and_drops_the_lowest() {
        let mut queue = SendQueue::new(3, QueuePolicy::Priority);
        for (data, priority) in [(1, 5), (2, 1), (3, 5), (4, 9)] {
            assert!(queue.push(&[data], priority));
        }
        assert!(!queue.push(&[5], 5), "no higher than the lowest");
        assert_eq!(drain(queue), [4, 1, 3]);
    }
}
