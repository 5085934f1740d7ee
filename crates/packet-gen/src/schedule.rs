//! Due times of frames: rates, steps and ramps of a schedule, or the time stamps of a capture.
//!
//! The schedule is open-loop: frame k has its due time regardless of the frames before. Several
//! threads take every n-th frame of one schedule, so that together they are as even as one.

use base::time::NS_PER_S;

/// Rate of frames: frames per second, or bytes per second, which become frames per second once
/// their size is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameRate {
    /// Rate in frames per second.
    Frames(f64),
    /// Rate in bytes of frames per second.
    Bytes(f64),
}

impl FrameRate {
    /// Returns the rate in frames per second for frames of `mean_bytes` bytes on average.
    pub fn per_second(self, mean_bytes: f64) -> f64 {
        match self {
            Self::Frames(rate) => rate,
            Self::Bytes(rate) => rate / mean_bytes.max(1.0),
        }
    }
}

/// Segment of a rate schedule: from one rate to another, linearly, in a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Rate at the start of the segment.
    pub from: FrameRate,
    /// Rate at the end of the segment.
    pub to: FrameRate,
    /// Duration of the segment in nanoseconds; only the last segment may be endless (`None`).
    pub duration_ns: Option<u64>,
}

/// Units of rates with their factors, and true for units of frames, false for units of bytes.
const UNITS: [(&str, f64, bool); 12] = [
    ("pps", 1.0, true),
    ("kpps", 1e3, true),
    ("Mpps", 1e6, true),
    ("B", 1.0, false),
    ("kB", 1e3, false),
    ("MB", 1e6, false),
    ("GB", 1e9, false),
    ("kbit", 1e3 / 8.0, false),
    ("Mbit", 1e6 / 8.0, false),
    ("Gbit", 1e9 / 8.0, false),
    ("KiB", 1_024.0, false),
    ("MiB", 1_048_576.0, false),
];

/// Parses a rate, such as `800kpps` or `100Mbit`.
///
/// # Errors
///
/// A text with the valid forms of a rate.
pub fn parse_rate(text: &str) -> Result<FrameRate, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let wrong = || {
        format!(
            "invalid rate `{text}`: must be a number with pps, kpps, Mpps, B, kB, MB, GB, kbit, \
             Mbit, Gbit, KiB, MiB or GiB"
        )
    };
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    let is_gibi = unit == "GiB";
    let row = UNITS.into_iter().find(|(name, ..)| *name == unit || is_gibi && *name == "MiB");
    let (_, factor, is_frames) = row.ok_or_else(wrong)?;
    let value = number * factor * if is_gibi { 1_024.0 } else { 1.0 };
    if !(1e-3..=1e12).contains(&value) {
        return Err(format!("`{text}` is out of range"));
    }
    Ok(if is_frames { FrameRate::Frames(value) } else { FrameRate::Bytes(value) })
}

/// Parses a schedule: `800kpps`; `100kpps/5s,200kpps` (steps); `10kpps..100kpps/30s` (a ramp).
///
/// # Errors
///
/// A text with the problem.
pub fn parse_schedule(text: &str) -> Result<Vec<Segment>, String> {
    let mut segments: Vec<Segment> = Vec::new();
    for piece in text.split(',') {
        let (rates, duration) = match piece.split_once('/') {
            Some((rates, duration)) => (rates, Some(parse_duration_ns(duration, 1)?)),
            None => (piece, None),
        };
        let (from, to) = match rates.split_once("..") {
            Some((from, to)) => (parse_rate(from)?, parse_rate(to)?),
            None => (parse_rate(rates)?, parse_rate(rates)?),
        };
        if from != to && duration.is_none() {
            return Err(format!("`{piece}` needs a duration, like `{piece}/30s`"));
        }
        if duration == Some(0) {
            return Err(format!("the duration of `{piece}` is 0"));
        }
        if segments.last().is_some_and(|last| last.duration_ns.is_none()) {
            return Err(format!("`{piece}` is never reached: the part before it has no duration"));
        }
        segments.push(Segment { from, to, duration_ns: duration });
    }
    Ok(segments)
}

/// Parses a duration in nanoseconds: `5s`, `20ms`, `7us`, `100ns`; a number without a unit counts
/// units of `default_ns` nanoseconds.
///
/// # Errors
///
/// A text with the valid forms of a time.
pub fn parse_duration_ns(text: &str, default_ns: u64) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let factor = match unit {
        "" => default_ns,
        "s" => NS_PER_S,
        "ms" => 1_000_000,
        "us" => 1_000,
        "ns" => 1,
        _ => 0,
    };
    let number = digits.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    match number {
        Some(number) if factor > 0 => Ok((number * factor as f64) as u64),
        _ => Err(format!("invalid time `{text}`: must be a number with s, ms, us or ns")),
    }
}

/// Schedule of frames: the due times of all frames, counted from the start.
#[derive(Clone, Debug)]
pub enum FrameSchedule {
    /// Sending as fast as possible, without due times.
    Unpaced,
    /// Rates of the segments in frames per second: from, to, and the duration in nanoseconds.
    Rates(Vec<(f64, f64, u64)>),
    /// Schedule by the times of a capture's packets.
    Times {
        /// Time of each packet in nanoseconds from the first one.
        offsets_ns: Vec<u64>,
        /// Time in nanoseconds from one repetition of the capture to the next.
        round_ns: u64,
    },
}

impl FrameSchedule {
    /// Creates the schedule of `segments` for frames of `mean_bytes` bytes on average.
    pub fn from_segments(segments: &[Segment], mean_bytes: f64) -> Self {
        let rates = |segment: &Segment| {
            let [from, to] = [segment.from, segment.to].map(|rate| rate.per_second(mean_bytes));
            (from, to, segment.duration_ns.unwrap_or(u64::MAX))
        };
        Self::Rates(segments.iter().map(rates).collect())
    }

    /// Returns the due time of frame `number`, in nanoseconds from the start; `None` if the
    /// schedule is over.
    pub fn due_ns(&self, number: u64) -> Option<u64> {
        match self {
            Self::Unpaced => Some(0),
            Self::Rates(rates) => {
                let (mut left, mut start_ns) = (number as f64, 0_u64);
                for &(from, to, duration_ns) in rates {
                    let seconds = duration_ns as f64 / NS_PER_S as f64;
                    let count = (f64::midpoint(from, to) * seconds).ceil();
                    if left < count {
                        return Some(start_ns + (offset_s(from, to, seconds, left) * 1e9) as u64);
                    }
                    left -= count;
                    start_ns = start_ns.saturating_add(duration_ns);
                }
                None
            }
            Self::Times { offsets_ns, round_ns } => {
                let len = offsets_ns.len() as u64;
                let (round, at) = (number / len, number % len);
                Some(round * *round_ns + offsets_ns[at as usize])
            }
        }
    }

    /// Returns the number of frames of the schedule; `None` if it does not end.
    pub fn frames(&self) -> Option<u64> {
        let Self::Rates(rates) = self else { return None };
        rates.iter().try_fold(0, |sum, &(from, to, duration_ns)| {
            let seconds = duration_ns as f64 / NS_PER_S as f64;
            let count = (f64::midpoint(from, to) * seconds).ceil() as u64;
            (duration_ns < u64::MAX).then_some(sum + count)
        })
    }

    /// Returns true if the schedule's frames wait for their due time.
    pub const fn is_paced(&self) -> bool {
        !matches!(self, Self::Unpaced)
    }
}

/// Returns the seconds from the start of a segment to its frame `number`. At rate a + (b - a) t / T
/// the frames up to t are a t + (b - a) t^2 / 2 T, which is solved for t.
fn offset_s(from: f64, to: f64, seconds: f64, number: f64) -> f64 {
    let slope = (to - from) / seconds;
    if slope.abs() * seconds < from * 1e-9 {
        return number / from;
    }
    // This form of the root loses no digits near a slope of 0.
    2.0 * number / (from + (from * from + 2.0 * slope * number).max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_units_of_the_reference() {
        for (text, rate) in [
            ("800kpps", FrameRate::Frames(800_000.0)),
            ("1.5Mpps", FrameRate::Frames(1_500_000.0)),
            ("8kbit", FrameRate::Bytes(1_000.0)),
            ("1GiB", FrameRate::Bytes(1_073_741_824.0)),
            ("7B", FrameRate::Bytes(7.0)),
        ] {
            assert_eq!(parse_rate(text), Ok(rate), "{text}");
        }
        for text in ["", "5", "kpps", "0pps", "-1pps", "5furlongs"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frames_are_evenly_spaced() {
        let schedule = FrameSchedule::from_segments(&parse_schedule("4pps").unwrap(), 1.0);
        let due: Vec<_> = (0..5).map(|number| schedule.due_ns(number).unwrap()).collect();
        assert_eq!(due, [0, 250_000_000, 500_000_000, 750_000_000, 1_000_000_000]);
        let bits = FrameSchedule::from_segments(&parse_schedule("25Mbit").unwrap(), 85.0);
        // The arithmetic of the slides: 25 Mbit/s of 85 bytes are 36,765 per second.
        assert_eq!(bits.due_ns(36_764).unwrap() / 1_000_000, 999);
        assert_eq!(bits.due_ns(36_765).unwrap() / 1_000_000, 1_000);
    }

    #[test]
    fn steps_and_ramps_follow_one_another_and_end() {
        let schedule =
            FrameSchedule::from_segments(&parse_schedule("2pps/1s,4pps/500ms").unwrap(), 1.0);
        let due: Vec<_> = (0..5).map(|number| schedule.due_ns(number)).collect();
        let ms = |ms: u64| Some(ms * 1_000_000);
        assert_eq!(due, [ms(0), ms(500), ms(1_000), ms(1_250), None]);
        assert_eq!(schedule.frames(), Some(4));
        let ramp =
            FrameSchedule::from_segments(&parse_schedule("0.001pps..200pps/1s").unwrap(), 1.0);
        assert_eq!(ramp.frames(), Some(101));
        // A quarter of the frames of a ramp from 0 is due in its first half.
        assert!((499..502).contains(&(ramp.due_ns(25).unwrap() / 1_000_000)));
        for wrong in ["1pps..2pps", "1pps,2pps", "1pps/0s", "1pps/5x", "1pps/"] {
            assert!(parse_schedule(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn captures_keep_their_times_and_repeat() {
        let schedule = FrameSchedule::Times { offsets_ns: vec![0, 30], round_ns: 50 };
        let due: Vec<_> = (0..4).map(|number| schedule.due_ns(number)).collect();
        assert_eq!(due, [Some(0), Some(30), Some(50), Some(80)]);
    }
}
