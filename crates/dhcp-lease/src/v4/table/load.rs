//! Leases in and out as whole values: loading at the start, listing for a snapshot.

use super::slot::Extra;
use super::{LeaseTable, STRIPES};
use crate::v4::Occupancy;
use crate::v4::lease::{Lease, LeaseState};

impl LeaseTable {
    /// Takes over a lease read from storage; of several rows of one address the last wins, in the
    /// order of the calls. A row with a valid lifetime of 0, and one that was reclaimed or
    /// released, leaves the address free, with the client remembered. Several threads may load
    /// different addresses at once.
    pub fn load(&self, lease: Lease) {
        let address = u32::from(lease.address);
        let mut stripe = self.lock_of(address);
        let occupancy = match lease.state {
            _ if lease.valid_lifetime_s == 0 => Occupancy::Free,
            LeaseState::Assigned => Occupancy::Leased,
            LeaseState::Declined => Occupancy::Declined,
            LeaseState::ExpiredReclaimed | LeaseState::Released => Occupancy::Free,
        };
        if occupancy == Occupancy::Free && stripe.find(address).is_none() {
            // A deletion makes no slot outside the pools.
            if !self.map.is_pooled(address) {
                return;
            }
        }
        let id = stripe.make(address);
        let slot = stripe.slot(id);
        if slot.hardware != lease.hardware || slot.client_id != lease.client_id {
            stripe.forget_client(id);
            stripe.remember_client(id, lease.hardware, lease.client_id);
        }
        stripe.transition(id, occupancy, |slot| {
            slot.subnet_id = lease.subnet_id;
            slot.pool_id = lease.pool_id;
            slot.cltt_s = lease.cltt_s;
            slot.valid_lifetime_s = lease.valid_lifetime_s;
            slot.row_epoch = 0;
            if occupancy != Occupancy::Free {
                slot.set_extra(Extra {
                    hostname: lease.hostname,
                    user_context: lease.user_context,
                    fqdn_fwd: lease.fqdn_fwd,
                    fqdn_rev: lease.fqdn_rev,
                });
            }
        });
    }

    /// Gives every lease and every declined address to `visit`, in no order that means anything.
    /// About a thousand slots at a time are copied; no lock is held during a visit, and leases that
    /// change meanwhile are seen as they were or as they are.
    pub fn for_each_lease(&self, mut visit: impl FnMut(Lease)) {
        let mut copies = Vec::new();
        for stripe in 0..STRIPES {
            for part in 0.. {
                {
                    let stripe = self.lock(stripe);
                    let Some(slots) = stripe.state.slots.part(part) else { break };
                    copies.extend(slots.filter_map(|slot| match slot.occupancy {
                        Occupancy::Leased => Some(slot.row(LeaseState::Assigned).to_lease()),
                        Occupancy::Declined => Some(slot.row(LeaseState::Declined).to_lease()),
                        Occupancy::Free | Occupancy::Held | Occupancy::Releasing => None,
                    }));
                }
                copies.drain(..).for_each(&mut visit);
            }
        }
    }
}
