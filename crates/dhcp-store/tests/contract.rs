//! The memfile store keeps the contract of all lease stores, under every durability.

use std::path::Path;
use std::sync::Arc;

use base::Now;
use dhcp_lease::contract_suite::Backend;
use dhcp_lease::v4::{LeaseTable, V4};
use dhcp_store::log::{CoreOptions, LogCore, ShardLog, Shards};
use dhcp_store::storage::{Faults, PowerCutStorage};
use dhcp_store::{Durability, Memfile, MemfileStore, OpenOptions};

const SHARDS: usize = 4;

struct MemfileBackend {
    table: Arc<LeaseTable>,
    shards: Arc<Shards>,
    core: LogCore,
    stores: usize,
}

impl MemfileBackend {
    fn new(durability: Durability) -> Self {
        let storage = Arc::new(PowerCutStorage::new(1, Faults::default()));
        let opened =
            Memfile::open(storage, Path::new("/leases/leases4.csv"), OpenOptions::default());
        let (memfile, ..) = opened.expect("the simulated disk works");
        let shards = Shards::new(SHARDS, |_| {});
        let options = CoreOptions { durability, lfc_interval_s: 0 };
        let core = LogCore::new(shards.clone(), memfile, options, Now::default());
        Self { table: Arc::new(LeaseTable::new(3)), shards, core, stores: 0 }
    }
}

impl Backend for MemfileBackend {
    type Family = V4;
    type Store = MemfileStore;

    fn table(&self) -> &LeaseTable {
        &self.table
    }

    fn store(&mut self) -> MemfileStore {
        assert!(self.stores < SHARDS, "the suite makes few stores");
        self.stores += 1;
        MemfileStore::new(self.table.clone(), ShardLog::new(self.shards.clone(), self.stores - 1))
    }

    fn settle(&mut self) {
        self.core.round(Now::default());
    }
}

mod flushed_at_once {
    use super::*;
    dhcp_lease::lease_store_contract!(v4: MemfileBackend::new(Durability::Always));
}

mod flushed_by_time {
    use super::*;
    dhcp_lease::lease_store_contract!(v4: MemfileBackend::new(Durability::Interval(100)));
}

mod only_written {
    use super::*;
    dhcp_lease::lease_store_contract!(v4: MemfileBackend::new(Durability::None));
}
