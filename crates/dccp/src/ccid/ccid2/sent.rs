//! Packets that a CCID 2 sender has sent and that are neither received nor lost, by sequence
//! number.

use std::collections::VecDeque;

use crate::sequence::SequenceNumber;

/// Largest number of sent packets in the table; older ones are dropped without a verdict.
const PACKETS_MAX: usize = 1 << 16;

/// State of a sent packet: open, received or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentPacketState {
    /// Packet about which no report has arrived yet.
    Open,
    /// Packet that the other end has reported as received.
    Received,
    /// Packet that counts as lost, because later ones arrived or the timeout expired.
    Lost,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ccid2SentPacket {
    pub(super) sent_ns: u64,
    pub(super) is_data: bool,
    pub(super) state: SentPacketState,
    pub(super) is_drop_known: bool,
}

/// Table of sent packets with consecutive sequence numbers.
#[derive(Clone, Debug)]
pub(super) struct SentPackets {
    packets: VecDeque<Ccid2SentPacket>,
    /// Sequence number of the table's first packet.
    base: SequenceNumber,
}

impl SentPackets {
    pub(super) const fn new() -> Self {
        Self { packets: VecDeque::new(), base: SequenceNumber::new(0) }
    }

    /// Adds a sent packet to the table. Its number must follow the last packet's; with any other
    /// number the table starts anew.
    pub(super) fn push(&mut self, number: SequenceNumber, packet: Ccid2SentPacket) {
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

    /// Returns the sequence number after the table's last packet.
    pub(super) fn end(&self) -> SequenceNumber {
        self.base.plus(self.packets.len() as u64)
    }

    pub(super) fn get_mut(&mut self, number: SequenceNumber) -> Option<&mut Ccid2SentPacket> {
        let index = usize::try_from(number.distance_from(self.base)).ok()?;
        self.packets.get_mut(index)
    }

    /// Returns the packets `low` to `high`, as far as the table still has them.
    pub(super) fn range_mut(
        &mut self,
        low: SequenceNumber,
        high: SequenceNumber,
    ) -> impl Iterator<Item = &mut Ccid2SentPacket> {
        let index = |number: SequenceNumber| number.distance_from(self.base).max(0) as usize;
        let begin = index(low).min(self.packets.len());
        let end = index(high.next()).clamp(begin, self.packets.len());
        self.packets.range_mut(begin..end)
    }

    /// Marks open packets as lost if at least `count` later packets arrived (RFC 4341 §5, like
    /// TCP's duplicate acknowledgements), and calls `lost` with the number of each.
    pub(super) fn lose(
        &mut self,
        count: u32,
        mut lost: impl FnMut(SequenceNumber, &Ccid2SentPacket),
    ) {
        let mut received = 0;
        for (index, packet) in self.packets.iter_mut().enumerate().rev() {
            match packet.state {
                SentPacketState::Received => received += 1,
                SentPacketState::Open if received >= count => {
                    packet.state = SentPacketState::Lost;
                    lost(self.base.plus(index as u64), packet);
                }
                _ => (),
            }
        }
        self.forget_settled();
    }

    /// Marks all open packets of the table as lost, after a timeout.
    pub(super) fn lose_all(&mut self) {
        for packet in &mut self.packets {
            if packet.state == SentPacketState::Open {
                packet.state = SentPacketState::Lost;
            }
        }
    }

    /// Drops the oldest packets of the table that are received or lost. Only the last few packets
    /// decide about older ones, so the table keeps three.
    fn forget_settled(&mut self) {
        while self.packets.len() > 3
            && self.packets.front().is_some_and(|packet| packet.state != SentPacketState::Open)
        {
            self.packets.pop_front();
            self.base = self.base.next();
        }
    }
}
