//! Local dates and times of day for the tables of the counter tools.

use base::CivilTime;
use netio::Clock;

/// Returns the local time of day `HH:MM:SS` and the local date `YYYY-MM-DD` at `wall_s` seconds
/// since 1970.
pub(crate) fn local(wall_s: u64) -> (String, String) {
    split(wall_s.saturating_add_signed(Clock::utc_offset_s(wall_s)))
}

fn split(local_s: u64) -> (String, String) {
    let civil = CivilTime::from_unix_s(i64::try_from(local_s).unwrap_or(i64::MAX / 2)).to_string();
    let (date, time) = civil.split_once(' ').unwrap_or_default();
    (time.to_owned(), date.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_their_dates() {
        for (second, date, time) in [
            (0, "1970-01-01", "00:00:00"),
            (951_782_399, "2000-02-28", "23:59:59"),
            (951_782_400, "2000-02-29", "00:00:00"),
            (1_709_251_200, "2024-03-01", "00:00:00"),
            (1_767_225_599, "2025-12-31", "23:59:59"),
            (4_107_542_400, "2100-03-01", "00:00:00"),
        ] {
            assert_eq!(split(second), (time.to_owned(), date.to_owned()), "{second}");
        }
    }
}
