//! Items common to leases of both families.

/// Lifetime that never ends (RFC 2131 §3.3, RFC 9915 §7.7).
pub const INFINITE_LIFETIME_S: u32 = u32::MAX;

/// Kea's lease states, with its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LeaseState {
    /// Leased to a client (possibly expired since).
    #[default]
    Assigned = 0,
    /// Found in use by a client (DHCPDECLINE); no client gets the address until the probation ends.
    Declined = 1,
    /// Expired and reclaimed.
    ExpiredReclaimed = 2,
    /// Released by the client and remembered for it.
    Released = 3,
    /// Chosen by the client itself, which registered it with the server (RFC 9686).
    Registered = 4,
}

impl LeaseState {
    /// Returns true if a lease in this state has ended and is only remembered.
    #[must_use]
    pub const fn is_past(self) -> bool {
        matches!(self, Self::ExpiredReclaimed | Self::Released)
    }

    /// Returns the state with Kea's number `value`.
    #[must_use]
    pub const fn from_number(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Assigned),
            1 => Some(Self::Declined),
            2 => Some(Self::ExpiredReclaimed),
            3 => Some(Self::Released),
            4 => Some(Self::Registered),
            _ => None,
        }
    }
}
