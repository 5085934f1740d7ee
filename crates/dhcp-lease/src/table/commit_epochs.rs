//! Epochs of a change of slots in a logged lease table.

/// Epochs of a change of slots in a logged lease table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitEpochs {
    /// Epoch in which the lease rows of the change are logged.
    pub row_epoch: u64,
    /// Last epoch whose lease rows are settled (durable).
    pub settled_epoch: u64,
}
