//! Share of a perfdhcp run that one of several generators carries.
//!
//! First requests, clients and leases to renew of a run are each numbered from 0 on, and generator
//! `index` of `of` takes the numbers `index`, `index + of`, `index + 2 × of` and so on. Hence the
//! parts are disjoint, their sum is the whole, and an even schedule stays even when the parts run
//! at the same time.

use base::Random;
use serde::{Deserialize, Serialize};

/// Share of a run that one generator carries: its number, and the number of all parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorPart {
    /// Number of this part, from 0.
    pub index: u32,
    /// Number of all parts of the run.
    pub of: u32,
}

impl Default for GeneratorPart {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl GeneratorPart {
    /// Part of a single generator, which carries the whole run.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Returns how many of the numbers below `count` are in this part.
    pub const fn share(self, count: u64) -> u64 {
        count.saturating_sub(self.index as u64).div_ceil(self.of as u64)
    }

    /// Returns [`GeneratorPart::share`] of a count that fits into 32 bits.
    pub const fn share_u32(self, count: u32) -> u32 {
        self.share(count as u64) as u32
    }

    /// Returns the number of the run at position `position` in this part.
    pub const fn number(self, position: u32) -> u32 {
        position * self.of + self.index
    }

    /// Returns the position of a number of the run in its part.
    pub const fn position(self, number: u32) -> u32 {
        number / self.of
    }

    /// Returns the seed of this part's own choices in a run with `seed`.
    pub const fn seed(self, seed: u64) -> u64 {
        if self.index == 0 {
            return seed;
        }
        Random::from_seed(seed).fork(self.index as u64).next_u64()
    }

    /// Returns the number of this part and the number of all parts, as arguments of schedules.
    pub(crate) const fn pair(self) -> (u64, u64) {
        (self.index as u64, self.of as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_their_sum_is_the_whole() {
        let mut random = Random::from_seed(41);
        for _ in 0..2_000 {
            let of = random.below(9) as u32 + 1;
            let count = random.below(5_000) as u32;
            let mut all = Vec::new();
            let mut sum = 0;
            for index in 0..of {
                let part = GeneratorPart { index, of };
                let share = part.share_u32(count);
                assert!(share.abs_diff(count / of) <= 1, "{part:?} {count}");
                sum += u64::from(share);
                all.extend((0..share).map(|position| part.number(position)));
                assert!(
                    (0..share).all(|position| part.position(part.number(position)) == position)
                );
            }
            all.sort_unstable();
            assert_eq!(sum, u64::from(count));
            assert!(all.into_iter().eq(0..count), "{count} in {of}");
        }
        let last = GeneratorPart { index: 6, of: 7 };
        assert!(last.number(last.share_u32(u32::MAX) - 1) < u32::MAX);
    }

    #[test]
    fn each_part_has_a_seed_of_its_own_and_the_first_one_the_runs() {
        let mut seeds: Vec<u64> =
            (0..64).map(|index| GeneratorPart { index, of: 64 }.seed(9)).collect();
        assert_eq!(seeds[0], 9);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 64);
    }
}
