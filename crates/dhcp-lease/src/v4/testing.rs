//! DHCPv4 stores for tests and simulations, see [`testing`](crate::testing).

use super::V4;

/// Log of the v4 rows of a test's stores.
pub type ManualLog = crate::testing::ManualLog<V4>;
/// One shard's handle on a table whose rows go to a [`ManualLog`].
pub type ManualStore = crate::testing::ManualStore<V4>;
