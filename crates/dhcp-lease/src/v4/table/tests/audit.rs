//! Checks that everything kept around the slots agrees with them.

use std::collections::{BTreeSet, HashSet};

use super::super::{LeaseTable, STRIPES, Usage};
use crate::ClientId;
use crate::v4::Occupancy;

/// Asserts the invariants of a table that nobody uses. `claimed` addresses are free with their bit
/// taken.
pub(super) fn audit(table: &LeaseTable, claimed: &BTreeSet<u32>) {
    let mut usage = Usage::default();
    let (mut by_hardware, mut by_client_id) = (0, 0);
    let mut seen = HashSet::new();
    for number in 0..STRIPES {
        let stripe = table.lock(number);
        stripe.add_usage(&mut usage);
        let linked = stripe.state.deadlines.audit(&stripe.state.slots);
        let mut expected = 0;
        for slot in stripe.state.slots.iter() {
            let address = slot.address;
            assert_eq!(address as usize % STRIPES, number);
            assert!(seen.insert(address), "{address:#x} has two slots");
            let is_free = slot.occupancy == Occupancy::Free;
            assert_eq!(
                table.map.is_free(address),
                is_free && table.map.is_pooled(address) && !claimed.contains(&address),
                "free bit of {address:#x}, {slot:?}"
            );
            let is_waiting = match slot.occupancy {
                Occupancy::Free => false,
                Occupancy::Held | Occupancy::Releasing => true,
                // A lease that became infinite may hang where it hung.
                _ => slot.expires_s() != u64::MAX,
            };
            expected += usize::from(is_waiting);
            assert!(!is_waiting || slot.prev != super::super::deadlines::UNLINKED);
            if !slot.hardware.is_empty() {
                by_hardware += 1;
                let found = table.by_hardware.find(&slot.hardware);
                assert!(found.addresses().contains(&address), "hardware index of {slot:?}");
            }
            if let Some(client_id) = slot.client_id.as_ref().map(ClientId::octets) {
                by_client_id += 1;
                let found = table.by_client_id.find(client_id);
                assert!(found.addresses().contains(&address), "client index of {slot:?}");
            }
        }
        assert!(linked >= expected, "{linked} slots linked, {expected} expected");
    }
    assert_eq!(table.by_hardware.len(), by_hardware);
    assert_eq!(table.by_client_id.len(), by_client_id);
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
