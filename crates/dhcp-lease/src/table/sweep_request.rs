//! Requests for sweeps of the lease table, and the position at which one ends.

/// Parameters of a sweep of the lease table.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// Last epoch whose lease rows are settled (durable).
    pub settled_epoch: u64,
    /// Epoch of the rows that the sweep logs.
    pub row_epoch: u64,
    /// Largest number of slots that the sweep touches, including those that it only looks at.
    pub budget: u32,
    /// Request to reclaim leases although sweeps are configured to leave ended leases alone
    /// (control command `leases-reclaim`); true: delete the leases instead of remembering them.
    pub forced: Option<bool>,
}

/// Position in the lease table up to which a sweep has looked at the slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    pub(super) stripe: usize,
    /// Number of the part among the parts of the stripe's slots.
    pub(super) part: usize,
    /// Offset of the slot in the part.
    pub(super) offset: u32,
}
