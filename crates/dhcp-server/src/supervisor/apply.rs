//! Activation of the server's configurations. If a step fails, the configuration in force stays as
//! it was.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dhcp_config::{CheckedConfig, ConfigProblem, render};
use dhcp_control::{ApplyFailure, ExporterLabels, WrittenFile};
use dhcp_engine::reclaim;
use dhcp_engine::snapshot::Snapshot;
use netio::Clock;
use serde_json::Value;

use super::files::{path_next_to, replace};
use super::in_use::FilesInUse;
use super::statistics::{StatisticsConfiguration, StatisticsTask};
use super::{ActiveConfiguration, Supervisor, wake};
use crate::ServerError;
use crate::admission::admit;
use crate::log::{self, counted};
use crate::loggers::DAEMON;
use crate::message_log;
use crate::service::DaemonFamily;

/// Name that problems give to a configuration from a command.
pub(super) const COMMAND_SOURCE: &str = "<command>";

impl<P: DaemonFamily> ActiveConfiguration<P> {
    /// Combines the configuration `checked` with the data derived from it.
    pub(crate) fn new(checked: CheckedConfig<P::Config>, snapshot: Arc<Snapshot<P>>) -> Self {
        let mut outlines = P::outlines(&checked.config);
        outlines.sort_by_key(|outline| outline.facts.id);
        let document = checked.document.to_json();
        let outlines = outlines.into();
        let CheckedConfig { config, warnings, .. } = checked;
        Self { config, warnings, document, snapshot, outlines, since: Clock::now() }
    }

    /// Returns the labels for the metric names of kea-exporter, if the configuration has such
    /// labels.
    pub(super) fn exporter_labels(&self) -> Option<Arc<ExporterLabels>> {
        let is_enabled = P::global(&self.config).godwit.kea_exporter_metrics;
        is_enabled.then(|| Arc::new(ExporterLabels::from_configuration(&self.document, P::VERSION)))
    }
}

/// Returns the configuration problems among `new` that are not among `reported`, regardless of
/// their positions in the file.
pub(super) fn new_problems<'n>(
    new: &'n [ConfigProblem],
    reported: &[ConfigProblem],
) -> impl Iterator<Item = &'n ConfigProblem> {
    let key = |problem: &ConfigProblem| {
        (problem.identifier(), problem.message.clone(), problem.help.clone())
    };
    let mut counts = BTreeMap::<_, usize>::new();
    for problem in reported {
        *counts.entry(key(problem)).or_default() += 1;
    }
    new.iter().filter(move |problem| match counts.get_mut(&key(problem)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    })
}

impl<P: DaemonFamily> Supervisor<P> {
    /// Reads the configuration file again after a signal; on any problem the configuration in force
    /// stays.
    pub(super) fn reload_after_signal(&mut self) {
        let Err(failure) = self.read_again() else { return };
        let text = match failure {
            ApplyFailure::Invalid(problems) => {
                problems.iter().for_each(log::problem);
                "the configuration has errors".to_owned()
            }
            ApplyFailure::Refused(text) | ApplyFailure::Partial(text) => text,
        };
        tracing::error!(
            target: DAEMON,
            id = "DHCPX_CONFIG_LOAD_FAIL",
            "reload refused, the old configuration stays: {text}"
        );
    }

    pub(super) fn read_again(&mut self) -> Result<(), ApplyFailure> {
        let outcome = self.read_and_use();
        if outcome.is_err() {
            self.counters.reloads.record_refused();
        }
        outcome
    }

    fn read_and_use(&mut self) -> Result<(), ApplyFailure> {
        #[cfg(test)]
        crate::panics::planted("reload");
        let checked = P::read(&self.settings.configuration, self.settings.terms).map_err(
            |error| match error {
                ServerError::Configuration(problems) => ApplyFailure::Invalid(problems),
                other => ApplyFailure::Refused(other.to_string()),
            },
        )?;
        self.use_checked(checked)?;
        self.send_to_statistics(StatisticsTask::Restart);
        Ok(())
    }

    pub(super) fn use_document(&mut self, document: &Value) -> Result<(), ApplyFailure> {
        #[cfg(test)]
        crate::panics::planted("command");
        let checked = self.parse(document).map_err(ApplyFailure::Invalid)?;
        self.use_checked(checked)
    }

    /// Checks the configuration `document` from a command.
    pub(super) fn parse(
        &self,
        document: &Value,
    ) -> Result<CheckedConfig<P::Config>, Vec<ConfigProblem>> {
        P::parse_text(
            COMMAND_SOURCE,
            &render(document),
            &self.settings.configuration,
            self.settings.terms,
        )
    }

    fn use_checked(&mut self, checked: CheckedConfig<P::Config>) -> Result<(), ApplyFailure> {
        let refused = |error: ServerError| ApplyFailure::Refused(error.to_string());
        admit::<P>(&checked.config, &self.settings.accept_inactive).map_err(refused)?;
        let new = P::global(&checked.config);
        let configured = self.parts.control.configure(new.control_sockets.clone());
        configured.map_err(|reasons| refused(ServerError::Control(reasons)))?;
        let old = P::global(&self.parts.in_force.config);
        if new.lease_database != old.lease_database
            || new.hosts_databases != old.hosts_databases
            || new.godwit != old.godwit
        {
            tracing::warn!(
                target: DAEMON,
                id = "DHCPX_CONFIG_RESTART_NEEDED",
                "changes of `lease-database`, `hosts-databases` and `user-context.godwit` take \
                 effect after a restart"
            );
        }
        let has_other_loggers = new.loggers != old.loggers;
        log::configure(&new.loggers);
        let reported: &[ConfigProblem] =
            if has_other_loggers { &[] } else { &self.parts.in_force.warnings };
        new_problems(&checked.warnings, reported).for_each(log::problem);
        message_log::set_terms(new.decline_probation_period_s, &new.expired_leases);
        if let Err(error) = self.parts.message_log.start_if_enabled() {
            tracing::error!(
                target: DAEMON,
                id = "DHCPX_LOG_THREAD_FAILED",
                "messages about single packets are not logged: {error}"
            );
        }
        let samples = new.samples;
        let listening = P::listening(&checked.config);
        reclaim::apply_expiry(&self.parts.table, &self.settings.expired(&new.expired_leases));
        self.disable_for_repair();
        let snapshot = P::compile(&checked.config, &self.parts.constants, &self.parts.table);
        self.parts.in_force = ActiveConfiguration::new(checked, Arc::clone(&snapshot));
        self.note_files();
        self.counters.outlines = Arc::clone(&self.parts.in_force.outlines);
        self.counters.exporter = self.parts.in_force.exporter_labels();
        let subnets = Arc::clone(&self.counters.outlines);
        let exporter = self.counters.exporter.clone();
        self.send_to_statistics(StatisticsTask::Follow(StatisticsConfiguration {
            subnets,
            exporter,
            samples,
        }));
        if let Some(hosts) = &self.parts.hosts {
            hosts.follow(&self.parts.in_force.document);
        }
        self.publish(snapshot);
        let wakers = &self.parts.wakers;
        let now_ns = Clock::mono_ns();
        let manager = &mut self.parts.listener_manager;
        if let Err(error) = manager.reconfigure(listening, now_ns, &|| wake(wakers)) {
            // All sockets are required, and not all are open: the server ends.
            let text = error.to_string();
            self.failure = Some(error);
            return Err(ApplyFailure::Partial(text));
        }
        self.counters.reloads.record_applied(Clock::now());
        let subnets = counted(self.parts.in_force.outlines.len(), "subnet");
        tracing::info!(
            target: DAEMON, id = "DHCPX_CONFIG_COMPLETE", "reloaded, serving {subnets}"
        );
        Ok(())
    }

    /// Publishes the configuration snapshot `snapshot`, and waits until no shard answers from an
    /// older one; a batch takes far less than a millisecond.
    pub(super) fn publish(&self, snapshot: Arc<Snapshot<P>>) {
        self.shared.snapshot.store(snapshot);
        wake(&self.parts.wakers);
        while !self.shared.snapshot.is_used() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Records the files that the configuration in force uses. The lease file stays the one that
    /// the server was started with.
    fn note_files(&mut self) {
        let config = &self.parts.in_force.config;
        let files = FilesInUse::from_config::<P>(config, &self.settings.configuration);
        self.administration.in_use.follow(files);
    }

    /// Writes the configuration in force to the file `name`, or to the one that the server was
    /// started with. As in Kea, other files must be in the same folder.
    pub(super) fn write_configuration(&self, name: Option<&str>) -> Result<WrittenFile, String> {
        let own = &self.settings.configuration;
        let path = match name {
            None => own.clone(),
            Some(name) => path_next_to(own, Path::new(name))?,
        };
        if path != *own {
            self.administration.in_use.check_replaceable(&path)?;
        }
        let text = render(&self.parts.in_force.document);
        replace(&path, |file| file.write_all(text.as_bytes()))
            .map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
        Ok(WrittenFile { file: path.display().to_string(), size_bytes: text.len() as u64 })
    }
}
