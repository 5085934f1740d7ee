//! Memory of the table, by purpose.

use super::slot::RareLeaseFields;
use super::table_family::{ClientIndex, SlotNumberMap, TableFamily};
use super::{LeaseTable, STRIPES};

/// Bytes by purpose, without the overhead of the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableMemory {
    /// Slots, also those of addresses without a lease.
    pub slots_bytes: usize,
    /// Map from slot numbers outside the pools' blocks to their slots.
    pub sparse_bytes: usize,
    /// Indexes from clients to slots.
    pub indexes_bytes: usize,
    /// Map from addresses to slot numbers, where those are not the same.
    pub slot_number_map_bytes: usize,
    /// Free bits and rows of blocks.
    pub map_bytes: usize,
    /// Names, contexts and long identifiers.
    pub texts_bytes: usize,
}

impl TableMemory {
    /// Returns the sum of all parts.
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
    /// Returns the memory that the table takes. Reads every slot, about a thousand at a time.
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
