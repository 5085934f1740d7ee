//! Reader of `loggers`: the loggers of a server and their outputs.

use super::family::ConfigServer;
use super::godwit;
use super::security::{self, PathPurpose};
use super::types::{LogDestination, LogOutput, LogSeverity, Logger};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonValue;

/// Default size at which a log file is rotated, in bytes, as in Kea.
const DEFAULT_MAX_SIZE_BYTES: u64 = 10_240_000;
/// Highest debug level of a logger, the most detailed one.
const MAX_DEBUG_LEVEL: i64 = 99;

const SEVERITIES: [(&str, LogSeverity); 6] = [
    ("FATAL", LogSeverity::Fatal),
    ("ERROR", LogSeverity::Error),
    ("WARN", LogSeverity::Warn),
    ("INFO", LogSeverity::Info),
    ("DEBUG", LogSeverity::Debug),
    ("NONE", LogSeverity::None),
];

/// Reads one logger, an element of `loggers`.
pub(crate) fn logger<S: ConfigServer>(
    value: &JsonValue,
    findings: &mut ParseContext,
) -> Option<Logger> {
    let mut fields = MapReader::from_value(value, "a logger", findings)?;
    let name = fields.text("name", findings).map_or_else(String::new, |n| n.value.to_owned());
    if fields.take("name").is_none() {
        let help = format!("`kea-{}` is the logger of all messages", S::PROGRAM);
        findings.error_help(value.at, "a logger lacks `name`", help);
    }
    let severity =
        fields.word("severity", &SEVERITIES, true, findings).unwrap_or(LogSeverity::Info);
    let level = fields.integer("debuglevel", i64::MIN..=i64::MAX, findings);
    let debug_level = level.map_or(0, |level| {
        let near = level.value.clamp(0, MAX_DEBUG_LEVEL);
        if near != level.value {
            let message = format!("`debuglevel` goes from 0 to {MAX_DEBUG_LEVEL}; {near} is used");
            findings.warn(level.at, message);
        }
        near as u8
    });
    let spellings = ["output-options", "output_options"];
    let entries: Vec<_> = spellings.iter().filter_map(|&key| fields.take(key)).collect();
    if let [first, second] = entries[..] {
        let message = format!("`{}` and `{}` are the same key", first.key, second.key);
        findings.error_with_second_position(second.at, message, "the other is at", first.at);
    }
    let mut outputs = Vec::new();
    for key in spellings {
        let items = fields.list(key, findings).iter();
        outputs.extend(items.filter_map(|item| output::<S>(item, findings)));
    }
    godwit::refuse_inside::<S>(fields.context(findings), findings);
    fields.finish(findings);
    Some(Logger { name, severity, debug_level, outputs })
}

fn output<S: ConfigServer>(value: &JsonValue, findings: &mut ParseContext) -> Option<LogOutput> {
    let mut fields = MapReader::from_value(value, "`output-options`", findings)?;
    let text = fields.text("output", findings);
    let destination = match text.map_or("stdout", |output| output.value) {
        "stdout" => LogDestination::Stdout,
        "stderr" => LogDestination::Stderr,
        "syslog" => LogDestination::Syslog(None),
        name => match name.strip_prefix("syslog:") {
            Some(facility) => LogDestination::Syslog(Some(facility.to_owned())),
            None => LogDestination::File(name.to_owned()),
        },
    };
    if let (LogDestination::File(_), Some(name)) = (&destination, text) {
        security::path(PathPurpose::Log, "output", name, findings);
    }
    let flush = fields.boolean("flush", findings).is_none_or(|flush| flush.value);
    let max_size = fields.integer("maxsize", 0..=i64::MAX, findings);
    let max_versions = fields.u32("maxver", findings).map_or(1, |versions| versions.value);
    let pattern = fields.text("pattern", findings).map_or("", |pattern| pattern.value).to_owned();
    godwit::refuse_inside::<S>(fields.context(findings), findings);
    fields.finish(findings);
    let max_size_bytes = max_size.map_or(DEFAULT_MAX_SIZE_BYTES, |size| size.value.unsigned_abs());
    Some(LogOutput { destination, flush, max_size_bytes, max_versions, pattern })
}
