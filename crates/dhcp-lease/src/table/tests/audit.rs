//! Checks that lists, indexes, bits and counts agree with the slots.

use std::collections::{BTreeSet, HashSet};

use super::super::table_family::{ClientIndex, SlotNumberMap, TableFamily};
use super::super::{LeaseTable, STRIPES, Usage};
use crate::contract::SlotOccupancy;

/// Asserts the invariants of a table that no thread uses. `claimed` addresses are free with their
/// bit cleared.
pub(super) fn audit<F: TableFamily>(table: &LeaseTable<F>, claimed: &BTreeSet<F::Address>) {
    let mut usage = Usage::default();
    let mut indexed = 0;
    let (mut slot_numbers, mut addresses) = (HashSet::new(), HashSet::new());
    for number in 0..STRIPES {
        let stripe = table.lock(number);
        stripe.add_usage(&mut usage);
        let linked = stripe.state.deadlines.audit(&stripe.state.slots);
        let mut expected = 0;
        for slot in stripe.state.slots.iter() {
            let (slot_number, address) = (slot.number, slot.address());
            assert_eq!(slot_number as usize % STRIPES, number);
            assert!(slot_numbers.insert(slot_number), "{slot_number:#x} has two slots");
            assert!(addresses.insert(address), "{address} has two slots");
            assert_eq!(table.slot_numbers.find(address), Some(slot_number), "place of {address}");
            let is_free = slot.occupancy == SlotOccupancy::Free;
            let is_reserved = table.is_reserved(slot_number, address);
            let bit = table
                .slot_numbers
                .bit(slot_number, address)
                .filter(|&bit| table.map.is_pooled(bit));
            assert_eq!(
                bit.is_some_and(|bit| table.map.is_free(bit)),
                is_free && bit.is_some() && !claimed.contains(&address) && !is_reserved,
                "free bit of {address}, {slot:?}"
            );
            let is_waiting = match slot.occupancy {
                SlotOccupancy::Free => {
                    slot.marks.state().is_past()
                        && slot.due_s(&stripe.state.deadlines.expiry) != u64::MAX
                }
                SlotOccupancy::Held | SlotOccupancy::Releasing => true,
                // A lease that became infinite may hang where it hung.
                _ => slot.expires_s() != u64::MAX,
            };
            expected += usize::from(is_waiting);
            assert!(!is_waiting || slot.prev != super::super::deadlines::UNLINKED);
            indexed += table.index.audit(&slot.family_fields, slot_number);
        }
        assert!(linked >= expected, "{linked} slots linked, {expected} expected");
    }
    assert_eq!(table.index.len(), indexed);
    assert_eq!(table.usage_by_subnet().values().fold(Usage::default(), add), usage);
}

fn add(a: Usage, b: &Usage) -> Usage {
    Usage {
        held: a.held + b.held,
        leased: a.leased + b.leased,
        declined: a.declined + b.declined,
        releasing: a.releasing + b.releasing,
    }
}
