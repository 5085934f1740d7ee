//! Reader of lease terms that both families have and that inner scopes inherit: global, shared
//! network, subnet.

use super::family::{ConfigFamily, TeeTimes};
use super::names::{self, NameKeys};
use super::options;
use super::options::data::OptionData;
use super::policy::Policy;
use super::types::Lifetime;
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::source::PositionedValue;

/// Default valid lifetime of a lease in seconds, as in Kea.
const DEFAULT_VALID_S: u32 = 7200;

/// Configuration keys of a time and of its minimum and maximum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundedKeys {
    pub(crate) value: &'static str,
    pub(crate) min: &'static str,
    pub(crate) max: &'static str,
}

/// Configuration keys of the valid lifetime, which is the lease time in DHCPv4.
pub(crate) const VALID: BoundedKeys =
    BoundedKeys { value: "valid-lifetime", min: "min-valid-lifetime", max: "max-valid-lifetime" };

/// Time in seconds with its minimum and maximum, as far as a scope sets them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounded {
    pub(crate) value: Option<PositionedValue<u32>>,
    pub(crate) min: Option<PositionedValue<u32>>,
    pub(crate) max: Option<PositionedValue<u32>>,
}

impl Bounded {
    /// Reads a time and its bounds from a scope's map.
    pub(crate) fn read(
        fields: &mut MapReader<'_>,
        keys: BoundedKeys,
        findings: &mut ParseContext,
    ) -> Self {
        Self {
            value: fields.u32(keys.value, findings),
            min: fields.u32(keys.min, findings),
            max: fields.u32(keys.max, findings),
        }
    }

    /// Returns this time and its bounds with unset values taken from `outer`.
    pub(crate) fn inside(self, outer: Self) -> Self {
        Self {
            value: self.value.or(outer.value),
            min: self.min.or(outer.min),
            max: self.max.or(outer.max),
        }
    }

    /// Returns true if neither the time nor its bounds are set.
    pub(crate) const fn is_unset(self) -> bool {
        self.value.is_none() && self.min.is_none() && self.max.is_none()
    }

    /// Returns the lifetime that holds in a scope, and reports an error when its bounds exclude it.
    /// `own_bounds` is the part that the scope itself sets: when that is empty, the error has been
    /// reported for an outer scope.
    pub(crate) fn lifetime(
        self,
        own_bounds: Self,
        keys: BoundedKeys,
        default_s: u32,
        findings: &mut ParseContext,
    ) -> Lifetime {
        let default = if self.value.is_some() { "" } else { "the default " };
        let default_s = self.value.map_or(default_s, |setting| setting.value);
        let min_s = self.min.map_or(default_s, |setting| setting.value);
        let max_s = self.max.map_or(default_s, |setting| setting.value);
        let default = format!("{default}`{}` ({default_s} s)", keys.value);
        if min_s > default_s
            && let Some(setting) = own_bounds.min.or(own_bounds.value)
        {
            findings.error(setting.at, format!("`{}` ({min_s} s) is above {default}", keys.min));
        }
        if max_s < default_s
            && let Some(setting) = own_bounds.max.or(own_bounds.value)
        {
            findings.error(setting.at, format!("`{}` ({max_s} s) is below {default}", keys.max));
        }
        Lifetime { default_s, min_s, max_s }
    }

    /// Returns the valid lifetime that holds in a scope.
    pub(crate) fn valid_lifetime(self, own_bounds: Self, findings: &mut ParseContext) -> Lifetime {
        self.lifetime(own_bounds, VALID, DEFAULT_VALID_S, findings)
    }
}

/// Lease terms that one scope sets, or after [`InheritableTerms::inside`] all that hold in it. `C`
/// is the type of an option code.
#[derive(Clone, Debug)]
pub(crate) struct InheritableTerms<C> {
    pub(crate) valid: Bounded,
    pub(crate) renew: Option<PositionedValue<u32>>,
    pub(crate) rebind: Option<PositionedValue<u32>>,
    pub(crate) calculate_tee_times: Option<PositionedValue<bool>>,
    pub(crate) t1_percent: Option<PositionedValue<f64>>,
    pub(crate) t2_percent: Option<PositionedValue<f64>>,
    pub(crate) cache_threshold: Option<PositionedValue<f64>>,
    pub(crate) cache_max_age: Option<PositionedValue<u32>>,
    pub(crate) policy: Policy,
    pub(crate) names: NameKeys,
    pub(crate) options: Vec<OptionData<C>>,
}

/// Renewal and rebinding times (T1, T2) and `cache-threshold` of a scope as checked values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScopeTimes {
    pub(crate) renew_timer_s: Option<u32>,
    pub(crate) rebind_timer_s: Option<u32>,
    pub(crate) calculate_tee_times: bool,
    pub(crate) t1_percent: f64,
    pub(crate) t2_percent: f64,
    pub(crate) cache_threshold: f64,
    pub(crate) cache_max_age_s: Option<u32>,
}

impl<C: Copy + Ord> InheritableTerms<C> {
    /// Reads the inheritable lease terms of a scope.
    pub(crate) fn read<F: ConfigFamily<Code = C>>(
        fields: &mut MapReader<'_>,
        findings: &mut ParseContext,
    ) -> Self {
        let names = names::read(fields, findings);
        let cache_threshold = fields.float("cache-threshold", findings).filter(|setting| {
            let good = (0.0..1.0).contains(&setting.value);
            if !good {
                let message = format!("`cache-threshold` is {}", setting.value);
                let help = "must be at least 0.0, which switches caching off, and below 1.0";
                findings.error_help(setting.at, message, help);
            }
            good
        });
        Self {
            valid: Bounded::read(fields, VALID, findings),
            renew: fields.u32("renew-timer", findings),
            rebind: fields.u32("rebind-timer", findings),
            calculate_tee_times: fields.boolean("calculate-tee-times", findings),
            t1_percent: fields.float("t1-percent", findings),
            t2_percent: fields.float("t2-percent", findings),
            cache_threshold,
            cache_max_age: fields.u32("cache-max-age", findings),
            policy: Policy::read(fields, findings),
            names,
            options: options::list::<F>(fields, findings),
        }
    }

    /// Returns the terms of this scope with unset values taken from `outer`, one key at a time.
    /// Options are not inherited here: which scope's option is sent depends on the client.
    pub(crate) fn inside(self, outer: &Self) -> Self {
        Self {
            valid: self.valid.inside(outer.valid),
            renew: self.renew.or(outer.renew),
            rebind: self.rebind.or(outer.rebind),
            calculate_tee_times: self.calculate_tee_times.or(outer.calculate_tee_times),
            t1_percent: self.t1_percent.or(outer.t1_percent),
            t2_percent: self.t2_percent.or(outer.t2_percent),
            cache_threshold: self.cache_threshold.or(outer.cache_threshold),
            cache_max_age: self.cache_max_age.or(outer.cache_max_age),
            policy: self.policy.inside(&outer.policy),
            names: self.names.inside(&outer.names),
            options: self.options,
        }
    }

    /// Returns the renewal, rebinding and cache times that hold in the scope, checked.
    pub(crate) fn times<F: ConfigFamily>(
        &self,
        valid: Lifetime,
        findings: &mut ParseContext,
    ) -> ScopeTimes {
        let tee = F::TEE_TIMES;
        self.check_timers(valid, tee, findings);
        let calculate = self.calculate_tee_times.map_or(tee.calculate, |setting| setting.value);
        if calculate {
            self.check_percents(tee, findings);
        }
        ScopeTimes {
            renew_timer_s: self.renew.map(|setting| setting.value),
            rebind_timer_s: self.rebind.map(|setting| setting.value),
            calculate_tee_times: calculate,
            t1_percent: self.t1_percent.map_or(tee.t1_percent, |setting| setting.value),
            t2_percent: self.t2_percent.map_or(tee.t2_percent, |setting| setting.value),
            cache_threshold: self.cache_threshold.map_or(0.25, |setting| setting.value),
            cache_max_age_s: self.cache_max_age.map(|setting| setting.value),
        }
    }

    /// Checks that T1 is before T2 and T2 before the end of the lease, and warns if not, as Kea
    /// does.
    fn check_timers(&self, valid: Lifetime, tee: TeeTimes, findings: &mut ParseContext) {
        if let (Some(renew), Some(rebind)) = (self.renew, self.rebind)
            && renew.value >= rebind.value
        {
            let (t1, t2) = (renew.value, rebind.value);
            let message = if t1 > t2 {
                format!("`renew-timer` ({t1} s) is above `rebind-timer` ({t2} s)")
            } else {
                format!("`renew-timer` and `rebind-timer` are both {t1} s")
            };
            findings.warn_help(renew.at, message, tee.on_tie);
        }
        let life = valid.default_s;
        for (key, timer) in [("renew-timer", self.renew), ("rebind-timer", self.rebind)] {
            if let Some(timer) = timer.filter(|timer| timer.value >= life) {
                let message =
                    format!("`{key}` ({} s) is not below `valid-lifetime` ({life} s)", timer.value);
                findings.warn_help(timer.at, message, tee.on_late);
            }
        }
    }

    fn check_percents(&self, tee: TeeTimes, findings: &mut ParseContext) {
        let mut good = true;
        for (key, percent) in [("t1-percent", self.t1_percent), ("t2-percent", self.t2_percent)] {
            if let Some(percent) = percent.filter(|p| !(p.value > 0.0 && p.value < 1.0)) {
                let message = format!("`{key}` is {}", percent.value);
                findings.error_help(percent.at, message, "must be above 0.0 and below 1.0");
                good = false;
            }
        }
        let t1 = self.t1_percent.map_or(tee.t1_percent, |setting| setting.value);
        let t2 = self.t2_percent.map_or(tee.t2_percent, |setting| setting.value);
        if let Some(setting) = self.t1_percent.or(self.t2_percent)
            && good
            && t1 >= t2
        {
            let message = format!("`t1-percent` ({t1}) is not below `t2-percent` ({t2})");
            findings.error(setting.at, message);
        }
    }
}
