//! Control commands of the DNS updater: those of Kea's `kea-dhcp-ddns`, with its answers.

mod statistics;

use serde_json::{Value, json};

pub use statistics::UpdaterStatistics;

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::backend::{ApplyFailure, ServerVersion, WrittenFile};
use crate::core::hash_of;
use crate::dispatch::open;
use crate::secrets::{mask, restore_secrets};

/// Key at the top of the updater's configuration.
const ROOT: &str = "DhcpDdns";

/// DNS updater as control commands see it.
pub trait UpdaterBackend {
    /// Returns the updater's version for the commands `version-get` and `build-report`.
    fn version(&self) -> ServerVersion;
    /// Returns the running configuration with all defaults: `{ "DhcpDdns": { ... } }`.
    fn configuration(&self) -> &Value;
    /// Checks a whole configuration without applying it.
    ///
    /// # Errors
    ///
    /// Returns all problems of the configuration.
    fn check(&self, document: &Value) -> Result<(), ApplyFailure>;
    /// Applies a whole configuration.
    ///
    /// # Errors
    ///
    /// Returns the failure; the old configuration stays in use.
    fn apply(&mut self, document: Value) -> Result<(), ApplyFailure>;
    /// Reads the configuration file again and applies it.
    ///
    /// # Errors
    ///
    /// See [`Self::apply`].
    fn reload(&mut self) -> Result<(), ApplyFailure>;
    /// Writes the running configuration to `file`, or if that is `None` to the file that it was
    /// read from.
    ///
    /// # Errors
    ///
    /// Returns one sentence: the operation that failed with its file.
    fn write(&mut self, file: Option<&str>) -> Result<WrittenFile, String>;
    /// Returns the facts for `status-get`.
    fn status(&self) -> UpdaterStatus;
    /// Returns the statistics, up to date.
    fn statistics(&mut self) -> &mut UpdaterStatistics;
    /// Returns the time of the wall clock in microseconds since 1970.
    fn wall_us(&self) -> u64;
    /// Ends the updater's process soon, after the answer to the command has been sent.
    fn shut_down(&mut self, kind: UpdaterShutdown);
}

/// State of the updater, for `status-get`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdaterStatus {
    /// Process identifier of the updater.
    pub pid: u32,
    /// Time since the updater started, in seconds.
    pub uptime_s: u64,
    /// Seconds since the updater last applied a configuration.
    pub since_reload_s: u64,
    /// Requests that are not finished.
    pub pending: usize,
}

/// Way in which the updater ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdaterShutdown {
    /// At once: unfinished requests are in the durable queue. Kea's types `normal` and `now`.
    Now,
    /// After all requests are finished; new ones are not received. Kea's type `drain_first`.
    DrainFirst,
}

type Method = fn(&ReceivedCommand<'_>, &mut dyn UpdaterBackend) -> Outcome;

const COMMANDS: [(&str, Method); 15] = [
    ("build-report", |_, backend| Ok(CommandAnswer::success(backend.version().build))),
    ("config-get", config_get),
    ("config-hash-get", config_hash_get),
    ("config-reload", config_reload),
    ("config-set", config_set),
    ("config-test", config_test),
    ("config-write", config_write),
    ("list-commands", list),
    ("shutdown", shut_down),
    ("statistic-get", statistics::get),
    ("statistic-get-all", statistics::get_all),
    ("statistic-reset", statistics::reset),
    ("statistic-reset-all", statistics::reset_all),
    ("status-get", status),
    ("version-get", version),
];

/// Executes `command`, a JSON value from a client, on `backend` and returns the answer. Any JSON
/// value gets an answer.
pub fn execute_updater_command(command: &Value, backend: &mut dyn UpdaterBackend) -> CommandAnswer {
    let request = match open(command) {
        Ok(request) => request,
        Err(text) => {
            return CommandAnswer::error(format!("Error during command processing: {text}"));
        }
    };
    match COMMANDS.iter().find(|(name, _)| *name == request.name) {
        Some((_, method)) => method(&request, backend).unwrap_or_else(|early| early),
        None if request.name.starts_with("gss-tsig-") => CommandAnswer::unsupported(request.name)
            .and_reason("GSS-TSIG needs MIT Kerberos, which this program is not linked with"),
        None => CommandAnswer::unsupported(request.name),
    }
}

fn list(_request: &ReceivedCommand<'_>, _backend: &mut dyn UpdaterBackend) -> Outcome {
    let names: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    Ok(CommandAnswer::from_arguments(json!(names)))
}

fn config_get(_request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let mut configuration = backend.configuration().clone();
    mask(&mut configuration);
    configuration["hash"] = Value::from(hash_of(backend.configuration()));
    Ok(CommandAnswer::from_arguments(configuration))
}

fn config_hash_get(_request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    Ok(CommandAnswer::from_arguments(json!({ "hash": hash_of(backend.configuration()) })))
}

fn config_set(request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let mut document = document(request)?.clone();
    restore_secrets(&mut document, backend.configuration());
    backend.apply(document).map_err(ApplyFailure::into_answer)?;
    Ok(applied(backend))
}

fn config_test(request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let mut document = document(request)?.clone();
    restore_secrets(&mut document, backend.configuration());
    backend.check(&document).map_err(ApplyFailure::into_answer)?;
    Ok(CommandAnswer::success("Configuration check successful"))
}

fn config_reload(_request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    backend.reload().map_err(|failure| {
        let refused = failure.into_answer();
        let why = refused.text.unwrap_or_default();
        CommandAnswer::text(refused.result, format!("Config reload failed: {why}"))
    })?;
    Ok(applied(backend))
}

fn config_write(request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let file = match request.optional_map()?.and_then(|fields| fields.get("filename")) {
        None => None,
        Some(Value::String(file)) => Some(file.as_str()).filter(|file| !file.is_empty()),
        Some(_) => return Err(CommandAnswer::error("passed parameter 'filename' is not a string")),
    };
    let written = backend.write(file);
    let written =
        written.map_err(|why| CommandAnswer::error(format!("Error during config-write: {why}")))?;
    let text = format!("Configuration written to {} successful", written.file);
    let details = json!({ "size": written.size_bytes, "filename": written.file });
    Ok(CommandAnswer::success(text).and_arguments(details))
}

fn applied(backend: &dyn UpdaterBackend) -> CommandAnswer {
    let details = json!({ "hash": hash_of(backend.configuration()) });
    CommandAnswer::success("Configuration applied successfully.").and_arguments(details)
}

/// Returns the arguments of a command as a whole configuration.
fn document<'a>(request: &ReceivedCommand<'a>) -> Result<&'a Value, CommandAnswer> {
    let missing = || CommandAnswer::error("Missing mandatory 'arguments' parameter.");
    let arguments = request.arguments.ok_or_else(missing)?;
    let fields = request.map()?;
    match fields.get(ROOT) {
        None => Err(CommandAnswer::error(format!("Missing mandatory '{ROOT}' parameter."))),
        Some(Value::Object(_)) => Ok(arguments),
        Some(_) => Err(CommandAnswer::error(format!("'{ROOT}' parameter expected to be a map."))),
    }
}

fn status(_request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let status = backend.status();
    Ok(CommandAnswer::from_arguments(json!({
        "pid": status.pid,
        "uptime": status.uptime_s,
        "reload": status.since_reload_s,
        "pending-requests": status.pending,
    })))
}

fn version(_request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let version = backend.version();
    Ok(CommandAnswer::success(version.short).and_arguments(json!({ "extended": version.extended })))
}

fn shut_down(request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let kind = match request.arguments.and_then(|arguments| arguments.get("type")) {
        None => "normal",
        Some(kind) => kind
            .as_str()
            .ok_or_else(|| CommandAnswer::error("'type' parameter expected to be a string."))?,
    };
    backend.shut_down(match kind {
        "normal" | "now" => UpdaterShutdown::Now,
        "drain_first" => UpdaterShutdown::DrainFirst,
        _ => return Err(CommandAnswer::error(format!("Invalid Shutdown type: {kind}"))),
    });
    Ok(CommandAnswer::success(format!("Shutdown initiated, type is: {kind}")))
}
