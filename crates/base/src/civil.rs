//! Dates and times of day in the Gregorian calendar.

use core::fmt;

const SECONDS_PER_DAY: i64 = 86_400;

/// Date and time of day, without a time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilTime {
    /// Year of the Gregorian calendar; 0 is the year before year 1.
    pub year: i64,
    /// Month of the year, from 1 to 12.
    pub month: u8,
    /// Day of the month, from 1 to 31.
    pub day: u8,
    /// Hour of the day, from 0 to 23.
    pub hour: u8,
    /// Minute of the hour, from 0 to 59.
    pub minute: u8,
    /// Second of the minute, from 0 to 59.
    pub second: u8,
}

impl CivilTime {
    /// Returns the date and the time `unix_s` seconds after 1970 began, without leap seconds.
    ///
    /// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years are counted in eras of
    /// 400 that begin on 1 March, so that the leap day is the last of its year.
    pub const fn from_unix_s(unix_s: i64) -> Self {
        let days = unix_s.div_euclid(SECONDS_PER_DAY) + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let second_of_day = unix_s.rem_euclid(SECONDS_PER_DAY);
        Self {
            year: era * 400 + year_of_era + (month <= 2) as i64,
            month: month as u8,
            day: (day_of_year - (153 * march_month + 2) / 5 + 1) as u8,
            hour: (second_of_day / 3_600) as u8,
            minute: (second_of_day / 60 % 60) as u8,
            second: (second_of_day % 60) as u8,
        }
    }
}

/// Formats a date and time of day as `2026-11-28 09:05:00`.
impl fmt::Display for CivilTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Printed by `date -u -d @N '+%F %T'`.
        for (unix_s, expected) in [
            (0, "1970-01-01 00:00:00"),
            (-3_600, "1969-12-31 23:00:00"),
            (-2_203_891_201, "1900-02-28 23:59:59"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_078_012_799, "2004-02-28 23:59:59"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (1_767_225_599, "2025-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (253_402_300_799, "9999-12-31 23:59:59"),
        ] {
            assert_eq!(CivilTime::from_unix_s(unix_s).to_string(), expected, "{unix_s}");
        }
    }

    #[test]
    fn any_number_of_seconds_of_a_clock_has_a_date() {
        for unix_s in [i64::MIN / 2, -1, i64::from(u32::MAX), i64::MAX / 2] {
            let time = CivilTime::from_unix_s(unix_s);
            assert!((1..=12).contains(&time.month) && (1..=31).contains(&time.day), "{time}");
        }
    }
}
