//! Rules that remove from a view the values that differ between any two servers: times, process ids
//! and paths. A time stays comparable: a current time has to be current.

use std::path::Path;

use serde_json::Value;

use crate::subjects::process::ServerMake;
use testbed::debian::{LEASES, LOGS, SOCKETS};

/// Rules for the views of one server, with the values by which they find its paths, ids and times.
pub(super) struct ViewRules {
    /// Paths at which the server sees its own folder.
    folders: Vec<String>,
    /// Process id of the server.
    pid: String,
    /// Times between which the server has run, in seconds since 1970.
    span_s: (i64, i64),
}

/// Seconds by which a time may be outside the span in which the server has run.
const LEEWAY_S: i64 = 2;

/// Keys of answers whose values are a time in seconds since 1970.
const TIMES: [&str; 2] = ["cltt", "timestamp"];

/// Keys of answers whose values differ between any two runs.
const VOLATILE: [&str; 3] = ["pid", "uptime", "reload"];

impl ViewRules {
    /// Returns the rules for the server of `make` in `folder`, which has run for `span_s`.
    pub(super) fn new(make: ServerMake, folder: &Path, pid: u32, span_s: (i64, i64)) -> Self {
        let mut folders = vec![folder.display().to_string()];
        if make == ServerMake::Kea3 {
            folders.extend([LEASES, SOCKETS, LOGS].map(str::to_owned));
        }
        Self { folders, pid: pid.to_string(), span_s }
    }

    /// Applies the rule `paths`: replaces the server's folder, under each of its paths.
    fn paths(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for folder in &self.folders {
            text = text.replace(folder, "<folder>");
        }
        text
    }

    /// Applies the rule `times`: replaces a time in which the server has run.
    pub(super) fn time(&self, seconds: i64) -> String {
        let (begin, end) = self.span_s;
        let is_now = (begin - LEEWAY_S..=end + LEEWAY_S).contains(&seconds);
        if is_now { "<now>".to_owned() } else { seconds.to_string() }
    }

    /// Returns a line of text, for instance of a log, by the rules `paths` and `dates`.
    pub(super) fn text(&self, line: &str) -> String {
        dates(&self.paths(line))
    }

    /// Returns the lines of the file `name`: rows of leases by the rule `times`, the process id by
    /// the rule `pid`.
    pub(super) fn file(&self, name: &str, text: &str) -> Vec<String> {
        if Path::new(name).extension().is_some_and(|ending| ending == "pid") {
            return text.lines().map(|line| self.pid(line)).collect();
        }
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let columns: Vec<&str> = header.split(',').collect();
        let column = |name: &str| columns.iter().position(|column| *column == name);
        let (Some(expire), Some(lifetime)) = (column("expire"), column("valid_lifetime")) else {
            return text.lines().map(|line| self.text(line)).collect();
        };
        let rows = lines.map(|line| self.row(line, expire, lifetime));
        [header.to_owned()].into_iter().chain(rows).collect()
    }

    /// Applies the rule `pid`: replaces the id of the server's process.
    fn pid(&self, line: &str) -> String {
        if line == self.pid { "<pid>".to_owned() } else { line.to_owned() }
    }

    /// Returns a row of leases in which the expiry is replaced by the time of the client's last
    /// message.
    pub(super) fn row(&self, line: &str, expire: usize, lifetime: usize) -> String {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<i64>().ok());
        if let (Some(expires), Some(valid)) = (number(expire), number(lifetime))
            && let Some(field) = fields.get_mut(expire)
        {
            *field = format!("{}+{valid}", self.time(expires - valid));
        }
        fields.join(",")
    }

    /// Returns the members of an answer, a line each, by all rules.
    pub(super) fn answer(&self, value: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        self.members(value, "", &mut lines);
        lines
    }

    fn members(&self, value: &Value, above: &str, lines: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    let path = format!("{above}/{key}");
                    match inner.as_i64() {
                        Some(seconds) if TIMES.contains(&key.as_str()) => {
                            lines.push(format!("{path} = {}", self.time(seconds)));
                        }
                        _ if VOLATILE.contains(&key.as_str()) => {
                            lines.push(format!("{path} = <{key}>"));
                        }
                        _ => self.members(inner, &path, lines),
                    }
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (number, inner) in items.iter().enumerate() {
                    self.members(inner, &format!("{above}/{number}"), lines);
                }
            }
            Value::String(text) => lines.push(format!("{above} = {}", self.text(text))),
            other => lines.push(format!("{above} = {other}")),
        }
    }
}

/// Applies the rule `dates`: replaces a date with the time of day, as in logs and samples of
/// statistics.
fn dates(text: &str) -> String {
    const FORM: &[u8] = b"0000-00-00 00:00:00";
    let octets = text.as_bytes();
    let is_date = |at: usize| {
        octets.get(at..at + FORM.len()).is_some_and(|part| {
            part.iter().zip(FORM).all(|(found, form)| {
                if *form == b'0' { found.is_ascii_digit() } else { found == form }
            })
        })
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(found) = (text.len() - rest.len()..text.len()).find(|at| is_date(*at)) {
        out += &text[text.len() - rest.len()..found];
        out += "<date>";
        let end = &text[found + FORM.len()..];
        rest = end.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    }
    out + rest
}

#[test]
fn rules_take_out_what_differs_between_any_two_servers() {
    let rules = ViewRules::new(ServerMake::Kea3, Path::new("/tmp/x"), 7, (1000, 1010));
    let rows = "address,valid_lifetime,expire\n10.0.0.1,60,1065\n10.0.0.2,60,900\n";
    let expected = ["address,valid_lifetime,expire", "10.0.0.1,60,<now>+60", "10.0.0.2,60,840+60"];
    assert_eq!(rules.file("leases.csv", rows), expected);
    assert_eq!(rules.file("x.pid", "7\n"), ["<pid>"]);
    assert_eq!(rules.file("x.pid", "8\n"), ["8"]);
    assert_eq!(rules.text("at 2026-11-27 23:35:44.123 in /run/kea/x"), "at <date> in <folder>/x");
    let answer = serde_json::json!({ "a": [{ "cltt": 1005, "pid": 7 }, { "cltt": 5 }], "b": [] });
    assert_eq!(
        rules.answer(&answer),
        ["/a/0/cltt = <now>", "/a/0/pid = <pid>", "/a/1/cltt = 5", "/b = []"]
    );
}
