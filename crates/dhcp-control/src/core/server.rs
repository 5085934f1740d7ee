//! Commands about the server itself: its version, its state, and its service.

use serde_json::{Value, json};

use crate::answer::{Answer, Outcome, ResultCode};
use crate::arguments::{Request, integer};
use crate::backend::{Backend, Cleanup};
use crate::document::root;
use crate::family::{Commanded, IpVersion};
use crate::interfaces::Interface;
use crate::service::{HA_REMOTE, USER};

pub(super) fn build_report<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    Ok(Answer::success(backend.version().build))
}

pub(super) fn version<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    let version = backend.version();
    Ok(Answer::success(version.short).and(json!({ "extended": version.extended })))
}

pub(super) fn tag<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    let tag = backend.configuration()[B::Family::VERSION.root()]["server-tag"].as_str();
    Ok(Answer::with(json!({ "server-tag": tag.unwrap_or_default() })))
}

pub(super) fn status<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    let now = backend.now();
    backend.service().pass_time(now);
    let service = backend.service().to_json();
    let status = backend.status();
    let sockets = match (status.socket_errors.is_empty(), status.retries_sockets) {
        (true, _) => json!({ "status": "ready" }),
        (false, true) => json!({ "status": "retrying", "errors": status.socket_errors }),
        (false, false) => json!({ "status": "failed", "errors": status.socket_errors }),
    };
    let threading = &root(backend)["multi-threading"];
    let is_configured = threading["enable-multi-threading"] != Value::Bool(false);
    let is_threaded = is_configured || status.threads > 1;
    let queue_size = threading["packet-queue-size"].as_u64().filter(|&number| number > 0);
    let mut shown = json!({
        "pid": status.pid,
        "uptime": status.uptime_s,
        "reload": status.since_reload_s,
        "multi-threading-enabled": is_threaded,
        "sockets": sockets,
        "dhcp-state": service,
    });
    if is_threaded {
        shown["thread-pool-size"] = json!(status.threads);
        shown["packet-queue-size"] =
            json!(queue_size.unwrap_or_else(|| u64::from(status.queue_size)));
        shown["packet-queue-statistics"] = json!(status.queue_means);
    }
    if B::Family::VERSION == IpVersion::V6 {
        shown["extended-info-tables"] = json!(false);
    }
    if let Some(path) = status.lease_file {
        shown["csv-lease-file"] = json!(path);
    }
    if let Some(bytes) = status.lease_file_bytes {
        shown["lease-file-size"] = json!(bytes);
    }
    Ok(Answer::with(shown))
}

pub(super) fn shut_down<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let exit_value = match request.optional_map()?.and_then(|fields| fields.get("exit-value")) {
        None => 0,
        Some(value) => integer(value)
            .and_then(|value| i32::try_from(value).ok())
            .ok_or_else(|| Answer::error("parameter 'exit-value' is not an integer"))?,
    };
    backend.shut_down(exit_value);
    Ok(Answer::success("Shutting down."))
}

pub(super) fn disable<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let period_s = match service_field(request, "max-period")? {
        None => None,
        Some(value) => {
            let Some(period) = integer(value) else {
                return Err(Answer::error("'max-period' argument must be a number"));
            };
            let Some(period) = u64::try_from(period).ok().filter(|&period| period > 0) else {
                return Err(Answer::error("'max-period' must be positive integer"));
            };
            Some(period)
        }
    };
    let origin = origin(request)?;
    let now = backend.now();
    backend.service().disable(now, origin, period_s);
    let period = period_s.map_or_else(String::new, |period| format!(" for {period} seconds"));
    let number = B::Family::VERSION.number();
    Ok(Answer::success(format!("DHCPv{number} service disabled{period}")))
}

pub(super) fn enable<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let origin = origin(request)?;
    backend.service().enable(origin);
    Ok(Answer::success("DHCP service successfully enabled"))
}

/// Returns a field of `dhcp-disable` or `dhcp-enable`, whose arguments may be missing.
fn service_field<'a>(request: &Request<'a>, field: &str) -> Result<Option<&'a Value>, Answer> {
    match request.arguments {
        None => Ok(None),
        Some(Value::Object(map)) => Ok(map.get(field)),
        Some(_) => Err(Answer::error(format!(
            "arguments for the '{}' command must be a map",
            request.name
        ))),
    }
}

/// Returns the origin of the command: `origin-id`, or the older `origin`; a user if both are
/// missing.
fn origin(request: &Request<'_>) -> Result<u32, Answer> {
    let number = |value: &Value| integer(value).and_then(|number| u32::try_from(number).ok());
    if let Some(value) = service_field(request, "origin-id")? {
        return number(value).ok_or_else(|| Answer::error("'origin-id' argument must be a number"));
    }
    match service_field(request, "origin")? {
        None => Ok(USER),
        Some(Value::String(origin)) => match origin.as_str() {
            "ha-partner" => Ok(HA_REMOTE),
            "user" => Ok(USER),
            other => {
                let shown = if other.is_empty() { "(empty string)" } else { other };
                Err(Answer::error(format!("invalid value used for 'origin' parameter: {shown}")))
            }
        },
        Some(value) => number(value)
            .ok_or_else(|| Answer::error("'origin' argument must be a string or a number")),
    }
}

pub(super) fn interfaces<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    let interfaces = backend.interfaces();
    let text = format!("{} interfaces detected.", interfaces.len());
    let list: Vec<Value> = interfaces.iter().map(Interface::to_json).collect();
    Ok(Answer::success(text).and(json!({ "interfaces": list })))
}

pub(super) fn detect_interfaces<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    match backend.detect_interfaces() {
        Ok(()) => interfaces(request, backend),
        Err(why) => Err(Answer::error(format!(
            "Unexpected error while retrieving the list of detected interfaces: {why}"
        ))),
    }
}

pub(super) fn add_interfaces<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let fields = match request.arguments {
        None => return Err(Answer::error("Missing mandatory 'arguments' parameter.")),
        Some(Value::Object(fields)) => fields,
        Some(_) => {
            return Err(Answer::error("arguments for the 'interface-add' command must be a map"));
        }
    };
    if let Some(key) = fields.keys().find(|&key| key != "interfaces") {
        return Err(Answer::error(format!("Unsupported '{key}' map parameter in 'arguments'.")));
    }
    let wrong =
        || Answer::error("Updating used interfaces failed: 'interfaces' must be a list of strings");
    let names: Vec<String> = match fields.get("interfaces") {
        None => {
            return Err(Answer::error(
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
        backend
            .add_interfaces(&names)
            .map_err(|why| Answer::error(format!("Updating used interfaces failed: {why}")))?;
    }
    Ok(Answer::success("Interface configuration successfully updated."))
}

pub(super) fn clean_up<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    match backend.start_cleanup() {
        Cleanup::Started => Ok(Answer::success("kea-lfc started")),
        Cleanup::Running => Ok(Answer::empty("kea-lfc already running")),
        Cleanup::Failed => Err(Answer::error("failed to start kea-lfc")),
        Cleanup::NotKept => Err(Answer::text(
            ResultCode::Unsupported,
            "'persist' parameter of 'memfile' lease backend was configured to 'false'",
        )),
    }
}

pub(super) fn reclaim<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let missing = || Answer::error("Missing mandatory 'remove' parameter.");
    let fields = request.optional_map()?.ok_or_else(missing)?;
    match fields.get("remove").ok_or_else(missing)? {
        Value::Bool(and_removes) => {
            backend.reclaim(*and_removes);
            Ok(Answer::success("Reclamation of expired leases is complete."))
        }
        _ => Err(Answer::error("'remove' parameter expected to be a boolean.")),
    }
}
