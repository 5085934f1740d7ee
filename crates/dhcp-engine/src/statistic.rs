//! Names of Kea's statistics that count messages and events of clients, and the counters that each
//! sums up. [`crate::counters`] and [`crate::events`] have the values; the control channel has the
//! lists of samples and their times.

base::named! {
    /// Kea's statistic that counts dropped packets by reason; `pkt4-receive-drop` and
    /// `pkt6-receive-drop` are the sums. Names follow `pkt4-` or `pkt6-`.
    pub enum DropStatistic {
        /// Packets that the server could not read.
        ParseFailed = "parse-failed",
        /// Packets that break a rule of the protocol.
        RfcViolation = "rfc-violation",
        /// Packets of clients in the class `DROP`.
        AdminFiltered = "admin-filtered",
        /// Packets that were meant for another server.
        NotForUs = "not-for-us",
        /// Packets that the server failed to process.
        ProcessingFailed = "processing-failed",
        /// Packets of clients whose earlier messages the server still processes.
        Duplicate = "duplicate",
        /// Packets that found the queue of waiting messages or replies full.
        QueueFull = "queue-full",
        /// Packets that came while service was disabled (`dhcp-disable`).
        ServiceDisabled = "service-disabled",
        /// Packets that exceed a limit of the operator.
        LimitExceeded = "limit-exceeded",
    }
}

/// Event of a client that is counted for the whole server and for each subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum StatisticEvent {
    /// Allocation that searched pools and found no free address for a client.
    AllocationFail,
    /// Client of a shared network that got no lease.
    AllocationFailSharedNetwork,
    /// Client of a subnet outside of shared networks that got no lease.
    AllocationFailSubnet,
    /// Client that got no lease because no pool was open to it.
    AllocationFailNoPools,
    /// Client in any class that got no lease. As every client is in `ALL`, Kea counts every
    /// failure.
    AllocationFailClasses,
    /// Reserved address that another client had in use.
    ReservationConflict,
    /// Lease of an address that the server repeated instead of renewing it (`cache-threshold`).
    LeaseReuse,
    /// Delegated prefix (DHCPv6) that the server repeated instead of renewing it
    /// (`cache-threshold`).
    PrefixReuse,
}

impl StatisticEvent {
    /// Number of kinds of [`StatisticEvent`]s.
    pub const COUNT: usize = 8;

    /// Returns the position of the event in [`crate::Protocol::EVENTS`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Returns the events to count when a client gets no lease from pools. `is_in_network`: the
/// client's subnet is in a shared network; `was_any_searched`: at least one pool was open to the
/// client.
#[must_use]
pub const fn failed_allocation(is_in_network: bool, was_any_searched: bool) -> [StatisticEvent; 3] {
    let scope_event = if is_in_network {
        StatisticEvent::AllocationFailSharedNetwork
    } else {
        StatisticEvent::AllocationFailSubnet
    };
    let pool_event = if was_any_searched {
        StatisticEvent::AllocationFail
    } else {
        StatisticEvent::AllocationFailNoPools
    };
    [scope_event, pool_event, StatisticEvent::AllocationFailClasses]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_in_the_order_of_the_variants() {
        for (position, statistic) in DropStatistic::ALL.into_iter().enumerate() {
            assert_eq!(statistic.index(), position, "{}", statistic.name());
        }
        assert_eq!(StatisticEvent::PrefixReuse.index() + 1, StatisticEvent::COUNT);
    }
}
