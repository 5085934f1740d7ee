//! Items that leases of both families have in common.

/// Lifetime of a lease that never ends, in seconds (RFC 2131 §3.3, RFC 9915 §7.7).
pub const INFINITE_LIFETIME_S: u32 = u32::MAX;

/// State of a lease as Kea numbers and stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LeaseState {
    /// Lease that was given to a client, possibly expired since (Kea's state `default`).
    #[default]
    Assigned = 0,
    /// Lease of an address that a client found in use (DHCPDECLINE); no client gets the address
    /// until the probation ends.
    Declined = 1,
    /// Lease that expired and was reclaimed.
    ExpiredReclaimed = 2,
    /// Lease that the client released and that is remembered for it.
    Released = 3,
    /// Lease of an address that the client chose itself and registered with the server (RFC 9686).
    Registered = 4,
}

impl LeaseState {
    /// Returns true if a lease in this state has ended and is only remembered.
    #[must_use]
    pub const fn is_past(self) -> bool {
        matches!(self, Self::ExpiredReclaimed | Self::Released)
    }

    /// Returns the lease state with Kea's number `value`.
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
