//! Parser of numbers with units (times, rates, sizes, percentages), exact and without floating
//! point.

use core::num::NonZeroU64;

use crate::share::UnitShare;

/// Reason why a word is not a valid value of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordValueError {
    Time,
    Rate,
    RateOfDevice,
    Size,
    Percent,
    Whole,
    Signed,
    Distribution,
    LinkLayer,
    Range,
}

impl WordValueError {
    /// Returns a description of the values that are valid instead, for users.
    pub(super) const fn help(self) -> &'static str {
        match self {
            Self::Time => "a time is a number with s, ms, us or ns, such as 75ms or 1.5s",
            Self::Rate => {
                "a rate is a number with bit, kbit, mbit, gbit, Bps, kBps, mBps or gBps \
                 after it, or Kibit and so on for powers of 1024, and is not 0"
            }
            Self::RateOfDevice => {
                "the interface has no speed for a percentage to refer to: give a rate such as \
                 20mbit"
            }
            Self::Size => "a size is a number with b, kb, mb or gb, where kb is 1024 bytes",
            Self::Percent => "a percentage is a number from 0 to 100, with or without %",
            Self::Whole => "the value must be a whole number",
            Self::Signed => "the value must be a whole number, which may be negative",
            Self::Distribution => "distributions are uniform, normal, pareto and paretonormal",
            Self::LinkLayer => "link layers are ethernet, atm and adsl",
            Self::Range => "the number is too large",
        }
    }
}

/// Largest number of digits in a number.
const DIGITS_MAX: usize = 20;

/// Decimal number: `digits` over ten to the power of `decimals`.
struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    /// Splits a word into the decimal number at its start and the unit after it.
    fn split(word: &str) -> Option<(Self, &str)> {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let unit_at = word.find(|c| !is_part(c)).unwrap_or(word.len());
        let (number, unit) = word.split_at(unit_at);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits_count = whole.len() + fraction.len();
        if digits_count == 0 || digits_count > DIGITS_MAX || fraction.contains('.') {
            return None;
        }
        let digits = whole.bytes().chain(fraction.bytes());
        let digits = digits.fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0'));
        Some((Self { digits, decimals: fraction.len() as u32 }, unit))
    }

    fn denominator(&self) -> u128 {
        10_u128.pow(self.decimals)
    }

    /// Returns the whole part of the decimal number multiplied by `unit`.
    fn times(&self, unit: u128) -> Result<u64, WordValueError> {
        u64::try_from(self.digits * unit / self.denominator()).map_err(|_| WordValueError::Range)
    }
}

fn unit_of(units: &[(&str, u128)], name: &str) -> Option<u128> {
    units.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(name)).map(|&(_, scale)| scale)
}

/// Units of time, each with its length in nanoseconds.
const TIMES: [(&str, u128); 12] = [
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("secs", 1_000_000_000),
    ("ms", 1_000_000),
    ("msec", 1_000_000),
    ("msecs", 1_000_000),
    ("us", 1_000),
    ("usec", 1_000),
    ("usecs", 1_000),
    ("ns", 1),
    ("nsec", 1),
    ("nsecs", 1),
];

/// Units of rates, each in bits per second.
const RATES: [(&str, u128); 19] = [
    ("", 1),
    ("bit", 1),
    ("Kibit", 1 << 10),
    ("kbit", 1_000),
    ("Mibit", 1 << 20),
    ("mbit", 1_000_000),
    ("Gibit", 1 << 30),
    ("gbit", 1_000_000_000),
    ("Tibit", 1 << 40),
    ("tbit", 1_000_000_000_000),
    ("Bps", 8),
    ("KiBps", 8 << 10),
    ("kBps", 8_000),
    ("MiBps", 8 << 20),
    ("mBps", 8_000_000),
    ("GiBps", 8 << 30),
    ("gBps", 8_000_000_000),
    ("TiBps", 8 << 40),
    ("tBps", 8_000_000_000_000),
];

/// Units of sizes, each in bytes.
const SIZES: [(&str, u128); 8] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kb", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1 << 30),
];

/// Units of sizes that count bits, each in bytes.
const SIZES_IN_BITS: [(&str, u128); 3] = [("kbit", 1 << 7), ("mbit", 1 << 17), ("gbit", 1 << 27)];

/// Parses a time and returns it in nanoseconds. As in `tc`, a time of netem without a unit is in
/// nanoseconds.
pub(super) fn time_ns(word: &str) -> Result<u64, WordValueError> {
    let (number, unit) = Decimal::split(word).ok_or(WordValueError::Time)?;
    let scale = if unit.is_empty() { Some(1) } else { unit_of(&TIMES, unit) };
    number.times(scale.ok_or(WordValueError::Time)?)
}

/// Parses a time in nanoseconds, where a number without a unit is in microseconds (as `tc-tbf` has
/// it).
pub(super) fn time_of_us_ns(word: &str) -> Result<u64, WordValueError> {
    match Decimal::split(word) {
        Some((number, "")) => number.times(1_000),
        _ => time_ns(word),
    }
}

/// Parses a rate and returns it in bytes per second.
pub(super) fn bytes_per_s(word: &str) -> Result<NonZeroU64, WordValueError> {
    if word.ends_with('%') {
        return Err(WordValueError::RateOfDevice);
    }
    let (number, unit) = Decimal::split(word).ok_or(WordValueError::Rate)?;
    let scale = unit_of(&RATES, unit).ok_or(WordValueError::Rate)?;
    let bytes = u64::try_from(number.digits * scale / number.denominator() / 8);
    NonZeroU64::new(bytes.map_err(|_| WordValueError::Range)?).ok_or(WordValueError::Rate)
}

/// Parses a size in bytes, with or without a unit.
pub(super) fn size(word: &str) -> Result<u64, WordValueError> {
    let (number, unit) = Decimal::split(word).ok_or(WordValueError::Size)?;
    let scale = unit_of(&SIZES, unit).or_else(|| unit_of(&SIZES_IN_BITS, unit));
    number.times(scale.ok_or(WordValueError::Size)?)
}

/// Parses a size in bytes that fits into 32 bits.
pub(super) fn size_u32(word: &str) -> Result<u32, WordValueError> {
    u32::try_from(size(word)?).map_err(|_| WordValueError::Range)
}

/// Parses a size in bytes with an optional cell size after a slash; the cell size must be a power
/// of two and is ignored, because only tables of older kernels needed it.
pub(super) fn size_and_cell(word: &str) -> Result<u64, WordValueError> {
    let (text, cell) = word.split_once('/').unwrap_or((word, "1"));
    match cell.parse::<u32>() {
        Ok(cell) if cell.is_power_of_two() => size(text),
        _ => Err(WordValueError::Size),
    }
}

/// Parses a percentage and returns it as a share.
pub(super) fn share(word: &str) -> Result<UnitShare, WordValueError> {
    let (number, unit) = Decimal::split(word).ok_or(WordValueError::Percent)?;
    let all = 100 * number.denominator();
    if !matches!(unit, "" | "%") || number.digits > all {
        return Err(WordValueError::Percent);
    }
    Ok(UnitShare::rounded(number.digits, all))
}

/// Parses a whole number without a unit.
pub(super) fn whole<T: core::str::FromStr>(word: &str) -> Result<T, WordValueError> {
    if word.is_empty() || !word.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(WordValueError::Whole);
    }
    word.parse().map_err(|_| WordValueError::Range)
}

/// Parses a whole number without a unit that may be negative.
pub(super) fn signed(word: &str) -> Result<i32, WordValueError> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(WordValueError::Signed);
    }
    word.parse().map_err(|_| WordValueError::Range)
}

/// Formats `value` in the greatest of `units` of which the value is a multiple.
pub(super) fn in_units(value: u64, units: &[(u64, &str)]) -> String {
    let fits = |&&(scale, _): &&(u64, &str)| value != 0 && value.is_multiple_of(scale);
    let &(scale, name) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    format!("{}{name}", value / scale)
}
