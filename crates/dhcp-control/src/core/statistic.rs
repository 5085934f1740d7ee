//! Commands about statistics.

use serde_json::{Value, json};

use crate::answer::{Answer, Outcome};
use crate::arguments::{Request, integer};
use crate::backend::Backend;
use crate::statistics::Statistics;

/// The statistics, as of now.
pub(crate) fn current<B: Backend>(backend: &mut B) -> &mut Statistics {
    let now = backend.now();
    let counts = backend.counts();
    let statistics = backend.statistics();
    statistics.sample(now.wall_us, &counts);
    statistics
}

pub(super) fn get<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let name = name(request)?;
    match current(backend).get(name) {
        Some(samples) => Ok(Answer::with(json!({ name: samples }))),
        None => Ok(Answer::with(json!({}))),
    }
}

pub(super) fn get_all<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    Ok(Answer::with(current(backend).all(false)))
}

pub(super) fn get_all_global<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    Ok(Answer::with(current(backend).all(true)))
}

pub(super) fn reset<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let name = name(request)?;
    changed(name, current(backend).reset(name), "reset.")
}

pub(super) fn reset_all<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    current(backend).reset_all();
    Ok(Answer::success("All statistics reset to neutral values."))
}

pub(super) fn remove<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let name = name(request)?;
    changed(name, current(backend).remove(name), "removed.")
}

pub(super) fn remove_all<B: Backend>(_request: &Request<'_>, backend: &mut B) -> Outcome {
    current(backend).remove_all();
    Ok(Answer::success(
        "Warning: statistic-remove-all command is deprecated. All statistics removed.",
    ))
}

pub(super) fn set_age<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let name = name(request)?;
    let age_s = duration(request)?;
    changed(name, current(backend).set_age(name, age_s), "duration limit is set.")
}

pub(super) fn set_age_of_all<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let age_s = duration(request)?;
    current(backend).set_age_of_all(age_s);
    Ok(Answer::success("All statistics duration limit are set."))
}

pub(super) fn set_count<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let name = name(request)?;
    let count = max_samples(request)?;
    changed(name, current(backend).set_count(name, count), "count limit is set.")
}

pub(super) fn set_count_of_all<B: Backend>(request: &Request<'_>, backend: &mut B) -> Outcome {
    let count = max_samples(request)?;
    if count == 0 {
        return Err(Answer::error("'max-samples' parameter must not be zero"));
    }
    current(backend).set_count_of_all(count);
    Ok(Answer::success("All statistics count limit are set."))
}

fn changed(name: &str, was_there: bool, done: &str) -> Outcome {
    match was_there {
        true => Ok(Answer::success(format!("Statistic '{name}' {done}"))),
        false => Err(Answer::error(format!("No '{name}' statistic found"))),
    }
}

fn field<'a>(request: &Request<'a>, field: &str) -> Result<&'a Value, Answer> {
    let fields = request.optional_map()?;
    fields
        .and_then(|fields| fields.get(field))
        .ok_or_else(|| Answer::error(format!("Missing mandatory '{field}' parameter.")))
}

fn name<'a>(request: &Request<'a>) -> Result<&'a str, Answer> {
    let name = field(request, "name")?;
    name.as_str().ok_or_else(|| Answer::error("'name' parameter expected to be a string."))
}

/// `duration` in seconds; a negative one is none.
fn duration(request: &Request<'_>) -> Result<u64, Answer> {
    let duration = integer(field(request, "duration")?)
        .ok_or_else(|| Answer::error("'duration' parameter expected to be an integer."))?;
    Ok(duration.clamp(0, u64::MAX.into()) as u64)
}

/// `max-samples`, the lower 32 bits of what was sent, as Kea takes it.
fn max_samples(request: &Request<'_>) -> Result<u32, Answer> {
    integer(field(request, "max-samples")?)
        .map(|count| count as u32)
        .ok_or_else(|| Answer::error("'max-samples' parameter expected to be an integer."))
}
