//! Random numbers that packet files are filled with: those of `rand()` in the GNU C library, so
//! that a seed gives the same bytes as in trafgen. The generator is the additive feedback one of
//! degree 31 (x^31 + x^3 + 1), seeded by the "minimal standard" multiplicative generator.
//!
//! Budget: one addition and two loads per number, no allocation.

/// Degree of the random generator's recurrence.
const DEGREE: usize = 31;
/// Second tap of the random generator's recurrence (the exponent 3 in x^31 + x^3 + 1).
const TAP: usize = 3;
/// Number of values that are discarded after seeding, ten for each value of the state.
const WARM_UP: usize = 10 * DEGREE;

/// Seeded stream of random numbers of 31 bits, as `rand()` of the GNU C library returns them.
#[derive(Clone, Debug)]
pub struct LibcRandom {
    state: [u32; DEGREE],
    /// Index of the oldest value in the generator's state, which the next number replaces.
    at: usize,
}

impl LibcRandom {
    /// Creates the random stream that `srand(seed)` begins.
    pub fn from_seed(seed: u32) -> Self {
        let mut word = i64::from(seed.max(1).cast_signed());
        let mut state = [0; DEGREE];
        for entry in &mut state {
            *entry = word as u32;
            // Schrage's order of operations, whose remainder may be negative as in the library.
            word = 16_807 * (word % 127_773) - 2_836 * (word / 127_773);
            if word < 0 {
                word += 2_147_483_647;
            }
        }
        // The recurrence begins at the tap: its first number adds places 0 and 3.
        let mut random = Self { state, at: TAP };
        for _ in 0..WARM_UP {
            random.next();
        }
        random
    }

    /// Returns the next random number, below 2^31.
    #[expect(clippy::should_implement_trait, reason = "there is no end to it")]
    pub fn next(&mut self) -> u32 {
        // The number DEGREE before this one is the oldest; the one TAP before it lies TAP places
        // back.
        let tapped = (self.at + DEGREE - TAP) % DEGREE;
        let sum = self.state[self.at].wrapping_add(self.state[tapped]);
        self.state[self.at] = sum;
        self.at = if self.at + 1 == DEGREE { 0 } else { self.at + 1 };
        sum >> 1
    }

    /// Returns the next random byte: the lowest bits of a random number.
    pub fn octet(&mut self) -> u8 {
        self.next() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_library() {
        // The first ten numbers of srand(1) in glibc 2.36, the best known of its numbers.
        let mut random = LibcRandom::from_seed(1);
        let first = [
            1_804_289_383,
            846_930_886,
            1_681_692_777,
            1_714_636_915,
            1_957_747_793,
            424_238_335,
            719_885_386,
            1_649_760_492,
            596_516_649,
            1_189_641_421,
        ];
        assert_eq!([(); 10].map(|()| random.next()), first);
        let mut zero = LibcRandom::from_seed(0);
        assert_eq!(zero.next(), first[0], "0 is taken as 1");
        // Numbers of the library of Debian 12, for seeds of both signs.
        for (seed, number) in
            [(42, 71_876_166), (3_000_000_000, 2_058_147_116), (u32::MAX, 254_925_627)]
        {
            assert_eq!(LibcRandom::from_seed(seed).next(), number, "{seed}");
        }
    }
}
