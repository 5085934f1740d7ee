//! Colors of a run's output on a terminal: counts of failures that are not zero, and warnings.

use std::fmt::Write as _;

/// Escape sequence of bold red text (ECMA-48, SGR).
const RED: &str = "\x1b[1;31m";
/// Escape sequence of yellow text (ECMA-48, SGR).
const YELLOW: &str = "\x1b[33m";
/// Escape sequence that returns to plain text (ECMA-48, SGR).
const PLAIN: &str = "\x1b[0m";

/// Names of counts in the output of a run that are zero when all went well.
const FAILURES: [&str; 22] = [
    "late",
    "lost",
    "DHCPNAK",
    "rejected",
    "refused",
    "refused by the kernel",
    "invalid",
    "wrong client",
    "answered twice",
    "timed out",
    "wrong",
    "malformed",
    "Malformed packets",
    "Too short packets",
    "orphans",
    "unmatched",
    "not sent",
    "non unique addresses",
    "late sends",
    "own drops",
    "own socket drops",
    "conflicts",
];
/// Beginning of a line of output that is colored red as a whole; lines that begin with the next
/// constant are colored yellow.
const GRAVE: &str = "GENERATOR LIMITED";
const WARNING: &str = "warning:";

/// Returns `text`, the output of a run, with escape sequences around lines and counts that a reader
/// must not miss; nothing else is changed.
pub fn highlight(text: &str) -> String {
    let mut painted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if line.starts_with(GRAVE) {
            let _ = write!(painted, "{RED}{line}{PLAIN}");
        } else if line.starts_with(WARNING) {
            let _ = write!(painted, "{YELLOW}{line}{PLAIN}");
        } else {
            for part in line.split_inclusive(',') {
                let (part, comma) = part.strip_suffix(',').map_or((part, ""), |part| (part, ","));
                push_part(part, &mut painted);
                painted.push_str(comma);
            }
        }
        painted.push_str(end);
    }
    painted
}

/// Appends a part of an output line between commas, in red from the name on if it counts failures.
fn push_part(part: &str, painted: &mut String) {
    match failure(part) {
        Some((before, count)) => {
            let _ = write!(painted, "{before}{RED}{count}{PLAIN}");
        }
        None => painted.push_str(part),
    }
}

/// Divides `part` of an output line in front of a failure's name and its count, `lost: 3` or `3
/// late sends`; returns `None` if it has none, or the count is zero.
fn failure(part: &str) -> Option<(&str, &str)> {
    let trimmed = part.trim();
    let is_count = |word: &str| {
        word.bytes().all(|digit| digit.is_ascii_digit()) && !word.trim_matches('0').is_empty()
    };
    let start = part.len() - part.trim_start().len();
    if let Some((before_count, count)) = trimmed.rsplit_once(' ')
        && is_count(count)
    {
        let before_count = before_count.strip_suffix(':').unwrap_or(before_count).trim_end();
        // The longest name: "refused by the kernel" ends in no other, "late sends" is not "late".
        let name = FAILURES
            .into_iter()
            .filter(|name| ends_in(before_count, name))
            .max_by_key(|n| n.len())?;
        return Some(part.split_at(start + before_count.len() - name.len()));
    }
    let digits = trimmed.char_indices().filter(|(_, one)| one.is_ascii_digit());
    for (at, _) in digits.take(1) {
        let (count, rest) = trimmed[at..].split_once(' ')?;
        if is_count(count) && FAILURES.iter().any(|name| begins_with(rest, name)) {
            return Some(part.split_at(start + at));
        }
    }
    None
}

/// Returns true if `text` ends in the words `name`, a failure's name.
fn ends_in(text: &str, name: &str) -> bool {
    text.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with(' '))
}

/// Returns true if `text` begins with the words `name`, a failure's name.
fn begins_with(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_warnings_are_colored_and_nothing_else() {
        let red = |text: &str| format!("{RED}{text}{PLAIN}");
        for (text, expected) in [
            ("lost: 0\n", "lost: 0\n".to_owned()),
            ("lost: 10\nlate: 0\n", format!("{}\nlate: 0\n", red("lost: 10"))),
            ("on time: 5\n", "on time: 5\n".to_owned()),
            (
                "exchanges  due 9, sent 9, on time 5, late 1, lost 3\n",
                format!(
                    "exchanges  due 9, sent 9, on time 5, {}, {}\n",
                    red("late 1"),
                    red("lost 3")
                ),
            ),
            ("exchanges  lost 3", format!("exchanges  {}", red("lost 3"))),
            (
                "generator  0.1 CPU s, 4 late sends (worst 7 µs), 0 own drops",
                format!("generator  0.1 CPU s, {}, 0 own drops", red("4 late sends (worst 7 µs)")),
            ),
            (
                "late sends: 2, refused by the kernel: 1",
                format!("{}, {}", red("late sends: 2"), red("refused by the kernel: 1")),
            ),
            ("warning: slow\n", format!("{YELLOW}warning: slow{PLAIN}\n")),
            ("GENERATOR LIMITED: a, b", red("GENERATOR LIMITED: a, b")),
            ("delay from due:  min 1.000, p50 2 ms", "delay from due:  min 1.000, p50 2 ms".into()),
            ("", String::new()),
        ] {
            assert_eq!(highlight(text).replace(&format!("{PLAIN}{RED}"), ""), expected, "{text}");
        }
    }

    #[test]
    fn without_escape_sequences_the_text_is_the_same() {
        let text = "a, lost 3,, 4 late sends\n\nwarning: x\nrejected: 01\nlost:  7 \n 5 ü";
        let mut plain = highlight(text);
        for sequence in [RED, YELLOW, PLAIN] {
            plain = plain.replace(sequence, "");
        }
        assert_eq!(plain, text);
    }
}
