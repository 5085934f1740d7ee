//! Requests for sweeps of the lease table, and the position at which one ends.

/// Parameters of a sweep of the lease table.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// Last epoch whose rows are settled.
    pub settled_epoch: u64,
    /// Epoch of the rows that the sweep logs.
    pub row_epoch: u64,
    /// Largest number of slots that the sweep touches, including those that it only looks at.
    pub budget: u32,
    /// Request to reclaim leases although sweeps are configured to leave ended leases alone; true:
    /// delete the leases instead of remembering them.
    pub forced: Option<bool>,
}

/// Position in the table up to which a pass has looked at the slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    pub(super) stripe: usize,
    /// Number of the part of the stripe's slots.
    pub(super) part: usize,
    /// Offset of the slot in the part.
    pub(super) offset: u32,
}
