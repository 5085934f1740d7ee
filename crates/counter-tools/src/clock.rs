//! The dates and times of day that the tables show.

use netio::Clock;

/// Returns `HH:MM:SS` and `YYYY-MM-DD` of local time.
pub(crate) fn local(wall_s: u64) -> (String, String) {
    split(wall_s.saturating_add_signed(Clock::utc_offset_s(wall_s)))
}

fn split(local_s: u64) -> (String, String) {
    let (days, second) = (local_s / 86_400, local_s % 86_400);
    let time = format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60);
    let (year, month, day) = civil(days);
    (time, format!("{year:04}-{month:02}-{day:02}"))
}

/// Returns year, month and day of a number of days since 1970, in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut left) = (1970, days);
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        (year, left) = (year + 1, left - length);
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < length {
            break;
        }
        (month, left) = (month + 1, left - length);
    }
    (year, month, left + 1)
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
