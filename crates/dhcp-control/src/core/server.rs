//! Control commands about the server itself: its version, its state, and the DHCP service.

use serde_json::{Value, json};

use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ReceivedCommand, integer};
use crate::backend::{CleanupStartResult, CommandBackend};
use crate::configuration::root;
use crate::family::CommandFamily;
use crate::interfaces::InterfaceFacts;
use crate::ip_version::IpVersion;
use crate::service::{HA_REMOTE, USER};

pub(super) fn build_report<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    Ok(CommandAnswer::success(backend.version().build))
}

pub(super) fn version<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let version = backend.version();
    Ok(CommandAnswer::success(version.short).and_arguments(json!({ "extended": version.extended })))
}

pub(super) fn tag<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let tag = backend.configuration()[F::VERSION.root()]["server-tag"].as_str();
    Ok(CommandAnswer::from_arguments(json!({ "server-tag": tag.unwrap_or_default() })))
}

pub(super) fn status<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let now = backend.now();
    backend.service().pass_time(now);
    let service = backend.service().to_json();
    let status = backend.status();
    let high_availability = backend.ha_status();
    let sockets = match (status.socket_errors.is_empty(), status.retries_sockets) {
        (true, _) => json!({ "status": "ready" }),
        (false, true) => json!({ "status": "retrying", "errors": status.socket_errors }),
        (false, false) => json!({ "status": "failed", "errors": status.socket_errors }),
    };
    let threading = &root(backend)["multi-threading"];
    let is_configured = threading["enable-multi-threading"] != Value::Bool(false);
    let is_threaded = is_configured || status.threads > 1;
    let queue_size = threading["packet-queue-size"].as_u64().filter(|&number| number > 0);
    let mut arguments = json!({
        "pid": status.pid,
        "uptime": status.uptime_s,
        "reload": status.since_reload_s,
        "multi-threading-enabled": is_threaded,
        "sockets": sockets,
        "dhcp-state": service,
    });
    if is_threaded {
        arguments["thread-pool-size"] = json!(status.threads);
        arguments["packet-queue-size"] =
            json!(queue_size.unwrap_or_else(|| u64::from(status.queue_size)));
        arguments["packet-queue-statistics"] = json!(status.queue_means);
    }
    if let Some(relationships) = high_availability {
        arguments["high-availability"] = relationships;
    }
    if F::VERSION == IpVersion::V6 {
        arguments["extended-info-tables"] = json!(status.has_extended_info_tables);
    }
    if let Some(path) = status.lease_file {
        arguments["csv-lease-file"] = json!(path);
    }
    if let Some(bytes) = status.lease_file_bytes {
        arguments["lease-file-size"] = json!(bytes);
    }
    Ok(CommandAnswer::from_arguments(arguments))
}

pub(super) fn shut_down<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let exit_value = match request.optional_map()?.and_then(|fields| fields.get("exit-value")) {
        None => 0,
        Some(value) => integer(value)
            .and_then(|value| i32::try_from(value).ok())
            .ok_or_else(|| CommandAnswer::error("parameter 'exit-value' is not an integer"))?,
    };
    backend.shut_down(exit_value);
    Ok(CommandAnswer::success("Shutting down."))
}

pub(super) fn disable<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let period_s = match service_field(request, "max-period")? {
        None => None,
        Some(value) => {
            let Some(period) = integer(value) else {
                return Err(CommandAnswer::error("'max-period' argument must be a number"));
            };
            let Some(period) = u64::try_from(period).ok().filter(|&period| period > 0) else {
                return Err(CommandAnswer::error("'max-period' must be positive integer"));
            };
            Some(period)
        }
    };
    let origin = origin(request)?;
    let now = backend.now();
    backend.service().disable(now, origin, period_s);
    let period = period_s.map_or_else(String::new, |period| format!(" for {period} seconds"));
    let number = F::VERSION.number();
    Ok(CommandAnswer::success(format!("DHCPv{number} service disabled{period}")))
}

pub(super) fn enable<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let origin = origin(request)?;
    backend.service().enable(origin);
    Ok(CommandAnswer::success("DHCP service successfully enabled"))
}

/// Returns the argument `field` of `dhcp-disable` or `dhcp-enable`, whose arguments may be missing.
fn service_field<'a>(
    request: &ReceivedCommand<'a>,
    field: &str,
) -> Result<Option<&'a Value>, CommandAnswer> {
    match request.arguments {
        None => Ok(None),
        Some(Value::Object(map)) => Ok(map.get(field)),
        Some(_) => Err(CommandAnswer::error(format!(
            "arguments for the '{}' command must be a map",
            request.name
        ))),
    }
}

/// Returns the origin (user, high availability partner, database) that sends `dhcp-disable` or
/// `dhcp-enable`: `origin-id`, or the older `origin`; a user if both are missing.
fn origin(request: &ReceivedCommand<'_>) -> Result<u32, CommandAnswer> {
    let number = |value: &Value| integer(value).and_then(|number| u32::try_from(number).ok());
    if let Some(value) = service_field(request, "origin-id")? {
        return number(value)
            .ok_or_else(|| CommandAnswer::error("'origin-id' argument must be a number"));
    }
    match service_field(request, "origin")? {
        None => Ok(USER),
        Some(Value::String(origin)) => match origin.as_str() {
            "ha-partner" => Ok(HA_REMOTE),
            "user" => Ok(USER),
            other => {
                let name = if other.is_empty() { "(empty string)" } else { other };
                Err(CommandAnswer::error(format!(
                    "invalid value used for 'origin' parameter: {name}"
                )))
            }
        },
        Some(value) => number(value)
            .ok_or_else(|| CommandAnswer::error("'origin' argument must be a string or a number")),
    }
}

pub(super) fn interfaces<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let interfaces = backend.interfaces();
    let text = format!("{} interfaces detected.", interfaces.len());
    let list: Vec<Value> = interfaces.iter().map(InterfaceFacts::to_json).collect();
    Ok(CommandAnswer::success(text).and_arguments(json!({ "interfaces": list })))
}

pub(super) fn detect_interfaces<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    match backend.detect_interfaces() {
        Ok(()) => interfaces(request, backend),
        Err(why) => Err(CommandAnswer::error(format!(
            "Unexpected error while retrieving the list of detected interfaces: {why}"
        ))),
    }
}

pub(super) fn add_interfaces<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = match request.arguments {
        None => return Err(CommandAnswer::error("Missing mandatory 'arguments' parameter.")),
        Some(Value::Object(fields)) => fields,
        Some(_) => {
            return Err(CommandAnswer::error(
                "arguments for the 'interface-add' command must be a map",
            ));
        }
    };
    if let Some(key) = fields.keys().find(|&key| key != "interfaces") {
        return Err(CommandAnswer::error(format!(
            "Unsupported '{key}' map parameter in 'arguments'."
        )));
    }
    let wrong = || {
        CommandAnswer::error(
            "Updating used interfaces failed: 'interfaces' must be a list of strings",
        )
    };
    let names: Vec<String> = match fields.get("interfaces") {
        None => {
            return Err(CommandAnswer::error(
                "Missing mandatory 'interfaces' map parameter in 'arguments'.",
            ));
        }
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(wrong()),
    };
    if !names.is_empty() {
        backend.add_interfaces(&names).map_err(|why| {
            CommandAnswer::error(format!("Updating used interfaces failed: {why}"))
        })?;
    }
    Ok(CommandAnswer::success("Interface configuration successfully updated."))
}

pub(super) fn clean_up<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    match backend.start_cleanup() {
        CleanupStartResult::Started => Ok(CommandAnswer::success("kea-lfc started")),
        CleanupStartResult::Running => Ok(CommandAnswer::empty("kea-lfc already running")),
        CleanupStartResult::Failed => Err(CommandAnswer::error("failed to start kea-lfc")),
        CleanupStartResult::NoLeaseFile => Err(CommandAnswer::text(
            ResultCode::Unsupported,
            "'persist' parameter of 'memfile' lease backend was configured to 'false'",
        )),
    }
}

pub(super) fn reclaim<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let missing = || CommandAnswer::error("Missing mandatory 'remove' parameter.");
    let fields = request.optional_map()?.ok_or_else(missing)?;
    match fields.get("remove").ok_or_else(missing)? {
        Value::Bool(and_removes) => {
            backend.reclaim(*and_removes);
            Ok(CommandAnswer::success("Reclamation of expired leases is complete."))
        }
        _ => Err(CommandAnswer::error("'remove' parameter expected to be a boolean.")),
    }
}
