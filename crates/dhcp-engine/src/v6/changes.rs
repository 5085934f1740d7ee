//! Changes of leases by one DHCPv6 message.

use dhcp_lease::CHANGES_MAX;
use dhcp_lease::v6::{Action, Change, IaIdentity, Resource, ResourceKind, SlotView};

use super::association::Grant;

/// Planned change of a lease, of which only the lifetimes are known so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    /// Position of the identity association whose lease changes, among those of the message.
    pub(super) at: usize,
    pub(super) address: Resource,
    pub(super) expected_version: u32,
    pub(super) action: PlannedAction,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum PlannedAction {
    /// Action on the slot that grants no lease, such as a release.
    Plain(Action<'static>),
    /// Lease that a grant describes.
    Lease(Grant),
}

/// Planned changes of leases by one DHCPv6 message. Each shard has one value, which it reuses.
#[derive(Debug, Default)]
pub(super) struct Dhcp6MessageChanges {
    items: [Option<Planned>; CHANGES_MAX],
    len: usize,
}

impl Dhcp6MessageChanges {
    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a change of `slot` for the identity association at position `at`; returns false when
    /// the list is full.
    pub(super) fn push(&mut self, at: usize, slot: &SlotView, action: PlannedAction) -> bool {
        let Some(item) = self.items.get_mut(self.len) else { return false };
        let (address, expected_version) = (slot.address, slot.version);
        *item = Some(Planned { at, address, expected_version, action });
        self.len += 1;
        true
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Planned> {
        self.items[..self.len].iter().flatten()
    }
}

/// Returns a placeholder in a list of changes for no change.
pub(super) const fn nothing<'c>() -> Change<'c> {
    Change {
        identity: IaIdentity { duid: &[], kind: ResourceKind::Address, iaid: 0 },
        address: Resource::address(core::net::Ipv6Addr::UNSPECIFIED),
        expected_version: 0,
        action: Action::Unhold,
    }
}
