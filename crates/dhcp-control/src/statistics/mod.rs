//! Statistics under Kea's names, each with the samples of its recent values.
//!
//! A server counts in plain numbers ([`ServerCounts`]). [`Statistics`] reads them once a second and
//! before each command that reads, and keeps a sample of every value that has changed. Only the
//! times of samples differ from Kea's, which samples at every change: several changes within a
//! second are one sample. A reset (`statistic-reset`) keeps the count so far as an offset; a
//! removal (`statistic-remove`) does too and hides the statistic until it changes. Counting itself
//! never stops or restarts.

mod command;
mod counts;
mod event_counts;
mod names;
mod observation;
mod text_writer;

use std::collections::BTreeMap;

use base::time::US_PER_S;
use serde_json::{Map, Value, json};

pub use command::StatisticCommand;
pub(crate) use counts::merged;
pub use counts::{LeaseCounts, PoolCounts, ServerCounts, SubnetCounts};
pub use event_counts::{EventCounts, EventListenerCounts};
pub(crate) use names::always_shown_of_subnets;
pub use names::{StatisticName, StatisticScope, always_shown};
use observation::{Observation, SampleLimit};

use crate::ip_version::IpVersion;
use crate::text::time_stamp;

/// Default number of samples that a statistic keeps (`statistic-default-sample-count`).
pub const DEFAULT_SAMPLE_COUNT: usize = 20;

/// Statistics of a server, each with the samples of its recent values.
#[derive(Clone, Debug)]
pub struct Statistics {
    version: IpVersion,
    /// Statistics with their samples, in the order in which counts are visited, which hardly ever
    /// changes.
    observations: Vec<(StatisticName, Observation)>,
    default_limit: SampleLimit,
    /// Wall-clock time at which the counts were last read, in microseconds since 1970.
    wall_us: u64,
}

impl Statistics {
    /// Creates empty statistics of a server of `version`.
    #[must_use]
    pub const fn new(version: IpVersion) -> Self {
        Self {
            version,
            observations: Vec::new(),
            default_limit: SampleLimit::Count(DEFAULT_SAMPLE_COUNT),
            wall_us: 0,
        }
    }

    /// Sets the default limits of new statistics from a configuration:
    /// `statistic-default-sample-count` and, if that is 0, `statistic-default-sample-age` in
    /// seconds. They apply to new statistics.
    pub fn set_default_limits(&mut self, count: u32, age_s: u32) {
        self.default_limit = match count {
            0 => SampleLimit::Age(u64::from(age_s) * US_PER_S),
            count => SampleLimit::Count(count as usize),
        };
    }

    /// Reads `counts` at the wall-clock time `wall_us`: adds a sample of every changed value, and
    /// forgets the statistics of subnets and pools that no longer exist.
    pub fn sample(&mut self, wall_us: u64, counts: &ServerCounts) {
        self.wall_us = wall_us;
        let Self { observations, default_limit, .. } = self;
        let mut at = 0;
        // Statistics from the first difference on, if there is one.
        let mut moved: Option<BTreeMap<StatisticName, Observation>> = None;
        counts.for_each(self.version, &mut |name, count| {
            let raw = i128::try_from(count).unwrap_or(i128::MAX);
            if moved.is_none() && observations.get(at).is_none_or(|(known, _)| *known != name) {
                moved = Some(observations.drain(at..).collect());
            }
            if let Some(moved) = &mut moved {
                let known = moved.remove(&name);
                let seen = known.unwrap_or_else(|| Observation::new(raw, wall_us, *default_limit));
                observations.push((name, seen));
            }
            observations[at].1.observe(raw, wall_us);
            at += 1;
        });
        observations.truncate(at);
    }

    /// Ends the history of the lease statistics of all subnets and pools, as Kea does with a new
    /// configuration: each statistic has one sample, and cumulative ones count from 0.
    pub fn restart_subnets(&mut self) {
        let (wall_us, limit) = (self.wall_us, self.default_limit);
        for (name, seen) in &mut self.observations {
            if name.scope != StatisticScope::Global && names::is_of_leases(name.counted) {
                let grows = ["cumulative-", "reclaimed-"];
                let from_zero = grows.iter().any(|prefix| name.counted.starts_with(prefix));
                seen.restart(wall_us, limit, from_zero);
            }
        }
    }

    /// Returns the samples of the statistic `name` as JSON, newest first; `None` if there is no
    /// such statistic.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.find(name).and_then(|at| samples_to_json(&self.observations[at].1))
    }

    /// Returns all statistics with their samples as JSON, or those of the whole server only.
    #[must_use]
    pub fn all(&self, global_only: bool) -> Value {
        let mut map = Map::new();
        for (name, seen) in &self.observations {
            if global_only && !name.scope.is_of_server() {
                continue;
            }
            if let Some(samples) = samples_to_json(seen) {
                map.insert(name.to_string(), samples);
            }
        }
        Value::Object(map)
    }

    /// Restarts the statistic `name` at 0; returns true if there is such a statistic.
    pub fn reset(&mut self, name: &str) -> bool {
        let wall_us = self.wall_us;
        self.change(name, |seen| seen.reset(wall_us))
    }

    /// Restarts all statistics at 0.
    pub fn reset_all(&mut self) {
        let wall_us = self.wall_us;
        for seen in self.visible() {
            seen.reset(wall_us);
        }
    }

    /// Hides the statistic `name` until it changes; returns true if there is such a statistic.
    pub fn remove(&mut self, name: &str) -> bool {
        self.change(name, Observation::remove)
    }

    /// Hides all statistics until they change.
    pub fn remove_all(&mut self) {
        for seen in self.visible() {
            seen.remove();
        }
    }

    /// Sets the maximum number of samples of the statistic `name`; returns true if there is such a
    /// statistic. The newest sample stays for any `count`.
    pub fn set_count(&mut self, name: &str, count: u32) -> bool {
        self.change(name, |seen| seen.set_limit(SampleLimit::Count(count as usize)))
    }

    /// Sets the maximum number of samples of all statistics, also of future ones.
    pub fn set_count_of_all(&mut self, count: u32) {
        self.set_limit_of_all(SampleLimit::Count(count as usize));
    }

    /// Sets the age, in seconds, up to which the statistic `name` keeps samples; returns true if
    /// there is such a statistic.
    pub fn set_age(&mut self, name: &str, age_s: u64) -> bool {
        self.change(name, |seen| seen.set_limit(SampleLimit::Age(age_s.saturating_mul(US_PER_S))))
    }

    /// Sets the age, in seconds, up to which all statistics keep samples, also future ones.
    pub fn set_age_of_all(&mut self, age_s: u64) {
        self.set_limit_of_all(SampleLimit::Age(age_s.saturating_mul(US_PER_S)));
    }

    fn set_limit_of_all(&mut self, limit: SampleLimit) {
        self.default_limit = limit;
        for (_, seen) in &mut self.observations {
            seen.set_limit(limit);
        }
    }

    fn visible(&mut self) -> impl Iterator<Item = &mut Observation> {
        let all = self.observations.iter_mut().map(|(_, seen)| seen);
        all.filter(|seen| seen.samples().is_some())
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Observation)) -> bool {
        let Some(at) = self.find(name) else { return false };
        let observation = &mut self.observations[at].1;
        if observation.samples().is_none() {
            return false;
        }
        change(observation);
        true
    }

    /// Returns the position in `observations` of the statistic whose name is `text`.
    fn find(&self, text: &str) -> Option<usize> {
        let (scope, counted) = names::split(text);
        let is_it = |(name, _): &(StatisticName, Observation)| {
            let is_of_listener = matches!(name.scope, StatisticScope::EventListener(_));
            name.scope == scope && name.counted == counted
                || is_of_listener && name.to_string() == text
        };
        self.observations.iter().position(is_it)
    }
}

fn samples_to_json(seen: &Observation) -> Option<Value> {
    let list = seen
        .samples()?
        .map(|sample| json!([count_to_json(sample.value), time_stamp(sample.wall_us)]));
    Some(list.collect())
}

/// Returns a count as JSON. Numbers beyond 64 bits are shown as the nearest one within.
pub(crate) fn count_to_json(value: i128) -> Value {
    let value = bounded(value);
    i64::try_from(value).map_or_else(|_| Value::from(value as u64), Value::from)
}

/// Returns the nearest number that a JSON value can hold: one of `i64` or of `u64`.
fn bounded(value: i128) -> i128 {
    value.clamp(i64::MIN.into(), u64::MAX.into())
}
