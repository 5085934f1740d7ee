//! The memfile store keeps the contract of all lease stores, for both families and under every
//! durability.

use std::path::Path;
use std::sync::Arc;

use base::Now;
use dhcp_lease::LeaseTable;
use dhcp_lease::contract_suite::Backend;
use dhcp_lease::sample::Sample;
use dhcp_store::log::{CoreOptions, LogCore, ShardLog, Shards};
use dhcp_store::storage::{Faults, PowerCutStorage};
use dhcp_store::{Durability, Memfile, MemfileStore, OpenOptions, RowCodec};

const SHARDS: usize = 4;

struct MemfileBackend<F: RowCodec> {
    table: Arc<LeaseTable<F>>,
    shards: Arc<Shards>,
    core: LogCore<F>,
    stores: usize,
}

impl<F: RowCodec> MemfileBackend<F> {
    fn new(durability: Durability) -> Self {
        let storage = Arc::new(PowerCutStorage::new(1, Faults::default()));
        let opened =
            Memfile::open(storage, Path::new("/leases/leases.csv"), OpenOptions::default());
        let (memfile, ..) = opened.expect("the simulated disk works");
        let shards = Shards::new(SHARDS, |_| {});
        let options = CoreOptions { durability, lfc_interval_s: 0 };
        let core = LogCore::new(shards.clone(), memfile, options, Now::default());
        Self { table: Arc::new(LeaseTable::new(3)), shards, core, stores: 0 }
    }
}

impl<F: RowCodec + Sample> Backend for MemfileBackend<F> {
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

macro_rules! under_every_durability {
    ($family:ident, $marker:ty) => {
        mod $family {
            use super::*;

            mod flushed_at_once {
                use super::*;
                dhcp_lease::lease_store_contract!(
                    $family: MemfileBackend::<$marker>::new(Durability::Always)
                );
            }

            mod flushed_by_time {
                use super::*;
                dhcp_lease::lease_store_contract!(
                    $family: MemfileBackend::<$marker>::new(Durability::Interval(100))
                );
            }

            mod only_written {
                use super::*;
                dhcp_lease::lease_store_contract!(
                    $family: MemfileBackend::<$marker>::new(Durability::None)
                );
            }
        }
    };
}

under_every_durability!(v4, dhcp_lease::v4::V4);
under_every_durability!(v6, dhcp_lease::v6::V6);
