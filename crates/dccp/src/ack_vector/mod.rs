//! Ack Vectors (RFC 4340 §11.4): reports of the packets that arrived, one by one. [`AckVector`] is
//! the receiver's history, [`Runs`] reads the other end's reports, [`dropped`] has both for Data
//! Dropped.
//!
//! A cell of the history is a byte of the option: a state and up to 64 packets. The history frees
//! whole cells, once the other end has acknowledged a packet that reported them (RFC 4340 §11.4.2,
//! Appendix A).

pub mod dropped;
mod runs;

use std::collections::VecDeque;

use crate::option::{DccpOption, DccpOptionWriter};
use crate::sequence::SequenceNumber;

pub use runs::{PacketRun, Runs};

/// Largest number of packets in one cell of the history of arrivals: a byte of an Ack Vector
/// option.
const CELL_PACKETS_MAX: u8 = 64;
/// Largest number of bytes for the runs of one Ack Vector option.
const RUNS_LEN_MAX: usize = 253;
/// Largest number of cells in the history of arrivals; older ones are dropped, and the other end
/// counts their packets as lost.
const CELLS_MAX: usize = 3 * RUNS_LEN_MAX;
/// Largest number of remembered reports, the packets of this end with Ack Vector options.
const REPORTS_MAX: usize = 256;
/// Largest number of remembered gaps in the other end's sequence numbers that are older than the
/// history of arrivals.
const GAPS_MAX: usize = 64;

/// State of a packet in an Ack Vector (RFC 4340 §11.4): the upper two bits of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketState {
    /// Packet that arrived without a congestion mark.
    Received,
    /// Packet that arrived with a congestion mark.
    Marked,
    /// Packet that has not arrived, or not yet.
    Missing,
}

impl PacketState {
    const fn bits(self) -> u8 {
        match self {
            Self::Received => 0,
            Self::Marked => 1 << 6,
            Self::Missing => 3 << 6,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct RunLengthEntry {
    state: PacketState,
    packets: u8,
    /// Parity of the ECN nonces of the cell's packets, for a cell in state Received.
    nonce: bool,
}

/// Effect of a packet's arrival on the history of arrivals, from which Ack Vectors are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalEffect {
    /// Packet that is the next one in order.
    Next,
    /// Packet that left a gap in the sequence or filled one.
    OutOfOrder,
    /// Packet that is in the history already, or is older than the history and may have been in it.
    Known,
}

/// Packet of this end that reported the history in Ack Vector options.
#[derive(Clone, Copy, Debug)]
struct AckVectorReport {
    sequence: SequenceNumber,
    /// Greatest sequence number whose state need not be reported again once this report is
    /// acknowledged.
    covers: SequenceNumber,
}

/// History of the packets that arrived, from which Ack Vector options are written.
#[derive(Clone, Debug)]
pub struct AckVector {
    /// Cells of the history, the newest first.
    cells: VecDeque<RunLengthEntry>,
    /// Greatest sequence number that arrived; the first cell begins with it.
    newest: SequenceNumber,
    reports: VecDeque<AckVectorReport>,
    /// Ranges of packets that were missing when the history freed their cells, the oldest first;
    /// they may still arrive.
    gaps: VecDeque<Gap>,
}

/// Range of sequence numbers of packets that did not arrive, both ends included.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: SequenceNumber,
    last: SequenceNumber,
}

impl AckVector {
    /// Returns a history that begins with the arrival of the packet `first` (ISR).
    pub fn new(first: SequenceNumber) -> Self {
        let mut vector = Self::before(first);
        vector.record_arrival(first, false, false);
        vector
    }

    /// Returns an empty history; the packet `first` will be the first to arrive.
    pub fn before(first: SequenceNumber) -> Self {
        // A history that the other end does not request grows to its bound, one packet at a time;
        // allocating 2 KiB at once avoids the reallocations.
        let cells = VecDeque::with_capacity(CELLS_MAX + 1);
        Self { cells, newest: first.minus(1), reports: VecDeque::new(), gaps: VecDeque::new() }
    }

    /// Returns the greatest sequence number of the history.
    pub const fn newest(&self) -> SequenceNumber {
        self.newest
    }

    /// Returns the number of bytes that the runs of an Ack Vector of this history take.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns true if the history has no packet to report.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Records the arrival of the packet `number` in the history. `nonce` is the ECN nonce of its
    /// IP header (RFC 4340 §12.2).
    pub fn record_arrival(
        &mut self,
        number: SequenceNumber,
        is_marked: bool,
        nonce: bool,
    ) -> ArrivalEffect {
        let state = if is_marked { PacketState::Marked } else { PacketState::Received };
        let nonce = nonce && !is_marked;
        let ahead = number.distance_from(self.newest);
        if ahead <= 0 {
            return self.arrived_late(ahead.unsigned_abs(), number, state, nonce);
        }
        let holes = ahead as u64 - 1;
        self.push_missing(holes);
        self.push(state, nonce);
        self.newest = number;
        self.cells.truncate(CELLS_MAX);
        if holes == 0 { ArrivalEffect::Next } else { ArrivalEffect::OutOfOrder }
    }

    /// Extends the history up to the packet `number`, which did not arrive or was not processed: a
    /// packet that acknowledges `number` reports it as missing. That packet may still arrive.
    pub fn extend_to(&mut self, number: SequenceNumber) {
        let ahead = number.distance_from(self.newest);
        if ahead > 0 {
            self.push_missing(ahead as u64);
            self.newest = number;
            self.cells.truncate(CELLS_MAX);
        }
    }

    fn push_missing(&mut self, mut count: u64) {
        // The history ends before that, so more missing packets have the same result.
        count = count.min(CELLS_MAX as u64 * u64::from(CELL_PACKETS_MAX));
        while count > 0 {
            let packets = count.min(u64::from(CELL_PACKETS_MAX)) as u8;
            self.cells.push_front(RunLengthEntry {
                state: PacketState::Missing,
                packets,
                nonce: false,
            });
            count -= u64::from(packets);
        }
    }

    fn push(&mut self, state: PacketState, nonce: bool) {
        match self.cells.front_mut() {
            Some(cell) if cell.state == state && cell.packets < CELL_PACKETS_MAX => {
                cell.packets += 1;
                cell.nonce ^= nonce;
            }
            _ => self.cells.push_front(RunLengthEntry { state, packets: 1, nonce }),
        }
    }

    /// Records the arrival of the packet `back` numbers before the newest one: it fills a gap, or
    /// is known already.
    fn arrived_late(
        &mut self,
        back: u64,
        number: SequenceNumber,
        state: PacketState,
        nonce: bool,
    ) -> ArrivalEffect {
        let mut newer = 0;
        for index in 0..self.cells.len() {
            let cell = self.cells[index];
            let offset = back - newer;
            if offset < u64::from(cell.packets) {
                // The first report of a packet is final (§11.4.1).
                if cell.state != PacketState::Missing {
                    return ArrivalEffect::Known;
                }
                self.fill(index, offset as u8, state, nonce);
                // A report that has the packet as missing must not free it once acknowledged (A.3).
                for report in &mut self.reports {
                    if !number.is_after(report.covers) {
                        report.covers = number.minus(1);
                    }
                }
                return ArrivalEffect::OutOfOrder;
            }
            newer += u64::from(cell.packets);
        }
        self.arrived_in_gap(number)
    }

    /// Records the arrival of a packet that is older than the history. If it was missing when its
    /// cell was freed it is new, though no report includes it any more.
    fn arrived_in_gap(&mut self, number: SequenceNumber) -> ArrivalEffect {
        let is_in =
            |gap: &Gap| number.distance_from(gap.first) >= 0 && number.distance_from(gap.last) <= 0;
        let Some(index) = self.gaps.iter().position(is_in) else { return ArrivalEffect::Known };
        let Gap { first, last } = self.gaps[index];
        self.gaps.remove(index);
        for part in [Gap { first: number.next(), last }, Gap { first, last: number.minus(1) }] {
            if part.last.distance_from(part.first) >= 0 {
                self.gaps.insert(index, part);
            }
        }
        ArrivalEffect::OutOfOrder
    }

    /// Splits the cell of missing packets at `index` around its packet `offset`, which has arrived.
    fn fill(&mut self, index: usize, offset: u8, state: PacketState, nonce: bool) {
        let missing =
            |packets| RunLengthEntry { state: PacketState::Missing, packets, nonce: false };
        let older = self.cells[index].packets - offset - 1;
        self.cells[index] = RunLengthEntry { state, packets: 1, nonce };
        if older > 0 {
            self.cells.insert(index + 1, missing(older));
        }
        if offset > 0 {
            self.cells.insert(index, missing(offset));
        }
    }

    /// Writes the history as Ack Vector options for a packet of this end with number `sequence`,
    /// which acknowledges the newest packet. Writes as many options as needed. Returns false when
    /// not all of them fit; then the packet does not count as a report.
    pub fn write(&mut self, sequence: SequenceNumber, options: &mut DccpOptionWriter<'_>) -> bool {
        let mut written = 0;
        while written < self.cells.len() {
            let room = options.room().saturating_sub(2).min(RUNS_LEN_MAX);
            let count = room.min(self.cells.len() - written);
            if count == 0 {
                return false;
            }
            let mut octets = [0; RUNS_LEN_MAX];
            let mut nonce = false;
            for (octet, cell) in octets.iter_mut().zip(self.cells.range(written..written + count)) {
                *octet = cell.state.bits() | (cell.packets - 1);
                nonce ^= cell.nonce;
            }
            if !options.put(DccpOption::AckVector { nonce, runs: &octets[..count] }) {
                return false;
            }
            written += count;
        }
        if self.reports.len() == REPORTS_MAX {
            self.reports.pop_front();
        }
        self.reports.push_back(AckVectorReport { sequence, covers: self.newest });
        true
    }

    /// Frees the cells of the history that this end's packets `low` to `high` have reported,
    /// because the other end has received those packets.
    pub fn acknowledged(&mut self, low: SequenceNumber, high: SequenceNumber) {
        let is_in = |report: &AckVectorReport| {
            report.sequence.distance_from(low) >= 0 && report.sequence.distance_from(high) <= 0
        };
        let Some(latest) = self.reports.iter().rposition(is_in) else { return };
        let covers = self.reports[latest].covers;
        self.reports.drain(..=latest);
        // `oldest` is the oldest packet of the last cell; a cell is freed when its newest is
        // covered.
        let total: u64 = self.cells.iter().map(|cell| u64::from(cell.packets)).sum();
        let mut oldest = self.newest.minus(total).next();
        while let Some(cell) = self.cells.back() {
            let newest = oldest.plus(u64::from(cell.packets) - 1);
            if newest.is_after(covers) || self.cells.len() == 1 {
                break;
            }
            if cell.state == PacketState::Missing {
                if self.gaps.len() >= GAPS_MAX {
                    self.gaps.pop_front();
                }
                self.gaps.push_back(Gap { first: oldest, last: newest });
            }
            oldest = newest.next();
            self.cells.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::DccpOptionIterator;

    fn n(value: u64) -> SequenceNumber {
        SequenceNumber::new(value)
    }

    fn octets(vector: &mut AckVector, sequence: u64) -> Vec<u8> {
        let mut area = [0; 992];
        let mut options = DccpOptionWriter::new(&mut area);
        assert!(vector.write(n(sequence), &mut options));
        options.written().to_vec()
    }

    #[test]
    fn ack_01_the_example_is_written() {
        // RFC 4340 §11.4: 100 received, 99 lost, 98 to 95 received, 94 marked, 93 to 88 received.
        let mut vector = AckVector::new(n(88));
        for number in (89..=98).chain([100]) {
            vector.record_arrival(n(number), number == 94, false);
        }
        assert_eq!(octets(&mut vector, 1), [38, 7, 0, 192, 3, 64, 5]);
    }

    #[test]
    fn ack_01_a_long_history_takes_two_options_with_a_nonce_each() {
        let mut vector = AckVector::new(n(0));
        for number in 1..=260 {
            // No two packets adjacent, and one nonce in the older option.
            vector.record_arrival(n(number * 2), false, number == 3);
        }
        let octets = octets(&mut vector, 1);
        let options: Vec<_> = DccpOptionIterator::new(&octets).map(|raw| raw.option).collect();
        let lens: Vec<_> = options
            .iter()
            .map(|option| match option {
                DccpOption::AckVector { nonce, runs } => (*nonce, runs.len()),
                _ => panic!("an Ack Vector"),
            })
            .collect();
        assert_eq!(lens, [(false, 253), (false, 253), (true, 15)]);
    }

    #[test]
    fn ack_02_a_late_arrival_fills_its_hole() {
        let mut vector = AckVector::new(n(0));
        assert_eq!(vector.record_arrival(n(10), false, false), ArrivalEffect::OutOfOrder);
        assert_eq!(octets(&mut vector, 1), [38, 5, 0, 192 + 8, 0]);
        assert_eq!(vector.record_arrival(n(4), true, false), ArrivalEffect::OutOfOrder);
        assert_eq!(octets(&mut vector, 2), [38, 7, 0, 192 + 4, 64, 192 + 2, 0]);
        assert_eq!(vector.record_arrival(n(9), false, false), ArrivalEffect::OutOfOrder);
        vector.record_arrival(n(1), false, false);
        assert_eq!(octets(&mut vector, 3), [38, 9, 0, 0, 192 + 3, 64, 192 + 1, 0, 0]);
        // A packet that arrives again changes nothing, nor does one older than the history.
        assert_eq!(vector.record_arrival(n(4), false, false), ArrivalEffect::Known);
        assert_eq!(vector.record_arrival(n(0).minus(3), false, false), ArrivalEffect::Known);
        assert_eq!(vector.len(), 7);
    }

    #[test]
    fn ack_02_a_filled_hole_outlives_the_report_that_called_it_missing() {
        let mut vector = AckVector::new(n(0));
        vector.record_arrival(n(2), false, false);
        octets(&mut vector, 50);
        vector.record_arrival(n(1), false, false);
        vector.record_arrival(n(3), false, false);
        vector.acknowledged(n(50), n(50));
        // 3 and 2 are newer than the hole; no report had 1 as received.
        assert_eq!(octets(&mut vector, 51), [38, 4, 1, 0]);
        vector.acknowledged(n(51), n(51));
        assert_eq!(octets(&mut vector, 52), [38, 3, 1]);
    }

    #[test]
    fn what_was_missing_when_its_report_was_settled_is_new_when_it_comes() {
        let mut vector = AckVector::new(n(0));
        vector.record_arrival(n(6), false, false);
        octets(&mut vector, 50);
        vector.acknowledged(n(50), n(50));
        assert_eq!(vector.len(), 1, "the gap is reported no more");
        for number in [3, 5, 1] {
            assert_eq!(vector.record_arrival(n(number), false, false), ArrivalEffect::OutOfOrder);
            assert_eq!(
                vector.record_arrival(n(number), false, false),
                ArrivalEffect::Known,
                "once"
            );
        }
        assert_eq!(vector.record_arrival(n(0), false, false), ArrivalEffect::Known);
        assert_eq!(octets(&mut vector, 51), [38, 3, 0]);
    }

    #[test]
    fn ack_03_an_acknowledged_report_shortens_the_history() {
        let mut vector = AckVector::new(n(0));
        for number in 1..40 {
            vector.record_arrival(n(number * 3), false, false);
        }
        assert_eq!(vector.len(), 79);
        octets(&mut vector, 7);
        for number in 40..50 {
            vector.record_arrival(n(number * 3), false, false);
        }
        octets(&mut vector, 9);
        vector.acknowledged(n(8), n(8));
        assert_eq!(vector.len(), 99);
        vector.acknowledged(n(6), n(7));
        assert_eq!(vector.len(), 20);
        vector.acknowledged(n(9), n(9));
        assert_eq!(vector.len(), 1, "the newest stays");
    }

    #[test]
    fn a_hole_wider_than_the_history_leaves_a_bounded_one() {
        let mut vector = AckVector::new(n(0));
        vector.record_arrival(n(1 << 40), false, false);
        assert!(vector.len() <= CELLS_MAX);
        let mut area = [0; 100];
        let mut options = DccpOptionWriter::new(&mut area);
        assert!(!vector.write(n(1), &mut options), "too long for the room");
        vector.acknowledged(n(1), n(1));
        assert!(vector.len() > 1);
    }

    #[test]
    fn histories_tell_exactly_what_arrived() {
        let mut random = base::Random::from_seed(1140);
        for _ in 0..200 {
            let mut vector = AckVector::new(n(0));
            let mut states = vec![PacketState::Received];
            for _ in 0..300 {
                let near = random.below(states.len() as u64 + 4);
                let number = near.max((states.len() as u64).saturating_sub(20));
                while states.len() <= number as usize {
                    states.push(PacketState::Missing);
                }
                let is_marked = random.chance(1, 10);
                vector.record_arrival(n(number), is_marked, false);
                let state = &mut states[number as usize];
                if *state == PacketState::Missing {
                    *state = if is_marked { PacketState::Marked } else { PacketState::Received };
                }
            }
            let octets = octets(&mut vector, 1);
            let newest = n(states.len() as u64 - 1);
            let mut reported = Vec::new();
            for run in Runs::new(newest, n(0), DccpOptionIterator::new(&octets)) {
                let len = run.high.distance_from(run.low) + 1;
                reported.extend(std::iter::repeat_n(run.state, len as usize));
            }
            reported.reverse();
            assert_eq!(reported, states);
        }
    }
}
