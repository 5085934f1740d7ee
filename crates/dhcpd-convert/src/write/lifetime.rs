//! Lifetimes and timers of a scope.

use super::ConfigWriter;
use crate::json::OrderedMap;
use crate::settings::ScopeSettings;

/// Lifetime of a lease without a statement in the file, in seconds.
const DEFAULT_S: u32 = 43_200;
/// Minimum lifetime without a statement in the file, in seconds.
const MINIMUM_S: u32 = 300;
/// Maximum lifetime without a statement in the file, in seconds.
const MAXIMUM_S: u32 = 86_400;

/// Shortest lifetime that a client of DHCPv6 may wish, in seconds.
const SHORTEST_S: u32 = 1;

/// Parameters of lifetimes.
pub(super) const LIFETIME_PARAMETERS: [&str; 4] =
    ["default-lease-time", "min-lease-time", "max-lease-time", "preferred-lifetime"];

/// Returns true if `settings` set a lifetime.
pub(super) fn has_lifetimes(settings: &ScopeSettings) -> bool {
    LIFETIME_PARAMETERS.iter().any(|name| settings.number(name).is_some())
}

impl ConfigWriter<'_> {
    /// Returns the lifetimes and timers that hold in the innermost scope of `chain`.
    pub(super) fn lifetimes(&self, chain: &[&ScopeSettings]) -> OrderedMap {
        let find = |name: &str| chain.iter().rev().find_map(|scope| scope.number(name));
        let [minimum, valid, maximum] = self.valid_lifetimes(&find);
        let mut map = OrderedMap::default();
        if self.is_v6() {
            let preferred = find("preferred-lifetime").map(|preferred| preferred.min(valid));
            let usual = u32::try_from(u64::from(valid) * 5 / 8).unwrap_or(u32::MAX);
            map.put("preferred-lifetime", preferred.unwrap_or(usual));
            map.put("min-preferred-lifetime", preferred.unwrap_or(SHORTEST_S));
            map.put("max-preferred-lifetime", preferred.unwrap_or(maximum));
        }
        map.put("valid-lifetime", valid);
        map.put("min-valid-lifetime", minimum);
        map.put("max-valid-lifetime", maximum);
        if let [_] = chain {
            let has_timers = [58, 59].iter().any(|code| {
                chain.iter().any(|scope| scope.options.contains_key(&("dhcp".to_owned(), *code)))
            });
            map.put("calculate-tee-times", !self.is_v6() && !has_timers);
        }
        map.append(timers(chain.last().copied()));
        map
    }

    /// Returns the shortest, usual and longest valid lifetime. In DHCPv6 `default-lease-time` holds
    /// whatever the client wishes, and without it each wish is granted.
    fn valid_lifetimes(&self, find: &dyn Fn(&str) -> Option<u32>) -> [u32; 3] {
        let usual = find("default-lease-time");
        if self.is_v6() {
            return usual.map_or([SHORTEST_S, DEFAULT_S, u32::MAX], |usual| [usual; 3]);
        }
        let maximum = find("max-lease-time").unwrap_or(MAXIMUM_S);
        let minimum = find("min-lease-time").unwrap_or(MINIMUM_S).min(maximum);
        [minimum, usual.unwrap_or(DEFAULT_S).clamp(minimum, maximum), maximum]
    }
}

/// Returns T1 and T2, which dhcpd has as options.
pub(super) fn timers(scope: Option<&ScopeSettings>) -> OrderedMap {
    let mut map = OrderedMap::default();
    for (code, name) in [(58, "renew-timer"), (59, "rebind-timer")] {
        let option = scope.and_then(|scope| scope.options.get(&("dhcp".to_owned(), code)));
        let octets = option.and_then(|option| option.value.octets.first_chunk::<4>());
        map.put_some(name, octets.map(|octets| u32::from_be_bytes(*octets)));
    }
    map
}
