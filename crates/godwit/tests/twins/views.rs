//! Views of a server other than its packets: its files, its log, its statistics, and its answers to
//! commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{SystemTime, UNIX_EPOCH};

use scenario::{ComparisonScenario, ScenarioFamily, ScenarioServer, ScenarioServerError};
use serde_json::{Value, json};

use super::name_changes::{RequestReceiver, names_in};
use super::rules::ViewRules;
use super::tables::LeaseTables;
use crate::subjects::process::{CREDENTIALS, Daemon, ServerMake};

/// Server that plays a twin, with its last answer to a command.
pub(super) struct ObservedServer<'s> {
    make: ServerMake,
    pub(super) daemon: Daemon,
    answer: Option<Value>,
    begun_s: i64,
    /// Tables of leases; `None` for a lease file.
    tables: Option<LeaseTables<'s>>,
    requests: RequestReceiver,
    /// Options of the replies so far that have a name.
    names: Vec<String>,
}

/// Files in a server's folder that the test has put there, or that are not part of its service.
const OWN: [&str; 5] = ["server.conf", CREDENTIALS, "stderr", "kea.log", "logger_lockfile"];

impl<'s> ObservedServer<'s> {
    pub(super) fn new(
        make: ServerMake,
        daemon: Daemon,
        begun_s: i64,
        tables: Option<LeaseTables<'s>>,
        requests: RequestReceiver,
    ) -> Self {
        Self { make, daemon, answer: None, begun_s, tables, requests, names: Vec::new() }
    }

    fn rules(&self) -> ViewRules {
        let span_s = (self.begun_s, now_s());
        ViewRules::new(self.make, self.daemon.folder(), self.daemon.pid(), span_s)
    }

    /// Returns the lines of `view`.
    pub(super) fn lines(&mut self, view: &str, comparison: &ComparisonScenario) -> Vec<String> {
        if let Some(name) = view.strip_prefix("file ") {
            let text = fs::read(self.daemon.folder().join(name));
            let text = text.map(|octets| String::from_utf8_lossy(&octets).into_owned());
            return match text {
                Ok(text) => self.rules().file(name, &text),
                Err(_) => vec!["no such file".to_owned()],
            };
        }
        if let Some(table) = view.strip_prefix("rows ") {
            let tables = self.tables.as_ref().expect("the twin has a database");
            return tables.rows(table, &self.rules());
        }
        match view {
            "answer" => {
                let rules = self.rules();
                self.answer.as_ref().map(|answer| rules.answer(answer)).unwrap_or_default()
            }
            "folder" => self.folder(),
            "names" => self.names.clone(),
            "requests" => self.requests.lines(),
            "legal-log" => self.legal_log(),
            "log" => self.log(comparison),
            "scripts" => self.scripts(),
            "statistics" => self.statistics(),
            _ => panic!("there is no view `{view}`"),
        }
    }

    /// Returns true if the files and log messages that `comparison` waits for exist, and the other
    /// files are gone.
    pub(super) fn is_settled(&self, comparison: &ComparisonScenario) -> bool {
        let is_there = |name: &String| self.daemon.folder().join(name).exists();
        let log = fs::read(self.daemon.folder().join("kea.log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let is_logged = |identifier: &String| log.contains(&format!("] {identifier} "));
        let is_requested = comparison.requested.is_empty()
            || self.requests.lines().iter().any(|line| line.contains(&comparison.requested));
        is_requested
            && comparison.present.iter().all(is_there)
            && comparison.logged.iter().all(is_logged)
            && !comparison.absent.iter().any(is_there)
    }

    /// Returns the names of files with their modes.
    fn folder(&self) -> Vec<String> {
        let entries = fs::read_dir(self.daemon.folder()).expect("the folder is ours");
        let mut lines = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(metadata) = entry.metadata() else { continue };
            if !OWN.contains(&name.as_str()) {
                let mode = metadata.permissions().mode() & 0o777;
                // The name of a backup contains the id of the process that made it.
                let name = name.replace(&format!(".bak{}", self.daemon.pid()), ".bak<pid>");
                lines.push(format!("{name} {mode:o}"));
            }
        }
        lines.sort();
        lines
    }

    /// Returns the lines of the legal log's files, in the order of their names, without the time
    /// before each.
    fn legal_log(&self) -> Vec<String> {
        let entries = fs::read_dir(self.daemon.folder()).expect("the folder is ours").flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
        paths.sort();
        let rules = self.rules();
        let mut lines = Vec::new();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let letter = |character: char| if character.is_ascii_digit() { '0' } else { character };
            lines.push(format!("file {}", name.chars().map(letter).collect::<String>()));
            let text = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            lines.extend(text.lines().map(|line| rules.text(line)));
        }
        lines
    }

    /// Returns true if the server has child processes. Kea starts all scripts of a message before
    /// it answers it.
    pub(super) fn runs_scripts(&self) -> bool {
        let path = format!("/proc/{}/task", self.daemon.pid());
        let threads = fs::read_dir(path).into_iter().flatten().flatten();
        let mut children =
            threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let has_child = children.any(|children| !children.trim().is_empty());
        let entries = fs::read_dir(self.daemon.folder().join("scripts"));
        let mut names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let has_part = names.any(|name| name.to_string_lossy().starts_with(".call-"));
        self.make == ServerMake::Kea3 && (has_child || has_part)
    }

    /// Returns a line for each call of the script, with its argument and its environment. Scripts
    /// run side by side, so the order is that of the lines.
    fn scripts(&self) -> Vec<String> {
        let entries = fs::read_dir(self.daemon.folder().join("scripts"));
        let mut lines = Vec::new();
        for entry in entries.into_iter().flatten().flatten() {
            if !entry.file_name().to_string_lossy().starts_with("call-") {
                continue;
            }
            let text = fs::read(entry.path()).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let mut variables: Vec<String> =
                text.lines().skip(1).map(|variable| self.variable(variable)).collect();
            variables.sort();
            let head =
                text.lines().next().unwrap_or_default().split(' ').map(|word| self.word(word));
            let head: Vec<String> = head.collect();
            lines.push(format!("{} {}", head.join(" "), variables.join(" ")));
        }
        lines.sort();
        lines
    }

    /// Returns a word of a script's call: in the path of a file of the legal log the time is zeros.
    fn word(&self, word: &str) -> String {
        let is_file = word.ends_with(".txt");
        let zero = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
        let word = self.rules().text(word);
        if is_file { word.chars().map(zero).collect() } else { word }
    }

    /// Returns a variable of a script, without the values that differ between servers.
    fn variable(&self, variable: &str) -> String {
        let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
        let [server, client] = self.daemon.ports().map(|port| port.to_string());
        if name.ends_with("_CLTT") {
            let seconds: Option<i64> = value.parse().ok();
            let value = seconds.map_or_else(|| value.to_owned(), |at| self.rules().time(at));
            return format!("{name}={value}");
        }
        match name {
            "QUERY4_LOCAL_PORT" if value == server => format!("{name}=<server>"),
            "QUERY4_REMOTE_PORT" | "QUERY6_REMOTE_PORT" if value == client => {
                format!("{name}=<client>")
            }
            _ => variable.to_owned(),
        }
    }

    /// Returns severity, logger, identifier and text of the log lines whose identifiers the twin
    /// names.
    fn log(&self, comparison: &ComparisonScenario) -> Vec<String> {
        let rules = self.rules();
        let path = self.daemon.folder().join("kea.log");
        let text = fs::read(path).unwrap_or_default();
        let mut lines = Vec::new();
        for line in String::from_utf8_lossy(&text).lines() {
            let Some((head, output_text)) = line.split_once("] ") else { continue };
            let identifier = output_text.split(' ').next().unwrap_or_default();
            if comparison.has_identifier(identifier) {
                let head: Vec<&str> = head.split_whitespace().skip(2).collect();
                let head = head.join(" ");
                let head = head.split('/').next().unwrap_or_default();
                lines.push(format!("{head}] {}", rules.text(output_text)));
            }
        }
        lines
    }

    /// Returns the names of statistics with their values.
    fn statistics(&mut self) -> Vec<String> {
        let answer = self.asked(&json!({ "command": "statistic-get-all" }));
        let all = answer["arguments"].as_object().cloned().unwrap_or_default();
        let mut lines: Vec<String> =
            all.iter().map(|(name, samples)| format!("{name} = {}", samples[0][0])).collect();
        lines.sort();
        lines
    }

    /// Sends a command that is not a step, and returns its answer.
    fn asked(&mut self, command: &Value) -> Value {
        let text = self.daemon.command(&command.to_string()).expect("the daemon takes commands");
        serde_json::from_str(&text).expect("an answer is JSON")
    }

    /// Returns the number of messages that the server has received.
    pub(super) fn received(&mut self, family: ScenarioFamily) -> u64 {
        let name = if family == ScenarioFamily::V4 { "pkt4-received" } else { "pkt6-received" };
        let arguments = json!({ "name": name });
        let answer = self.asked(&json!({ "command": "statistic-get", "arguments": arguments }));
        answer["arguments"][name][0][0].as_u64().unwrap_or_default()
    }
}

impl ScenarioServer for ObservedServer<'_> {
    fn exchange(
        &mut self,
        octets: &[u8],
        expects_none: bool,
        is_answer: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, ScenarioServerError> {
        self.answer = None;
        let replies = self.daemon.exchange(octets, expects_none, is_answer)?;
        for reply in &replies {
            self.names.extend(names_in(reply));
        }
        Ok(replies)
    }

    fn wait_s(&mut self, seconds: u64) -> Result<(), ScenarioServerError> {
        self.answer = None;
        self.daemon.wait_s(seconds)
    }

    fn reload(&mut self, config: &str) -> Result<(), ScenarioServerError> {
        self.answer = None;
        let config = super::with_server_id(self.daemon.family, config);
        self.daemon.reload(&self.requests.add_to(&config))
    }

    fn command(&mut self, command: &str) -> Result<String, ScenarioServerError> {
        let text = self.daemon.command(command)?;
        self.answer = serde_json::from_str(&text).ok();
        Ok(text)
    }

    fn restart(&mut self) -> Result<(), ScenarioServerError> {
        self.answer = None;
        self.daemon.restart()
    }
}

/// Returns the present time in seconds since 1970.
pub(super) fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
