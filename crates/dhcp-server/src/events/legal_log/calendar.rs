//! Times at which files of the legal log begin: their form in file names, and the time of the next
//! file.

use base::CivilTime;
use dhcp_config::RotationUnit;

/// Time at which a log file began, as exact as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileTime {
    /// Time of a file that lasts for seconds, in seconds since 1970.
    Second(u64),
    /// Date of a file that lasts for days, months or years.
    Date(Date),
}

/// Date of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Date {
    year: i64,
    /// Month of the year, from 1 to 12.
    month: u8,
    /// Day of the month, from 1.
    day: u8,
}

impl FileTime {
    /// Returns the time of a file that begins `wall_s` seconds after 1970, where local time is
    /// `utc_offset_s` ahead of UTC.
    pub(super) fn new(unit: RotationUnit, wall_s: u64, utc_offset_s: i64) -> Self {
        match unit {
            RotationUnit::Second => Self::Second(wall_s),
            RotationUnit::Day | RotationUnit::Month | RotationUnit::Year => {
                Self::Date(Date::from_unix_s(wall_s.saturating_add_signed(utc_offset_s)))
            }
        }
    }

    /// Returns the time in the file name `name` of a log of `unit` with the names `base_name`;
    /// `None` for the file of another log.
    pub(super) fn from_file_name(name: &str, base_name: &str, unit: RotationUnit) -> Option<Self> {
        let tag = name.strip_prefix(base_name)?.strip_prefix('.')?.strip_suffix(".txt")?;
        let digits = |text: &str, count| {
            text.len() == count && text.bytes().all(|octet| octet.is_ascii_digit())
        };
        if unit == RotationUnit::Second {
            let seconds = tag.strip_prefix('T')?;
            return digits(seconds, 20).then(|| seconds.parse().ok().map(Self::Second))?;
        }
        digits(tag, 8).then(|| Date::from_digits(tag).map(Self::Date))?
    }

    /// Returns the name of the file that begins at this time.
    pub(super) fn file_name(self, base_name: &str) -> String {
        match self {
            Self::Second(wall_s) => format!("{base_name}.T{wall_s:020}.txt"),
            Self::Date(Date { year, month, day }) => {
                format!("{base_name}.{year:04}{month:02}{day:02}.txt")
            }
        }
    }

    /// Returns true if a file that began at this time ends at `now` or before, when a file lasts
    /// for `count` times `unit`.
    pub(super) fn has_ended(self, now: Self, unit: RotationUnit, count: u32) -> bool {
        match (self, now) {
            (Self::Second(begun_s), Self::Second(now_s)) => {
                begun_s.saturating_add(count.into()) <= now_s
            }
            (Self::Date(begun), Self::Date(today)) => begun.after(unit, count) <= today,
            // Another unit is another log.
            _ => true,
        }
    }
}

impl Date {
    fn from_unix_s(unix_s: u64) -> Self {
        let CivilTime { year, month, day, .. } = CivilTime::from_unix_s(unix_s.cast_signed());
        Self { year, month, day }
    }

    /// Returns the date that eight digits name; `None` if the calendar has no such date.
    fn from_digits(digits: &str) -> Option<Self> {
        let number = |range: core::ops::Range<usize>| digits.get(range)?.parse::<u8>().ok();
        let (month, day) = (number(4..6)?, number(6..8)?);
        let date = Self { year: digits.get(..4)?.parse().ok()?, month, day };
        let is_valid = (1..=12).contains(&month) && (1..=date.month_days()).contains(&day);
        is_valid.then_some(date)
    }

    /// Returns the number of days of the date's month.
    const fn month_days(self) -> u8 {
        let is_leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        match self.month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    fn after(self, unit: RotationUnit, count: u32) -> Self {
        match unit {
            RotationUnit::Month => self.after_months(count.into()),
            RotationUnit::Year => self.after_months(12 * i64::from(count)),
            RotationUnit::Day | RotationUnit::Second => self.after_days(count),
        }
    }

    fn after_days(mut self, count: u32) -> Self {
        // Whole cycles of the calendar have the same number of days.
        const CYCLE_DAYS: u32 = 146_097;
        self.year += 400 * i64::from(count / CYCLE_DAYS);
        for _ in 0..count % CYCLE_DAYS {
            self.day += 1;
            if self.day > self.month_days() {
                self = Self { day: 1, ..self.first_of_next_month() };
            }
        }
        self
    }

    const fn first_of_next_month(self) -> Self {
        match self.month {
            12 => Self { year: self.year + 1, month: 1, day: 1 },
            month => Self { month: month + 1, day: 1, ..self },
        }
    }

    /// Returns the date `count` months later. As in Kea, the last day of a month stays the last
    /// day, and a day that the later month lacks becomes its last.
    const fn after_months(self, count: i64) -> Self {
        let months = self.year * 12 + self.month as i64 - 1 + count;
        let month = months.rem_euclid(12) as u8 + 1;
        let first = Self { year: months.div_euclid(12), month, day: 1 };
        let last = first.month_days();
        let is_last = self.day == self.month_days();
        Self { day: if is_last || self.day > last { last } else { self.day }, ..first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(digits: &str) -> Date {
        Date::from_digits(digits).unwrap()
    }

    #[test]
    fn file_names_are_keas() {
        let names = [
            (RotationUnit::Day, "x.20260131.txt"),
            (RotationUnit::Year, "x.20240229.txt"),
            (RotationUnit::Second, "x.T00000000001769817600.txt"),
        ];
        for (unit, name) in names {
            let time = FileTime::from_file_name(name, "x", unit).unwrap();
            assert_eq!(time.file_name("x"), name);
        }
        for (unit, name) in [
            (RotationUnit::Day, "x.20250229.txt"),
            (RotationUnit::Day, "x.20251301.txt"),
            (RotationUnit::Day, "x.2025101.txt"),
            (RotationUnit::Day, "x.+0251001.txt"),
            (RotationUnit::Day, "y.20251001.txt"),
            (RotationUnit::Day, "x.20251001.log"),
            (RotationUnit::Day, "x.T00000000001769817600.txt"),
            (RotationUnit::Second, "x.20251001.txt"),
        ] {
            assert_eq!(FileTime::from_file_name(name, "x", unit), None, "{name}");
        }
    }

    #[test]
    fn times_of_files_are_local() {
        let now = |unit, offset_s| FileTime::new(unit, 1_769_903_999, offset_s).file_name("x");
        assert_eq!(now(RotationUnit::Day, 0), "x.20260131.txt");
        assert_eq!(now(RotationUnit::Month, 3_600), "x.20260201.txt");
        assert_eq!(now(RotationUnit::Second, 3_600), "x.T00000000001769903999.txt");
    }

    #[test]
    fn a_file_lasts_for_its_units_of_the_calendar() {
        for (begun, unit, count, end) in [
            ("20260131", RotationUnit::Day, 1, "20260201"),
            ("20240228", RotationUnit::Day, 2, "20240301"),
            ("20251231", RotationUnit::Day, 366, "20270101"),
            ("20260131", RotationUnit::Month, 1, "20260228"),
            ("20260228", RotationUnit::Month, 1, "20260331"),
            ("20260130", RotationUnit::Month, 13, "20270228"),
            ("20240229", RotationUnit::Year, 1, "20250228"),
            ("20230228", RotationUnit::Year, 1, "20240229"),
            ("20260715", RotationUnit::Year, 2, "20280715"),
        ] {
            assert_eq!(date(begun).after(unit, count), date(end), "{begun} {unit} {count}");
        }
        let [begun, before, end] =
            ["20260131", "20260227", "20260228"].map(date).map(FileTime::Date);
        assert!(!begun.has_ended(before, RotationUnit::Month, 1));
        assert!(begun.has_ended(end, RotationUnit::Month, 1));
        assert!(begun.has_ended(begun, RotationUnit::Day, 0));
        let [first, second] = [10, 11].map(FileTime::Second);
        assert!(first.has_ended(second, RotationUnit::Second, 1));
        assert!(!first.has_ended(second, RotationUnit::Second, 2));
        let far = Date { year: 11_000_000, month: 1, day: 1 };
        assert!(date("20260131").after(RotationUnit::Day, u32::MAX) > far);
    }
}
