//! Reservations as the configuration has them.

use base::HostName;

use super::options::data::OptionData;

/// Reservation of one client: an element of `reservations`. `C` is the type of an option code, `R`
/// that of the reserved resources.
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation<C, R> {
    /// Identifier of the reservation's client.
    pub identifier: HostIdentifier,
    /// Host name of the reservation's client, empty when none is set.
    pub hostname: HostName,
    /// Options of replies to the reservation's client, ordered by code.
    pub options: Vec<OptionData<C>>,
    /// Names of the classes that the reservation puts its client into.
    pub client_classes: Vec<String>,
    /// Addresses and other resources that the reservation keeps for its client.
    pub reserved: R,
}

/// Identifier by which a reservation recognizes its client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostIdentifier {
    /// Kind of the client's identifier.
    pub kind: IdentifierKind,
    /// Bytes of the identifier; those of a hardware address without the hardware type.
    pub octets: Vec<u8>,
}

/// Kind of identifier by which reservations recognize clients, in the order of Kea's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentifierKind {
    /// Hardware address of the client (`hw-address`).
    HardwareAddress,
    /// DUID of the client (`duid`); in DHCPv4 from the client identifier (RFC 4361).
    Duid,
    /// Circuit identifier that the relay agent adds (`circuit-id`, RFC 3046); DHCPv4 only.
    CircuitId,
    /// Client identifier option (`client-id`); DHCPv4 only.
    ClientId,
    /// Value of the expression that the hook library flex-id is configured with (`flex-id`).
    FlexId,
}

/// Kinds of reservations that a server looks up: `reservations-global`, `reservations-in-subnet`,
/// `reservations-out-of-pool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationModes {
    /// True if the server looks up global reservations (`reservations-global`). Default false.
    pub global: bool,
    /// True if the server looks up reservations of the subnet (`reservations-in-subnet`). Default
    /// true.
    pub in_subnet: bool,
    /// True if reservations of the subnet lie outside its pools (`reservations-out-of-pool`), so
    /// that the server looks up no reservation for an address in a pool. Default false.
    pub out_of_pool: bool,
}

impl Default for ReservationModes {
    fn default() -> Self {
        Self { global: false, in_subnet: true, out_of_pool: false }
    }
}

/// Rule that chooses the next free address or prefix (`allocator`, `pd-allocator`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllocatorKind {
    /// Allocator that takes the next address after the last one given (`iterative`).
    #[default]
    Iterative,
    /// Allocator that takes any free address, by a permutation (`random`).
    Random,
    /// Allocator that takes the address that has been free longest (`flq`, free lease queue).
    FreeLeaseQueue,
}
