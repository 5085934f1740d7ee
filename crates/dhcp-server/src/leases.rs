//! temporary
use crate::ServerError;
use crate::service::{Common, Service};
use dhcp_lease::{LeaseTable, Leased, MemoryStore};
use std::path::PathBuf;
use std::sync::Arc;
pub(crate) fn data_folder(configured: Option<&str>) -> PathBuf {
    configured
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("KEA_DHCP_DATA_DIR").map(PathBuf::from))
        .unwrap_or_else(|| "/var/lib/kea".into())
}
pub(crate) type ServerStore<P> = MemoryStore<P>;
pub(crate) struct Leases<P: Leased>(Arc<LeaseTable<P>>);
impl<P: Service> Leases<P> {
    pub(crate) fn open(
        _c: &Common<'_>,
        table: &Arc<LeaseTable<P>>,
        _s: &P::Snapshot,
        _n: usize,
        _w: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<Self, ServerError> {
        Ok(Self(Arc::clone(table)))
    }
    pub(crate) fn store(&self, _i: usize) -> ServerStore<P> {
        MemoryStore::new(Arc::clone(&self.0))
    }
    pub(crate) fn report_problems(&self) -> bool {
        false
    }
    pub(crate) fn close(self) -> Result<(), ServerError> {
        Ok(())
    }
}
