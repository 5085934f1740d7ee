//! What leases of both families have in common.

/// A lifetime that never ends (RFC 2131 §3.3, RFC 9915 §7.7).
pub const INFINITE_LIFETIME_S: u32 = u32::MAX;

/// Kea's lease states, with its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LeaseState {
    /// Given to a client (whether or not it has run out since).
    #[default]
    Assigned = 0,
    /// A client found the address in use (DHCPDECLINE); nobody gets it until the probation ends.
    Declined = 1,
    /// Run out and taken back.
    ExpiredReclaimed = 2,
    /// Given back by the client and kept for it.
    Released = 3,
    /// Chosen by the client itself, which let the server know (RFC 9686).
    Registered = 4,
}

impl LeaseState {
    /// Whether a lease in this state has ended and is only remembered.
    #[must_use]
    pub const fn is_past(self) -> bool {
        matches!(self, Self::ExpiredReclaimed | Self::Released)
    }

    /// The state with Kea's number `value`.
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
