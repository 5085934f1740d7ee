//! Commands about the configuration as a whole.

use dhcp_config::{Problem, Severity};
use serde_json::{Value, json};

use crate::answer::{Answer, Outcome, ResultCode};
use crate::arguments::Request;
use crate::backend::{ApplyFailure, Backend};
use crate::digest::sha256_hex;
use crate::family::Commanded;
use crate::secrets::{mask, restore_secrets};
use crate::text::kea_json;

/// Returns the digest by which clients compare configurations.
pub(crate) fn hash_of(configuration: &Value) -> String {
    sha256_hex(kea_json(configuration).as_bytes())
}

pub(super) fn get<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    let mut shown = backend.configuration().clone();
    mask(&mut shown);
    shown["hash"] = Value::from(hash_of(backend.configuration()));
    Ok(Answer::with(shown))
}

pub(super) fn hash<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    Ok(Answer::with(json!({ "hash": hash_of(backend.configuration()) })))
}

pub(super) fn set<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let mut document = document::<B::Family>(request)?.clone();
    restore_secrets(&mut document, backend.configuration());
    backend.replace(document).map_err(configuration_refused)?;
    Ok(applied(backend))
}

pub(super) fn test<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    tested::<B::Family>(request, |document| backend.check(document))
}

/// Returns the outcome of `config-test`, where `check` checks a whole configuration.
pub(crate) fn tested<F: Commanded>(
    request: &Request<'_>,
    check: impl FnOnce(&Value) -> Result<(), ApplyFailure>,
) -> Outcome {
    match check(document::<F>(request)?) {
        Ok(()) => Ok(Answer::success(
            "Configuration seems sane. Control-sockets, hook-libraries, and D2 configuration were \
             sanity checked, but not applied.",
        )),
        Err(failure) => Err(configuration_refused(failure)),
    }
}

pub(super) fn reload<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    match backend.reload() {
        Ok(()) => Ok(applied(backend)),
        Err(failure) => {
            let refused = configuration_refused(failure);
            let why = refused.text.unwrap_or_default();
            Err(Answer::text(refused.result, format!("Config reload failed: {why}")))
        }
    }
}

pub(super) fn write<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let file = match request.optional_map()?.and_then(|fields| fields.get("filename")) {
        None => None,
        Some(Value::String(file)) => Some(file.as_str()).filter(|file| !file.is_empty()),
        Some(_) => return Err(Answer::error("passed parameter 'filename' is not a string")),
    };
    match backend.write(file) {
        Ok(written) => {
            let text = format!("Configuration written to {} successful", written.file);
            let details = json!({ "size": written.size_bytes, "filename": written.file });
            Ok(Answer::success(text).and(details))
        }
        Err(why) => Err(Answer::error(format!("Error during config-write: {why}"))),
    }
}

pub(super) fn pull<B: Backend>(_request: &Request<'_>, _backend: &mut B) -> Outcome {
    Ok(Answer::empty("No config backend."))
}

/// Returns the arguments as a whole configuration of the family.
fn document<'a, F: Commanded>(request: &Request<'a>) -> Result<&'a Value, Answer> {
    let root = F::VERSION.root();
    let arguments = request
        .arguments
        .ok_or_else(|| Answer::error("Missing mandatory 'arguments' parameter."))?;
    let fields = request.map()?;
    match fields.get(root) {
        None => return Err(Answer::error(format!("Missing mandatory '{root}' parameter."))),
        Some(Value::Object(_)) => {}
        Some(_) => {
            return Err(Answer::error(format!("'{root}' parameter expected to be a map.")));
        }
    }
    let others: Vec<&str> =
        fields.0.keys().map(String::as_str).filter(|&key| key != root).collect();
    match others.split_first() {
        None => Ok(arguments),
        Some((first, rest)) => {
            let rest: String = rest.iter().map(|key| format!(" (and '{key}')")).collect();
            Err(Answer::error(format!("Unsupported '{first}' parameter{rest}.")))
        }
    }
}

fn applied<B: Backend>(backend: &B) -> Answer {
    let details = json!({ "hash": hash_of(backend.configuration()) });
    Answer::success("Configuration successful.").and(details)
}

/// Returns the answer to a configuration that is not in use.
pub(crate) fn configuration_refused(failure: ApplyFailure) -> Answer {
    match failure {
        ApplyFailure::Invalid(problems) => Answer::error(in_words(&problems)),
        ApplyFailure::Refused(why) => Answer::error(why),
        ApplyFailure::Partial(why) => Answer::text(ResultCode::Fatal, why),
    }
}

/// Returns every error, one per line, each with its position as Kea writes it.
fn in_words(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    let lines: Vec<String> = errors
        .map(|Problem { message, file, line, column, .. }| {
            format!("{message} ({file}:{line}:{column})")
        })
        .collect();
    match lines.is_empty() {
        true => "undefined configuration processing error".to_owned(),
        false => lines.join("\n"),
    }
}
