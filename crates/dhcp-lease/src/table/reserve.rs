//! Reserved addresses in the lease table: their free bits stay clear, and they have slots even
//! where no pool is.
//!
//! Changes happen under the configuration lock. A bit next to the free bit marks an address as
//! reserved, so that the check costs the packet path nothing. Where no pool is, blocks of which at
//! least half is reserved have such bits, too, and rows for their slots; other reserved slot
//! numbers are in a list of their stripe.

use super::overlap::Overlaps as _;
use super::reserved::Reserved;
use super::table_family::{FamilySlotFields, SlotNumberMap, TableFamily};
use super::{Configuration, LeaseTable};

/// Number of reserved addresses of a block of 256 without pools from which on the block gets a row
/// of slots: its slots take twice the memory then, at most, and are found without a search.
const DENSE: usize = 128;

impl<F: TableFamily> LeaseTable<F> {
    /// Replaces the reserved addresses of the table by `addresses`.
    pub(super) fn reserve(&self, configuration: &mut Configuration<F>, addresses: &[F::Address]) {
        let mut new = Reserved::<F>::default();
        for &address in addresses {
            match self.slot_numbers.bit_to_be(&self.map, address) {
                Some(bit) => new.pooled.push((bit, address)),
                None => new.others.extend(self.slot_numbers.make(address, true)),
            }
        }
        new.pooled.sort_unstable();
        new.pooled.dedup();
        new.others.sort_unstable();
        new.others.dedup();
        let old = core::mem::replace(&mut configuration.reserved, new);
        let new = &configuration.reserved;
        new.pooled.iter().for_each(|&(bit, _)| self.map.reserve(bit));
        for entry in old.pooled.iter().chain(&old.added_addresses) {
            if new.pooled.binary_search(entry).is_err() {
                self.unreserve(entry.0, entry.1);
            }
        }
        let is_removed = |slot_number: &&u32| new.others.binary_search(slot_number).is_err();
        for &slot_number in old.others.iter().filter(is_removed) {
            self.lock_of(slot_number).reserve_outside(slot_number, false);
            if new.pooled.binary_search_by_key(&slot_number, |&(bit, _)| bit).is_err() {
                self.map.unreserve(slot_number);
                if F::SlotNumbers::FIRST_APART.is_none_or(|first| slot_number < first) {
                    // A pool may contain the slot number now.
                    self.release_claim(F::SlotFields::default().address(slot_number));
                }
            }
        }
        self.give_rows(configuration);
        for &slot_number in &configuration.reserved.others {
            if self.map.row(slot_number).is_some() {
                self.map.reserve(slot_number);
            } else if old.others.binary_search(&slot_number).is_err() {
                self.lock_of(slot_number).reserve_outside(slot_number, true);
            }
        }
    }

    /// Gives rows of slots to the blocks without pools that are reserved for the most part.
    fn give_rows(&self, configuration: &mut Configuration<F>) {
        let rows_before = configuration.rows;
        for block in configuration.reserved.others.chunk_by(|one, other| one >> 8 == other >> 8) {
            if block.len() >= DENSE && self.map.row(block[0]).is_none() {
                self.map.set_row(block[0], configuration.rows);
                configuration.rows += 1;
            }
        }
        if configuration.rows > rows_before {
            self.reserve_memory(configuration.rows as usize);
        }
    }

    /// Reserves one more address until the table is configured anew: reservations in databases are
    /// learned address by address. Takes the configuration's lock when the address is new.
    pub fn reserve_address(&self, address: F::Address) {
        self.guard(address);
        self.slot_numbers.add_reserved(&self.map, address);
        match self.slot_numbers.bit_to_be(&self.map, address) {
            Some(bit) if self.map.is_reserved(bit) => {}
            Some(bit) => {
                let mut configuration = self.lock_configuration();
                configuration.reserved.added_addresses.push((bit, address));
                self.map.reserve(bit);
            }
            None => {
                if let Some(slot_number) = self.slot_numbers.make(address, true) {
                    self.lock_of(slot_number).reserve_outside(slot_number, true);
                }
            }
        }
    }

    /// Ends the reservation of `address`, whose free bit is number `bit`.
    fn unreserve(&self, bit: u32, address: F::Address) {
        self.map.unreserve(bit);
        // A change that frees the slot from here on sets the bit itself; an earlier one is seen
        // here.
        self.release_claim(address);
    }

    /// Returns true if a client gets `address`, which has `slot_number`, only on request.
    pub(super) fn is_reserved(&self, slot_number: u32, address: F::Address) -> bool {
        self.slot_numbers.bit(slot_number, address).is_some_and(|bit| self.map.is_reserved(bit))
    }
}
