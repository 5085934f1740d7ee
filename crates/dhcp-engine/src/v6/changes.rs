//! The changes that one message leads to.

use dhcp_lease::CHANGES_MAX;
use dhcp_lease::v6::{Action, Change, IaIdentity, IaKind, Resource, SlotView};

use super::association::Grant;

/// One change, before it is known what the lease says beside its lifetimes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    /// Position of its association.
    pub(super) at: usize,
    pub(super) address: Resource,
    pub(super) expected_version: u32,
    pub(super) action: PlannedAction,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum PlannedAction {
    /// This.
    Plain(Action<'static>),
    /// The lease that a grant stands for.
    Lease(Grant),
}

/// The changes of one message: one for each shard, reused.
#[derive(Debug, Default)]
pub(super) struct Changes {
    items: [Option<Planned>; CHANGES_MAX],
    len: usize,
}

impl Changes {
    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// False when there is no room.
    pub(super) fn push(&mut self, at: usize, slot: &SlotView, action: PlannedAction) -> bool {
        let Some(place) = self.items.get_mut(self.len) else { return false };
        let (address, expected_version) = (slot.address, slot.version);
        *place = Some(Planned { at, address, expected_version, action });
        self.len += 1;
        true
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Planned> {
        self.items[..self.len].iter().flatten()
    }
}

/// A change that stands for none.
pub(super) const fn nothing<'c>() -> Change<'c> {
    Change {
        identity: IaIdentity { duid: &[], kind: IaKind::Address, iaid: 0 },
        address: Resource::address(core::net::Ipv6Addr::UNSPECIFIED),
        expected_version: 0,
        action: Action::Unhold,
    }
}
