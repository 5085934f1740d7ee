//! Formatting of figures as people read them: separators, units, and only digits that are
//! meaningful.

/// Rounds `value` to `digits` significant digits.
pub fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let decimals = digits - 1 - value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(decimals.abs());
    if decimals >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}

/// Formats a whole number with separators: `1,234,567`.
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0.0 && digits != "0" {
        text.push('−');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats `value` by `format`; a dash if the value is unknown.
pub fn or_dash<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), format)
}

/// Formats a rate with three significant digits: `174,000`, `9,810`, `12.3`.
pub fn rate(value: f64) -> String {
    let rounded = significant(value, 3);
    if rounded.abs() >= 100.0 || rounded.fract() == 0.0 {
        whole(rounded)
    } else {
        trimmed(rounded, 2)
    }
}

/// Formats a ratio with three significant digits: `12.6`, `0.987`, `1.04`.
pub fn ratio(value: f64) -> String {
    let rounded = significant(value, 3);
    let decimals = match rounded.abs() {
        a if a >= 100.0 => 0,
        a if a >= 10.0 => 1,
        a if a >= 1.0 => 2,
        _ => 3,
    };
    format!("{rounded:.decimals$}")
}

/// Largest number of significant digits of a ratio, however narrow its interval is.
const RATIO_DIGITS: i32 = 3;
/// Number of significant digits of a ratio without a known interval.
const LONE_RATIO_DIGITS: i32 = 2;

/// Returns the number of significant digits of a ratio: the last digit is of the size of half of
/// the interval.
fn ratio_digits(value: f64, interval: Option<(f64, f64)>) -> i32 {
    let Some((low, high)) = interval else { return LONE_RATIO_DIGITS };
    let half = (high - low) / 2.0;
    if half <= 0.0 || !half.is_finite() || value <= 0.0 {
        return RATIO_DIGITS;
    }
    (decimal_exponent(value) - decimal_exponent(half) + 1).clamp(1, RATIO_DIGITS)
}

/// Returns the power of ten of the first digit of a number; 0 for a number that is not positive or
/// not finite.
fn decimal_exponent(value: f64) -> i32 {
    if value > 0.0 && value.is_finite() { value.log10().floor() as i32 } else { 0 }
}

fn with_digits(value: f64, digits: i32) -> String {
    let rounded = significant(value, digits);
    if rounded == 0.0 || !rounded.is_finite() {
        return format!("{rounded}");
    }
    let decimals = digits - 1 - rounded.abs().log10().floor() as i32;
    format!("{rounded:.*}", usize::try_from(decimals).unwrap_or(0))
}

/// Formats a ratio with the digits that its 95 % interval allows, three at most: `12.6` for 11.9 to
/// 13.4, `about 5` for 1.9 to 14.9; with two digits if there is no interval.
pub fn ratio_within(value: f64, interval: Option<(f64, f64)>) -> String {
    let digits = ratio_digits(value, interval);
    let about = if digits == 1 { "about " } else { "" };
    format!("{about}{}", with_digits(value, digits))
}

/// Formats the ends of a ratio's 95 % interval, with one digit more than the ratio if that has only
/// one.
pub fn ratio_ends(value: f64, low: f64, high: f64) -> String {
    let digits = ratio_digits(value, Some((low, high))).max(2);
    // Ends of another magnitude than the ratio have digits to the same decimal place, two at least.
    let end = |of: f64| {
        let digits = digits + decimal_exponent(of) - decimal_exponent(value);
        with_digits(of, digits.clamp(2, RATIO_DIGITS))
    };
    format!("{} to {}", end(low), end(high))
}

/// Formats a share as percent with one decimal below 10 %, none above.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 || percent == 0.0 {
        format!("{percent:.0} %")
    } else if percent >= 0.1 {
        format!("{percent:.1} %")
    } else {
        "< 0.1 %".to_owned()
    }
}

/// Formats `value` with at most `decimals` decimals and without needless zeros after the point.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Formats a rate on an axis: `500`, `20k`, `1.5M`.
pub fn axis_rate(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", trimmed(v / 1e6, 2)),
        v if v >= 1e3 => format!("{}k", trimmed(v / 1e3, 1)),
        v => trimmed(v, 1),
    }
}

/// Formats a percentile like [`duration_us`]; a dash if it has too few samples.
pub fn percentile_us(us: Option<f64>) -> String {
    or_dash(us, duration_us)
}

/// Formats a time given in microseconds: `58 µs`, `1.20 ms`, `2.00 s`.
pub fn duration_us(us: f64) -> String {
    let (value, unit) = match significant(us, 3) {
        v if v >= 1e6 => (v / 1e6, "s"),
        v if v >= 1e3 => (v / 1e3, "ms"),
        v => (v, "µs"),
    };
    let decimals = match value {
        v if v >= 100.0 || unit == "µs" => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// Formats a time given in microseconds on an axis, without needless zeros.
pub fn axis_us(us: f64) -> String {
    match us {
        v if v >= 1e6 => format!("{} s", trimmed(v / 1e6, 1)),
        v if v >= 1e3 => format!("{} ms", trimmed(v / 1e3, 1)),
        v => format!("{} µs", trimmed(v, 1)),
    }
}

/// Formats a size of memory: `46.2 MiB`, `8.0 GiB`.
pub fn bytes(value: u64) -> String {
    let mib = value as f64 / f64::from(1 << 20);
    if mib >= 1024.0 {
        format!("{:.1} GiB", mib / 1024.0)
    } else if mib >= 100.0 {
        format!("{mib:.0} MiB")
    } else {
        format!("{mib:.1} MiB")
    }
}

/// Formats a length of time in seconds: `58 s`, `4 min 18 s`.
pub fn seconds(value: f64) -> String {
    let whole = value.round() as u64;
    if whole < 120 { format!("{whole} s") } else { format!("{} min {} s", whole / 60, whole % 60) }
}

/// Formats a coordinate of a drawing: one decimal is a twentieth of a line's width.
pub fn coordinate(value: f64) -> String {
    let text = trimmed(value, 1);
    if text == "-0" { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (got, expected) in [
            (whole(1_234_567.4), "1,234,567"),
            (whole(-1_000.0), "−1,000"),
            (whole(999.0), "999"),
            (rate(173_514.0), "174,000"),
            (rate(12.345), "12.3"),
            (rate(0.0), "0"),
            (ratio(12.648), "12.6"),
            (ratio(0.98712), "0.987"),
            (ratio(1.0), "1.00"),
            (ratio(1234.0), "1230"),
            (ratio_within(12.648, Some((11.9, 13.4))), "12.6"),
            (ratio_within(5.32, Some((1.9, 14.9))), "about 5"),
            (ratio_within(1.0132, Some((0.98, 1.047))), "1.01"),
            (ratio_within(1.0132, Some((0.7, 1.4))), "1.0"),
            (ratio_within(340.4, Some((280.0, 400.0))), "340"),
            (ratio_within(340.4, Some((100.0, 900.0))), "about 300"),
            (ratio_within(0.9876, Some((0.98, 0.99))), "0.988"),
            (ratio_within(5.32, None), "5.3"),
            (ratio_ends(5.32, 1.9, 14.9), "1.9 to 14.9"),
            (ratio_ends(12.648, 11.92, 13.41), "11.9 to 13.4"),
            (ratio_ends(1.0132, 0.9812, 1.0469), "0.98 to 1.05"),
            (percent(0.025), "2.5 %"),
            (percent(0.71), "71 %"),
            (percent(0.0), "0 %"),
            (percent(0.0004), "< 0.1 %"),
            (axis_rate(150_000.0), "150k"),
            (axis_rate(2_500_000.0), "2.5M"),
            (axis_rate(0.0), "0"),
            (duration_us(58.4), "58 µs"),
            (duration_us(1_204.0), "1.20 ms"),
            (duration_us(999.9), "1.00 ms"),
            (duration_us(34_560.0), "34.6 ms"),
            (duration_us(2_000_000.0), "2.00 s"),
            (axis_us(10_000.0), "10 ms"),
            (bytes(48_234_496), "46.0 MiB"),
            (bytes(8 << 30), "8.0 GiB"),
            (seconds(58.4), "58 s"),
            (seconds(258.4), "4 min 18 s"),
            (coordinate(12.04), "12"),
            (coordinate(-0.01), "0"),
        ] {
            assert_eq!(got, expected);
        }
    }
}
