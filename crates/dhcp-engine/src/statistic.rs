//! Kea's statistics that count messages and events of clients: their names, and the counters that
//! each sums up. [`crate::counters`] and [`crate::events`] have the values; the control channel has
//! the lists of samples and their times.

/// Reasons for dropped packets, in the words of Kea's statistics; `pkt4-receive-drop` and
/// `pkt6-receive-drop` are their sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropStatistic {
    /// The packet could not be read.
    ParseFailed,
    /// The packet breaks a rule of the protocol.
    RfcViolation,
    /// The operator's classes exclude the client.
    AdminFiltered,
    /// The packet was meant for another server.
    NotForUs,
    /// The server failed to process the packet.
    ProcessingFailed,
    /// The server already has messages of the client in work.
    Duplicate,
    /// The queue of waiting messages or replies is full.
    QueueFull,
    /// Service is disabled.
    ServiceDisabled,
    /// The packet exceeds a limit of the operator.
    LimitExceeded,
}

impl DropStatistic {
    /// All statistics, in the order of their positions.
    pub const ALL: [Self; 9] = [
        Self::ParseFailed,
        Self::RfcViolation,
        Self::AdminFiltered,
        Self::NotForUs,
        Self::ProcessingFailed,
        Self::Duplicate,
        Self::QueueFull,
        Self::ServiceDisabled,
        Self::LimitExceeded,
    ];

    /// Returns the position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the statistic's name after `pkt4-` or `pkt6-`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ParseFailed => "parse-failed",
            Self::RfcViolation => "rfc-violation",
            Self::AdminFiltered => "admin-filtered",
            Self::NotForUs => "not-for-us",
            Self::ProcessingFailed => "processing-failed",
            Self::Duplicate => "duplicate",
            Self::QueueFull => "queue-full",
            Self::ServiceDisabled => "service-disabled",
            Self::LimitExceeded => "limit-exceeded",
        }
    }
}

/// Events that are counted for the whole server and for each subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum StatisticEvent {
    /// The server searched pools and found no free address for a client.
    AllocationFail,
    /// A client of a shared network got no lease.
    AllocationFailSharedNetwork,
    /// A client of a subnet outside of shared networks got no lease.
    AllocationFailSubnet,
    /// A client got no lease because no pool was open to it.
    AllocationFailNoPools,
    /// A client that is in classes got no lease. As every client is in `ALL`, Kea counts every
    /// failure.
    AllocationFailClasses,
    /// A reserved address was in use by another client.
    ReservationConflict,
    /// The lease of an address was repeated instead of renewed.
    LeaseReuse,
    /// DHCPv6: a delegated prefix was repeated instead of renewed.
    PrefixReuse,
}

impl StatisticEvent {
    /// Number of events.
    pub const COUNT: usize = 8;

    /// Returns the position in [`crate::Protocol::EVENTS`].
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
