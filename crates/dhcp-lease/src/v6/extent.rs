//! Extents: runs of consecutive resources that have consecutive places.

use core::net::Ipv6Addr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

use super::resource::{IaKind, Resource};

/// Resources with places next to each other, reserved all at once and opened from the first on.
/// Never goes away.
#[derive(Debug)]
pub struct Extent {
    kind: IaKind,
    len: u8,
    /// Number of the first resource, see [`Resource::number`].
    first_number: u128,
    /// Places that belong to it.
    reserved: u32,
    first_place: u32,
    /// Places that may be used; grows.
    opened: AtomicU32,
    /// Whether a resource of it may have another place, given before this one was opened.
    has_others: AtomicBool,
}

impl Extent {
    /// An extent that begins with `first`, with nothing opened.
    pub(super) fn new(first: Resource, reserved: u32, first_place: u32) -> Self {
        Self {
            kind: first.kind,
            len: first.len,
            first_number: first.number(),
            reserved,
            first_place,
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

    /// Opens the places through `opened`. Only under the configuration lock.
    pub(super) fn set_opened(&self, opened: u32) {
        self.opened.store(opened, Ordering::Release);
    }

    pub(super) fn has_others(&self) -> bool {
        self.has_others.load(Ordering::Relaxed)
    }

    /// To be called before what is said can be met among opened places.
    pub(super) fn set_has_others(&self) {
        self.has_others.store(true, Ordering::Relaxed);
    }

    /// Position of `resource` among the reserved ones.
    pub(super) fn offset(&self, resource: Resource) -> Option<u32> {
        if resource.kind != self.kind || resource.len != self.len {
            return None;
        }
        let offset = resource.number().checked_sub(self.first_number)?;
        u32::try_from(offset).ok().filter(|&offset| offset < self.reserved)
    }

    /// The places from offset `from` for `count`.
    pub(super) const fn places(&self, from: u32, count: u32) -> (u32, u32) {
        (self.first_place + from, self.first_place + from + count - 1)
    }

    /// Returns whether `place` is one of its places.
    pub(super) const fn has_place(&self, place: u32) -> bool {
        self.first_place <= place && place - self.first_place < self.reserved
    }

    /// The place at `offset`.
    pub(super) const fn place(&self, offset: u32) -> u32 {
        self.first_place + offset
    }

    /// The resource at `place`, which is one of the extent's.
    pub(super) fn resource(&self, place: u32) -> Resource {
        let number = self.first_number + u128::from(place - self.first_place);
        Resource::from_number(self.kind, self.len, number)
    }

    /// The blocks of 256 opened places that hold resources after address `after`, each with its
    /// first resource.
    pub(super) fn blocks(&self, after: Option<Ipv6Addr>) -> impl Iterator<Item = (u32, Resource)> {
        let opened = self.opened();
        let number = |address| Resource { kind: self.kind, len: self.len, address }.number();
        let skipped = after.map_or(0, |address| number(address).saturating_sub(self.first_number));
        let start = u32::try_from(skipped).unwrap_or(u32::MAX).min(opened) >> 8;
        (start..opened.div_ceil(256)).map(|block| {
            let place = self.first_place + (block << 8);
            (place >> 8, self.resource(place))
        })
    }

    /// First and last resource.
    pub(super) fn bounds(&self) -> (Resource, Resource) {
        (self.resource(self.first_place), self.resource(self.place(self.reserved - 1)))
    }
}

/// A pool's part of an extent: offsets from `first` to `last`.
#[derive(Clone, Debug)]
pub struct Stretch {
    pub(super) extent: Arc<Extent>,
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Stretch {
    /// First and last place that is open; `None` when none is.
    pub(super) fn open_places(&self) -> Option<(u32, u32)> {
        let end = self.extent.opened().min(self.last + 1);
        (self.first < end).then(|| self.extent.places(self.first, end - self.first))
    }

    /// How many places belong to it, open or not.
    pub(super) const fn len(&self) -> u64 {
        (self.last - self.first) as u64 + 1
    }

    /// Whether there are places to open.
    pub(super) fn can_grow(&self) -> bool {
        self.extent.opened() <= self.last
    }
}

impl Resource {
    /// Its number among the resources of its kind and length.
    pub(crate) fn number(self) -> u128 {
        self.address.to_bits().checked_shr(128 - u32::from(self.len)).unwrap_or(0)
    }

    /// The resource that has `number`.
    pub(crate) fn from_number(kind: IaKind, len: u8, number: u128) -> Self {
        let bits = number.checked_shl(128 - u32::from(len)).unwrap_or(0);
        Self { kind, len, address: Ipv6Addr::from_bits(bits) }
    }

    /// Whether nothing else means the same: no host bits, and addresses are whole.
    pub(super) fn is_proper(self) -> bool {
        match self.kind {
            IaKind::Address => self.len == 128,
            IaKind::Prefix => {
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
    fn resources_and_places_follow_from_each_other() {
        let first = Resource::prefix("2001:db8:0:100::".parse().unwrap(), 56);
        let extent = Extent::new(first, 300, 1 << 20);
        let last = Resource::prefix("2001:db8:1:2c00::".parse().unwrap(), 56);
        assert_eq!(extent.bounds(), (first, last));
        assert_eq!(extent.offset(last), Some(299));
        assert_eq!(extent.resource(extent.place(299)), last);
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
        assert!(!Resource { kind: IaKind::Prefix, len: 64, address }.is_proper());
        assert!(!Resource { kind: IaKind::Prefix, len: 200, address }.is_proper());
        assert!(!Resource { kind: IaKind::Address, len: 64, address }.is_proper());
        assert!(Resource::prefix(address, 0).is_proper());
    }
}
