//! Leases that clients may renew and release: at most one for each client, a bounded number, and a
//! random one taken in constant time.

use std::collections::HashMap;

use base::Random;

use super::dialect::MessageSender;

/// Largest number of kept leases; the leases of further clients are neither renewed nor released.
pub(crate) const LEASES_MAX: usize = 65_536;

/// Leases that clients may renew or release, with their clients.
#[derive(Clone, Debug)]
pub struct RenewableLeases<L> {
    leases: Vec<(MessageSender, L)>,
    index_by_client: HashMap<u32, usize>,
}

impl<L: Copy> RenewableLeases<L> {
    /// Creates an empty pool of leases, with its memory allocated at once when `is_used`.
    pub fn new(is_used: bool) -> Self {
        let capacity = if is_used { LEASES_MAX } else { 0 };
        Self {
            leases: Vec::with_capacity(capacity),
            index_by_client: HashMap::with_capacity(capacity),
        }
    }

    /// Keeps `lease` of client `who`, instead of an older one of that client.
    pub fn put(&mut self, who: MessageSender, lease: L) {
        if let Some(&index) = self.index_by_client.get(&who.client) {
            self.leases[index] = (who, lease);
        } else if self.leases.len() < self.leases.capacity() {
            self.index_by_client.insert(who.client, self.leases.len());
            self.leases.push((who, lease));
        }
    }

    /// Removes a random lease from the pool and returns it with its client; `None` when there is
    /// none.
    pub fn take(&mut self, random: &mut Random) -> Option<(MessageSender, L)> {
        let count = self.leases.len() as u64;
        if count == 0 {
            return None;
        }
        let index = random.below(count) as usize;
        let lease = self.leases.swap_remove(index);
        self.index_by_client.remove(&lease.0.client);
        if let Some((moved, _)) = self.leases.get(index) {
            self.index_by_client.insert(moved.client, index);
        }
        Some(lease)
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
        let mut leases: Vec<u32> = std::iter::from_fn(|| pool.take(&mut random))
            .map(|(who, lease)| {
                assert_eq!(who.client, lease % 1_000);
                lease
            })
            .collect();
        leases.sort_unstable();
        assert!(leases.into_iter().eq(2_000..3_000));
        let mut none = RenewableLeases::new(false);
        none.put(who(1), 1);
        assert!(none.take(&mut random).is_none());
    }
}
