//! Leases that clients may renew and release: at most one for each client, a bounded number, and a
//! random one taken in constant time.

use std::collections::HashMap;

use base::Random;

use super::dialect::MessageSender;

/// Largest number of kept leases; those of further clients are neither renewed nor released.
pub(crate) const LEASES_MAX: usize = 65_536;

/// Leases with their clients.
#[derive(Clone, Debug)]
pub struct RenewableLeases<L> {
    held: Vec<(MessageSender, L)>,
    places: HashMap<u32, usize>,
}

impl<L: Copy> RenewableLeases<L> {
    /// Creates an empty pool, with its memory allocated at once when `is_used`.
    #[must_use]
    pub fn new(is_used: bool) -> Self {
        let capacity = if is_used { LEASES_MAX } else { 0 };
        Self { held: Vec::with_capacity(capacity), places: HashMap::with_capacity(capacity) }
    }

    /// Keeps `lease`, instead of an older one of the same client.
    pub fn put(&mut self, who: MessageSender, lease: L) {
        if let Some(&place) = self.places.get(&who.client) {
            self.held[place] = (who, lease);
        } else if self.held.len() < self.held.capacity() {
            self.places.insert(who.client, self.held.len());
            self.held.push((who, lease));
        }
    }

    /// Takes out a random lease.
    pub fn take(&mut self, random: &mut Random) -> Option<(MessageSender, L)> {
        let count = self.held.len() as u64;
        if count == 0 {
            return None;
        }
        let place = random.below(count) as usize;
        let taken = self.held.swap_remove(place);
        self.places.remove(&taken.0.client);
        if let Some((moved, _)) = self.held.get(place) {
            self.places.insert(moved.client, place);
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_one_lease_and_each_is_taken_once() {
        let mut pool = RenewableLeases::new(true);
        let who = |client| MessageSender { client, link: 0 };
        for lease in 0..3_000_u32 {
            pool.put(who(lease % 1_000), lease);
        }
        let mut random = Random::from_seed(5);
        let mut taken: Vec<u32> = std::iter::from_fn(|| pool.take(&mut random))
            .map(|(who, lease)| {
                assert_eq!(who.client, lease % 1_000);
                lease
            })
            .collect();
        taken.sort_unstable();
        assert!(taken.into_iter().eq(2_000..3_000));
        let mut none = RenewableLeases::new(false);
        none.put(who(1), 1);
        assert!(none.take(&mut random).is_none());
    }
}
