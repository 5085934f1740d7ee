//! Tests that the memfile store keeps the contract of all lease stores, with every durability.

use std::path::Path;
use std::sync::Arc;

use base::Now;
use dhcp_lease::LeaseTable;
use dhcp_lease::contract_suite::StoreFactory;
use dhcp_lease::sample::SampleFamily;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_store::log::{CoreOptions, LogCore, ShardLog, SharedLogState};
use dhcp_store::memfile::LeaseFileFamily;
use dhcp_store::storage::{PowerCutStorage, StorageFaults};
use dhcp_store::{Memfile, MemfileStore, OpenOptions, RowDurability};

const SHARDS: usize = 4;

struct MemfileBackend<F: LeaseFileFamily> {
    table: Arc<LeaseTable<F>>,
    shards: Arc<SharedLogState>,
    core: LogCore,
    stores: usize,
}

impl<F: LeaseFileFamily> MemfileBackend<F> {
    fn new(durability: RowDurability) -> Self {
        let storage = Arc::new(PowerCutStorage::new(1, StorageFaults::default()));
        let opened =
            Memfile::open::<F>(storage, Path::new("/leases/leases.csv"), OpenOptions::default());
        let (memfile, ..) = opened.expect("the simulated disk works");
        let shards = SharedLogState::new(SHARDS, |_| {});
        let options = CoreOptions { durability, lfc_interval_s: 0 };
        let core = LogCore::new(shards.clone(), memfile, options, Now::default());
        Self { table: Arc::new(LeaseTable::new(3)), shards, core, stores: 0 }
    }
}

impl<F: LeaseFileFamily + SampleFamily> StoreFactory for MemfileBackend<F> {
    type Family = F;
    type Store = MemfileStore<F>;

    fn table(&self) -> &LeaseTable<F> {
        &self.table
    }

    fn store(&mut self) -> MemfileStore<F> {
        assert!(self.stores < SHARDS, "the suite makes few stores");
        self.stores += 1;
        MemfileStore::new(self.table.clone(), ShardLog::new(self.shards.clone(), self.stores - 1))
    }

    fn settle(&mut self) {
        self.core.round(Now::default());
    }
}

mod flushed_at_once {
    mod v4 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v4: MemfileBackend::<V4>::new(RowDurability::Always));
    }

    mod v6 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v6: MemfileBackend::<V6>::new(RowDurability::Always));
    }
}

mod flushed_by_time {
    mod v4 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v4: MemfileBackend::<V4>::new(RowDurability::Interval(100)));
    }

    mod v6 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v6: MemfileBackend::<V6>::new(RowDurability::Interval(100)));
    }
}

mod only_written {
    mod v4 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v4: MemfileBackend::<V4>::new(RowDurability::None));
    }

    mod v6 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v6: MemfileBackend::<V6>::new(RowDurability::None));
    }
}
