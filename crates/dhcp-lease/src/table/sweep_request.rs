//! Requests for sweeps, and the position at which one ends.

/// Parameters of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// Rows through this epoch are settled.
    pub settled_epoch: u64,
    /// Epoch of the rows that the sweep logs.
    pub row_epoch: u64,
    /// Maximum number of slots that the sweep touches, including those that it only looks at.
    pub budget: u32,
    /// Request to reclaim leases although sweeps are configured to leave them alone; true: delete
    /// them instead of remembering them.
    pub forced: Option<bool>,
}

/// Position up to which the slots have been looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    pub(super) stripe: usize,
    /// Part of the stripe's slots.
    pub(super) part: usize,
    /// Offset in the part.
    pub(super) offset: u32,
}
