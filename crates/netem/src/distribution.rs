//! Distributions of delays around their mean: inverse distribution functions as tables in units of
//! the jitter, like the files that come with `tc`.
//!
//! The compiler computes the tables, with the four operations alone: every machine gets the same
//! ones, so a seed means the same run everywhere.

base::named! {
    /// Distribution of a delay's deviations from its mean. Names are the words of `tc`.
    #[derive(Default)]
    pub enum Distribution {
        /// Uniform distribution within the jitter to both sides of the mean.
        #[default]
        Uniform = "uniform",
        /// Normal distribution with the jitter as standard deviation, cut at four standard
        /// deviations.
        Normal = "normal",
        /// Pareto distribution of shape 3 around its mean, scaled by 4/3, up to four times the
        /// jitter.
        Pareto = "pareto",
        /// Sum of a quarter of the normal and three quarters of the Pareto deviation.
        ParetoNormal = "paretonormal",
    }
}

/// Number of entries of a distribution's table.
const ENTRIES: usize = 4_096;
/// Value in a distribution's table that means one jitter (`NETEM_DIST_SCALE` of Linux).
const SCALE: i64 = 8_192;

type Table = [i16; ENTRIES];

static NORMAL: Table = normal();
static PARETO: Table = pareto();
static PARETO_NORMAL: Table = pareto_normal();

impl Distribution {
    /// Returns the delay in nanoseconds for a drawn random number: greater numbers give longer
    /// delays, so correlated numbers give correlated delays.
    pub(crate) fn time_ns(self, base_ns: u64, jitter_ns: u64, drawn: u32) -> i64 {
        let base_ns = i128::from(base_ns);
        let jitter_ns = i128::from(jitter_ns);
        let table = match self {
            Self::Uniform => {
                let within_ns = (i128::from(drawn) * 2 * jitter_ns) >> 32;
                return clamped(base_ns - jitter_ns + within_ns);
            }
            Self::Normal => &NORMAL,
            Self::Pareto => &PARETO,
            Self::ParetoNormal => &PARETO_NORMAL,
        };
        let index = (u64::from(drawn) * ENTRIES as u64) >> 32;
        let scaled = jitter_ns * i128::from(table[index as usize]);
        let scale = i128::from(SCALE);
        let half = if scaled < 0 { -scale / 2 } else { scale / 2 };
        clamped(base_ns + (scaled + half) / scale)
    }
}

fn clamped(time_ns: i128) -> i64 {
    // Half of the range, so that it can be added to a time.
    time_ns.clamp(i128::from(i64::MIN / 2), i128::from(i64::MAX / 2)) as i64
}

const fn rounded(value: f64) -> i16 {
    let scaled = value * SCALE as f64;
    let nearest = if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 };
    // Conversions of floating point numbers saturate.
    nearest as i16
}

/// Returns the table of the normal distribution: integrates the density from 0 upwards by Simpson's
/// rule and records where the share of each entry is reached; the lower half mirrors the upper one.
const fn normal() -> Table {
    const STEP: f64 = 1.0 / 1_024.0;
    let half = STEP / 2.0;
    let square = half * half;
    // The density at each half step is the previous one multiplied by a ratio that shrinks evenly.
    let shrink = 1.0 - square + square * square / 2.0;
    let mut ratio = 1.0 - square / 2.0 + square * square / 8.0;
    // 1 / √(2π).
    let mut density = 0.398_942_280_401_432_7;
    let (mut argument, mut share) = (0.0, 0.0);
    let mut table = [0; ENTRIES];
    let mut entry = 0;
    while entry < ENTRIES / 2 {
        let middle = density * ratio;
        ratio *= shrink;
        let end = middle * ratio;
        ratio *= shrink;
        let grown = share + STEP / 6.0 * (density + 4.0 * middle + end);
        while entry < ENTRIES / 2 && wanted(entry) <= grown {
            let value = argument + STEP * (wanted(entry) - share) / (grown - share);
            table[ENTRIES / 2 + entry] = rounded(value);
            table[ENTRIES / 2 - 1 - entry] = rounded(-value);
            entry += 1;
        }
        (argument, share, density) = (argument + STEP, grown, end);
    }
    table
}

/// Returns the share of the distribution between 0 and the middle of an entry in the upper half of
/// a table.
const fn wanted(entry: usize) -> f64 {
    (entry as f64 + 0.5) / ENTRIES as f64
}

const fn pareto() -> Table {
    let mut table = [0; ENTRIES];
    let mut entry = 0;
    while entry < ENTRIES {
        let above = 1.0 - wanted(entry);
        // Newton's steps to the inverse cube root, from below.
        let mut root = 1.0;
        let mut step = 0;
        while step < 24 {
            root = root * (4.0 - above * root * root * root) / 3.0;
            step += 1;
        }
        table[entry] = rounded((root - 1.5) * 4.0 / 3.0);
        entry += 1;
    }
    table
}

const fn pareto_normal() -> Table {
    let (normal, pareto) = (normal(), pareto());
    let mut table = [0; ENTRIES];
    let mut entry = 0;
    while entry < ENTRIES {
        table[entry] = ((normal[entry] as i32 + 3 * pareto[entry] as i32) / 4) as i16;
        entry += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_table_has_the_quantiles_of_the_books() {
        // Quantiles of the standard normal distribution at the middle of each entry.
        for (share, quantile) in [
            (0.5, 0.0),
            (0.841_344_7, 1.0),
            (0.977_249_9, 2.0),
            (0.995, 2.575_829),
            (0.05, -1.644_854),
        ] {
            let entry = (share * ENTRIES as f64) as usize;
            let value = f64::from(NORMAL[entry]) / SCALE as f64;
            assert!((value - quantile).abs() < 0.01, "{share}: {value}");
        }
        // Half of an entry from the end: 3.668.
        assert!((f64::from(NORMAL[ENTRIES - 1]) / SCALE as f64 - 3.668).abs() < 0.005);
        assert!((0..ENTRIES).all(|entry| NORMAL[entry] == -NORMAL[ENTRIES - 1 - entry]));
    }

    #[test]
    fn the_pareto_table_begins_below_the_mean_and_is_cut_at_four() {
        // (1 - 1.5) * 4/3, and (2 - 1.5) * 4/3, above which there is an eighth.
        assert!((f64::from(PARETO[0]) / SCALE as f64 + 0.666_6).abs() < 0.001);
        assert!((f64::from(PARETO[ENTRIES * 7 / 8]) / SCALE as f64 - 0.666_6).abs() < 0.001);
        assert_eq!(PARETO[ENTRIES - 1], i16::MAX);
        let mixed = (i32::from(NORMAL[7]) + 3 * i32::from(PARETO[7])) / 4;
        assert_eq!(i32::from(PARETO_NORMAL[7]), mixed);
        for table in [&NORMAL, &PARETO, &PARETO_NORMAL] {
            assert!(table.is_sorted());
        }
    }

    #[test]
    fn times_follow_the_numbers_drawn() {
        let uniform = |drawn| Distribution::Uniform.time_ns(1_000, 100, drawn);
        assert_eq!((uniform(0), uniform(1 << 31), uniform(u32::MAX)), (900, 1_000, 1_099));
        let normal = |drawn| Distribution::Normal.time_ns(1_000, 8_192, drawn);
        assert_eq!(normal(u32::MAX), 1_000 + i64::from(NORMAL[ENTRIES - 1]));
        assert_eq!(normal(0), 1_000 + i64::from(NORMAL[0]), "below zero");
        for distribution in Distribution::ALL {
            assert_eq!(distribution.time_ns(77, 0, 0x1234_5678), 77);
        }
    }
}
