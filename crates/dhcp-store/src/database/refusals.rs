//! Addresses whose leases the database refused: replies that acknowledge such leases must not leave
//! the shards' outboxes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::family::KeyOctets;

/// Number of refused addresses that are remembered. A reply that depends on a row epoch older than
/// all of these does not leave.
const REFUSALS_MAX: usize = 16_384;

/// Addresses that the database refused, by epoch. Replies are checked only in epochs with refusals,
/// and there are few of those.
#[derive(Debug, Default)]
pub struct Refusals {
    /// Newest epoch with a refused address.
    newest: AtomicU64,
    recent: Mutex<RecentRefusals>,
}

#[derive(Debug, Default)]
struct RecentRefusals {
    refused: VecDeque<RefusedAddress>,
    /// Newest epoch with a refused address that was forgotten.
    forgotten: u64,
}

/// Address that the database refused, with its reason.
#[derive(Clone, Copy, Debug)]
struct RefusedAddress {
    epoch: u64,
    /// Bytes of the address as in a DHCP reply; with no bytes, every reply of the row epoch is
    /// refused.
    octets: KeyOctets,
    reason: AddressRefusalReason,
}

/// Reason why the database refused an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRefusalReason {
    /// Lease of the address that another server has given to another client.
    LeasedElsewhere,
    /// Lease row that does not fit the database.
    Data,
}

impl RefusedAddress {
    fn is_in(&self, reply: &[u8]) -> bool {
        let (octets, len) = &self.octets;
        *len == 0 || reply.windows(*len).any(|part| part == &octets[..*len])
    }
}

impl Refusals {
    fn recent(&self) -> MutexGuard<'_, RecentRefusals> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the address `octets` that another server's client has, refused in `epoch`, which is
    /// not published yet.
    pub fn add(&self, epoch: u64, octets: KeyOctets) {
        self.note(RefusedAddress { epoch, octets, reason: AddressRefusalReason::LeasedElsewhere });
    }

    /// Records an address whose row the database refused in `epoch`, which is not published yet;
    /// `None` if the address is unknown: then every reply of the epoch is refused.
    pub fn add_data(&self, epoch: u64, octets: Option<KeyOctets>) {
        let octets = octets.unwrap_or(([0; 16], 0));
        self.note(RefusedAddress { epoch, octets, reason: AddressRefusalReason::Data });
    }

    fn note(&self, refused: RefusedAddress) {
        let mut recent = self.recent();
        if recent.refused.len() == REFUSALS_MAX
            && let Some(forgotten) = recent.refused.pop_front()
        {
            recent.forgotten = forgotten.epoch;
        }
        recent.refused.push_back(refused);
        self.newest.store(refused.epoch, Ordering::SeqCst);
    }

    /// Returns true if `reply` contains an address that was refused in `epoch`. A reply that
    /// contains these bytes by chance is dropped needlessly; a refused one is always dropped.
    #[must_use]
    pub fn is_refused(&self, epoch: u64, reply: &[u8]) -> bool {
        self.reason(epoch, reply).is_some()
    }

    /// Returns the reason why an address in `reply` was refused in `epoch`.
    #[must_use]
    pub fn reason(&self, epoch: u64, reply: &[u8]) -> Option<AddressRefusalReason> {
        if epoch == 0 || self.newest.load(Ordering::SeqCst) < epoch {
            return None;
        }
        let recent = self.recent();
        let first = recent.refused.partition_point(|refused| refused.epoch < epoch);
        let mut of_epoch =
            recent.refused.range(first..).take_while(|refused| refused.epoch == epoch);
        let refusal = of_epoch.find(|refused| refused.is_in(reply));
        let forgotten =
            (epoch <= recent.forgotten).then_some(AddressRefusalReason::LeasedElsewhere);
        refusal.map(|refused| refused.reason).or(forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> ([u8; 16], usize) {
        let mut octets = [0; 16];
        octets[..4].copy_from_slice(&[10, 0, 0, last]);
        (octets, 4)
    }

    #[test]
    fn a_reply_is_refused_by_address_and_epoch() {
        let refusals = Refusals::default();
        assert!(!refusals.is_refused(7, b"\x02\x0a\x00\x00\x05\x00"));
        refusals.add(7, address(5));
        refusals.add(9, address(6));
        assert!(refusals.is_refused(7, b"\x02\x0a\x00\x00\x05\x00"));
        assert!(!refusals.is_refused(7, b"\x02\x0a\x00\x00\x06\x00"));
        assert!(!refusals.is_refused(8, b"\x02\x0a\x00\x00\x05\x00"));
        assert!(refusals.is_refused(9, b"\x0a\x00\x00\x06"));
        assert!(!refusals.is_refused(0, b"\x0a\x00\x00\x06"));
    }

    #[test]
    fn a_row_without_room_is_told_from_an_address_given_elsewhere() {
        let refusals = Refusals::default();
        refusals.add(7, address(5));
        refusals.add_data(7, Some(address(6)));
        assert_eq!(
            refusals.reason(7, b"\x0a\x00\x00\x05"),
            Some(AddressRefusalReason::LeasedElsewhere)
        );
        assert_eq!(refusals.reason(7, b"\x0a\x00\x00\x06"), Some(AddressRefusalReason::Data));
        assert_eq!(refusals.reason(7, b"\x0a\x00\x00\x07"), None);
        refusals.add_data(8, None);
        assert_eq!(refusals.reason(8, b""), Some(AddressRefusalReason::Data));
        assert_eq!(refusals.reason(9, b""), None);
    }

    #[test]
    fn what_was_forgotten_refuses_all() {
        let refusals = Refusals::default();
        for epoch in 1..=REFUSALS_MAX as u64 + 3 {
            refusals.add(epoch, address(1));
        }
        assert!(refusals.is_refused(3, b""));
        assert!(!refusals.is_refused(4, b""));
    }
}
