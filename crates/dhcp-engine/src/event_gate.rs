//! Gate of replies: they wait for listeners of lease events that must have an event before the
//! client has its reply.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of refusals that the gate remembers. Replies of older epochs count as refused.
const REFUSALS_MAX: usize = 4_096;

/// Highest row epoch whose events all listeners that hold replies have taken.
///
/// A reply leaves when its row is durable and the gate has passed its epoch. Without such listeners
/// the gate passes every epoch. A listener can refuse an address of an epoch: then the replies of
/// that epoch with that address do not leave.
#[derive(Debug)]
pub struct EventGate {
    passed: AtomicU64,
    /// Highest epoch with a refusal; 0 before the first.
    newest_refusal: AtomicU64,
    refusals: Mutex<GateRefusals>,
}

/// Refused addresses of recent epochs, in the order of the refusals.
#[derive(Debug, Default)]
struct GateRefusals {
    recent: VecDeque<GateRefusal>,
    /// Highest epoch of which a refusal has been forgotten.
    forgotten_epoch: u64,
}

#[derive(Debug)]
struct GateRefusal {
    epoch: u64,
    address: Box<[u8]>,
}

impl Default for EventGate {
    fn default() -> Self {
        Self {
            passed: AtomicU64::new(u64::MAX),
            newest_refusal: AtomicU64::new(0),
            refusals: Mutex::default(),
        }
    }
}

impl EventGate {
    /// Makes `epoch` the highest epoch whose replies may leave; `u64::MAX` lets all replies leave.
    pub fn pass(&self, epoch: u64) {
        self.passed.store(epoch, Ordering::SeqCst);
    }

    /// Returns the highest epoch whose replies may leave.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }

    fn refusals(&self) -> MutexGuard<'_, GateRefusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses the replies of `epoch` that contain the bytes of `address`. It must be called before
    /// the gate passes the epoch.
    pub fn refuse(&self, epoch: u64, address: &[u8]) {
        let mut refusals = self.refusals();
        if refusals.recent.len() >= REFUSALS_MAX
            && let Some(oldest) = refusals.recent.pop_front()
        {
            refusals.forgotten_epoch = refusals.forgotten_epoch.max(oldest.epoch);
        }
        refusals.recent.push_back(GateRefusal { epoch, address: address.into() });
        self.newest_refusal.fetch_max(epoch, Ordering::SeqCst);
    }

    /// Returns true if a listener has refused an address that `reply`, which depends on `epoch`,
    /// contains. A reply that contains these bytes by chance is dropped needlessly.
    #[must_use]
    pub fn is_refused(&self, epoch: u64, reply: &[u8]) -> bool {
        if epoch == 0 || self.newest_refusal.load(Ordering::SeqCst) < epoch {
            return false;
        }
        let refusals = self.refusals();
        let holds = |address: &[u8]| reply.windows(address.len().max(1)).any(|one| one == address);
        let mut recent = refusals.recent.iter().filter(|refusal| refusal.epoch == epoch);
        epoch <= refusals.forgotten_epoch || recent.any(|refusal| holds(&refusal.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_concerns_replies_of_its_epoch_with_its_address() {
        let gate = EventGate::default();
        assert!(!gate.is_refused(7, &[1, 2, 3, 4]));
        gate.refuse(7, &[2, 3]);
        assert!(gate.is_refused(7, &[1, 2, 3, 4]));
        for (epoch, reply) in [(7, [1, 2, 4, 3]), (6, [1, 2, 3, 4]), (8, [1, 2, 3, 4])] {
            assert!(!gate.is_refused(epoch, &reply), "{epoch} {reply:?}");
        }
        (0..REFUSALS_MAX).for_each(|_| gate.refuse(9, &[9]));
        assert!(gate.is_refused(7, &[0; 4]), "forgotten refusals count for all replies");
        assert!(!gate.is_refused(8, &[0; 4]));
    }
}
