//! Kea's statistics, as far as they count messages and what befell them: what they are called and
//! what counts in which. Values are kept in [`crate::counters`] and [`crate::events`]; lists of
//! samples and their times are the control channel's.

/// Why a packet was dropped, in the words of Kea's statistics; `pkt4-receive-drop` and
/// `pkt6-receive-drop` are their sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropStatistic {
    /// It could not be read.
    ParseFailed,
    /// It breaks a rule of the protocol.
    RfcViolation,
    /// The operator's classes say so.
    AdminFiltered,
    /// It was meant for another server.
    NotForUs,
    /// Something went wrong here.
    ProcessingFailed,
    /// The client has messages in work already.
    Duplicate,
    /// No room to keep it waiting.
    QueueFull,
    /// Service is switched off.
    ServiceDisabled,
    /// A limit of the operator.
    LimitExceeded,
}

impl DropStatistic {
    /// All of them.
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

    /// Position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The statistic's name behind `pkt4-` or `pkt6-`.
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

/// What is counted for the whole server and for each subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Event {
    /// Pools were searched and had nothing for a client.
    AllocationFail,
    /// A client of a shared network got nothing.
    AllocationFailSharedNetwork,
    /// A client of a subnet outside of shared networks got nothing.
    AllocationFailSubnet,
    /// A client got nothing because no pool was for it.
    AllocationFailNoPools,
    /// A client that is in classes got nothing. As everyone is in `ALL`, Kea counts every failure.
    AllocationFailClasses,
    /// A reserved address was in use by another client.
    ReservationConflict,
    /// An address was repeated instead of renewed.
    LeaseReuse,
    /// DHCPv6: a delegated prefix was repeated instead of renewed.
    PrefixReuse,
}

impl Event {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// Position in [`crate::Protocol::EVENTS`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What is counted when a client gets nothing from pools: of a shared network or of a subnet alone,
/// of which any were open to the client or none.
#[must_use]
pub const fn failed_allocation(is_in_network: bool, was_any_searched: bool) -> [Event; 3] {
    let place = match is_in_network {
        true => Event::AllocationFailSharedNetwork,
        false => Event::AllocationFailSubnet,
    };
    let search = match was_any_searched {
        true => Event::AllocationFail,
        false => Event::AllocationFailNoPools,
    };
    [place, search, Event::AllocationFailClasses]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_in_the_order_of_the_variants() {
        for (position, statistic) in DropStatistic::ALL.into_iter().enumerate() {
            assert_eq!(statistic.index(), position, "{}", statistic.name());
        }
        assert_eq!(Event::PrefixReuse.index() + 1, Event::COUNT);
    }
}
