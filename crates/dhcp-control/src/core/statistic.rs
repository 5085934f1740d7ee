//! Control commands about statistics: turns requests into [`StatisticCommand`]s.

use serde_json::Value;

use crate::answer::CommandAnswer;
use crate::arguments::{ReceivedCommand, integer};
use crate::statistics::StatisticCommand;

/// Command about statistics, or the error answer to a command that cannot be read.
type Read = Result<StatisticCommand, CommandAnswer>;

pub(super) fn get(request: &ReceivedCommand<'_>) -> Read {
    Ok(StatisticCommand::Get(name(request)?))
}

pub(super) fn get_all(_request: &ReceivedCommand<'_>) -> Read {
    Ok(StatisticCommand::All { is_global_only: false })
}

pub(super) fn get_all_global(_request: &ReceivedCommand<'_>) -> Read {
    Ok(StatisticCommand::All { is_global_only: true })
}

pub(super) fn reset(request: &ReceivedCommand<'_>) -> Read {
    Ok(StatisticCommand::Reset(Some(name(request)?)))
}

pub(super) fn reset_all(_request: &ReceivedCommand<'_>) -> Read {
    Ok(StatisticCommand::Reset(None))
}

pub(super) fn remove(request: &ReceivedCommand<'_>) -> Read {
    Ok(StatisticCommand::Remove(Some(name(request)?)))
}

pub(super) fn remove_all(_request: &ReceivedCommand<'_>) -> Read {
    Ok(StatisticCommand::Remove(None))
}

pub(super) fn set_age(request: &ReceivedCommand<'_>) -> Read {
    let name = name(request)?;
    Ok(StatisticCommand::SetAge(Some(name), duration(request)?))
}

pub(super) fn set_age_of_all(request: &ReceivedCommand<'_>) -> Read {
    Ok(StatisticCommand::SetAge(None, duration(request)?))
}

pub(super) fn set_count(request: &ReceivedCommand<'_>) -> Read {
    let name = name(request)?;
    Ok(StatisticCommand::SetCount(Some(name), max_samples(request)?))
}

pub(super) fn set_count_of_all(request: &ReceivedCommand<'_>) -> Read {
    let count = max_samples(request)?;
    if count == 0 {
        return Err(CommandAnswer::error("'max-samples' parameter must not be zero"));
    }
    Ok(StatisticCommand::SetCount(None, count))
}

fn field<'a>(request: &ReceivedCommand<'a>, field: &str) -> Result<&'a Value, CommandAnswer> {
    let fields = request.optional_map()?;
    fields
        .and_then(|fields| fields.get(field))
        .ok_or_else(|| CommandAnswer::error(format!("Missing mandatory '{field}' parameter.")))
}

fn name(request: &ReceivedCommand<'_>) -> Result<String, CommandAnswer> {
    let name = field(request, "name")?.as_str();
    name.map(str::to_owned)
        .ok_or_else(|| CommandAnswer::error("'name' parameter expected to be a string."))
}

/// Returns the argument `duration` of `statistic-sample-age-set` in seconds; a negative one is 0.
fn duration(request: &ReceivedCommand<'_>) -> Result<u64, CommandAnswer> {
    let duration = integer(field(request, "duration")?)
        .ok_or_else(|| CommandAnswer::error("'duration' parameter expected to be an integer."))?;
    Ok(duration.clamp(0, u64::MAX.into()) as u64)
}

/// Returns the argument `max-samples` of `statistic-sample-count-set`, the lower 32 bits of the
/// number, as Kea takes it.
fn max_samples(request: &ReceivedCommand<'_>) -> Result<u32, CommandAnswer> {
    integer(field(request, "max-samples")?)
        .map(|count| count as u32)
        .ok_or_else(|| CommandAnswer::error("'max-samples' parameter expected to be an integer."))
}
