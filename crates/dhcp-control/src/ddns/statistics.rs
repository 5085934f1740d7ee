//! Statistics of the DNS updater. As in Kea's, each has one sample: the present value and the time
//! since which it has been so.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::UpdaterBackend;
use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::text::time_stamp;

/// Statistic with one sample.
#[derive(Clone, Copy, Debug, Default)]
struct UpdaterStatistic {
    /// Count of the updater.
    count: u64,
    /// Count at the last reset, from which the value is counted.
    offset: u64,
    changed_us: u64,
}

/// Statistics of the DNS updater by name.
#[derive(Debug, Default)]
pub struct UpdaterStatistics {
    by_name: BTreeMap<String, UpdaterStatistic>,
}

impl UpdaterStatistics {
    /// Notes that the count `name` is `count` at the time `wall_us`. A count that is smaller than
    /// before has begun again.
    pub fn observe(&mut self, name: &str, count: u64, wall_us: u64) {
        let Some(statistic) = self.by_name.get_mut(name) else {
            let statistic = UpdaterStatistic { count, offset: 0, changed_us: wall_us };
            self.by_name.insert(name.to_owned(), statistic);
            return;
        };
        if statistic.count != count {
            if count < statistic.count {
                statistic.offset = 0;
            }
            (statistic.count, statistic.changed_us) = (count, wall_us);
        }
    }

    /// Removes statistics whose names begin with `prefix`.
    pub fn remove(&mut self, prefix: &str) {
        self.by_name.retain(|name, _| !name.starts_with(prefix));
    }

    fn reset(&mut self, name: &str, wall_us: u64) -> bool {
        let statistic = self.by_name.get_mut(name);
        statistic.is_some_and(|statistic| {
            (statistic.offset, statistic.changed_us) = (statistic.count, wall_us);
            true
        })
    }

    fn samples(&self, name: &str) -> Option<Value> {
        let statistic = self.by_name.get(name)?;
        let value = statistic.count.saturating_sub(statistic.offset);
        Some(json!([[value, time_stamp(statistic.changed_us)]]))
    }
}

pub(super) fn get(request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let name = name(request)?;
    let samples = backend.statistics().samples(name);
    Ok(CommandAnswer::from_arguments(match samples {
        Some(samples) => json!({ name: samples }),
        None => json!({}),
    }))
}

pub(super) fn get_all(_request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let statistics = backend.statistics();
    let names = statistics.by_name.keys();
    let all: Map<String, Value> =
        names.filter_map(|name| Some((name.clone(), statistics.samples(name)?))).collect();
    Ok(CommandAnswer::from_arguments(all.into()))
}

pub(super) fn reset(request: &ReceivedCommand<'_>, backend: &mut dyn UpdaterBackend) -> Outcome {
    let name = name(request)?;
    let wall_us = backend.wall_us();
    if backend.statistics().reset(name, wall_us) {
        Ok(CommandAnswer::success(format!("Statistic '{name}' reset.")))
    } else {
        Err(CommandAnswer::error(format!("No '{name}' statistic found")))
    }
}

pub(super) fn reset_all(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn UpdaterBackend,
) -> Outcome {
    let wall_us = backend.wall_us();
    let statistics = backend.statistics();
    let names: Vec<String> = statistics.by_name.keys().cloned().collect();
    for name in names {
        statistics.reset(&name, wall_us);
    }
    Ok(CommandAnswer::success("All statistics reset to neutral values."))
}

fn name<'a>(request: &ReceivedCommand<'a>) -> Result<&'a str, CommandAnswer> {
    let name = request.optional_map()?.and_then(|fields| fields.get("name"));
    let missing = || CommandAnswer::error("Missing mandatory 'name' parameter.");
    name.ok_or_else(missing)?
        .as_str()
        .ok_or_else(|| CommandAnswer::error("'name' parameter expected to be a string."))
}
