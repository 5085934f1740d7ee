//! Stores of DHCPv6 leases for tests and simulations, see [`testing`](crate::testing).

use super::V6;

/// Log of the DHCPv6 rows of a test's stores.
pub type ManualLog = crate::testing::ManualLog<V6>;
/// Store of one shard on a DHCPv6 table whose rows go to a [`ManualLog`].
pub type ManualStore = crate::testing::ManualStore<V6>;
