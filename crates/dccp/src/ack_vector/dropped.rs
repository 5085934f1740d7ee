//! Data Dropped options (RFC 4340 §11.7): packets that arrived although their data did not reach
//! the application, with the reason.

use std::collections::VecDeque;

use crate::option::{DccpOption, DccpOptionWriter};
use crate::sequence::SequenceNumber;

/// Largest number of packets with dropped data that this end keeps for Data Dropped options (RFC
/// 4340 §11.7); it no longer reports older ones.
const DROPS_MAX: usize = 64;
/// Largest number of bytes in the blocks of one Data Dropped option.
const BLOCKS_LEN_MAX: usize = 253;

/// Drop Code of a Data Dropped option (RFC 4340 §11.7): reason why data of a packet was dropped, or
/// the fact that corrupt data was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCode {
    /// Data that the protocol forbids to deliver, for instance because its checksum coverage is too
    /// small.
    ProtocolConstraints,
    /// Data for an application that receives no more datagrams.
    ApplicationNotListening,
    /// Data for which the receive buffer had no room.
    ReceiveBuffer,
    /// Data with a wrong Data Checksum, which was not delivered.
    Corrupt,
    /// Data with a wrong Data Checksum that the application received all the same.
    DeliveredCorrupt,
    /// Drop Code to which RFC 4340 §11.7 gives no meaning (4 to 6).
    Reserved(u8),
}

impl DropCode {
    const fn number(self) -> u8 {
        match self {
            Self::ProtocolConstraints => 0,
            Self::ApplicationNotListening => 1,
            Self::ReceiveBuffer => 2,
            Self::Corrupt => 3,
            Self::DeliveredCorrupt => 7,
            Self::Reserved(number) => number,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::ProtocolConstraints,
            1 => Self::ApplicationNotListening,
            2 => Self::ReceiveBuffer,
            3 => Self::Corrupt,
            7 => Self::DeliveredCorrupt,
            _ => Self::Reserved(number),
        }
    }

    /// Returns true if the sender must react to the drop as to a congestion mark
    /// (RFC 4340 §11.7.1).
    pub const fn counts_as_mark(self) -> bool {
        matches!(self, Self::Corrupt | Self::DeliveredCorrupt | Self::Reserved(_))
    }
}

/// Packets whose data this end dropped, which it reports until the other end has acknowledged a
/// report.
#[derive(Clone, Debug, Default)]
pub struct UnacknowledgedDrops {
    /// Dropped packets with their reasons, the greatest sequence number first.
    drops: VecDeque<(SequenceNumber, DropCode)>,
    /// Packets of this end with Data Dropped options: the sequence number of each, and the greatest
    /// number of the other end's packets that its report covers.
    reports: VecDeque<(SequenceNumber, SequenceNumber)>,
}

impl UnacknowledgedDrops {
    /// Returns true if no dropped packet has to be reported in a Data Dropped option.
    pub fn is_empty(&self) -> bool {
        self.drops.is_empty()
    }

    /// Records that the data of the other end's packet with the sequence number `number` was
    /// dropped.
    pub fn dropped(&mut self, number: SequenceNumber, code: DropCode) {
        let at = self.drops.iter().position(|(other, _)| !other.is_after(number));
        let at = at.unwrap_or(self.drops.len());
        if self.drops.get(at).is_none_or(|(other, _)| *other != number) {
            self.drops.insert(at, (number, code));
            self.drops.truncate(DROPS_MAX);
        }
        // A report without this drop does not settle it.
        self.reports.retain(|(_, up_to)| number.is_after(*up_to));
    }

    /// Writes a Data Dropped option for a packet of this end with number `sequence` that
    /// acknowledges `acknowledgement`.
    pub fn write(
        &mut self,
        sequence: SequenceNumber,
        acknowledgement: SequenceNumber,
        options: &mut DccpOptionWriter<'_>,
    ) {
        let mut octets = [0; BLOCKS_LEN_MAX];
        let mut len = 0;
        let mut next = acknowledgement;
        for &(number, code) in &self.drops {
            let mut gap = next.distance_from(number);
            if gap < 0 {
                continue;
            }
            while gap > 0 && len < BLOCKS_LEN_MAX - 1 {
                let run = gap.min(128);
                octets[len] = (run - 1) as u8;
                len += 1;
                gap -= run;
            }
            if gap > 0 || len == BLOCKS_LEN_MAX {
                break;
            }
            octets[len] = 0x80 | code.number() << 4;
            len += 1;
            next = number.minus(1);
        }
        if len > 0 && options.put(DccpOption::DataDropped(&octets[..len])) {
            self.reports.push_back((sequence, acknowledgement));
            if self.reports.len() > DROPS_MAX {
                self.reports.pop_front();
            }
        }
    }

    /// Removes the drops that this end's packets `low` to `high` have reported, because the other
    /// end has received those packets.
    pub fn acknowledged(&mut self, low: SequenceNumber, high: SequenceNumber) {
        let is_in = |(sequence, _): &(SequenceNumber, SequenceNumber)| {
            sequence.distance_from(low) >= 0 && sequence.distance_from(high) <= 0
        };
        if let Some(latest) = self.reports.iter().rposition(is_in) {
            let (_, up_to) = self.reports[latest];
            self.reports.drain(..=latest);
            self.drops.retain(|(number, _)| number.is_after(up_to));
        }
    }
}

/// Returns the packets with dropped data that a Data Dropped option reports, newest first: sequence
/// number and reason.
pub fn read(
    acknowledgement: SequenceNumber,
    blocks: &[u8],
) -> impl Iterator<Item = (SequenceNumber, DropCode)> + '_ {
    let mut next = acknowledgement;
    blocks.iter().flat_map(move |&octet| {
        let (len, code) = if octet & 0x80 == 0 {
            (u64::from(octet) + 1, None)
        } else {
            (u64::from(octet & 15) + 1, Some(DropCode::from_number(octet >> 4 & 7)))
        };
        let high = next;
        next = next.minus(len);
        let reported_len = if code.is_some() { len } else { 0 };
        (0..reported_len).filter_map(move |back| Some((high.minus(back), code?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::DccpOptionIterator;

    fn n(value: u64) -> SequenceNumber {
        SequenceNumber::new(value)
    }

    fn written_option(
        drops: &mut UnacknowledgedDrops,
        sequence: u64,
        acknowledgement: u64,
    ) -> Vec<u8> {
        let mut area = [0; 300];
        let mut options = DccpOptionWriter::new(&mut area);
        drops.write(n(sequence), n(acknowledgement), &mut options);
        options.written().to_vec()
    }

    #[test]
    fn the_example_is_read() {
        // §11.7: 100 is fine, 99 dropped, 98 to 95 fine, 94 to 92 dropped (the text says 95 to 93).
        let read: Vec<_> = read(n(100), &[0, 160, 3, 162])
            .map(|(number, code)| {
                assert_eq!(code, DropCode::ReceiveBuffer);
                number.value()
            })
            .collect();
        assert_eq!(read, [99, 94, 93, 92]);
    }

    #[test]
    fn what_is_told_is_what_is_read() {
        let mut drops = UnacknowledgedDrops::default();
        for number in [700, 94, 99, 92, 93, 93] {
            drops.dropped(n(number), DropCode::Corrupt);
        }
        let octets = written_option(&mut drops, 1, 700);
        let raw = DccpOptionIterator::new(&octets).next().map(|raw| raw.option);
        let Some(DccpOption::DataDropped(blocks)) = raw else { panic!("Data Dropped") };
        let numbers: Vec<_> = read(n(700), blocks).map(|(number, _)| number.value()).collect();
        assert_eq!(numbers, [700, 99, 94, 93, 92]);
        // An acknowledgement cannot report drops newer than itself.
        let octets = written_option(&mut drops, 2, 99);
        assert_eq!(octets, [40, 7, 0xb0, 3, 0xb0, 0xb0, 0xb0]);
    }

    #[test]
    fn it_is_told_until_the_other_end_knows() {
        let mut drops = UnacknowledgedDrops::default();
        drops.dropped(n(5), DropCode::ReceiveBuffer);
        written_option(&mut drops, 1, 5);
        drops.acknowledged(n(0), n(0));
        assert!(!drops.is_empty());
        drops.dropped(n(6), DropCode::ReceiveBuffer);
        drops.acknowledged(n(1), n(1));
        assert_eq!(written_option(&mut drops, 2, 6), [40, 3, 0xa0]);
        drops.acknowledged(n(2), n(2));
        assert!(drops.is_empty() && written_option(&mut drops, 3, 6).is_empty());
    }

    #[test]
    fn codes_and_numbers_are_one_to_one() {
        for number in 0..8 {
            assert_eq!(DropCode::from_number(number).number(), number);
        }
        assert!(
            DropCode::Reserved(4).counts_as_mark() && !DropCode::ReceiveBuffer.counts_as_mark()
        );
    }
}
