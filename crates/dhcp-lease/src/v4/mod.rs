//! DHCPv4 leases.

pub mod contract;
pub mod lease;
pub mod pool;

pub use contract::{
    Action, Change, Facts, FetchKeys, LeaseStore, LeaseTerms, Occupancy, Owner, Receipt, Refusal,
    SlotView, Swept,
};
pub use lease::{Lease, LeaseState};
pub use pool::{PoolIndex, PoolSet, PoolSpec};
