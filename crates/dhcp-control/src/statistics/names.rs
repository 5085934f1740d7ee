//! Scopes and names of statistics, as Kea spells them.
// Names after Kea's manual, appendix on statistics, and the lists that its servers start with.

use core::fmt;

use crate::ip_version::IpVersion;

/// Scope of a statistic: the server, a listener of lease events, a subnet or a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatisticScope {
    /// The whole server.
    Global,
    /// The listener of lease events with this name.
    EventListener(&'static str),
    /// The subnet with this `id`.
    Subnet(u32),
    /// The address pools of a subnet that share a `pool-id`: the subnet's `id` and that number.
    Pool(u32, u32),
    /// The prefix pools of a subnet that share a `pool-id`: the subnet's `id` and that number.
    PrefixPool(u32, u32),
}

impl StatisticScope {
    /// Returns true if a statistic of the scope counts for the whole server.
    #[must_use]
    pub(super) const fn is_of_server(self) -> bool {
        matches!(self, Self::Global | Self::EventListener(_))
    }
}

/// Full name of a statistic: `subnet[1].pool[0].assigned-addresses`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatisticName {
    /// Scope of the statistic.
    pub scope: StatisticScope,
    /// Name of the statistic within its scope.
    pub counted: &'static str,
}

impl fmt::Display for StatisticName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope {
            StatisticScope::Global => {}
            StatisticScope::EventListener(name) => write!(f, "event-listener[{name}].")?,
            StatisticScope::Subnet(subnet) => write!(f, "subnet[{subnet}].")?,
            StatisticScope::Pool(subnet, pool) => write!(f, "subnet[{subnet}].pool[{pool}].")?,
            StatisticScope::PrefixPool(subnet, pool) => {
                write!(f, "subnet[{subnet}].pd-pool[{pool}].")?
            }
        }
        f.write_str(self.counted)
    }
}

/// Splits the written name of a statistic into its scope and the name within it; a name that does
/// not begin like a scope is global as a whole.
pub(super) fn split(text: &str) -> (StatisticScope, &str) {
    let Some((subnet, rest)) = numbered(text, "subnet") else {
        return (StatisticScope::Global, text);
    };
    if let Some((pool, counted)) = numbered(rest, "pool") {
        return (StatisticScope::Pool(subnet, pool), counted);
    }
    if let Some((pool, counted)) = numbered(rest, "pd-pool") {
        return (StatisticScope::PrefixPool(subnet, pool), counted);
    }
    (StatisticScope::Subnet(subnet), rest)
}

/// Splits `word[number].rest`; the number must have no leading zeros or signs.
fn numbered<'a>(text: &'a str, word: &str) -> Option<(u32, &'a str)> {
    let (digits, rest) = text.strip_prefix(word)?.strip_prefix('[')?.split_once("].")?;
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some((number, rest))
}

/// Kea's names of the statistics of one kind of leases.
#[derive(Debug)]
pub(super) struct LeaseNames {
    pub(super) total: &'static str,
    pub(super) assigned: &'static str,
    pub(super) cumulative: &'static str,
}

/// Kea's names of the statistics of DHCPv4 addresses.
pub(super) const ADDRESSES: LeaseNames = LeaseNames {
    total: "total-addresses",
    assigned: "assigned-addresses",
    cumulative: "cumulative-assigned-addresses",
};
/// Kea's names of the statistics of DHCPv6 addresses.
pub(super) const NAS: LeaseNames = LeaseNames {
    total: "total-nas",
    assigned: "assigned-nas",
    cumulative: "cumulative-assigned-nas",
};
/// Kea's names of the statistics of DHCPv6 prefixes.
pub(super) const PDS: LeaseNames = LeaseNames {
    total: "total-pds",
    assigned: "assigned-pds",
    cumulative: "cumulative-assigned-pds",
};

/// Returns true if the statistic `counted` of a subnet counts leases or addresses, not messages.
pub(super) fn is_of_leases(counted: &str) -> bool {
    const ENDS: [&str; 4] = ["-addresses", "-nas", "-pds", "-leases"];
    ENDS.iter().any(|end| counted.ends_with(end))
}

/// Returns the names of the global statistics that a server of `version` always shows, with 0 if
/// nothing was counted.
#[must_use]
pub fn always_shown(version: IpVersion) -> &'static [&'static str] {
    match version {
        IpVersion::V4 => &SERVER_4,
        IpVersion::V6 => &SERVER_6,
    }
}

/// Returns the names of the statistics that a subnet always shows in addition to those of its
/// leases.
pub(crate) fn always_shown_of_subnets(version: IpVersion) -> &'static [&'static str] {
    match version {
        IpVersion::V4 => &["v4-lease-reuses", "v4-reservation-conflicts"],
        IpVersion::V6 => &["v6-ia-na-lease-reuses", "v6-ia-pd-lease-reuses"],
    }
}

const SERVER_4: [&str; 35] = [
    "pkt4-received",
    "pkt4-discover-received",
    "pkt4-offer-received",
    "pkt4-request-received",
    "pkt4-ack-received",
    "pkt4-nak-received",
    "pkt4-release-received",
    "pkt4-decline-received",
    "pkt4-inform-received",
    "pkt4-lease-query-received",
    "pkt4-unknown-received",
    "pkt4-sent",
    "pkt4-offer-sent",
    "pkt4-ack-sent",
    "pkt4-nak-sent",
    "pkt4-lease-query-response-unassigned-sent",
    "pkt4-lease-query-response-unknown-sent",
    "pkt4-lease-query-response-active-sent",
    "pkt4-service-disabled",
    "pkt4-parse-failed",
    "pkt4-queue-full",
    "pkt4-duplicate",
    "pkt4-rfc-violation",
    "pkt4-admin-filtered",
    "pkt4-not-for-us",
    "pkt4-processing-failed",
    "pkt4-limit-exceeded",
    "pkt4-receive-drop",
    "v4-allocation-fail",
    "v4-allocation-fail-shared-network",
    "v4-allocation-fail-subnet",
    "v4-allocation-fail-no-pools",
    "v4-allocation-fail-classes",
    "v4-reservation-conflicts",
    "v4-lease-reuses",
];

// Kea shows CONFIRM and RECONFIGURE only from the first message on.
const SERVER_6: [&str; 41] = [
    "pkt6-received",
    "pkt6-solicit-received",
    "pkt6-advertise-received",
    "pkt6-request-received",
    "pkt6-reply-received",
    "pkt6-renew-received",
    "pkt6-rebind-received",
    "pkt6-confirm-received",
    "pkt6-decline-received",
    "pkt6-release-received",
    "pkt6-infrequest-received",
    "pkt6-reconfigure-received",
    "pkt6-lease-query-received",
    "pkt6-dhcpv4-query-received",
    "pkt6-dhcpv4-response-received",
    "pkt6-addr-reg-inform-received",
    "pkt6-addr-reg-reply-received",
    "pkt6-unknown-received",
    "pkt6-sent",
    "pkt6-advertise-sent",
    "pkt6-reply-sent",
    "pkt6-lease-query-reply-sent",
    "pkt6-dhcpv4-response-sent",
    "pkt6-addr-reg-reply-sent",
    "pkt6-service-disabled",
    "pkt6-parse-failed",
    "pkt6-queue-full",
    "pkt6-duplicate",
    "pkt6-rfc-violation",
    "pkt6-admin-filtered",
    "pkt6-not-for-us",
    "pkt6-processing-failed",
    "pkt6-limit-exceeded",
    "pkt6-receive-drop",
    "v6-allocation-fail",
    "v6-allocation-fail-shared-network",
    "v6-allocation-fail-subnet",
    "v6-allocation-fail-no-pools",
    "v6-allocation-fail-classes",
    "v6-ia-na-lease-reuses",
    "v6-ia-pd-lease-reuses",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_name_is_cut_at_its_scope() {
        for (text, expected) in [
            ("pkt4-received", (StatisticScope::Global, "pkt4-received")),
            ("subnet[7].total-nas", (StatisticScope::Subnet(7), "total-nas")),
            ("subnet[7].pool[0].total-nas", (StatisticScope::Pool(7, 0), "total-nas")),
            ("subnet[7].pd-pool[3].total-pds", (StatisticScope::PrefixPool(7, 3), "total-pds")),
            ("subnet[07].total-nas", (StatisticScope::Global, "subnet[07].total-nas")),
            ("subnet[+7].total-nas", (StatisticScope::Global, "subnet[+7].total-nas")),
            ("subnet[7]", (StatisticScope::Global, "subnet[7]")),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
        let name = StatisticName { scope: StatisticScope::PrefixPool(7, 3), counted: "total-pds" };
        assert_eq!(name.to_string(), "subnet[7].pd-pool[3].total-pds");
        let name = StatisticName { scope: StatisticScope::EventListener("x"), counted: "dropped" };
        assert_eq!(name.to_string(), "event-listener[x].dropped");
    }
}
