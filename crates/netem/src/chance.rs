//! Random numbers of a link, in one stream per cause (loss, duplication and so on). Each cause has
//! its own stream, so that enabling one does not change the decisions of another with the same
//! seed.

use base::Random;

use crate::settings::RandomEvent;
use crate::share::UnitShare;

/// Stream of random numbers of which each may be correlated with the previous one.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    random: Random,
    last: u32,
}

impl Chance {
    pub(crate) const fn new(mut random: Random) -> Self {
        let last = random.next_u32();
        Self { random, last }
    }

    /// Draws the next random number: the share `correlation` of it is the last correlated number,
    /// the rest is new.
    pub(crate) fn draw(&mut self, correlation: UnitShare) -> u32 {
        let new = self.random.next_u32();
        if correlation.is_none() {
            return new;
        }
        let old_weight = u64::from(correlation.bits()) + 1;
        let mixed =
            (u64::from(new) * ((1 << 32) - old_weight) + u64::from(self.last) * old_weight) >> 32;
        self.last = mixed as u32;
        self.last
    }

    /// Returns true if the random event happens this time. Draws no number for an event that never
    /// happens.
    pub(crate) fn hits(&mut self, often: RandomEvent) -> bool {
        !often.share.is_none() && often.share.hits(self.draw(often.correlation))
    }
}

/// All streams of random numbers of a link, by cause.
#[derive(Clone, Debug)]
pub(crate) struct Chances {
    pub(crate) duplicate: Chance,
    pub(crate) loss: Chance,
    pub(crate) corrupt: Chance,
    pub(crate) reorder: Chance,
    pub(crate) delay: Chance,
    /// Stream of random numbers that chooses the bit to change in a packet.
    pub(crate) bit: Random,
    /// Stream of random numbers for the times at which slots (`slot`) open.
    pub(crate) slot: Chance,
}

impl Chances {
    pub(crate) const fn from_seed(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        Self {
            duplicate: Chance::new(random.fork(1)),
            loss: Chance::new(random.fork(2)),
            corrupt: Chance::new(random.fork(3)),
            reorder: Chance::new(random.fork(4)),
            delay: Chance::new(random.fork(5)),
            bit: random.fork(6),
            slot: Chance::new(random.fork(7)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correlated_number_is_mixed_of_the_last_and_a_new_one() {
        let seed = Random::from_seed(9);
        let mut chance = Chance::new(seed.clone());
        let mut random = seed;
        let last = u64::from(random.next_u32());
        let new = u64::from(random.next_u32());
        // A quarter of the old and three of the new, to within the rounding of the share.
        let mixed = u64::from(chance.draw(UnitShare::percent(25)));
        assert!(mixed.abs_diff(last / 4 + new / 4 * 3) < 8, "{mixed}");
        let next = u64::from(random.next_u32());
        let mixed_next = u64::from(chance.draw(UnitShare::percent(25)));
        assert!(mixed_next.abs_diff(mixed / 4 + next / 4 * 3) < 8, "{mixed_next}");
        assert_eq!(u64::from(chance.draw(UnitShare::ALL)), mixed_next, "all of it is the last");
        random.next_u32();
        assert_eq!(chance.draw(UnitShare::NONE), random.next_u32(), "nothing of it is");
    }
}
