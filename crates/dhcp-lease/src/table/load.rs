//! Leases in and out as whole values: loading at the start, listing for a snapshot.

use super::leased::{Leased, Loaded, Places};
use super::{LeaseTable, STRIPES};
use crate::contract::Occupancy;
use crate::lease::LeaseState;

impl<F: Leased> LeaseTable<F> {
    /// Takes over a lease read from storage; of several rows of one address the last wins, in the
    /// order of the calls. A row with a valid lifetime of 0, and one that was reclaimed or
    /// released, leaves the address free, with the client remembered. Several threads may load
    /// different addresses at once.
    pub fn load(&self, lease: F::Lease) {
        let lease = F::take_apart(lease);
        let occupancy = match lease.state {
            _ if lease.valid_lifetime_s == 0 => Occupancy::Free,
            LeaseState::Assigned => Occupancy::Leased,
            LeaseState::Declined => Occupancy::Declined,
            LeaseState::ExpiredReclaimed | LeaseState::Released => Occupancy::Free,
        };
        if let Some(place) = self.place_to_load(lease.address, occupancy == Occupancy::Free) {
            self.load_at(place, lease, occupancy);
        }
    }

    /// The place for a lease of `address`. A deletion makes none outside the pools.
    fn place_to_load(&self, address: F::Address, is_deletion: bool) -> Option<u32> {
        if let Some(place) = self.places.find(address) {
            return Some(place);
        }
        if is_deletion {
            return None;
        }
        self.cover(address);
        self.places.make(address, true)
    }

    fn load_at(&self, place: u32, lease: Loaded<F>, occupancy: Occupancy) {
        let mut stripe = self.lock_of(place);
        if occupancy == Occupancy::Free
            && stripe.find(place).is_none()
            && !stripe.is_given(place, lease.address)
        {
            return;
        }
        let id = stripe.make(place, lease.address);
        stripe.replace_kept(id, lease.kept);
        stripe.transition(id, occupancy, |slot| {
            slot.subnet_id = lease.subnet_id;
            slot.pool_id = lease.pool_id;
            slot.cltt_s = lease.cltt_s;
            slot.valid_lifetime_s = lease.valid_lifetime_s;
            slot.row_epoch = 0;
            if occupancy != Occupancy::Free {
                slot.set_extra(lease.extra);
            }
        });
    }

    /// Gives every lease and every declined address to `visit`, in no order that means anything.
    /// About a thousand slots at a time are copied; no lock is held during a visit, and leases that
    /// change meanwhile are seen as they were or as they are.
    pub fn for_each_lease(&self, mut visit: impl FnMut(F::Lease)) {
        let mut copies = Vec::new();
        for stripe in 0..STRIPES {
            for part in 0.. {
                {
                    let stripe = self.lock(stripe);
                    let Some(slots) = stripe.state.slots.part(part) else { break };
                    copies.extend(slots.filter_map(|slot| {
                        let state = match slot.occupancy {
                            Occupancy::Leased => LeaseState::Assigned,
                            Occupancy::Declined => LeaseState::Declined,
                            Occupancy::Free | Occupancy::Held | Occupancy::Releasing => {
                                return None;
                            }
                        };
                        Some(F::to_lease(&F::row(slot, state)))
                    }));
                }
                copies.drain(..).for_each(&mut visit);
            }
        }
    }
}
