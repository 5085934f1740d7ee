//! v4 stores for tests and simulations, see [`testing`](crate::testing).

use super::V4;

/// Where the stores of a test log their rows.
pub type ManualLog = crate::testing::ManualLog<V4>;
/// One shard's handle on a table whose rows go to a [`ManualLog`].
pub type ManualStore = crate::testing::ManualStore<V4>;
