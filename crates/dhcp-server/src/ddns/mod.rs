//! DNS updater: keeps name change requests in a durable queue, and carries them out at DNS servers.
//! It is a process, `godwit ddns`, that receives requests over UDP, or a thread [`inside`] a DHCP
//! server.
//!
//! `dhcp-ddns` decides what is sent when. [`worker`] connects it to sockets, the queue's file and
//! the clock. One thread does the work; in the process it waits for sockets, signals, commands and
//! deadlines together.

mod backend;
mod check;
mod daemon;
mod inside;
mod notices;
mod queue_file;
mod sockets;
mod streams;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dhcp_config::{CheckedDdnsConfig, ConfigParseOptions, ConfigProblem, parse_ddns};
use dhcp_control::statistics::EventCounts;
use netio::confine;
use netio::signal::Signals;
use tokio::sync::watch;

use crate::control::ControlThread;
use crate::events::{EventSource, EventSubscription, SubscribeRefusal, SubscriptionRequest};
use crate::loggers::DAEMON;
use crate::pid_file::PidFile;
use crate::{FileIncludeResolver, ServerError, log, panics, policy};
use daemon::UpdaterDaemon;

pub use check::{ZoneCheck, check_zones, read_update_zones};
pub(crate) use inside::{UpdaterInside, UpdaterWork};

/// Maximum number of unfinished requests; beyond it an updater takes no more.
const PENDING_MAX: usize = 262_144;
/// Name of the updater's program after `kea-`.
const NAME: &str = "dhcp-ddns";

/// Settings of the DNS updater from its command line.
#[derive(Clone, Debug)]
pub struct UpdaterSettings {
    /// Path of the updater's configuration file.
    pub configuration: PathBuf,
    /// True if violations of Kea 3's security rules are warnings (Kea's flag `-X`).
    pub is_unrestricted: bool,
}

impl UpdaterSettings {
    fn parse_options(&self) -> ConfigParseOptions {
        let policy = policy::security_policy(&self.configuration, self.is_unrestricted);
        ConfigParseOptions { policy, ..ConfigParseOptions::default() }
    }
}

/// Reads and checks the updater's configuration file.
///
/// # Errors
///
/// The file's problems, or the reason why it cannot be read.
pub fn read_updater_configuration(
    settings: &UpdaterSettings,
) -> Result<CheckedDdnsConfig, ServerError> {
    let path = &settings.configuration;
    let text = std::fs::read_to_string(path)
        .map_err(|cause| ServerError::Unreadable { path: path.clone(), cause })?;
    parse(settings, &path.display().to_string(), &text).map_err(ServerError::Configuration)
}

/// Checks the configuration `text`, which problems name `name`.
fn parse(
    settings: &UpdaterSettings,
    name: &str,
    text: &str,
) -> Result<CheckedDdnsConfig, Vec<ConfigProblem>> {
    parse_ddns(&settings.parse_options(), name, text, &mut FileIncludeResolver::default())
}

/// Runs the DNS updater by `settings` until SIGTERM or SIGINT, or until a command ends it.
///
/// # Errors
///
/// The reason why the updater could not start, or had to stop.
pub fn run_ddns(settings: &UpdaterSettings) -> Result<(), ServerError> {
    netio::process::restrict_umask();
    panics::install();
    policy::make_folders();
    let files = if settings.is_unrestricted {
        Ok(())
    } else {
        confine::restrict_files(&policy::writable(&settings.configuration))
    };
    let restricted = [confine::drop_capabilities(), files, confine::restrict_calls()];
    log::start(NAME);
    for reason in restricted.into_iter().filter_map(Result::err) {
        tracing::warn!(
            target: DAEMON,
            id = "DHCPX_NOT_CONFINED",
            "the updater keeps rights that it does not need: {reason}"
        );
    }
    let ended = start(settings);
    if let Err(error) = &ended
        && log::is_configured()
        && !matches!(error, ServerError::Commanded(_))
    {
        tracing::error!(target: DAEMON, id = "DHCPX_FAILED", fatal = true, "{error}");
    }
    log::flush();
    ended
}

fn start(settings: &UpdaterSettings) -> Result<(), ServerError> {
    let _pid_file = PidFile::claim(NAME, &settings.configuration)?;
    let system = |tried| move |cause| ServerError::System { tried, cause };
    let signals = Signals::install().map_err(system("install signal handlers"))?;
    let checked = read_updater_configuration(settings)?;
    checked.warnings.iter().for_each(log::problem);
    log::configure(&checked.config.loggers);
    let (control, inbox) = ControlThread::start(Arc::new(NoEvents), false)?;
    control.configure(checked.config.control_sockets.clone()).map_err(ServerError::Control)?;
    let daemon = UpdaterDaemon::open(settings.clone(), checked, control)?;
    daemon.run(&signals, &inbox)
}

/// Returns the path of the queue's file of an updater with the configuration file `configuration`.
fn queue_path(configuration: &Path) -> PathBuf {
    let stem = configuration.file_stem().unwrap_or_default().to_string_lossy();
    policy::DATA.path().join(format!("{stem}.ddns-queue"))
}

/// Source of lease events of a process without leases.
#[derive(Debug)]
struct NoEvents;

impl EventSource for NoEvents {
    fn subscribe(
        &self,
        _request: &SubscriptionRequest,
    ) -> Result<Box<dyn EventSubscription>, SubscribeRefusal> {
        Err(SubscribeRefusal::NoLeases)
    }

    fn progress(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    fn count_cut_off(&self) {}

    fn counts(&self) -> EventCounts {
        EventCounts::default()
    }
}
