//! Settings of a link from words of `tc`, with all their problems in one error.

use base::{ToolError, ToolResult};
use netem::LinkSettings;

/// Bytes of a full Ethernet frame without its checksum.
const FRAME_BYTES: u64 = 1_514;

/// Parses the words of `tc` into settings of a link, as [`LinkSettings::parse`] does.
///
/// # Errors
///
/// All problems, one per line.
pub fn parse_words(words: &str) -> ToolResult<LinkSettings> {
    LinkSettings::parse(words).map_err(|problems| {
        let lines: Vec<String> =
            problems.iter().map(|problem| format!("in `{words}`, {problem}")).collect();
        ToolError::Usage(lines.join("\n"))
    })
}

/// Returns warnings about link settings that are permitted but hardly intended: a queue that cannot
/// hold the packets in flight, so that the link drops some.
#[must_use]
pub fn warnings(settings: &LinkSettings) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(rate) = settings.rate {
        let in_flight = u128::from(rate.bytes_per_s.get()) * u128::from(settings.delay.base_ns)
            / 1_000_000_000
            / u128::from(FRAME_BYTES);
        if in_flight > u128::from(settings.limit_packets) {
            warnings.push(format!(
                "`limit {}` is less than the {in_flight} full packets that are in flight at this \
                 rate and delay, so the link drops some; give a larger `limit`",
                settings.limit_packets
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_a_line_with_help() {
        let text = parse_words("delay 75mss lss 10").unwrap_err().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() >= 2, "{text}");
        assert!(lines.iter().all(|line| line.starts_with("in `delay 75mss lss 10`, column ")));
        assert!(lines.iter().all(|line| line.contains("; ")), "{text}");
    }

    #[test]
    fn a_limit_below_what_is_under_way_is_warned_of() {
        let count = |words: &str| warnings(&parse_words(words).unwrap()).len();
        // 100 Mbit/s for 150 ms are 1,238 full frames.
        assert_eq!(count("delay 150ms rate 100mbit"), 1);
        assert_eq!(count("delay 150ms rate 100mbit limit 1238"), 0);
        assert_eq!(count("delay 150ms"), 0);
    }
}
