//! What differs between the address families in the contract of leases: what is leased, who asks,
//! and what a lease carries. Everything else is written once over [`Family`].

use core::fmt::{Debug, Display};
use core::hash::Hash;

/// A pool's position in its family's pool set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolIndex(pub u32);

/// An address family: [`V4`](crate::v4::V4) or [`V6`](crate::v6::V6).
pub trait Family: Copy + Eq + Debug + Default + Send + Sync + 'static {
    /// What is leased: an address, in v6 also a delegated prefix.
    type Address: Copy + Ord + Hash + Debug + Display + Send + Sync + 'static;
    /// Who asks, borrowed from the message.
    type Identity<'a>: Copy + Eq + Debug;
    /// The terms of a lease that is given or renewed.
    type Terms<'a>: Copy + Eq + Debug;
    /// What a fetched slot tells beyond what both families have.
    type Detail: Copy + Eq + Debug + Default + Send + Sync;
    /// A lease as a value.
    type Lease: Clone + Eq + Debug + Send + Sync + 'static;
    /// The columns of a changed lease, borrowed from its slot.
    type Row<'a>: Copy + Debug;
    /// The pools of one configuration snapshot.
    type PoolSet: Debug + Send + Sync + 'static;
}
