//! Differences between the address families in the contract of leases: the leased resource, the
//! client's identity, and the fields of a lease. All other code is written once over [`Family`].

use core::fmt::{Debug, Display};
use core::hash::Hash;

/// Position of a pool in its family's pool set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolIndex(pub u32);

/// Address family: [`V4`](crate::v4::V4) or [`V6`](crate::v6::V6).
pub trait Family: Copy + Eq + Debug + Default + Send + Sync + 'static {
    /// Leased resource: an address, in v6 also a delegated prefix.
    type Address: Copy + Ord + Hash + Debug + Display + Send + Sync + 'static;
    /// Identity of the requesting client, borrowed from the message.
    type Identity<'a>: Copy + Eq + Debug;
    /// Terms of a new or renewed lease.
    type Terms<'a>: Copy + Eq + Debug;
    /// Fields of a fetched slot that only this family has.
    type Detail: Copy + Eq + Debug + Default + Send + Sync;
    /// Lease as a value.
    type Lease: Clone + Eq + Debug + Send + Sync + 'static;
    /// Columns of a changed lease, borrowed from its slot.
    type Row<'a>: Copy + Debug;
    /// Pools of one configuration snapshot.
    type PoolSet: Debug + Send + Sync + 'static;
}
