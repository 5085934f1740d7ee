//! Control commands about the configuration as a whole.

use serde_json::{Value, json};

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::backend::{ApplyFailure, CommandBackend};
use crate::digest::sha256_hex;
use crate::family::CommandFamily;
use crate::secrets::{mask, restore_secrets};
use crate::text::kea_json;

/// Returns the SHA-256 digest of a configuration, by which clients compare configurations.
pub(crate) fn hash_of(configuration: &Value) -> String {
    sha256_hex(kea_json(configuration).as_bytes())
}

pub(super) fn get<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let mut configuration = backend.configuration().clone();
    mask(&mut configuration);
    configuration["hash"] = Value::from(hash_of(backend.configuration()));
    Ok(CommandAnswer::from_arguments(configuration))
}

pub(super) fn hash<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    Ok(CommandAnswer::from_arguments(json!({ "hash": hash_of(backend.configuration()) })))
}

pub(super) fn set<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let mut document = document::<F>(request)?.clone();
    restore_secrets(&mut document, backend.configuration());
    backend.replace(document).map_err(ApplyFailure::into_answer)?;
    Ok(applied(backend))
}

pub(super) fn test<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    config_test_answer::<F>(request, |document| backend.check(document))
}

/// Returns the outcome of the command `config-test`, where `check` checks a whole configuration.
pub(crate) fn config_test_answer<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    check: impl FnOnce(&Value) -> Result<(), ApplyFailure>,
) -> Outcome {
    match check(document::<F>(request)?) {
        Ok(()) => Ok(CommandAnswer::success(
            "Configuration seems sane. Control-sockets, hook-libraries, and D2 configuration were \
             sanity checked, but not applied.",
        )),
        Err(failure) => Err(failure.into_answer()),
    }
}

pub(super) fn reload<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    match backend.reload() {
        Ok(()) => Ok(applied(backend)),
        Err(failure) => {
            let refused = failure.into_answer();
            let why = refused.text.unwrap_or_default();
            Err(CommandAnswer::text(refused.result, format!("Config reload failed: {why}")))
        }
    }
}

pub(super) fn write<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let file = match request.optional_map()?.and_then(|fields| fields.get("filename")) {
        None => None,
        Some(Value::String(file)) => Some(file.as_str()).filter(|file| !file.is_empty()),
        Some(_) => return Err(CommandAnswer::error("passed parameter 'filename' is not a string")),
    };
    match backend.write(file) {
        Ok(written) => {
            let text = format!("Configuration written to {} successful", written.file);
            let details = json!({ "size": written.size_bytes, "filename": written.file });
            Ok(CommandAnswer::success(text).and_arguments(details))
        }
        Err(why) => Err(CommandAnswer::error(format!("Error during config-write: {why}"))),
    }
}

pub(super) fn pull<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    _backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    Ok(CommandAnswer::empty("No config backend."))
}

/// Returns the arguments of a command as a whole configuration of the family `F`.
fn document<'a, F: CommandFamily>(
    request: &ReceivedCommand<'a>,
) -> Result<&'a Value, CommandAnswer> {
    let root = F::VERSION.root();
    let arguments = request
        .arguments
        .ok_or_else(|| CommandAnswer::error("Missing mandatory 'arguments' parameter."))?;
    let fields = request.map()?;
    match fields.get(root) {
        None => return Err(CommandAnswer::error(format!("Missing mandatory '{root}' parameter."))),
        Some(Value::Object(_)) => {}
        Some(_) => {
            return Err(CommandAnswer::error(format!("'{root}' parameter expected to be a map.")));
        }
    }
    let others: Vec<&str> =
        fields.0.keys().map(String::as_str).filter(|&key| key != root).collect();
    match others.split_first() {
        None => Ok(arguments),
        Some((first, rest)) => {
            let rest: String = rest.iter().map(|key| format!(" (and '{key}')")).collect();
            Err(CommandAnswer::error(format!("Unsupported '{first}' parameter{rest}.")))
        }
    }
}

fn applied<F: CommandFamily>(backend: &dyn CommandBackend<Family = F>) -> CommandAnswer {
    let details = json!({ "hash": hash_of(backend.configuration()) });
    CommandAnswer::success("Configuration successful.").and_arguments(details)
}
