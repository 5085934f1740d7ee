//! Times in Kea's texts: `date-time` of heartbeats (RFC 1123, always GMT) and `system-time` of
//! `status-get`.

use base::civil::CivilTime;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SECONDS_PER_DAY: u64 = 86_400;

/// Returns a time as HTTP and heartbeats write it: `Thu, 26 Nov 2026 14:31:32 GMT`.
pub(crate) fn http_date(unix_s: u64) -> String {
    let time = CivilTime::from_unix_s(unix_s as i64);
    let CivilTime { year, month, day, hour, minute, second } = time;
    // 1970-01-01 was a Thursday.
    let weekday = DAYS[(unix_s / SECONDS_PER_DAY % 7) as usize];
    let month = MONTHS[usize::from(month) - 1];
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Returns a time as `status-get` shows it: `2026-11-26 14:27:46`, in UTC.
pub(crate) fn system_time(unix_s: u64) -> String {
    let CivilTime { year, month, day, hour, minute, second } =
        CivilTime::from_unix_s(unix_s as i64);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Returns the time that a heartbeat's `date-time` names, in seconds since 1970; `None` if the text
/// is not of the form that [`http_date`] writes.
pub(crate) fn unix_s_of(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let mut part = |limit: u64| clock.next().flatten().filter(|part| *part < limit);
    let (hour, minute, second) = (part(24)?, part(60)?, part(61)?);
    if words.next()? != "GMT" || words.next().is_some() || clock.next().is_some() {
        return None;
    }
    Some(days_since_1970(year, month, day) * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second)
}

/// Returns the number of days from 1970-01-01 to a date of the Gregorian calendar. Years begin in
/// March here, so that a leap day is the last day of its year.
const fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        assert_eq!(http_date(1_795_703_492), "Thu, 26 Nov 2026 14:31:32 GMT");
        assert_eq!(system_time(1_795_703_266), "2026-11-26 14:27:46");
        for unix_s in (0..5_000_000_000).step_by(86_399 * 7 + 13) {
            assert_eq!(unix_s_of(&http_date(unix_s)), Some(unix_s), "{unix_s}");
        }
    }

    #[test]
    fn other_forms_of_times_are_refused() {
        for text in [
            "2026-11-26T14:31:32Z",
            "Thu, 26 Nov 2026 14:31:32 -0000",
            "Thu, 26 Nov 2026 14:31:32 GMT x",
            "Thu, 26 Nov 2026 14:31 GMT",
            "Thu, 0 Nov 2026 14:31:32 GMT",
            "Thu, 26 Nov 1969 14:31:32 GMT",
            "Thu, 26 Foo 2026 14:31:32 GMT",
            "",
        ] {
            assert_eq!(unix_s_of(text), None, "{text}");
        }
    }
}
