//! Stores of DHCPv4 leases for tests and simulations, see [`testing`](crate::testing).

use super::V4;

/// Log of the DHCPv4 rows of a test's stores.
pub type ManualLog = crate::testing::ManualLog<V4>;
/// Store of one shard on a DHCPv4 table whose rows go to a [`ManualLog`].
pub type ManualStore = crate::testing::ManualStore<V4>;
