//! Memory that the lease table takes, by purpose.

use super::slot::RareLeaseFields;
use super::table_family::{ClientIndex, SlotNumberMap, TableFamily};
use super::{LeaseTable, STRIPES};

/// Memory of the lease table by purpose, in bytes, without the overhead of the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableMemory {
    /// Memory of the slots in bytes, also of those of addresses without a lease.
    pub slots_bytes: usize,
    /// Memory of the map from slot numbers outside the pools' blocks of 256 addresses to their
    /// slots, in bytes.
    pub sparse_bytes: usize,
    /// Memory of the indexes from clients to slots, in bytes.
    pub indexes_bytes: usize,
    /// Memory of the map from addresses to slot numbers, in bytes, where those are not equal.
    pub slot_number_map_bytes: usize,
    /// Memory of the map of free addresses and of the rows of slots, in bytes.
    pub map_bytes: usize,
    /// Memory of the leases' names, user contexts and long identifiers, in bytes.
    pub texts_bytes: usize,
}

impl TableMemory {
    /// Returns the sum of the memory for all purposes, in bytes.
    #[must_use]
    pub const fn total_bytes(&self) -> usize {
        self.slots_bytes
            + self.sparse_bytes
            + self.indexes_bytes
            + self.slot_number_map_bytes
            + self.map_bytes
            + self.texts_bytes
    }
}

impl<F: TableFamily> LeaseTable<F> {
    /// Returns the memory that the lease table takes, by purpose. Reads every slot, about a
    /// thousand at a time.
    #[must_use]
    pub fn memory(&self) -> TableMemory {
        let mut sum = TableMemory {
            indexes_bytes: self.index.bytes(),
            slot_number_map_bytes: self.slot_numbers.bytes(),
            map_bytes: self.map.bytes(),
            ..TableMemory::default()
        };
        for stripe in 0..STRIPES {
            let (slots_bytes, sparse_bytes) = self.lock(stripe).state.slots.bytes();
            sum.slots_bytes += slots_bytes;
            sum.sparse_bytes += sparse_bytes;
            for part in 0.. {
                let stripe = self.lock(stripe);
                let Some(slots) = stripe.state.slots.part(part) else { break };
                let extras = slots.filter_map(|slot| slot.extra.as_deref());
                sum.texts_bytes += extras.map(RareLeaseFields::bytes).sum::<usize>();
            }
        }
        sum
    }
}
