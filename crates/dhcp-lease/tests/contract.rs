//! The lease store contract, kept by the stores of this crate.

use std::sync::Arc;

use dhcp_lease::v4::contract_suite::Backend;
use dhcp_lease::v4::testing::{ManualLog, ManualStore};
use dhcp_lease::v4::{LeaseTable, MemoryStore};

struct Memory(Arc<LeaseTable>);

impl Backend for Memory {
    type Store = MemoryStore;

    fn table(&self) -> &LeaseTable {
        &self.0
    }

    fn store(&mut self) -> MemoryStore {
        MemoryStore::new(Arc::clone(&self.0))
    }

    fn settle(&mut self) {}
}

struct Manual(Arc<LeaseTable>, Arc<ManualLog>);

impl Backend for Manual {
    type Store = ManualStore;

    fn table(&self) -> &LeaseTable {
        &self.0
    }

    fn store(&mut self) -> ManualStore {
        ManualStore::new(Arc::clone(&self.0), Arc::clone(&self.1))
    }

    fn settle(&mut self) {
        self.1.settle_all();
    }
}

mod memory {
    use super::*;

    dhcp_lease::lease_store_contract!(Memory(Arc::new(LeaseTable::new(1))));
}

mod manual {
    use super::*;

    dhcp_lease::lease_store_contract!(Manual(Arc::new(LeaseTable::new(2)), Arc::default()));
}
