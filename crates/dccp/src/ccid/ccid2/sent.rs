//! The packets that were sent and are not settled, by number.

use std::collections::VecDeque;

use crate::sequence::SequenceNumber;

/// Packets remembered; older ones are given up without a verdict.
const PACKETS_MAX: usize = 1 << 16;

/// What is known of a packet's fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing.
    Open,
    /// The other end reports it.
    Received,
    /// Taken for lost.
    Lost,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) sent_ns: u64,
    pub(super) is_data: bool,
    pub(super) fate: Fate,
    pub(super) is_drop_known: bool,
}

/// A table of consecutive numbers.
#[derive(Clone, Debug)]
pub(super) struct SentPackets {
    packets: VecDeque<SentPacket>,
    /// Number of the first.
    base: SequenceNumber,
}

impl SentPackets {
    pub(super) const fn new() -> Self {
        Self { packets: VecDeque::new(), base: SequenceNumber::new(0) }
    }

    /// Remembers a packet; its number is the one after the last.
    pub(super) fn push(&mut self, number: SequenceNumber, packet: SentPacket) {
        if self.packets.is_empty() || number != self.end() {
            self.packets.clear();
            self.base = number;
        }
        if self.packets.len() == PACKETS_MAX {
            self.packets.pop_front();
            self.base = self.base.next();
        }
        self.packets.push_back(packet);
    }

    /// The number after the last.
    pub(super) fn end(&self) -> SequenceNumber {
        self.base.plus(self.packets.len() as u64)
    }

    pub(super) fn get_mut(&mut self, number: SequenceNumber) -> Option<&mut SentPacket> {
        let index = usize::try_from(number.distance_from(self.base)).ok()?;
        self.packets.get_mut(index)
    }

    /// The packets `low` to `high`, as far as they are remembered.
    pub(super) fn range_mut(
        &mut self,
        low: SequenceNumber,
        high: SequenceNumber,
    ) -> impl Iterator<Item = &mut SentPacket> {
        let index = |number: SequenceNumber| number.distance_from(self.base).max(0) as usize;
        let begin = index(low).min(self.packets.len());
        let end = index(high.next()).clamp(begin, self.packets.len());
        self.packets.range_mut(begin..end)
    }

    /// Takes for lost what is open while `count` later packets arrived (RFC 4341 §5, as TCP's
    /// duplicate acknowledgements); calls `lost` with the number of each.
    pub(super) fn lose(&mut self, count: u32, mut lost: impl FnMut(SequenceNumber, &SentPacket)) {
        let mut received = 0;
        for (index, packet) in self.packets.iter_mut().enumerate().rev() {
            match packet.fate {
                Fate::Received => received += 1,
                Fate::Open if received >= count => {
                    packet.fate = Fate::Lost;
                    lost(self.base.plus(index as u64), packet);
                }
                _ => (),
            }
        }
        self.forget_settled();
    }

    /// Takes all for lost that is open: the timer ran out.
    pub(super) fn lose_all(&mut self) {
        for packet in &mut self.packets {
            if packet.fate == Fate::Open {
                packet.fate = Fate::Lost;
            }
        }
    }

    /// Drops the oldest packets as far as nothing more can be learned from them: later packets than
    /// the last few decide about older ones only.
    fn forget_settled(&mut self) {
        while self.packets.len() > 3
            && self.packets.front().is_some_and(|packet| packet.fate != Fate::Open)
        {
            self.packets.pop_front();
            self.base = self.base.next();
        }
    }
}
