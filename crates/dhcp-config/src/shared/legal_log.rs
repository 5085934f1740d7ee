//! Parameters of the hook library `legal_log`, older name `forensic_log`: a log of granted and
//! released leases in files, the system log or a database.
//!
//! Part of Kea's manual to read first: "Forensic Logging" in "Hook Libraries".

use super::class_list::{self, Classified};
use super::security::{self, PathPurpose};
use super::sql::{self, DatabaseKind, SqlDatabase, SqlKind};
use super::types::OnFail;
use crate::context::ParseContext;
use crate::expression::TextExpression;
use crate::fields::{MapReader, U32};
use crate::json::{JsonContent, JsonValue};
use crate::source::SourcePosition;

/// Default format of the time before each line (`timestamp-format`), as in Kea.
const TIMESTAMP_FORMAT: &str = "%Y-%m-%d %H:%M:%S %Z";
/// Default beginning of the names of log files (`base-name`), as in Kea.
const BASE_NAME: &str = "kea-legal";
/// Keys that only one kind of log uses; Kea accepts them for every kind.
const KEYS_OF_KINDS: [&str; 22] = [
    "path",
    "base-name",
    "time-unit",
    "count",
    "prerotate",
    "postrotate",
    "pattern",
    "facility",
    "name",
    "host",
    "port",
    "user",
    "password",
    "password-file",
    "trust-anchor",
    "cert-file",
    "key-file",
    "cipher-list",
    "ssl-mode",
    "connect-timeout",
    "on-fail",
    "retry-on-startup",
];

/// Parameters of the legal log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegalLog {
    /// Destination of the lines (`type`).
    pub destination: LegalLogDestination,
    /// Format of the time before each line, in the notation of strftime with `%Q` for milliseconds
    /// and microseconds (`timestamp-format`).
    pub timestamp_format: String,
    /// Expression over the client's message whose value is the line, or its beginning
    /// (`request-parser-format`); `None` when it is not set.
    pub request_format: Option<TextExpression>,
    /// Expression over the server's reply whose value is the line, or its end
    /// (`response-parser-format`); `None` when it is not set.
    pub response_format: Option<TextExpression>,
    /// Numbers (`id`) of the subnets whose user context has `legal-logging` false: their leases
    /// are not logged.
    pub silent_subnets: Vec<u32>,
}

/// Destination of the lines of the legal log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LegalLogDestination {
    /// Files that the server rotates (`logfile`).
    Files(LegalLogFiles),
    /// System log (`syslog`).
    Syslog(LegalLogSyslog),
    /// Table `logs` of a database (`mysql`, `postgresql`).
    Database(SqlDatabase),
}

/// Files of the legal log, and their rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegalLogFiles {
    /// Folder of the files (`path`); Kea's folder for them when `None`.
    pub folder: Option<String>,
    /// Beginning of the file names (`base-name`). Default `kea-legal`.
    pub base_name: String,
    /// Unit of the time after which a new file begins (`time-unit`). Default day.
    pub time_unit: RotationUnit,
    /// Number of units after which a new file begins (`count`); 0 is never. Default 1.
    pub count: u32,
    /// Script that runs before a new file begins (`prerotate`).
    pub prerotate: Option<String>,
    /// Script that runs after a new file has begun (`postrotate`).
    pub postrotate: Option<String>,
}

base::named! {
    /// Unit of the time after which the legal log begins a new file. Names are values of
    /// `time-unit`.
    pub enum RotationUnit {
        /// Second.
        Second = "second",
        /// Day of the calendar, in local time.
        Day = "day",
        /// Month of the calendar, in local time.
        Month = "month",
        /// Year of the calendar, in local time.
        Year = "year",
    }
}

/// System log as the destination of the legal log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegalLogSyslog {
    /// Facility of the messages (`facility`); `local0` when `None`.
    pub facility: Option<String>,
    /// Layout of a message, in log4cplus notation (`pattern`); the default one when empty.
    pub pattern: String,
}

/// Reads the parameters of the legal log whose library is named at `at`; without parameters it is a
/// log in files. Returns `None` if they have an error.
pub(crate) fn read<F: Classified>(
    at: SourcePosition,
    parameters: Option<&JsonValue>,
    findings: &mut ParseContext,
) -> Option<LegalLog> {
    let empty = JsonValue { at, kind: JsonContent::Map(Box::default()) };
    let value = parameters.unwrap_or(&empty);
    let mut fields = MapReader::from_value(value, "the parameters of legal_log", findings)?;
    let destination = destination(&mut fields, findings);
    let format = fields.text("timestamp-format", findings).map_or("", |format| format.value);
    let format = if format.is_empty() { TIMESTAMP_FORMAT } else { format };
    let mut expression = |key| {
        let text = fields.text(key, findings).filter(|text| !text.value.is_empty())?;
        class_list::text::<F>(text, findings)
    };
    let request_format = expression("request-parser-format");
    let response_format = expression("response-parser-format");
    warn_of_unknown(fields, findings);
    Some(LegalLog {
        destination: destination?,
        timestamp_format: format.to_owned(),
        request_format,
        response_format,
        silent_subnets: Vec::new(),
    })
}

/// Returns true if the user context of a subnet switches the legal log off (`legal-logging`).
pub(crate) fn is_switched_off(context: Option<&JsonValue>) -> bool {
    let Some(JsonContent::Map(entries)) = context.map(|context| &context.kind) else {
        return false;
    };
    let entry = entries.iter().find(|entry| *entry.key == *"legal-logging");
    entry.is_some_and(|entry| entry.value.kind == JsonContent::Bool(false))
}

fn destination(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Option<LegalLogDestination> {
    let Some(kind) = fields.text("type", findings) else {
        let has_no_type = fields.take("type").is_none();
        return has_no_type.then(|| LegalLogDestination::Files(files(fields, findings)));
    };
    match kind.value {
        "logfile" => Some(LegalLogDestination::Files(files(fields, findings))),
        "syslog" => Some(LegalLogDestination::Syslog(LegalLogSyslog {
            facility: fields.text("facility", findings).map(|text| text.value.to_owned()),
            pattern: fields.text("pattern", findings).map_or("", |text| text.value).to_owned(),
        })),
        "mysql" => Some(LegalLogDestination::Database(database(SqlKind::Mysql, fields, findings))),
        "postgresql" => {
            Some(LegalLogDestination::Database(database(SqlKind::Postgresql, fields, findings)))
        }
        other => {
            let message =
                format!("The type of the forensic log backend: '{other}' is not supported");
            let help = "must be one of: logfile, syslog, mysql, postgresql";
            findings.error_help(kind.at, message, help);
            None
        }
    }
}

/// Reads the parameters of the log in files, with Kea's texts for errors.
fn files(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> LegalLogFiles {
    let folder = fields.text("path", findings).filter(|folder| !folder.value.is_empty());
    if let Some(folder) = folder {
        security::legal_log("path", folder, findings);
    }
    let base_name = fields.text("base-name", findings);
    if let Some(name) = base_name {
        if name.value.is_empty() {
            findings.error(name.at, "file name cannot be blank");
        } else if name.value.contains('/') || name.value.chars().any(char::is_control) {
            let message = format!("`base-name` is `{}`", name.value.escape_debug());
            let help = "name the beginning of a file name here, and the folder as `path`";
            findings.error_help(name.at, message, help);
        }
    }
    let mut script = |key| {
        let script = fields.text(key, findings).filter(|script| !script.value.is_empty())?;
        security::path(PathPurpose::Script, key, script, findings);
        Some(script.value.to_owned())
    };
    let [prerotate, postrotate] = ["prerotate", "postrotate"].map(&mut script);
    LegalLogFiles {
        folder: folder.map(|folder| folder.value.to_owned()),
        base_name: base_name.map_or(BASE_NAME, |name| name.value).to_owned(),
        time_unit: time_unit(fields, findings),
        count: count(fields, findings),
        prerotate,
        postrotate,
    }
}

fn time_unit(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> RotationUnit {
    let Some(unit) = fields.text("time-unit", findings) else { return RotationUnit::Day };
    RotationUnit::ALL.into_iter().find(|known| known.name() == unit.value).unwrap_or_else(|| {
        let message = format!(
            "unknown time unit type: {}, expected one of: second, day, month, year",
            unit.value
        );
        findings.error(unit.at, message);
        RotationUnit::Day
    })
}

fn count(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> u32 {
    let Some(count) = fields.integer("count", i64::MIN..=i64::MAX, findings) else { return 1 };
    u32::try_from(count.value).unwrap_or_else(|_| {
        let message = format!(
            "count value: {} is out of range, expected value: 0..{}",
            count.value,
            U32.end()
        );
        findings.error(count.at, message);
        1
    })
}

/// Reads the parameters of the log in a database of `kind`.
fn database(kind: SqlKind, fields: &mut MapReader<'_>, findings: &mut ParseContext) -> SqlDatabase {
    let name = fields.text("name", findings).filter(|name| !name.value.is_empty());
    let choices = [
        ("stop-retry-exit", OnFail::StopRetryExit),
        ("serve-retry-exit", OnFail::ServeRetryExit),
        ("serve-retry-continue", OnFail::ServeRetryContinue),
    ];
    let on_fail = fields.word("on-fail", &choices, false, findings);
    let mut database = sql::read(fields, Some(DatabaseKind::Sql(kind)), findings);
    database.on_fail = on_fail.unwrap_or(OnFail::ServeRetryContinue);
    if let Some(name) = name {
        database.name = name.value.to_owned();
    }
    database
}

/// Reports parameters that the legal log does not have, and which Kea ignores.
fn warn_of_unknown(mut fields: MapReader<'_>, findings: &mut ParseContext) {
    fields.context(findings);
    for entry in fields.untaken_members() {
        if !KEYS_OF_KINDS.contains(&&*entry.key) {
            let message = format!("the legal log has no parameter `{}`", entry.key);
            findings.warn(entry.at, message);
        }
    }
}
