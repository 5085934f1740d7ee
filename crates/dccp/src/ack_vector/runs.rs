//! Reader of the Ack Vector options from the other end (RFC 4340 §11.4).

use super::PacketState;
use crate::option::{DccpOption, DccpOptionIterator};
use crate::sequence::SequenceNumber;

/// Run of adjacent packets that an Ack Vector reports in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRun {
    /// State of all packets of the run.
    pub state: PacketState,
    /// Greatest sequence number of the run.
    pub high: SequenceNumber,
    /// Least sequence number of the run.
    pub low: SequenceNumber,
}

/// Iterator over the runs of all Ack Vector options of a packet, newest first. It skips runs in the
/// reserved state, and ends before the first packet of this end: older ones were never sent.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    options: DccpOptionIterator<'a>,
    octets: &'a [u8],
    next: SequenceNumber,
    first: SequenceNumber,
}

impl<'a> Runs<'a> {
    /// Returns the runs in the options of a packet that acknowledges `acknowledgement`; this end's
    /// sequence numbers begin with `first`.
    pub const fn new(
        acknowledgement: SequenceNumber,
        first: SequenceNumber,
        options: DccpOptionIterator<'a>,
    ) -> Self {
        Self { options, octets: &[], next: acknowledgement, first }
    }

    fn next_octet(&mut self) -> Option<u8> {
        loop {
            if let Some((&octet, rest)) = self.octets.split_first() {
                self.octets = rest;
                return Some(octet);
            }
            if let DccpOption::AckVector { runs, .. } = self.options.next()?.option {
                self.octets = runs;
            }
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = PacketRun;

    fn next(&mut self) -> Option<PacketRun> {
        loop {
            let octet = self.next_octet()?;
            let high = self.next;
            let left = high.distance_from(self.first);
            if left < 0 {
                return None;
            }
            let len = u64::from(octet & 63).min(left as u64) + 1;
            self.next = high.minus(len);
            let state = match octet >> 6 {
                0 => PacketState::Received,
                1 => PacketState::Marked,
                3 => PacketState::Missing,
                _ => continue,
            };
            return Some(PacketRun { state, high, low: high.minus(len - 1) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(number: u64, first: u64, octets: &[u8]) -> Vec<(PacketState, u64, u64)> {
        let n = SequenceNumber::new;
        Runs::new(n(number), n(first), DccpOptionIterator::new(octets))
            .map(|run| (run.state, run.high.value(), run.low.value()))
            .collect()
    }

    #[test]
    fn ack_01_the_example_is_read() {
        use PacketState::{Marked, Missing, Received};
        let expected = [
            (Received, 100, 100),
            (Missing, 99, 99),
            (Received, 98, 95),
            (Marked, 94, 94),
            (Received, 93, 88),
        ];
        assert_eq!(runs(100, 0, &[38, 7, 0, 192, 3, 64, 5]), expected);
        // A second option continues where the first ended, even with another option between them.
        assert_eq!(runs(100, 0, &[38, 4, 0, 192, 2, 39, 5, 3, 64, 5]), expected);
    }

    #[test]
    fn ack_04_reports_of_packets_never_sent_are_cut_off() {
        assert_eq!(runs(100, 99, &[38, 4, 5, 5]), [(PacketState::Received, 100, 99)]);
        // State 2 is reserved.
        assert_eq!(runs(100, 0, &[38, 4, 128 + 9, 0]), [(PacketState::Received, 90, 90)]);
    }
}
