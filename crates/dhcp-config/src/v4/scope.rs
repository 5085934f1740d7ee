//! Parameters that inner scopes inherit: global, shared network, subnet.

use core::net::Ipv4Addr;

use super::options::{OptionData, merge};
use super::types::{Lifetime, Subnet4};
use crate::fields::Fields;
use crate::source::{At, Findings, Placed};

/// Kea's lease time when the file names none.
const DEFAULT_LIFETIME_S: u32 = 7200;
/// Longest `server-hostname`: the field less its final zero (RFC 2131 §2).
const MAX_SERVER_HOSTNAME: usize = 63;
/// Longest `boot-file-name`, likewise.
const MAX_BOOT_FILE_NAME: usize = 127;

/// The inheritable parameters that one scope sets, or after [`Scope::inside`] all that hold in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    valid: Option<Placed<u32>>,
    min_valid: Option<Placed<u32>>,
    max_valid: Option<Placed<u32>>,
    renew: Option<Placed<u32>>,
    rebind: Option<Placed<u32>>,
    calculate_tee_times: Option<Placed<bool>>,
    t1_percent: Option<Placed<f64>>,
    t2_percent: Option<Placed<f64>>,
    cache_threshold: Option<Placed<f64>>,
    cache_max_age: Option<Placed<u32>>,
    offer_lifetime: Option<Placed<u32>>,
    pub(super) authoritative: Option<Placed<bool>>,
    match_client_id: Option<Placed<bool>>,
    next_server: Option<Placed<Ipv4Addr>>,
    server_hostname: Option<String>,
    boot_file_name: Option<String>,
    pub(super) options: Vec<OptionData>,
}

impl Scope {
    /// Reads what a scope sets.
    pub(super) fn read(fields: &mut Fields<'_>, findings: &mut Findings) -> Self {
        let cache_threshold = fields.float("cache-threshold", findings).filter(|placed| {
            let good = (0.0..1.0).contains(&placed.value);
            if !good {
                let message = format!("`cache-threshold` is {}", placed.value);
                let help = "it is at least 0.0, which switches caching off, and below 1.0";
                findings.error_help(placed.at, message, help);
            }
            good
        });
        Self {
            valid: fields.u32("valid-lifetime", findings),
            min_valid: fields.u32("min-valid-lifetime", findings),
            max_valid: fields.u32("max-valid-lifetime", findings),
            renew: fields.u32("renew-timer", findings),
            rebind: fields.u32("rebind-timer", findings),
            calculate_tee_times: fields.boolean("calculate-tee-times", findings),
            t1_percent: fields.float("t1-percent", findings),
            t2_percent: fields.float("t2-percent", findings),
            cache_threshold,
            cache_max_age: fields.u32("cache-max-age", findings),
            offer_lifetime: fields.u32("offer-lifetime", findings),
            authoritative: fields.boolean("authoritative", findings),
            match_client_id: fields.boolean("match-client-id", findings),
            next_server: fields.address("next-server", findings),
            server_hostname: name(fields, "server-hostname", MAX_SERVER_HOSTNAME, findings),
            boot_file_name: name(fields, "boot-file-name", MAX_BOOT_FILE_NAME, findings),
            options: super::options::list(fields, findings),
        }
    }

    /// This scope with everything it leaves open taken from `outer`, one key at a time.
    pub(super) fn inside(self, outer: &Self) -> Self {
        Self {
            valid: self.valid.or(outer.valid),
            min_valid: self.min_valid.or(outer.min_valid),
            max_valid: self.max_valid.or(outer.max_valid),
            renew: self.renew.or(outer.renew),
            rebind: self.rebind.or(outer.rebind),
            calculate_tee_times: self.calculate_tee_times.or(outer.calculate_tee_times),
            t1_percent: self.t1_percent.or(outer.t1_percent),
            t2_percent: self.t2_percent.or(outer.t2_percent),
            cache_threshold: self.cache_threshold.or(outer.cache_threshold),
            cache_max_age: self.cache_max_age.or(outer.cache_max_age),
            offer_lifetime: self.offer_lifetime.or(outer.offer_lifetime),
            authoritative: self.authoritative.or(outer.authoritative),
            match_client_id: self.match_client_id.or(outer.match_client_id),
            next_server: self.next_server.or(outer.next_server),
            server_hostname: self.server_hostname.or_else(|| outer.server_hostname.clone()),
            boot_file_name: self.boot_file_name.or_else(|| outer.boot_file_name.clone()),
            options: merge(self.options, &outer.options),
        }
    }

    /// The lease time that holds, and an error when its bounds exclude it. `own` is what the scope
    /// itself sets: when that is nothing, an outer scope has been told already.
    pub(super) fn lifetime(&self, own: &OwnLifetime, findings: &mut Findings) -> Lifetime {
        let default_s = self.valid.map_or(DEFAULT_LIFETIME_S, |placed| placed.value);
        let min_s = self.min_valid.map_or(default_s, |placed| placed.value);
        let max_s = self.max_valid.map_or(default_s, |placed| placed.value);
        let default = match self.valid {
            Some(_) => format!("`valid-lifetime` ({default_s} s)"),
            None => format!("the default `valid-lifetime` ({default_s} s)"),
        };
        if min_s > default_s
            && let Some(at) = own.min_valid.or(own.valid)
        {
            findings.error(at, format!("`min-valid-lifetime` ({min_s} s) is above {default}"));
        }
        if max_s < default_s
            && let Some(at) = own.max_valid.or(own.valid)
        {
            findings.error(at, format!("`max-valid-lifetime` ({max_s} s) is below {default}"));
        }
        Lifetime { default_s, min_s, max_s }
    }

    /// Where this scope sets the lease time and its bounds.
    pub(super) fn own_lifetime(&self) -> OwnLifetime {
        let at = |placed: Option<Placed<u32>>| placed.map(|placed| placed.at);
        OwnLifetime {
            valid: at(self.valid),
            min_valid: at(self.min_valid),
            max_valid: at(self.max_valid),
        }
    }

    /// The subnet with the values of this scope, its own identity still to be filled in.
    pub(super) fn subnet(self, own: &OwnLifetime, findings: &mut Findings) -> Subnet4 {
        let valid_lifetime = self.lifetime(own, findings);
        self.check_timers(valid_lifetime, findings);
        let value = |placed: Option<Placed<bool>>, default| placed.map_or(default, |p| p.value);
        Subnet4 {
            id: 0,
            prefix: (Ipv4Addr::UNSPECIFIED, 0),
            network: None,
            pools: Vec::new(),
            relay_addresses: Vec::new(),
            interface: None,
            valid_lifetime,
            renew_timer_s: self.renew.map(|placed| placed.value),
            rebind_timer_s: self.rebind.map(|placed| placed.value),
            calculate_tee_times: value(self.calculate_tee_times, false),
            t1_percent: self.t1_percent.map_or(0.5, |placed| placed.value),
            t2_percent: self.t2_percent.map_or(0.875, |placed| placed.value),
            cache_threshold: self.cache_threshold.map_or(0.25, |placed| placed.value),
            cache_max_age_s: self.cache_max_age.map(|placed| placed.value),
            offer_lifetime_s: self.offer_lifetime.map_or(0, |placed| placed.value),
            authoritative: value(self.authoritative, false),
            match_client_id: value(self.match_client_id, true),
            next_server: self.next_server.map_or(Ipv4Addr::UNSPECIFIED, |placed| placed.value),
            server_hostname: self.server_hostname.unwrap_or_default(),
            boot_file_name: self.boot_file_name.unwrap_or_default(),
            options: self.options,
        }
    }

    /// T1 before T2 before the end of the lease. Kea refuses the first disorder and leaves a timer
    /// that breaks the second out of replies.
    fn check_timers(&self, lifetime: Lifetime, findings: &mut Findings) {
        if let (Some(renew), Some(rebind)) = (self.renew, self.rebind)
            && renew.value >= rebind.value
        {
            let (t1, t2) = (renew.value, rebind.value);
            if t1 > t2 {
                let message = format!("`renew-timer` ({t1} s) is above `rebind-timer` ({t2} s)");
                findings.error_seen(renew.at, message, "`rebind-timer` is at", rebind.at);
            } else {
                let message = format!("`renew-timer` and `rebind-timer` are both {t1} s");
                findings.warn_help(renew.at, message, "`renew-timer` is left out of replies");
            }
        }
        let life = lifetime.default_s;
        for (key, timer) in [("renew-timer", self.renew), ("rebind-timer", self.rebind)] {
            if let Some(timer) = timer.filter(|timer| timer.value >= life) {
                let message =
                    format!("`{key}` ({} s) is not below `valid-lifetime` ({life} s)", timer.value);
                findings.warn_help(timer.at, message, "it is left out of replies");
            }
        }
        if self.calculate_tee_times.is_some_and(|calculate| calculate.value) {
            self.check_percents(findings);
        }
    }

    fn check_percents(&self, findings: &mut Findings) {
        let mut good = true;
        for (key, percent) in [("t1-percent", self.t1_percent), ("t2-percent", self.t2_percent)] {
            if let Some(percent) = percent.filter(|p| !(p.value > 0.0 && p.value < 1.0)) {
                let message = format!("`{key}` is {}", percent.value);
                findings.error_help(percent.at, message, "it is above 0.0 and below 1.0");
                good = false;
            }
        }
        let t1 = self.t1_percent.map_or(0.5, |placed| placed.value);
        let t2 = self.t2_percent.map_or(0.875, |placed| placed.value);
        if let Some(placed) = self.t1_percent.or(self.t2_percent)
            && good
            && t1 >= t2
        {
            let message = format!("`t1-percent` ({t1}) is not below `t2-percent` ({t2})");
            findings.error(placed.at, message);
        }
    }
}

/// Where a scope itself sets the lease time and its bounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnLifetime {
    valid: Option<At>,
    min_valid: Option<At>,
    max_valid: Option<At>,
}

/// A name that fits a fixed field of the message. An empty one counts as not set, as in Kea.
fn name(
    fields: &mut Fields<'_>,
    key: &'static str,
    most: usize,
    findings: &mut Findings,
) -> Option<String> {
    let text = fields.text(key, findings).filter(|text| !text.value.is_empty())?;
    let length = text.value.len();
    if length > most {
        findings.error(text.at, format!("`{key}` has {length} octets; {most} is the most"));
        return None;
    }
    Some(text.value.to_owned())
}
