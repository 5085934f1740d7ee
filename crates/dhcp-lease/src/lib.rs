//! Leases of a DHCP server: the lease itself, the slot of the shared table that owns an address,
//! the indexes that find a client's slots, the allocators that choose the next address, and the
//! contract of every lease store.
//!
//! The address slot decides ownership. Indexes by client identity are hints that lead to slots and
//! are verified there. Stores (`dhcp-store`) add durability; this crate does no I/O and reads no
//! clock. RFCs to read first: 2131 §2.2, §4.3; 2132 §9.14; 4361; 9915 §4, §12, §18.3.

pub mod contract;
pub mod contract_suite;
pub mod event;
pub mod family;
pub mod identity;
pub mod lease;
pub mod pool;
pub mod sample;
pub mod store;
mod table;
pub mod testing;
pub mod user_context;
pub mod v4;
pub mod v6;

pub use base::HostName;
pub use contract::{
    CHANGES_MAX, CLIENT_SLOTS_MAX, CommitRefusal, ExpectedSlot, FETCHED_ADDRESSES_MAX, LeaseSearch,
    LeaseStore, PutMode, PutRefusal, Receipt, SlotOccupancy, SlotOwner, SweepCounts, TextView,
    text_hash,
};
pub use event::{
    Answer, AnsweredLease, EventRef, ExchangeCell, ExchangeDetail, ExchangeOwner, ExchangeRecord,
    LeaseEventKind, RecordedEvent, RecordedIngress,
};
pub use family::{Family, PoolIndex};
pub use identity::{ClientId, ClientKey, HardwareAddress, Identity};
pub use lease::{INFINITE_LIFETIME_S, Lease, LeaseState, LeaseTerms, RowView};
pub use pool::{Allocator, PoolSet, PoolSpec};
pub use store::{MemoryStore, TableShard};
pub use table::changed::{ChangedLeases, ChangesPage, ChangesRequest};
pub use table::clock::{ClockStart, ClockStep};
pub use table::commit_epochs::CommitEpochs;
pub use table::cycle::ReclaimLimits;
pub use table::events::EventOverflow;
pub use table::expiry::Expiry;
pub use table::leases_before::TableCursor;
pub use table::memory::TableMemory;
pub use table::released::ReleasedLeases;
pub use table::sweep_request::Sweep;
pub use table::table_family::TableFamily;
pub use table::tally::PoolStatistics;
pub use table::{LeaseTable, Usage};
