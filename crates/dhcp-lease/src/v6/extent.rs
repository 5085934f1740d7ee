//! Extents of DHCPv6: runs of consecutive addresses or prefixes that have consecutive slot numbers.

use core::net::Ipv6Addr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

use super::resource::{Resource, ResourceKind};

/// Run of addresses or prefixes with consecutive slot numbers, reserved all at once and opened from
/// the first on. An extent is never removed.
#[derive(Debug)]
pub struct ResourceExtent {
    kind: ResourceKind,
    len: u8,
    /// Number of the extent's first resource, see [`Resource::number`].
    first_number: u128,
    /// Number of slot numbers that are reserved for the extent.
    reserved: u32,
    first_slot_number: u32,
    /// Number of slot numbers of the extent that may be used; grows.
    opened: AtomicU32,
    /// True if a resource (address or prefix) of the extent may have another slot number, allocated
    /// before its slot number in the extent was opened.
    has_others: AtomicBool,
}

impl ResourceExtent {
    /// Returns an extent that begins with `first`, with no slot number opened.
    pub(super) fn new(first: Resource, reserved: u32, first_slot_number: u32) -> Self {
        Self {
            kind: first.kind,
            len: first.len,
            first_number: first.number(),
            reserved,
            first_slot_number,
            opened: AtomicU32::new(0),
            has_others: AtomicBool::new(false),
        }
    }

    pub(super) const fn reserved(&self) -> u32 {
        self.reserved
    }

    pub(super) fn opened(&self) -> u32 {
        self.opened.load(Ordering::Acquire)
    }

    /// Opens the extent's first `opened` slot numbers. Callers hold the configuration lock.
    pub(super) fn set_opened(&self, opened: u32) {
        self.opened.store(opened, Ordering::Release);
    }

    pub(super) fn has_others(&self) -> bool {
        self.has_others.load(Ordering::Relaxed)
    }

    /// Records that resources of the extent may have other slot numbers; must be called before such
    /// a resource can occur among opened slot numbers.
    pub(super) fn set_has_others(&self) {
        self.has_others.store(true, Ordering::Relaxed);
    }

    /// Returns the position of `resource` among the reserved resources of the extent.
    pub(super) fn offset(&self, resource: Resource) -> Option<u32> {
        if resource.kind != self.kind || resource.len != self.len {
            return None;
        }
        let offset = resource.number().checked_sub(self.first_number)?;
        u32::try_from(offset).ok().filter(|&offset| offset < self.reserved)
    }

    /// Returns the first and the last of `count` slot numbers of the extent from offset `from` on.
    pub(super) const fn slot_numbers(&self, from: u32, count: u32) -> (u32, u32) {
        (self.first_slot_number + from, self.first_slot_number + from + count - 1)
    }

    /// Returns true if `slot_number` belongs to the extent.
    pub(super) const fn has_slot_number(&self, slot_number: u32) -> bool {
        self.first_slot_number <= slot_number
            && slot_number - self.first_slot_number < self.reserved
    }

    /// Returns the slot number of the extent at `offset`.
    pub(super) const fn slot_number(&self, offset: u32) -> u32 {
        self.first_slot_number + offset
    }

    /// Returns the resource with `slot_number`, which belongs to the extent.
    pub(super) fn resource(&self, slot_number: u32) -> Resource {
        let number = self.first_number + u128::from(slot_number - self.first_slot_number);
        Resource::from_number(self.kind, self.len, number)
    }

    /// Returns the blocks of 256 opened slot numbers of the extent that hold resources after
    /// address `after`, each with its first resource.
    pub(super) fn blocks(&self, after: Option<Ipv6Addr>) -> impl Iterator<Item = (u32, Resource)> {
        let opened = self.opened();
        let number = |address| Resource { kind: self.kind, len: self.len, address }.number();
        let skipped = after.map_or(0, |address| number(address).saturating_sub(self.first_number));
        let start = u32::try_from(skipped).unwrap_or(u32::MAX).min(opened) >> 8;
        (start..opened.div_ceil(256)).map(|block| {
            let slot_number = self.first_slot_number + (block << 8);
            (slot_number >> 8, self.resource(slot_number))
        })
    }

    /// Returns the first and the last resource of the extent.
    pub(super) fn bounds(&self) -> (Resource, Resource) {
        (self.resource(self.first_slot_number), self.resource(self.slot_number(self.reserved - 1)))
    }
}

/// Range of an extent that belongs to one pool: offsets from `first` to `last`.
#[derive(Clone, Debug)]
pub struct ExtentRange {
    pub(super) extent: Arc<ResourceExtent>,
    pub(super) first: u32,
    pub(super) last: u32,
}

impl ExtentRange {
    /// Returns the first and the last open slot number of the range; `None` when none is open.
    pub(super) fn open_slot_numbers(&self) -> Option<(u32, u32)> {
        let end = self.extent.opened().min(self.last + 1);
        (self.first < end).then(|| self.extent.slot_numbers(self.first, end - self.first))
    }

    /// Returns the number of slot numbers of the range, open or not.
    pub(super) const fn len(&self) -> u64 {
        (self.last - self.first) as u64 + 1
    }

    /// Returns true if the range has slot numbers that are not open.
    pub(super) fn can_grow(&self) -> bool {
        self.extent.opened() <= self.last
    }
}

impl Resource {
    /// Returns the number of the resource among those of its kind and length.
    pub(crate) fn number(self) -> u128 {
        self.address.to_bits().checked_shr(128 - u32::from(self.len)).unwrap_or(0)
    }

    /// Returns the resource of this kind and length that has `number`.
    pub(crate) fn from_number(kind: ResourceKind, len: u8, number: u128) -> Self {
        let bits = number.checked_shl(128 - u32::from(len)).unwrap_or(0);
        Self { kind, len, address: Ipv6Addr::from_bits(bits) }
    }

    /// Returns true if no other value of the resource has the same meaning: host bits are zero, and
    /// an address has 128 bits.
    pub(super) fn is_proper(self) -> bool {
        match self.kind {
            ResourceKind::Address => self.len == 128,
            ResourceKind::Prefix => {
                self.len <= 128
                    && Self::from_number(self.kind, self.len, self.number()).address == self.address
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_and_slot_numbers_follow_from_each_other() {
        let first = Resource::prefix("2001:db8:0:100::".parse().unwrap(), 56);
        let extent = ResourceExtent::new(first, 300, 1 << 20);
        let last = Resource::prefix("2001:db8:1:2c00::".parse().unwrap(), 56);
        assert_eq!(extent.bounds(), (first, last));
        assert_eq!(extent.offset(last), Some(299));
        assert_eq!(extent.resource(extent.slot_number(299)), last);
        let beyond = Resource::prefix("2001:db8:1:2d00::".parse().unwrap(), 56);
        let other_len = Resource::prefix(last.address, 60);
        let before = Resource::prefix("2001:db8::".parse().unwrap(), 56);
        for outside in [beyond, other_len, before, Resource::address(last.address)] {
            assert_eq!(extent.offset(outside), None);
        }
    }

    #[test]
    fn a_resource_with_host_bits_is_none() {
        let address = "2001:db8::1".parse().unwrap();
        assert!(Resource::address(address).is_proper());
        assert!(!Resource { kind: ResourceKind::Prefix, len: 64, address }.is_proper());
        assert!(!Resource { kind: ResourceKind::Prefix, len: 200, address }.is_proper());
        assert!(!Resource { kind: ResourceKind::Address, len: 64, address }.is_proper());
        assert!(Resource::prefix(address, 0).is_proper());
    }
}
