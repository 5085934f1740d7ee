//! Tests of the lease store contract, for the stores of this crate and both families.

use std::sync::Arc;

use dhcp_lease::contract_suite::StoreFactory;
use dhcp_lease::sample::SampleFamily;
use dhcp_lease::testing::{ManualLog, ManualStore};
use dhcp_lease::{LeaseTable, MemoryStore};

struct MemoryStoreFactory<F: SampleFamily>(Arc<LeaseTable<F>>);

impl<F: SampleFamily> MemoryStoreFactory<F> {
    fn new() -> Self {
        Self(Arc::new(LeaseTable::new(1)))
    }
}

impl<F: SampleFamily> StoreFactory for MemoryStoreFactory<F> {
    type Family = F;
    type Store = MemoryStore<F>;

    fn table(&self) -> &LeaseTable<F> {
        &self.0
    }

    fn store(&mut self) -> MemoryStore<F> {
        MemoryStore::new(Arc::clone(&self.0))
    }

    fn settle(&mut self) {}
}

struct Manual<F: SampleFamily>(Arc<LeaseTable<F>>, Arc<ManualLog<F>>);

impl<F: SampleFamily> Manual<F> {
    fn new() -> Self {
        Self(Arc::new(LeaseTable::new(2)), Arc::default())
    }
}

impl<F: SampleFamily> StoreFactory for Manual<F> {
    type Family = F;
    type Store = ManualStore<F>;

    fn table(&self) -> &LeaseTable<F> {
        &self.0
    }

    fn store(&mut self) -> ManualStore<F> {
        ManualStore::new(Arc::clone(&self.0), Arc::clone(&self.1))
    }

    fn settle(&mut self) {
        self.1.settle_all();
    }
}

mod v4 {
    use dhcp_lease::v4::V4;

    mod memory {
        dhcp_lease::lease_store_contract!(v4: crate::contract::MemoryStoreFactory::<super::V4>::new());
    }

    mod manual {
        dhcp_lease::lease_store_contract!(v4: crate::contract::Manual::<super::V4>::new());
    }
}

mod v6 {
    use dhcp_lease::v6::V6;

    mod memory {
        dhcp_lease::lease_store_contract!(v6: crate::contract::MemoryStoreFactory::<super::V6>::new());
    }

    mod manual {
        dhcp_lease::lease_store_contract!(v6: crate::contract::Manual::<super::V6>::new());
    }
}
