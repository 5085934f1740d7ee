//! Taking back what has ended: holds, settled releases, leases and probations.
//!
//! Nothing is written for it: a lease's row itself says when it ends.

use core::sync::atomic::Ordering;

use base::Now;

use super::deadlines::Deadlines;
use super::stripe::{Hints, Locked};
use super::{LeaseTable, STRIPES};
use crate::v4::{Occupancy, Swept};

impl LeaseTable {
    /// Frees what has ended at `now` and what was released in rows through `settled_epoch`,
    /// touching at most `budget` slots. Later calls, by any shard, go on where this one stopped.
    pub fn sweep(&self, now: Now, settled_epoch: u64, budget: u32) -> Swept {
        let [holds, leases, declined] = self.swept_early.each_ref().map(|count| {
            // Read first: shards share the line, and hardly ever is there anything to take.
            if count.load(Ordering::Relaxed) == 0 { 0 } else { count.swap(0, Ordering::Relaxed) }
        });
        let mut swept = Swept { holds, leases, declined, is_more_due: false };
        self.sweep_stripes(now, settled_epoch, budget, &mut swept);
        swept
    }

    /// A small sweep for a fetch that found no free address. True when it freed any.
    pub(super) fn sweep_early(&self, now: Now, settled_epoch: u64, budget: u32) -> bool {
        let mut swept = Swept::default();
        let freed = self.sweep_stripes(now, settled_epoch, budget, &mut swept);
        let counts = [swept.holds, swept.leases, swept.declined];
        for (early, count) in self.swept_early.iter().zip(counts) {
            early.fetch_add(count, Ordering::Relaxed);
        }
        freed
    }

    /// True when a slot was freed.
    fn sweep_stripes(&self, now: Now, settled_epoch: u64, budget: u32, swept: &mut Swept) -> bool {
        let mut pass = Pass { now, settled_epoch, left: budget, freed: false };
        let from = self.sweep_from();
        for step in 0..STRIPES {
            let at = (from + step) % STRIPES;
            if !pass.is_due(&self.stripes[at].hints) {
                continue;
            }
            if pass.left == 0 {
                swept.is_more_due = true;
                self.sweep_from.store(at as u32, Ordering::Relaxed);
                break;
            }
            pass.work_off(&mut self.lock(at), swept);
            if pass.left == 0 && pass.is_due(&self.stripes[at].hints) {
                swept.is_more_due = true;
                self.sweep_from.store(at as u32, Ordering::Relaxed);
                break;
            }
        }
        pass.freed
    }
}

/// One pass over the stripes.
struct Pass {
    now: Now,
    settled_epoch: u64,
    left: u32,
    freed: bool,
}

impl Pass {
    /// Whether a stripe has work, as far as can be seen without its lock.
    fn is_due(&self, hints: &Hints) -> bool {
        let wheel_due_s = hints.wheel_due_s.load(Ordering::Relaxed);
        hints.first_hold_ns.load(Ordering::Relaxed) <= self.now.mono_ns
            || hints.first_release_epoch.load(Ordering::Relaxed) <= self.settled_epoch
            || Deadlines::is_wheel_due(wheel_due_s, self.now.wall_s())
    }

    fn work_off(&mut self, stripe: &mut Locked<'_>, swept: &mut Swept) {
        while self.left > 0 {
            let deadlines = &stripe.state.deadlines;
            let id = if let Some(id) = deadlines.settled_release(self.settled_epoch) {
                id
            } else if let Some(id) = deadlines.ended_hold(self.now.mono_ns) {
                swept.holds += 1;
                id
            } else {
                break;
            };
            stripe.free(id);
            self.freed = true;
            self.left -= 1;
        }
        while self.left > 0 {
            let state = &mut *stripe.state;
            let Some(id) = state.deadlines.next_due(&mut state.slots, self.now.wall_s()) else {
                break;
            };
            self.left -= 1;
            let slot = state.slots.get(id);
            if slot.expires_s() > self.now.wall_s() {
                state.deadlines.link(&mut state.slots, id);
                continue;
            }
            match slot.occupancy {
                Occupancy::Declined => swept.declined += 1,
                _ => swept.leases += 1,
            }
            stripe.free(id);
            self.freed = true;
        }
    }
}
