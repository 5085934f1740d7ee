//! Control commands of the updater, carried out between two turns of its loop.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use base::Now;
use base::time::NS_PER_S;
use dhcp_config::{CheckedDdnsConfig, render};
use dhcp_control::{
    ApplyFailure, ServerVersion, UpdaterBackend, UpdaterShutdown, UpdaterStatistics, UpdaterStatus,
    WrittenFile,
};
use dhcp_ddns::DnsZones;
use netio::Clock;
use serde_json::Value;

use super::daemon::UpdaterDaemon;
use super::sockets::RequestSocket;
use super::{NAME, parse, queue_path, read_updater_configuration};
use crate::ServerError;
use crate::log;
use crate::loggers::DAEMON;
use crate::pid_file;
use crate::supervisor::files::{path_next_to, replace};
use crate::version;

/// Name that problems give to a configuration from a command.
const COMMAND_SOURCE: &str = "<command>";

impl UpdaterDaemon {
    /// Puts a configuration into force.
    fn use_checked(&mut self, checked: CheckedDdnsConfig) -> Result<(), ApplyFailure> {
        let refused = |error: ServerError| ApplyFailure::Refused(error.to_string());
        let config = &checked.config;
        let address = SocketAddr::new(config.address, config.port);
        let requests = if address == self.requests.address {
            None
        } else {
            Some(RequestSocket::open(address).map_err(refused)?)
        };
        let sockets = config.control_sockets.clone();
        self.control
            .configure(sockets)
            .map_err(|reasons| refused(ServerError::Control(reasons)))?;
        if let Some(requests) = requests {
            self.requests = requests;
        }
        log::configure(&config.loggers);
        checked.warnings.iter().for_each(log::problem);
        let now = Clock::now();
        self.worker.updater.configure(DnsZones::from_config(&config.zones), now);
        self.statistics.remove("key[");
        self.checked = checked;
        self.configured = now;
        tracing::info!(target: DAEMON, id = "DHCPX_CONFIG_COMPLETE", "the configuration is in use");
        Ok(())
    }

    /// Reads the configuration file again after SIGHUP.
    pub(super) fn reload_for_signal(&mut self) {
        if let Err(failure) = self.reload() {
            let text = match failure {
                ApplyFailure::Invalid(problems) => {
                    problems.iter().for_each(log::problem);
                    "it has errors".to_owned()
                }
                ApplyFailure::Refused(why) | ApplyFailure::Partial(why) => why,
            };
            tracing::error!(
                target: DAEMON,
                id = "DHCPX_CONFIG_FAIL",
                "the configuration is not reloaded, and the earlier one stays in use: {text}"
            );
        }
    }

    /// Returns the present statistics with their names.
    fn entries(&self) -> Vec<(String, u64)> {
        let counts = self.worker.updater.counts();
        let requests = [
            ("ncr-received", self.counts.received),
            ("ncr-invalid", self.counts.invalid),
            ("ncr-error", 0),
            ("queue-mgr-queue-full", self.counts.full),
            ("update-signed", counts.signed),
            ("update-unsigned", counts.unsigned),
            ("request-completed", counts.completed),
            ("request-failed", counts.failed),
            ("update-refused", counts.refused),
            ("update-truncated", counts.truncated),
        ];
        let all = requests.into_iter().chain(counts.updates.entries());
        let mut entries: Vec<(String, u64)> =
            all.map(|(name, count)| (name.to_owned(), count)).collect();
        for (key, counts) in self.checked.config.zones.keys.iter().zip(&counts.keys) {
            let named = counts.entries().map(|(name, n)| (format!("key[{}].{name}", key.name), n));
            entries.extend(named);
        }
        entries
    }

    /// Returns the counts in the format of Prometheus.
    pub(super) fn metrics(&self) -> String {
        let mut text = String::new();
        let mut add = |name: &str, label: &str, count: u64| {
            let name = name.replace('-', "_");
            writeln!(text, "godwit_ddns_{name}{label} {count}").expect("a string takes any text");
        };
        add("pending_requests", "", self.worker.updater.pending() as u64);
        for (name, count) in self.entries() {
            match name.strip_prefix("key[").and_then(|rest| rest.rsplit_once("].")) {
                Some((key, name)) => {
                    add(&format!("key_{name}"), &format!("{{key={key:?}}}"), count)
                }
                None => add(&name, "", count),
            }
        }
        text
    }
}

impl UpdaterBackend for UpdaterDaemon {
    fn version(&self) -> ServerVersion {
        ServerVersion {
            short: version::KEA_LEVEL.to_owned(),
            extended: version::updater_extended_version(),
            build: version::build_report(),
        }
    }

    fn configuration(&self) -> &Value {
        &self.checked.document
    }

    fn check(&self, document: &Value) -> Result<(), ApplyFailure> {
        let checked = parse(&self.settings, COMMAND_SOURCE, &render(document));
        checked.map(drop).map_err(ApplyFailure::Invalid)
    }

    fn apply(&mut self, document: Value) -> Result<(), ApplyFailure> {
        let checked = parse(&self.settings, COMMAND_SOURCE, &render(&document));
        self.use_checked(checked.map_err(ApplyFailure::Invalid)?)
    }

    fn reload(&mut self) -> Result<(), ApplyFailure> {
        let checked = read_updater_configuration(&self.settings).map_err(|error| match error {
            ServerError::Configuration(problems) => ApplyFailure::Invalid(problems),
            other => ApplyFailure::Refused(other.to_string()),
        })?;
        self.use_checked(checked)
    }

    fn write(&mut self, file: Option<&str>) -> Result<WrittenFile, String> {
        let own = &self.settings.configuration;
        let path = match file {
            None => own.clone(),
            Some(name) => path_next_to(own, Path::new(name))?,
        };
        let is_in_use = [queue_path(own), pid_file::path(NAME, own)].contains(&path);
        if is_in_use {
            return Err(format!("`{}` is a file of this updater", path.display()));
        }
        let text = render(&self.checked.document);
        replace(&path, |file| file.write_all(text.as_bytes()))
            .map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
        Ok(WrittenFile { file: path.display().to_string(), size_bytes: text.len() as u64 })
    }

    fn status(&self) -> UpdaterStatus {
        let now = Clock::now();
        let since = |then: Now| now.mono_ns.saturating_sub(then.mono_ns) / NS_PER_S;
        UpdaterStatus {
            pid: std::process::id(),
            uptime_s: since(self.started),
            since_reload_s: since(self.configured),
            pending: self.worker.updater.pending(),
        }
    }

    fn statistics(&mut self) -> &mut UpdaterStatistics {
        let wall_us = Clock::now().wall_us;
        for (name, count) in self.entries() {
            self.statistics.observe(&name, count, wall_us);
        }
        &mut self.statistics
    }

    fn wall_us(&self) -> u64 {
        Clock::now().wall_us
    }

    fn shut_down(&mut self, kind: UpdaterShutdown) {
        self.shutdown = Some(kind);
    }
}
