//! Epochs of a change.

/// Epochs of a change in a logged table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitEpochs {
    /// Epoch in which the rows of the change are logged.
    pub row_epoch: u64,
    /// Last epoch that is settled.
    pub settled_epoch: u64,
}
