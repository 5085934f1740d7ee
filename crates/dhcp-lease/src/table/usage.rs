//! Numbers of slots of the lease table by use.

use crate::contract::SlotOccupancy;

/// Numbers of slots of the lease table by use, without the free ones. Free slots are not counted:
/// their number is that of the pools' addresses minus these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of slots that are offered to a client.
    pub held: u64,
    /// Number of leased slots, including those whose lease has expired and has not been swept.
    pub leased: u64,
    /// Number of declined slots, which no client gets during the `decline-probation-period`.
    pub declined: u64,
    /// Number of released slots whose lease row is not durable yet.
    pub releasing: u64,
}

impl Usage {
    /// Returns the counter of slots in this occupancy; `None` for free slots.
    pub(super) const fn counter(&mut self, occupancy: SlotOccupancy) -> Option<&mut u64> {
        match occupancy {
            SlotOccupancy::Free => None,
            SlotOccupancy::Held => Some(&mut self.held),
            SlotOccupancy::Leased => Some(&mut self.leased),
            SlotOccupancy::Declined => Some(&mut self.declined),
            SlotOccupancy::Releasing => Some(&mut self.releasing),
        }
    }
}
