//! Leases of the table as they were before events that are still to come: the beginning of a copy
//! that follows events.
//!
//! Parts of the table are copied one after the other, each under the lock of its stripe for a short
//! time. What has changed meanwhile is undone with the leases before the changes, which events
//! have; so all parts are of the same moment.

use std::collections::BTreeMap;

use super::LeaseTable;
use super::address_map::STRIPES;
use super::list::visible_lease;
use super::table_family::TableFamily;
use crate::event::RecordedEvent;
use crate::lease::Lease;

/// Position of a walk over all slots of the lease table, part by part. The default is the
/// beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCursor {
    stripe: usize,
    part: usize,
}

/// Leases of the slots of one part of the table, by address.
type PartLeases<F> = BTreeMap<<F as crate::Family>::Address, Option<Lease<F>>>;

fn undo<F: TableFamily>(leases: &mut PartLeases<F>, event: &RecordedEvent<F>) {
    match leases.get_mut(&event.address) {
        Some(lease) if event.is_change() => lease.clone_from(&event.before),
        _ => {}
    }
}

impl<F: TableFamily> LeaseTable<F> {
    /// Returns the leases of about a thousand slots at `cursor`, without those that have ended, as
    /// they were before all events that nobody has taken and before those events that
    /// `undo_taken` passes to its argument, newest first. Moves `cursor` to the next slots;
    /// returns `None` after the last ones.
    ///
    /// Events must be recorded, and no other thread may take events during the call.
    pub fn leases_before(
        &self,
        cursor: &mut TableCursor,
        undo_taken: impl FnOnce(&mut dyn FnMut(&RecordedEvent<F>)),
    ) -> Option<Vec<Lease<F>>> {
        let mut leases = self.next_part(cursor)?;
        undo_taken(&mut |event| undo(&mut leases, event));
        Some(leases.into_values().flatten().filter(|lease| !lease.state.is_past()).collect())
    }

    /// Copies the next part of the table, and undoes the events of its stripe.
    fn next_part(&self, cursor: &mut TableCursor) -> Option<PartLeases<F>> {
        while cursor.stripe < STRIPES {
            let stripe = self.lock(cursor.stripe);
            let Some(slots) = stripe.state.slots.part(cursor.part) else {
                *cursor = TableCursor { stripe: cursor.stripe + 1, part: 0 };
                continue;
            };
            let mut leases: PartLeases<F> =
                slots.map(|slot| (slot.address(), visible_lease(slot))).collect();
            let events = stripe.state.events.iter().rev();
            events.for_each(|ordered| undo(&mut leases, &ordered.event));
            cursor.part += 1;
            return Some(leases);
        }
        None
    }
}
