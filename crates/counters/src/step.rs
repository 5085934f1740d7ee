//! Increase of a counter that may wrap at 32 bits or begin again.

/// Number of different values of a 32-bit counter, one above the greatest of them.
const WRAP: u64 = 1 << 32;

/// Returns the increase of a counter from `before` to `now`; `None` if the counter went back,
/// because it began again and its increase is not known.
///
/// Some drivers and tables count in 32 bits. A counter has wrapped if it was in the upper half of
/// those and is now less by more than half of them.
pub const fn advance(before: u64, now: u64) -> Option<u64> {
    if now >= before {
        return Some(now - before);
    }
    let back = before - now;
    if before < WRAP && back > WRAP / 2 { Some(WRAP - back) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_advance_wrap_or_begin_again() {
        for (before, now, expected) in [
            (0, 0, Some(0)),
            (5, 9, Some(4)),
            (u64::MAX - 1, u64::MAX, Some(1)),
            (WRAP - 1, WRAP + 7, Some(8)),
            // Counters of 32 bits.
            (WRAP - 1, 0, Some(1)),
            (WRAP - 10, 90, Some(100)),
            (WRAP / 2 + 1, 0, Some(WRAP / 2 - 1)),
            // Counters that began again.
            (WRAP / 2, 0, None),
            (1_000, 3, None),
            (WRAP - 1, WRAP - 2, None),
            (WRAP, 0, None),
            (u64::MAX, 0, None),
        ] {
            assert_eq!(advance(before, now), expected, "{before} to {now}");
        }
    }

    #[test]
    fn no_step_of_32_bits_is_more_than_half_of_them() {
        let mut random = base::Random::from_seed(7);
        for _ in 0..10_000 {
            let before = random.below(WRAP);
            let step = random.below(WRAP / 2);
            assert_eq!(advance(before, before + step), Some(step));
            let wrapped = (before + step) % WRAP;
            assert_eq!(advance(before, wrapped), Some(step), "{before} + {step}");
        }
    }
}
