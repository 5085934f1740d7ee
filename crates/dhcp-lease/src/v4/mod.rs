//! DHCPv4 leases.

pub mod contract;
pub mod contract_suite;
pub mod lease;
pub mod pool;
pub mod row;
pub mod store;
pub mod table;
pub mod testing;

pub use contract::{
    Action, CHANGES_MAX, Change, Facts, FetchKeys, LeaseStore, LeaseTerms, MINE_MAX, Occupancy,
    Owner, Receipt, Refusal, SlotView, Swept,
};
pub use lease::{Lease, LeaseState};
pub use pool::{PoolIndex, PoolSet, PoolSpec};
pub use row::RowView;
pub use store::{MemoryStore, TableShard};
pub use table::{LeaseTable, Usage};
