//! Stream of the frames that a packet program (a parsed packet file) describes, one after another.
//!
//! Budget: a packet without changes costs nothing; otherwise one random number per random byte, and
//! 0.3 ns per byte that a checksum covers. Nothing is allocated after construction.

use crate::flows::Flows;
use crate::language::PacketProgram;
use crate::packet::{FieldChange, FieldChangeRule, PacketTemplate};
use crate::random::LibcRandom;

/// Stream of the frames that one thread sends.
#[derive(Clone, Debug)]
pub struct FrameStream {
    packets: Vec<PacketTemplate>,
    random: LibcRandom,
    /// Index of the next frame's packet.
    next: usize,
    /// True if packets are drawn at random instead of being taken in turn.
    is_shuffled: bool,
}

impl FrameStream {
    /// Creates the stream of the packets of `program` that processor `cpu` sends; of all packets
    /// for `None`. Random numbers come from `random`; `is_shuffled` draws packets at random instead
    /// of taking them in turn (the first frame is the first packet either way).
    pub fn new(
        program: &PacketProgram,
        cpu: Option<u32>,
        random: LibcRandom,
        is_shuffled: bool,
    ) -> Self {
        let is_ours = |packet: &&PacketTemplate| match (packet.cpus, cpu) {
            (Some((first, last)), Some(cpu)) => (first..=last).contains(&cpu),
            _ => true,
        };
        let packets = program.packets.iter().filter(is_ours).cloned().collect();
        Self { packets, random, next: 0, is_shuffled }
    }

    /// Returns the number of packets that the stream's frames are made of.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Returns the index of the packet that the next frame is made of.
    pub(crate) const fn next_index(&self) -> usize {
        self.next
    }

    /// Returns the UDP/IP flows of the stream's packets, whose frames can be segments of one
    /// datagram.
    ///
    /// # Errors
    ///
    /// The reason why packets cannot be segments.
    pub(crate) fn flows(&self) -> Result<Flows, String> {
        Flows::from_packets(&self.packets, self.is_shuffled)
    }

    /// Returns the length of the stream's longest frame in bytes.
    pub fn longest_bytes(&self) -> usize {
        self.packets.iter().map(|packet| packet.octets.len()).max().unwrap_or(0)
    }

    /// Returns the next frame; `None` only if the stream has no packet.
    pub fn frame(&mut self) -> Option<&[u8]> {
        self.numbered_frame().map(|(_, frame)| frame)
    }

    /// Returns the next frame with the index of its packet among those of the stream.
    pub(crate) fn numbered_frame(&mut self) -> Option<(usize, &[u8])> {
        let count = self.packets.len();
        let index = self.next;
        let packet = self.packets.get_mut(index)?;
        if packet.is_dynamic() {
            change(packet, &mut self.random);
        }
        self.next = if self.is_shuffled {
            self.random.next() as usize % count
        } else if index + 1 == count {
            0
        } else {
            index + 1
        };
        Some((index, &self.packets[index].octets))
    }
}

/// Applies all changes for the next frame to `packet`: counters, random bytes, checksums among the
/// elements, then fields of headers and their checksums.
pub(crate) fn change(packet: &mut PacketTemplate, random: &mut LibcRandom) {
    let PacketTemplate { octets, counters, randoms, sums, fields, header_sums, .. } = packet;
    for counter in counters {
        octets[counter.at] = counter.next();
    }
    for (at, len) in randoms {
        for octet in &mut octets[*at..*at + *len] {
            *octet = random.octet();
        }
    }
    for sum in sums {
        sum.write(octets);
    }
    for field in fields {
        change_field(field, octets, random);
    }
    for sum in header_sums {
        sum.write(octets);
    }
}

fn change_field(field: &mut FieldChange, octets: &mut [u8], random: &mut LibcRandom) {
    let slot = field.slot;
    match &mut field.change {
        FieldChangeRule::Increment { min, modulus, step, value, wraps_at_32 } => {
            slot.write(octets, *value as u32);
            let sum = *value + *step;
            let sum = if *wraps_at_32 { sum & u64::from(u32::MAX) } else { sum };
            *value = (sum % *modulus).max(*min);
        }
        FieldChangeRule::Random { min, range } => {
            let mut number = || *min + (u64::from(random.next()) % *range) as u32;
            if slot.len > 4 {
                octets[slot.at..slot.at + slot.len].fill_with(|| number() as u8);
            } else {
                slot.write(octets, number());
            }
        }
        FieldChangeRule::RandomBits if slot.len > 4 => {
            octets[slot.at..slot.at + slot.len].fill_with(|| random.octet());
        }
        FieldChangeRule::RandomBits => slot.write(octets, random.next()),
    }
}
