//! Reservations as configured.

use base::HostName;

use super::options::OptionData;

/// One of `reservations`. `C` is the type of an option code, `R` what is reserved.
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation<C, R> {
    /// Whom it is for.
    pub identifier: HostIdentifier,
    /// Host name, empty when none is set.
    pub hostname: HostName,
    /// The host's options, ordered by code.
    pub options: Vec<OptionData<C>>,
    /// Classes that the host belongs to.
    pub client_classes: Vec<String>,
    /// What is reserved.
    pub reserved: R,
}

/// What tells a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostIdentifier {
    /// The kind.
    pub kind: IdentifierKind,
    /// Its octets; of a hardware address without the type.
    pub octets: Vec<u8>,
}

/// Kinds of host identifiers, in the order of Kea's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentifierKind {
    /// `hw-address`.
    HardwareAddress,
    /// `duid`; in DHCPv4 from the client identifier (RFC 4361).
    Duid,
    /// `circuit-id` (RFC 3046); DHCPv4 only.
    CircuitId,
    /// `client-id`; DHCPv4 only.
    ClientId,
    /// `flex-id`: the value of the expression that the flex-id hook is configured with.
    FlexId,
}

/// `reservations-global`, `reservations-in-subnet`, `reservations-out-of-pool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationModes {
    /// Global reservations count. Default false.
    pub global: bool,
    /// Those of the subnet count. Default true.
    pub in_subnet: bool,
    /// Those of the subnet lie outside its pools: addresses in pools need no look. Default false.
    pub out_of_pool: bool,
}

impl Default for ReservationModes {
    fn default() -> Self {
        Self { global: false, in_subnet: true, out_of_pool: false }
    }
}

/// `allocator`, `pd-allocator`: which free address is given next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocator {
    /// The next after the last one given.
    #[default]
    Iterative,
    /// Any, by a permutation.
    Random,
    /// The one that has been free longest.
    FreeLeaseQueue,
}
