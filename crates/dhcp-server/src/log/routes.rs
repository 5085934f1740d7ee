//! Routing of log messages: the configured loggers, and the settings that loggers inherit.

use crate::loggers::{DAEMON, LogTopic};
use std::sync::Arc;

use dhcp_config::{LogDestination, LogOutput, LogSeverity, Logger};
use tracing::Level;
use tracing::level_filters::LevelFilter;

use super::LogTopicLevels;
use super::sink::LogSink;

/// Value of Kea's `debuglevel` from which on a logger also writes messages of `tracing`'s level
/// TRACE.
const TRACE_FROM: u8 = 50;

/// Loggers in force, with the sinks of their messages.
#[derive(Debug)]
pub(super) struct Routes {
    family: &'static str,
    /// Routes of the loggers by name; longer names first, the root logger last.
    routes: Vec<LoggerRoute>,
}

#[derive(Debug)]
struct LoggerRoute {
    name: String,
    severity: LogSeverity,
    debug_level: u8,
    sinks: Arc<[Arc<LogSink>]>,
}

impl LoggerRoute {
    fn most_detailed(&self) -> LevelFilter {
        filter(self.severity, self.debug_level)
    }
}

/// Returns the severity that Kea gives log messages of `level`.
pub(super) fn severity(level: Level) -> LogSeverity {
    match level {
        Level::ERROR => LogSeverity::Error,
        Level::WARN => LogSeverity::Warn,
        Level::INFO => LogSeverity::Info,
        _ => LogSeverity::Debug,
    }
}

fn filter(severity: LogSeverity, debug_level: u8) -> LevelFilter {
    match severity {
        LogSeverity::None => LevelFilter::OFF,
        // A field marks fatal errors; their level is that of other errors.
        LogSeverity::Fatal | LogSeverity::Error => LevelFilter::ERROR,
        LogSeverity::Warn => LevelFilter::WARN,
        LogSeverity::Info => LevelFilter::INFO,
        LogSeverity::Debug if debug_level >= TRACE_FROM => LevelFilter::TRACE,
        LogSeverity::Debug => LevelFilter::DEBUG,
    }
}

impl Routes {
    /// Creates the routes of the loggers `loggers` of a server of `family` (`dhcp4`, `dhcp6`). A
    /// logger without outputs has those of the root logger, whose default is standard error.
    pub(super) fn new(family: &'static str, loggers: &[Logger]) -> Self {
        let mut sinks: Vec<Arc<LogSink>> = Vec::new();
        let mut shared = |output: &LogOutput| {
            // One file is written by one sink, however many loggers name it.
            let existing =
                sinks.iter().find(|sink| sink.output().destination == output.destination);
            if let Some(sink) = existing {
                return Arc::clone(sink);
            }
            let sink = Arc::new(LogSink::new(output.clone(), root_name(family)));
            sinks.push(Arc::clone(&sink));
            sink
        };
        let root = loggers.iter().find(|logger| logger.name == root_name(family));
        let root_sinks: Arc<[_]> = match root.map(|logger| &logger.outputs[..]) {
            None | Some([]) => [shared(&standard_error())].into(),
            Some(outputs) => outputs.iter().map(&mut shared).collect(),
        };
        let mut routes: Vec<LoggerRoute> = loggers
            .iter()
            .map(|logger| LoggerRoute {
                name: logger.name.clone(),
                severity: logger.severity,
                debug_level: logger.debug_level,
                sinks: match &logger.outputs[..] {
                    [] => Arc::clone(&root_sinks),
                    outputs => outputs.iter().map(&mut shared).collect(),
                },
            })
            .collect();
        if root.is_none() {
            let (name, severity) = (root_name(family), LogSeverity::Info);
            routes.push(LoggerRoute { name, severity, debug_level: 0, sinks: root_sinks });
        }
        routes.sort_by_key(|route| std::cmp::Reverse(route.name.len()));
        Self { family, routes }
    }

    /// Returns the full name of the logger for the `tracing` target `target`.
    pub(super) fn name(&self, target: &str) -> String {
        let child = if target == DAEMON { self.family } else { target };
        format!("{}.{child}", root_name(self.family))
    }

    /// Returns the sinks of a log message; `None` if no logger takes it.
    pub(super) fn sinks(&self, target: &str, level: Level) -> Option<Arc<[Arc<LogSink>]>> {
        let route = self.route(target)?;
        (level <= route.most_detailed()).then(|| Arc::clone(&route.sinks))
    }

    /// Returns the sinks of a log message except standard error.
    pub(super) fn sinks_elsewhere(&self, target: &str, level: Level) -> Arc<[Arc<LogSink>]> {
        let sinks = self.sinks(target, level);
        let sinks = sinks.iter().flat_map(|sinks| sinks.iter().cloned());
        sinks.filter(|sink| sink.output().destination != LogDestination::Stderr).collect()
    }

    /// Returns true if the logger of `target` takes a message with this severity and debug level,
    /// once the message is known to have sinks.
    pub(super) fn wants(&self, target: &str, severity: LogSeverity, debug_level: u8) -> bool {
        let Some(route) = self.route(target) else { return false };
        match severity {
            LogSeverity::Debug => debug_level <= route.debug_level,
            LogSeverity::Fatal => true,
            _ => route.severity != LogSeverity::Fatal,
        }
    }

    /// Returns the levels of detail about single DHCP messages: a logger at DEBUG takes all lines
    /// up to its `debuglevel`; one at INFO takes the lines that Kea logs at INFO, if it is
    /// configured by name. The root logger at INFO does not suffice: lines about leases must not
    /// slow down a server without a logger for leases.
    pub(super) fn topic_levels(&self) -> LogTopicLevels {
        let with_topic =
            |topic_levels: LogTopicLevels, topic: LogTopic| match self.route(topic.name()) {
                Some(LoggerRoute { severity: LogSeverity::Debug, debug_level, .. }) => {
                    topic_levels.with(topic, *debug_level)
                }
                Some(LoggerRoute { severity: LogSeverity::Info, name, .. })
                    if *name == self.name(topic.name()) =>
                {
                    topic_levels.with(topic, 0)
                }
                _ => topic_levels,
            };
        LogTopic::ALL.into_iter().fold(LogTopicLevels::NONE, with_topic)
    }

    fn route(&self, target: &str) -> Option<&LoggerRoute> {
        let name = self.name(target);
        let holds = |route: &&LoggerRoute| {
            name.strip_prefix(&route.name[..])
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.routes.iter().find(holds)
    }

    /// Returns the sinks of all loggers, possibly with duplicates.
    pub(super) fn all(&self) -> Vec<Arc<LogSink>> {
        self.routes.iter().flat_map(|route| route.sinks.iter().cloned()).collect()
    }

    /// Returns the finest `tracing` level that any logger takes.
    pub(super) fn most_detailed(&self) -> LevelFilter {
        self.routes.iter().map(LoggerRoute::most_detailed).max().unwrap_or(LevelFilter::OFF)
    }
}

fn root_name(family: &str) -> String {
    format!("kea-{family}")
}

fn standard_error() -> LogOutput {
    LogOutput {
        destination: LogDestination::Stderr,
        flush: true,
        max_size_bytes: 0,
        max_versions: 0,
        pattern: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logger(name: &str, severity: LogSeverity, files: &[&str]) -> Logger {
        let output = |file: &&str| LogOutput {
            destination: LogDestination::File((*file).to_owned()),
            ..standard_error()
        };
        let outputs = files.iter().map(output).collect();
        Logger { name: name.to_owned(), severity, debug_level: 0, outputs }
    }

    fn files(routes: &Routes, target: &str, level: Level) -> Option<Vec<String>> {
        let sinks = routes.sinks(target, level)?;
        let name = |sink: &Arc<LogSink>| match &sink.output().destination {
            LogDestination::File(name) => name.clone(),
            other => format!("{other:?}"),
        };
        Some(sinks.iter().map(name).collect())
    }

    #[test]
    fn the_nearest_logger_decides_and_the_root_lends_its_outputs() {
        let routes = Routes::new(
            "dhcp4",
            &[
                logger("kea-dhcp4", LogSeverity::Warn, &["root"]),
                logger("kea-dhcp4.commands", LogSeverity::Debug, &[]),
                logger("kea-dhcp4.http", LogSeverity::Info, &["http", "root"]),
                logger("kea-dhcp4.http.deep", LogSeverity::None, &[]),
                logger("kea-dhcp4.dhcp4", LogSeverity::Error, &[]),
            ],
        );
        let owned = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        assert_eq!(files(&routes, "leases", Level::WARN), owned(&["root"]));
        assert_eq!(files(&routes, "leases", Level::INFO), None);
        assert_eq!(files(&routes, "commands", Level::DEBUG), owned(&["root"]));
        assert_eq!(files(&routes, "commands", Level::TRACE), None);
        assert_eq!(files(&routes, "http", Level::INFO), owned(&["http", "root"]));
        assert_eq!(files(&routes, "http.deep", Level::ERROR), None);
        assert_eq!(files(&routes, "httpx", Level::INFO), None, "no child of http");
        assert_eq!(files(&routes, DAEMON, Level::WARN), None);
        assert_eq!(files(&routes, DAEMON, Level::ERROR), owned(&["root"]));
        assert_eq!(routes.most_detailed(), LevelFilter::DEBUG);
        let same = [routes.sinks("leases", Level::WARN), routes.sinks("http", Level::WARN)];
        let [Some(root), Some(http)] = same else { panic!("both take it") };
        assert!(Arc::ptr_eq(&root[0], &http[1]), "one file has one writer");
    }

    #[test]
    fn without_loggers_everything_from_info_up_goes_to_standard_error() {
        let routes = Routes::new("dhcp6", &[]);
        assert_eq!(files(&routes, DAEMON, Level::INFO), Some(vec!["Stderr".to_owned()]));
        assert_eq!(files(&routes, "commands", Level::DEBUG), None);
        assert_eq!(routes.name(DAEMON), "kea-dhcp6.dhcp6");
        let mut detailed = logger("kea-dhcp6.packets", LogSeverity::Debug, &[]);
        detailed.debug_level = 99;
        let routes = Routes::new("dhcp6", &[detailed]);
        assert!(files(&routes, "packets", Level::TRACE).is_some());
        assert!(files(&routes, "commands", Level::DEBUG).is_none());
    }

    #[test]
    fn fields_decide_where_levels_cannot() {
        let mut packets = logger("kea-dhcp4.packets", LogSeverity::Debug, &[]);
        packets.debug_level = 40;
        let fatal = logger("kea-dhcp4.leases", LogSeverity::Fatal, &[]);
        let routes = Routes::new("dhcp4", &[packets, fatal]);
        assert!(routes.wants("packets", LogSeverity::Debug, 40));
        assert!(!routes.wants("packets", LogSeverity::Debug, 41));
        assert!(routes.wants("packets", LogSeverity::Info, 0));
        assert!(routes.sinks("leases", Level::ERROR).is_some());
        assert!(routes.sinks("leases", Level::WARN).is_none());
        assert!(routes.wants("leases", LogSeverity::Fatal, 0));
        assert!(!routes.wants("leases", LogSeverity::Error, 0));
        assert_eq!(routes.topic_levels(), LogTopicLevels::NONE.with(LogTopic::Packets, 40));
        assert!(!Routes::new("dhcp4", &[]).topic_levels().is_any());
        let root = logger("kea-dhcp4", LogSeverity::Debug, &[]);
        let all = Routes::new("dhcp4", &[root]).topic_levels();
        assert!(LogTopic::ALL.into_iter().all(|topic| all.takes(topic, 0) && !all.takes(topic, 1)));
    }
}
