//! Activation of the server's configurations. If a step fails, the configuration in force stays as
//! it was.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dhcp_config::{CheckedConfig, ConfigProblem, DhcpConfig, HaRelationship, SampleLimits, render};
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
use crate::admission::refuse_dangerous;
use crate::events::{self, EventConsumers};
use crate::ha;
use crate::log::{self, counted};
use crate::loggers::DAEMON;
use crate::message_log;
use crate::reload::{parse_configuration, read_configuration};
use crate::service::DaemonFamily;

/// Name that problems give to a configuration from a command.
pub(super) const COMMAND_SOURCE: &str = "<command>";

impl<P: DaemonFamily> ActiveConfiguration<P> {
    /// Combines the configuration `checked` with the data derived from it.
    pub(crate) fn new(checked: CheckedConfig<DhcpConfig<P>>, snapshot: Arc<Snapshot<P>>) -> Self {
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
        let is_enabled = self.config.global.godwit.kea_exporter_metrics;
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

/// Logs that a listener of lease events does not run because of `error`.
fn report_listener_failure(error: &ServerError) {
    tracing::error!(
        target: DAEMON,
        id = "DHCPX_LISTENER_FAILED",
        "a listener of lease events does not run: {error}"
    );
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
        let checked = read_configuration(&self.settings.configuration, &self.settings.terms)
            .map_err(|error| match error {
                ServerError::Configuration(problems) => ApplyFailure::Invalid(problems),
                other => ApplyFailure::Refused(other.to_string()),
            })?;
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
    ) -> Result<CheckedConfig<DhcpConfig<P>>, Vec<ConfigProblem>> {
        parse_configuration(
            COMMAND_SOURCE,
            &render(document),
            &self.settings.configuration,
            &self.settings.terms,
        )
    }

    /// Makes statistics and metrics follow the configuration in force.
    fn follow_in_statistics(&mut self, samples: SampleLimits) {
        self.counters.outlines = Arc::clone(&self.parts.in_force.outlines);
        self.counters.exporter = self.parts.in_force.exporter_labels();
        let subnets = Arc::clone(&self.counters.outlines);
        let exporter = self.counters.exporter.clone();
        self.send_to_statistics(StatisticsTask::Follow(StatisticsConfiguration {
            subnets,
            exporter,
            samples,
        }));
    }

    /// Makes the databases of reservations and the listeners of lease events follow the
    /// configuration in force.
    fn follow_in_parts(&mut self) {
        if let Some(hosts) = &self.parts.hosts {
            hosts.follow(&self.parts.in_force.document);
        }
        let (in_force, ha) = (&self.parts.in_force, self.parts.ha.as_ref());
        if let Some(ha) = ha {
            ha.set_subnets(&in_force.outlines);
        }
        let services = EventConsumers { legal_log: Some(&self.parts.legal_log), ha };
        let (config, subnets) = (&in_force.config, &in_force.outlines);
        if let Err(error) = self.parts.events.configure(config, subnets, services) {
            report_listener_failure(&error);
        }
    }

    /// Ends the listeners of lease events that the configuration in force does not have, after the
    /// last changes under the one before.
    fn end_removed_listeners(&mut self) {
        if let Err(error) = self.parts.events.end_removed() {
            report_listener_failure(&error);
        }
        self.parts.legal_log.close_unless::<P>(&self.parts.in_force.config);
    }

    /// Checks that a new configuration has the parameters of high availability `pairs` that the
    /// server was started with.
    fn check_pairs(&self, pairs: &[HaRelationship]) -> Result<(), ApplyFailure> {
        let is_same = match &self.parts.ha {
            Some(ha) => ha.have_configs(pairs),
            None => pairs.is_empty(),
        };
        if is_same {
            return Ok(());
        }
        let text = "the parameters of the hook library high_availability cannot change while the \
                    server runs; restart it";
        Err(ApplyFailure::Refused(text.to_owned()))
    }

    fn use_checked(&mut self, checked: CheckedConfig<DhcpConfig<P>>) -> Result<(), ApplyFailure> {
        let refused = |error: ServerError| ApplyFailure::Refused(error.to_string());
        refuse_dangerous(&checked.config.global.inactive, &self.settings.accept_inactive)
            .map_err(refused)?;
        let new = &checked.config.global;
        let old = &self.parts.in_force.config.global;
        self.check_pairs(&new.high_availability)?;
        let can_run_scripts = self.parts.events.parts().scripts.is_some();
        events::check(new, can_run_scripts).map_err(refused)?;
        let lease_queries = &mut self.parts.lease_queries;
        lease_queries.configure(new.lease_query.as_ref()).map_err(refused)?;
        let configured = self.parts.control.configure(ha::control_sockets(new));
        if let Err(reasons) = configured {
            // The address was open before, so it can be opened again.
            lease_queries.configure(old.lease_query.as_ref()).map_err(refused)?;
            return Err(refused(ServerError::Control(reasons)));
        }
        self.parts.legal_log.follow::<P>(&checked.config).map_err(refused)?;
        if new.lease_database != old.lease_database
            || new.hosts_databases != old.hosts_databases
            || new.godwit.needs_restart_after(&old.godwit)
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
        self.follow_in_statistics(samples);
        self.follow_in_parts();
        self.publish(snapshot);
        self.end_removed_listeners();
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
