//! Reservations as configured.

use base::HostName;

use super::options::data::OptionData;

/// Element of `reservations`. `C` is the type of an option code, `R` that of the reserved
/// resources.
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation<C, R> {
    /// Identifier of the client.
    pub identifier: HostIdentifier,
    /// Host name, empty when none is set.
    pub hostname: HostName,
    /// Options of the host, ordered by code.
    pub options: Vec<OptionData<C>>,
    /// Classes that the host belongs to.
    pub client_classes: Vec<String>,
    /// Reserved resources.
    pub reserved: R,
}

/// Identifier of a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostIdentifier {
    /// Kind of the identifier.
    pub kind: IdentifierKind,
    /// Bytes of the identifier; of a hardware address without the type.
    pub octets: Vec<u8>,
}

/// Kind of host identifier, in the order of Kea's numbers.
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
    /// True if global reservations count. Default false.
    pub global: bool,
    /// True if reservations of the subnet count. Default true.
    pub in_subnet: bool,
    /// True if reservations of the subnet lie outside its pools, so that addresses in pools need no
    /// look-up. Default false.
    pub out_of_pool: bool,
}

impl Default for ReservationModes {
    fn default() -> Self {
        Self { global: false, in_subnet: true, out_of_pool: false }
    }
}

/// `allocator`, `pd-allocator`: the rule that chooses the next free address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllocatorKind {
    /// The address after the last one given.
    #[default]
    Iterative,
    /// Any free address, by a permutation.
    Random,
    /// The address that has been free longest.
    FreeLeaseQueue,
}
