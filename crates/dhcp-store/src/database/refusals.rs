//! What the database did not allow, for those who wait to say that it was done.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Refused addresses that are remembered. A reply that rests on an older epoch than all of these
/// leaves no more.
const KEPT_MAX: usize = 16_384;

/// The addresses that were refused, by epoch. Replies are looked at only in epochs with refusals,
/// of which there are few.
#[derive(Debug, Default)]
pub struct Refusals {
    /// The newest epoch with one.
    newest: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Epoch, and the octets of the address in a reply.
    refused: VecDeque<(u64, [u8; 16], usize)>,
    /// The newest epoch of which something was forgotten.
    forgotten: u64,
}

impl Refusals {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an address that was refused in `epoch`, which is not published yet.
    pub fn add(&self, epoch: u64, (octets, len): ([u8; 16], usize)) {
        let mut kept = self.kept();
        if kept.refused.len() == KEPT_MAX
            && let Some((forgotten, ..)) = kept.refused.pop_front()
        {
            kept.forgotten = forgotten;
        }
        kept.refused.push_back((epoch, octets, len));
        self.newest.store(epoch, Ordering::SeqCst);
    }

    /// Whether `reply` names an address that was refused in `epoch`. That an address stands in it by
    /// chance drops a reply too many, never one too few.
    #[must_use]
    pub fn names_one(&self, epoch: u64, reply: &[u8]) -> bool {
        if epoch == 0 || self.newest.load(Ordering::SeqCst) < epoch {
            return false;
        }
        let kept = self.kept();
        let first = kept.refused.partition_point(|&(of, ..)| of < epoch);
        epoch <= kept.forgotten
            || kept
                .refused
                .range(first..)
                .take_while(|&&(of, ..)| of == epoch)
                .any(|(_, octets, len)| reply.windows(*len).any(|part| part == &octets[..*len]))
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
        assert!(!refusals.names_one(7, b"\x02\x0a\x00\x00\x05\x00"));
        refusals.add(7, address(5));
        refusals.add(9, address(6));
        assert!(refusals.names_one(7, b"\x02\x0a\x00\x00\x05\x00"));
        assert!(!refusals.names_one(7, b"\x02\x0a\x00\x00\x06\x00"));
        assert!(!refusals.names_one(8, b"\x02\x0a\x00\x00\x05\x00"));
        assert!(refusals.names_one(9, b"\x0a\x00\x00\x06"));
        assert!(!refusals.names_one(0, b"\x0a\x00\x00\x06"));
    }

    #[test]
    fn what_was_forgotten_refuses_all() {
        let refusals = Refusals::default();
        for epoch in 1..=KEPT_MAX as u64 + 3 {
            refusals.add(epoch, address(1));
        }
        assert!(refusals.names_one(3, b""));
        assert!(!refusals.names_one(4, b""));
    }
}
