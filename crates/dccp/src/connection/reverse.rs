//! Gaps in the other end's sequence numbers, for a sender that must know if acknowledgements were
//! lost (RFC 4341 §6.1.1).

use std::collections::VecDeque;

use crate::sequence::SequenceNumber;

/// Number of later packets after which a gap in the other end's sequence numbers counts as a loss.
const LATER_PACKETS: u8 = 3;
/// Largest number of gaps in the other end's sequence numbers that are watched at once.
const HOLES_MAX: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Hole {
    first: SequenceNumber,
    len: u64,
    later: u8,
    /// Packets without data in the gap, known if the packet after it had an NDP Count option.
    non_data: Option<u64>,
}

/// Gaps in the received sequence numbers that later packets may still fill.
#[derive(Clone, Debug, Default)]
pub(super) struct ReverseHoles {
    holes: VecDeque<Hole>,
}

impl ReverseHoles {
    /// Records the arrival of the packet `number` and returns a loss that follows from it.
    /// `previous` is the greatest number before it, `non_data` its NDP Count if the other end sends
    /// those. Returns `None` if no gap became a loss. For a loss, the inner value is true if all
    /// packets of the gap had data, false if not, and `None` if that is not known.
    pub(super) fn record_arrival(
        &mut self,
        number: SequenceNumber,
        previous: SequenceNumber,
        non_data: Option<u64>,
    ) -> Option<Option<bool>> {
        let gap = number.distance_from(previous) - 1;
        if gap < 0 {
            self.holes.retain(|hole| {
                let offset = number.distance_from(hole.first);
                !(0..hole.len as i64).contains(&offset)
            });
            return None;
        }
        for hole in &mut self.holes {
            hole.later += 1;
        }
        if gap > 0 && self.holes.len() < HOLES_MAX {
            let first = previous.next();
            self.holes.push_back(Hole { first, len: gap as u64, later: 1, non_data });
        }
        if self.holes.front()?.later < LATER_PACKETS {
            return None;
        }
        let hole = self.holes.pop_front()?;
        Some(hole.non_data.map(|non_data| non_data == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_is_a_loss_with_the_third_packet_behind_it() {
        let n = SequenceNumber::new;
        let mut holes = ReverseHoles::default();
        assert_eq!(holes.record_arrival(n(1), n(0), None), None);
        assert_eq!(holes.record_arrival(n(3), n(1), Some(1)), None);
        assert_eq!(holes.record_arrival(n(4), n(3), None), None);
        assert_eq!(holes.record_arrival(n(5), n(4), None), Some(Some(false)));
        assert_eq!(holes.record_arrival(n(7), n(5), None), None);
        assert_eq!(holes.record_arrival(n(6), n(7), None), None, "filled");
        assert_eq!(holes.record_arrival(n(8), n(7), None), None);
        assert_eq!(holes.record_arrival(n(9), n(8), None), None);
    }
}
