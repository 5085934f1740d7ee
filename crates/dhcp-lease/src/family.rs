//! Differences between the address families in the contract of leases: the leased resource, the
//! client, and the fields that leases of only one family have. All other code is written once over
//! [`Family`].

use core::fmt::{Debug, Display};
use core::hash::Hash;

/// Position of a pool in the pool set of DHCPv4 or DHCPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolIndex(pub u32);

/// Address family of leases: [`V4`](crate::v4::V4) or [`V6`](crate::v6::V6).
pub trait Family: Copy + Eq + Debug + Default + Send + Sync + 'static {
    /// Type of a leased resource: an address, in DHCPv6 also a delegated prefix.
    type Address: Copy + Ord + Hash + Debug + Display + Send + Sync + 'static;
    /// Type of the kind of a leased resource: `()` in DHCPv4, in DHCPv6 address or prefix.
    type Kind: Copy + Ord + Debug + Send + Sync;
    /// Type of the identity of the requesting client, borrowed from the message.
    type Identity<'a>: Copy + Eq + Debug;
    /// Type of the identifiers of a lease's client, as stored; the default is no client.
    type LeaseClient: Clone + Eq + Debug + Default + Send + Sync + 'static;
    /// Type of the fields of a lease that only this family has.
    type LeaseExtra: Copy + Eq + Debug + Default + Send + Sync + 'static;
    /// Type of the fields of a fetched slot that only this family has.
    type Detail: Copy + Eq + Debug + Default + Send + Sync;
    /// Type of the pools of one configuration snapshot.
    type PoolSet: Debug + Send + Sync + 'static;

    /// Returns the kind of resource that `address` is.
    fn kind(address: Self::Address) -> Self::Kind;

    /// Returns true if the leases of `one` and `other` may be of one client, which may have got
    /// another hardware address or identifier: they have either, or the DUID, in common.
    fn may_be_one(one: &Self::LeaseClient, other: &Self::LeaseClient) -> bool;
}
