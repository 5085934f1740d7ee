//! Addresses and prefixes that overlap others: prefixes of several lengths, and addresses inside
//! prefixes.
//!
//! Two overlapping addresses are not in use at the same time. Where no overlap is possible, the
//! table compares nothing: the family decides which addresses are *guarded*
//! ([`Overlaps::is_guarded`]), and enters the uses of those in one set. A change of a guarded slot
//! is entered under the lock of its stripe; the lock of the entries is taken last, and no thread
//! waits while it holds it. Free bits of addresses that overlap a use stay clear.

use base::Now;

use super::address_map::AddressMap;
use super::table_family::TableFamily;

/// End of the use of an address or prefix by a lease, probation or hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseEnd {
    /// End of a lease or probation, as wall-clock second.
    At(u64),
    /// End of a hold of an offered address, as monotonic nanoseconds.
    Hold(u64),
    /// Open end: the use ends at a time that is not known yet.
    Open,
}

impl UseEnd {
    /// Returns true if the use of the address has ended at `now`.
    #[must_use]
    pub const fn is_over(self, now: Now) -> bool {
        match self {
            Self::At(wall_s) => wall_s <= now.wall_s(),
            Self::Hold(mono_ns) => mono_ns <= now.mono_ns,
            Self::Open => false,
        }
    }
}

/// Callback that receives the addresses that may be leased again.
pub(crate) type Freed<'f, F> = &'f mut dyn FnMut(<F as crate::family::Family>::Address);

/// Comparison of addresses and prefixes with those that they overlap. By default no address
/// overlaps another.
pub trait Overlaps<F: TableFamily>: Send + Sync {
    /// Returns true if the uses of `address`, which has `slot_number`, are entered and compared
    /// with overlapping ones. Once true, the result stays true.
    fn is_guarded(&self, _slot_number: u32, _address: F::Address) -> bool {
        false
    }

    /// Returns true if an overlapping use keeps the guarded `address` from being leased or renewed.
    /// A running lease is renewed unless an address or prefix inside of it is in use, too.
    fn is_overlapped(&self, _now: Now, _address: F::Address) -> bool {
        false
    }

    /// Enters a use of the guarded `address` and returns true, unless [`Overlaps::is_overlapped`]
    /// is true.
    fn admit(&self, _map: &AddressMap, _now: Now, _address: F::Address) -> bool {
        true
    }

    /// Enters a lease of the guarded `address` that an operator puts, even if a client is offered
    /// an overlapping address; returns false if an overlapping one is leased. Uses count as ended
    /// by the latest time at which a client was served.
    fn admit_put(&self, _map: &AddressMap, _address: F::Address) -> bool {
        true
    }

    /// Enters the end of the use of the guarded `address`; `None`: the address is not in use.
    fn record_end(
        &self,
        _: &AddressMap,
        _address: F::Address,
        _end: Option<UseEnd>,
        _: Freed<'_, F>,
    ) {
    }

    /// Sets the free bit of the guarded `address` unless an overlapping one is in use or reserved.
    /// Returns true if it was set.
    fn set_unless_overlapped(&self, _: &AddressMap, _bit: u32, _address: F::Address) -> bool {
        true
    }

    /// Returns true if [`Overlaps::guard`] must be called before `address` is used.
    fn needs_guard(&self, _address: F::Address) -> bool {
        false
    }

    /// Guards the addresses that overlap `addresses`, which need not be in a pool. Returns the
    /// ranges of slot numbers whose uses must be entered. Callers hold the configuration lock.
    fn guard(&self, _addresses: &[F::Address]) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// Guards pools that overlap each other or an address in use. The table calls it, under the
    /// configuration lock, until it returns no ranges of slot numbers whose uses must be entered.
    fn guard_pools(&self) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// Clears the free bits in `opened` ranges of slot numbers that overlap a use.
    fn clear_overlapped(&self, _map: &AddressMap, _opened: &[(u32, u32)]) {}

    /// Replaces the reserved addresses by `addresses`: a client gets an address that overlaps a
    /// reserved one only on request.
    fn replace_reserved(&self, _map: &AddressMap, _addresses: &[F::Address], _freed: Freed<'_, F>) {
    }

    /// Reserves one more address, as [`Overlaps::replace_reserved`] reserves several.
    fn add_reserved(&self, _map: &AddressMap, _address: F::Address) {}
}
