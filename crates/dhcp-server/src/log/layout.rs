//! Layout of a log line, in the notation of log4cplus that Kea's `pattern` is written in.

use base::CivilTime;
use dhcp_config::LogSeverity;

use super::severity_name;

/// Message of the server's log, with its time, logger and thread.
#[derive(Clone, Debug)]
pub(crate) struct LogRecord {
    /// Time of the log message, in microseconds since 1970.
    pub(crate) wall_us: u64,
    pub(crate) severity: LogSeverity,
    /// Full name of the message's logger, such as `kea-dhcp4.leases`.
    pub(crate) logger: String,
    /// Name of the thread that logged the message.
    pub(crate) thread: String,
    /// Identifier and text of the message.
    pub(crate) text: String,
}

/// Compiled pattern of a log line.
#[derive(Clone, Debug)]
pub(crate) struct LogPattern {
    pieces: Vec<LogPatternPart>,
}

#[derive(Clone, Debug)]
enum LogPatternPart {
    Literal(String),
    Field { kind: LogFieldKind, is_left_aligned: bool, min: usize, max: usize },
}

#[derive(Clone, Debug)]
enum LogFieldKind {
    /// Field for a time, local or UTC, in the notation of strftime with `%q` for milliseconds.
    Time {
        format: String,
        is_local: bool,
    },
    Severity,
    Logger,
    Process,
    Thread,
    Message,
    /// Field of log4cplus that has no value in this server: file, line, method.
    Nothing,
}

/// Pattern of Kea's log lines on consoles and in files.
const LINE: &str = "%D{%Y-%m-%d %H:%M:%S.%q} %-5p [%c/%i.%t] %m\n";
/// Pattern of Kea's log lines in the system log.
const SYSTEM_LOG: &str = "%-5p [%c.%t] %m\n";
/// Format that log4cplus uses for a time field without a format.
const TIME: &str = "%Y-%m-%d %H:%M:%S";

impl LogPattern {
    /// Compiles the log line pattern `pattern`; an empty one stands for the default.
    pub(crate) fn new(pattern: &str, is_system_log: bool) -> Self {
        let pattern = match pattern {
            "" if is_system_log => SYSTEM_LOG,
            "" => LINE,
            _ => pattern,
        };
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once('%') {
            literal.push_str(before);
            let (field, after) = field(after);
            rest = after;
            match field {
                Some(piece) => {
                    if !literal.is_empty() {
                        pieces.push(LogPatternPart::Literal(std::mem::take(&mut literal)));
                    }
                    pieces.push(piece);
                }
                None => literal.push('%'),
            }
        }
        literal.push_str(rest);
        // In JSON the end of a line may be written as two characters; each message ends its line
        // anyway.
        let literal = literal.trim_end_matches("\\n").trim_end_matches('\n').to_owned();
        pieces.push(LogPatternPart::Literal(literal));
        Self { pieces }
    }

    /// Returns the log line of `record` with the text `text`, without a line end.
    pub(crate) fn line(&self, record: &LogRecord, text: &str, utc_offset_s: i64) -> String {
        let mut line = String::with_capacity(text.len() + 80);
        for piece in &self.pieces {
            match piece {
                LogPatternPart::Literal(literal) => line.push_str(literal),
                LogPatternPart::Field { kind, is_left_aligned, min, max } => {
                    let value = kind.value(record, text, utc_offset_s);
                    push_fitted(&mut line, &value, *is_left_aligned, *min, *max);
                }
            }
        }
        line
    }
}

fn push_fitted(line: &mut String, value: &str, is_left_aligned: bool, min: usize, max: usize) {
    // If a value is too long, its end is kept, as in log4cplus.
    let len = value.chars().count();
    let fitted: String = value.chars().skip(len.saturating_sub(max)).collect();
    let padding = " ".repeat(min.saturating_sub(len));
    if is_left_aligned {
        line.push_str(&fitted);
        line.push_str(&padding);
    } else {
        line.push_str(&padding);
        line.push_str(&fitted);
    }
}

/// Parses the pattern's field after a `%`, and returns it with the rest; `None` for `%%`.
fn field(text: &str) -> (Option<LogPatternPart>, &str) {
    if let Some(rest) = text.strip_prefix('%') {
        return (None, rest);
    }
    let (is_left_aligned, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (min, rest) = number(rest);
    let (max, rest) = match rest.strip_prefix('.') {
        Some(rest) => number(rest),
        None => (None, rest),
    };
    let mut characters = rest.chars();
    let letter = characters.next();
    let rest = characters.as_str();
    let (argument, rest) = match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((argument, rest)) => (Some(argument), rest),
        None => (None, rest),
    };
    let kind = match letter {
        Some(letter @ ('d' | 'D')) => LogFieldKind::Time {
            format: argument.unwrap_or(TIME).to_owned(),
            is_local: letter == 'D',
        },
        Some('p') => LogFieldKind::Severity,
        Some('c') => LogFieldKind::Logger,
        Some('i') => LogFieldKind::Process,
        Some('t' | 'T') => LogFieldKind::Thread,
        Some('m') => LogFieldKind::Message,
        // Each message ends its line anyway.
        _ => LogFieldKind::Nothing,
    };
    let field = LogPatternPart::Field {
        kind,
        is_left_aligned,
        min: min.unwrap_or(0),
        max: max.unwrap_or(usize::MAX),
    };
    (Some(field), rest)
}

fn number(text: &str) -> (Option<usize>, &str) {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    // A width above 1,000 is a mistake.
    (text[..end].parse().ok().map(|number: usize| number.min(1_000)), &text[end..])
}

impl LogFieldKind {
    fn value(&self, record: &LogRecord, text: &str, utc_offset_s: i64) -> String {
        match self {
            Self::Time { format, is_local } => {
                let offset_s = if *is_local { utc_offset_s } else { 0 };
                RecordTime::new(record.wall_us, offset_s).format(format)
            }
            Self::Severity => severity_name(record.severity).to_owned(),
            Self::Logger => record.logger.clone(),
            Self::Process => std::process::id().to_string(),
            Self::Thread => record.thread.clone(),
            Self::Message => text.to_owned(),
            Self::Nothing => String::new(),
        }
    }
}

/// Calendar date and time of day of a log record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordTime {
    local: CivilTime,
    microsecond: u32,
    offset_s: i64,
    wall_s: u64,
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl RecordTime {
    /// Converts `wall_us` microseconds since 1970 to the time `offset_s` seconds east of Greenwich.
    pub(super) fn new(wall_us: u64, offset_s: i64) -> Self {
        let wall_s = wall_us / 1_000_000;
        Self {
            local: CivilTime::from_unix_s(wall_s.cast_signed() + offset_s),
            microsecond: (wall_us % 1_000_000) as u32,
            offset_s,
            wall_s,
        }
    }

    /// Formats the record's time in the notation of strftime, with `%q` for milliseconds and `%Q`
    /// for milliseconds with microseconds after a point. Unknown letters stay as they are.
    pub(super) fn format(&self, format: &str) -> String {
        let CivilTime { year, month, day, hour, minute, second } = self.local;
        // Months count from 1.
        let month_name = MONTHS[usize::from(month) - 1];
        let mut text = String::new();
        let mut rest = format.chars();
        while let Some(character) = rest.next() {
            if character != '%' {
                text.push(character);
                continue;
            }
            let value = match rest.next() {
                Some('Y') => year.to_string(),
                Some('y') => format!("{:02}", year % 100),
                Some('m') => format!("{month:02}"),
                Some('b') => month_name.to_owned(),
                Some('d') => format!("{day:02}"),
                Some('e') => format!("{day:2}"),
                Some('H') => format!("{hour:02}"),
                Some('M') => format!("{minute:02}"),
                Some('S') => format!("{second:02}"),
                Some('F') => self.format("%Y-%m-%d"),
                Some('T') => format!("{hour:02}:{minute:02}:{second:02}"),
                Some('q') => format!("{:03}", self.microsecond / 1_000),
                Some('Q') => {
                    format!("{:03}.{:03}", self.microsecond / 1_000, self.microsecond % 1_000)
                }
                Some('s') => self.wall_s.to_string(),
                Some('z') => {
                    let sign = if self.offset_s < 0 { '-' } else { '+' };
                    let minutes = self.offset_s.unsigned_abs() / 60;
                    format!("{sign}{:02}{:02}", minutes / 60, minutes % 60)
                }
                Some('%') => "%".to_owned(),
                Some(other) => format!("%{other}"),
                None => "%".to_owned(),
            };
            text.push_str(&value);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> LogRecord {
        LogRecord {
            // 2000-02-29 23:59:59.123456
            wall_us: 951_868_799_123_456,
            severity: LogSeverity::Info,
            logger: "kea-dhcp4.dhcp4".to_owned(),
            thread: "main".to_owned(),
            text: String::new(),
        }
    }

    #[test]
    fn the_default_layouts_are_keas() {
        let pid = std::process::id();
        let line = LogPattern::new("", false).line(&record(), "DHCP4_STARTED x", 0);
        let expected = "2000-02-29 23:59:59.123 INFO  [kea-dhcp4.dhcp4/";
        assert_eq!(line, format!("{expected}{pid}.main] DHCP4_STARTED x"));
        let line = LogPattern::new("", true).line(&record(), "x", 0);
        assert_eq!(line, "INFO  [kea-dhcp4.dhcp4.main] x");
    }

    #[test]
    fn widths_and_unknown_fields_are_log4cplus_own() {
        let laid = |pattern: &str| LogPattern::new(pattern, false).line(&record(), "text", 3_600);
        assert_eq!(laid("%8p|%-8p|%.5c|%-3.2p|100%%"), "    INFO|INFO    |dhcp4|FO|100%");
        assert_eq!(
            laid("%D|%d{%H:%M %z}|%D{%b %e %T.%Q %z}"),
            "2000-03-01 00:59:59|23:59 +0000|Mar  1 00:59:59.123.456 +0100"
        );
        assert_eq!(laid("%F:%L %m%n"), ": text");
        assert_eq!(laid("%m\n"), "text");
        assert_eq!(laid("%m\\n"), "text");
        assert_eq!(laid("%"), "");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let day = |s: u64, offset| RecordTime::new(s * 1_000_000, offset).format("%F %T");
        // Expected values of `date -u -d @...`.
        assert_eq!(day(0, 0), "1970-01-01 00:00:00");
        assert_eq!(day(0, -3_600), "1969-12-31 23:00:00");
        assert_eq!(day(1_078_012_799, 0), "2004-02-28 23:59:59");
        assert_eq!(day(1_709_251_200, 0), "2024-03-01 00:00:00");
        assert_eq!(day(4_107_542_400, 0), "2100-03-01 00:00:00");
    }
}
