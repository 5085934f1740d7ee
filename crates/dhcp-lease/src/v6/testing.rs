//! DHCPv6 stores for tests and simulations, see [`testing`](crate::testing).

use super::V6;

/// Log of the v6 rows of a test's stores.
pub type ManualLog = crate::testing::ManualLog<V6>;
/// One shard's handle on a table whose rows go to a [`ManualLog`].
pub type ManualStore = crate::testing::ManualStore<V6>;
