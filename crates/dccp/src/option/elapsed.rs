//! Elapsed times inside of options: units of 10 µs in two or four bytes (RFC 4340 §13.2, §13.3).

/// Nanoseconds of one unit of time in an option: 10 µs.
const UNIT_NS: u64 = 10_000;
/// Largest elapsed time of an option, in units of 10 µs; it means "this long or longer".
pub const ELAPSED_MAX_10US: u32 = u32::MAX;

/// Returns an elapsed time in the options' units of 10 µs, rounded down because it must not be
/// exaggerated (RFC 4340 §13.2).
pub const fn elapsed_10us(elapsed_ns: u64) -> u32 {
    let units = elapsed_ns / UNIT_NS;
    if units > ELAPSED_MAX_10US as u64 { ELAPSED_MAX_10US } else { units as u32 }
}

/// Returns an elapsed time of an option in nanoseconds.
pub const fn elapsed_ns(elapsed_10us: u32) -> u64 {
    elapsed_10us as u64 * UNIT_NS
}

/// Reads the elapsed time of an option in units of 10 µs, from two or four bytes; an empty value is
/// 0.
pub(super) fn read(value: &[u8]) -> Option<u32> {
    match *value {
        [] => Some(0),
        [a, b] => Some(u32::from(u16::from_be_bytes([a, b]))),
        [a, b, c, d] => Some(u32::from_be_bytes([a, b, c, d])),
        _ => None,
    }
}
