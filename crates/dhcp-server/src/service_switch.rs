//! Switch of the DHCP service, which control commands and the relationship with a partner turn off.
//! The supervisor can find out that no shard changes a lease any more: then a partner that copies
//! the leases misses none.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sign of one shard that it rests, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct RestSign(AtomicBool);

/// Switch of the DHCP service.
#[derive(Debug)]
pub(crate) struct ServiceSwitch {
    /// True while the shards read messages and do not answer them.
    is_off: AtomicBool,
    /// Signs of the shards, by their numbers.
    signs: Box<[RestSign]>,
}

impl ServiceSwitch {
    /// Creates the switch of `shards` shards.
    pub(crate) fn new(shards: usize, is_off: bool) -> Self {
        let signs = (0..shards).map(|_| RestSign::default()).collect();
        Self { is_off: AtomicBool::new(is_off), signs }
    }

    /// Turns the service off, or on. Returns true if that is a change.
    pub(crate) fn set_off(&self, is_off: bool) -> bool {
        self.is_off.swap(is_off, Ordering::SeqCst) != is_off
    }

    /// Begins a turn of shard number `shard`. Returns true if the service is off, so that the shard
    /// must begin no transaction in this turn.
    pub(crate) fn begin_turn(&self, shard: usize) -> bool {
        // The sign first: a thread that turns the service off after the next line sees it lowered.
        if let Some(sign) = self.signs.get(shard) {
            sign.0.store(false, Ordering::SeqCst);
        }
        self.is_off.load(Ordering::SeqCst)
    }

    /// Ends a turn of shard number `shard` in which the service was off, and after which no
    /// transaction is under way.
    pub(crate) fn rest(&self, shard: usize) {
        if let Some(sign) = self.signs.get(shard) {
            sign.0.store(true, Ordering::SeqCst);
        }
    }

    /// Returns true if every shard has ended a turn without a transaction under way since the
    /// service was turned off.
    pub(crate) fn is_resting(&self) -> bool {
        self.signs.iter().all(|sign| sign.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_rests_once_all_shards_have_ended_a_turn() {
        let switch = ServiceSwitch::new(2, false);
        assert!(!switch.begin_turn(0));
        assert!(switch.set_off(true) && !switch.set_off(true));
        // The turn of shard 0 began before.
        assert!(!switch.is_resting());
        for shard in 0..2 {
            assert!(switch.begin_turn(shard));
            switch.rest(shard);
        }
        assert!(switch.is_resting());
        assert!(switch.set_off(false));
        assert!(!switch.begin_turn(1));
        switch.set_off(true);
        assert!(!switch.is_resting());
    }
}
