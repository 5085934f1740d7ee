//! Reserved addresses of a configuration.

use super::table_family::TableFamily;

/// Addresses that are reserved now.
pub(super) struct Reserved<F: TableFamily> {
    /// Free bit and address, ascending; the bit may not be opened yet.
    pub(super) pooled: Vec<(u32, F::Address)>,
    /// Slot numbers outside the pools, ascending.
    pub(super) others: Vec<u32>,
    /// Free bit and address of each address that was set aside since.
    pub(super) added_addresses: Vec<(u32, F::Address)>,
}

impl<F: TableFamily> Default for Reserved<F> {
    fn default() -> Self {
        Self { pooled: Vec::new(), others: Vec::new(), added_addresses: Vec::new() }
    }
}

impl<F: TableFamily> Reserved<F> {
    /// Returns the free bits from `first` to `last` that are reserved.
    pub(super) fn within(&self, first: u32, last: u32) -> impl Iterator<Item = u32> {
        let start = self.pooled.partition_point(|&(bit, _)| bit < first);
        self.pooled[start..].iter().map(|&(bit, _)| bit).take_while(move |&bit| bit <= last)
    }
}
