//! The leases as an administrator sees and changes them.

use std::sync::Arc;

use dhcp_control::{ClientKey, Commanded, Leases, PutFailure, PutMode};
use dhcp_lease::LeaseTable;

use crate::leases;
use crate::service::{Common, Service};

/// The leases behind commands.
pub(super) struct Administration<P: Service> {
    table: Arc<LeaseTable<P>>,
}

impl<P: Service> Administration<P> {
    /// The leases of `table`.
    pub(super) fn new(
        _leases: &leases::Leases<P>,
        table: &Arc<LeaseTable<P>>,
        _common: &Common<'_>,
    ) -> Self {
        Self { table: Arc::clone(table) }
    }

    pub(super) fn reclaim(&mut self, _and_removes: bool) {}
}

impl<P: Service> Leases<P> for Administration<P> {
    fn find(&self, ip: P::Ip, kind: P::Kind) -> Option<P::Lease> {
        let mut found = None;
        self.table.for_each_lease(|lease| {
            if P::ip(<P as Commanded>::address(&lease)) == ip && P::kind(&lease) == kind {
                found = Some(lease);
            }
        });
        found
    }

    fn page(&self, after: Option<P::Ip>, limit: usize) -> Vec<P::Lease> {
        let mut page = Vec::new();
        self.table.for_each_lease(|lease| {
            if after.is_none_or(|after| P::ip(<P as Commanded>::address(&lease)) > after) {
                page.push(lease);
            }
        });
        page.sort_by_key(|lease| P::ip(<P as Commanded>::address(lease)));
        page.truncate(limit);
        page
    }

    fn of_client(&self, _key: ClientKey<'_>) -> Vec<P::Lease> {
        Vec::new()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P::Lease)) {
        self.page(None, usize::MAX).iter().for_each(visit);
    }

    fn put(&mut self, _lease: P::Lease, _mode: PutMode) -> Result<(), PutFailure> {
        Err(PutFailure::Busy)
    }

    fn remove(&mut self, _address: P::Address) -> Result<bool, String> {
        Err("busy".to_owned())
    }

    fn write(&mut self, _file: &str) -> Result<(), String> {
        Err("busy".to_owned())
    }
}
