//! Addresses that a configuration or a database reserves, as the lease table has them.

use super::table_family::TableFamily;

/// Addresses of the lease table that are reserved now.
pub(super) struct Reserved<F: TableFamily> {
    /// Free bits and addresses of reserved addresses in pools, ascending; a bit may not be opened
    /// yet.
    pub(super) pooled: Vec<(u32, F::Address)>,
    /// Slot numbers of reserved addresses outside the pools, ascending.
    pub(super) others: Vec<u32>,
    /// Free bit and address of each address that was reserved since the configuration, one by one.
    pub(super) added_addresses: Vec<(u32, F::Address)>,
}

impl<F: TableFamily> Default for Reserved<F> {
    fn default() -> Self {
        Self { pooled: Vec::new(), others: Vec::new(), added_addresses: Vec::new() }
    }
}

impl<F: TableFamily> Reserved<F> {
    /// Returns the free bits of reserved addresses from `first` to `last`.
    pub(super) fn within(&self, first: u32, last: u32) -> impl Iterator<Item = u32> {
        let start = self.pooled.partition_point(|&(bit, _)| bit < first);
        self.pooled[start..].iter().map(|&(bit, _)| bit).take_while(move |&bit| bit <= last)
    }
}
