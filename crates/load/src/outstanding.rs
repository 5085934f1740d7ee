//! Open exchanges of a generator, found by number in constant time and closed in order.

/// Ring of open exchanges numbered 0, 1, 2 … in the order of their due times. Because all of them
/// stay for the same time, the oldest is always the next to leave: closing needs no timer wheel,
/// finding no hashing, and an exchange that has left is never mistaken for one that reuses its
/// slot. The ring allocates once.
#[derive(Clone, Debug)]
pub struct Outstanding<T> {
    slots: Vec<Option<OutstandingSlot<T>>>,
    mask: u64,
    oldest: u64,
    next: u64,
}

#[derive(Clone, Debug)]
struct OutstandingSlot<T> {
    due_ns: u64,
    value: T,
}

impl<T: Clone> Outstanding<T> {
    /// Creates a ring for at least `capacity` exchanges at a time; its memory is present from the
    /// start.
    ///
    /// # Panics
    ///
    /// Panics when `capacity` exceeds 2^32.
    pub fn with_capacity(capacity: u64, blank: T) -> Self {
        assert!(capacity <= 1 << 32, "{capacity} exchanges at a time");
        let count = capacity.max(1).next_power_of_two();
        // The table is filled before it is emptied: a table of empty slots may be mapped lazily,
        // and its page faults would fall into the measurement.
        let mut slots =
            vec![Some(OutstandingSlot { due_ns: u64::MAX, value: blank }); count as usize];
        slots.fill(None);
        Self { slots, mask: count - 1, oldest: 0, next: 0 }
    }
}

impl<T> Outstanding<T> {
    /// Opens the next exchange, due at `due_ns`; returns its number, or `None` when the ring is
    /// full.
    ///
    /// Due times must not decrease.
    pub fn open(&mut self, due_ns: u64, value: T) -> Option<u64> {
        if self.next - self.oldest > self.mask {
            return None;
        }
        let number = self.next;
        self.slots[(number & self.mask) as usize] = Some(OutstandingSlot { due_ns, value });
        self.next += 1;
        Some(number)
    }

    /// Returns the due time and the value of exchange `number`; `None` when it never was opened or
    /// has left.
    pub fn find(&mut self, number: u64) -> Option<(u64, &mut T)> {
        if number < self.oldest || number >= self.next {
            return None;
        }
        let slot = self.slots[(number & self.mask) as usize].as_mut()?;
        Some((slot.due_ns, &mut slot.value))
    }

    /// Returns the value of exchange `number` as [`Outstanding::find`] does, without mutable
    /// access.
    pub fn get(&self, number: u64) -> Option<&T> {
        if number < self.oldest || number >= self.next {
            return None;
        }
        self.slots[(number & self.mask) as usize].as_ref().map(|slot| &slot.value)
    }

    /// Removes the oldest exchange if it was due before `before_ns`, and returns its number and
    /// value.
    pub fn close_oldest(&mut self, before_ns: u64) -> Option<(u64, T)> {
        let index = (self.oldest & self.mask) as usize;
        let due_ns = self.slots[index].as_ref().map(|slot| slot.due_ns)?;
        if due_ns >= before_ns {
            return None;
        }
        let number = self.oldest;
        self.oldest += 1;
        self.slots[index].take().map(|slot| (number, slot.value))
    }

    /// Returns the due time of the oldest open exchange, in nanoseconds.
    pub fn oldest_due_ns(&self) -> Option<u64> {
        self.slots[(self.oldest & self.mask) as usize].as_ref().map(|slot| slot.due_ns)
    }

    /// Returns the number of open exchanges in the ring.
    pub const fn len(&self) -> u64 {
        self.next - self.oldest
    }

    /// Returns true when the ring has no open exchange.
    pub const fn is_empty(&self) -> bool {
        self.next == self.oldest
    }

    /// Returns the number that [`Outstanding::open`] will give to the next exchange.
    pub const fn next_number(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use base::Random;

    use super::*;

    #[test]
    fn behaves_like_a_queue_of_pairs() {
        let mut random = Random::from_seed(21);
        for capacity in [1, 2, 7, 64] {
            let mut ring = Outstanding::with_capacity(capacity, 0_u64);
            let room = capacity.next_power_of_two() as usize;
            let mut model: VecDeque<(u64, u64, u64)> = VecDeque::new();
            let (mut due_ns, mut number) = (0, 0);
            for _ in 0..50_000 {
                match random.below(3) {
                    0 => {
                        due_ns += random.below(3);
                        let value = random.next_u64();
                        let expected = (model.len() < room).then_some(number);
                        assert_eq!(ring.open(due_ns, value), expected);
                        if expected.is_some() {
                            model.push_back((number, due_ns, value));
                            number += 1;
                        }
                    }
                    1 => {
                        let before = due_ns.saturating_sub(random.below(5));
                        let front = model.front().copied().filter(|entry| entry.1 < before);
                        let expected = front.map(|(number, _, value)| (number, value));
                        assert_eq!(ring.close_oldest(before), expected);
                        if expected.is_some() {
                            model.pop_front();
                        }
                    }
                    _ => {
                        let number_to_find =
                            (number + 3).saturating_sub(random.below(2 * capacity + 6));
                        let expected = model.iter().find(|entry| entry.0 == number_to_find);
                        assert_eq!(
                            ring.find(number_to_find).map(|(due_ns, value)| (due_ns, *value)),
                            expected.map(|&(_, due_ns, value)| (due_ns, value))
                        );
                    }
                }
                assert_eq!(ring.len(), model.len() as u64);
                assert_eq!(ring.oldest_due_ns(), model.front().map(|entry| entry.1));
            }
        }
    }
}
