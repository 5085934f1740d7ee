//! Buffers of the packets under way. They are reused, so that a link that has held its largest
//! number of packets allocates no more.

/// Index of a buffer.
pub(crate) type BufferIndex = u32;

/// A packet under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferedPacket {
    pub(crate) octets: Vec<u8>,
    /// ECN field of the IP header.
    pub(crate) ecn: u8,
}

/// All buffers, used and free.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketPool {
    packets: Vec<BufferedPacket>,
    free: Vec<BufferIndex>,
}

impl PacketPool {
    /// Stores a packet until it is released.
    pub(crate) fn insert(&mut self, ecn: u8, octets: &[u8]) -> BufferIndex {
        let index = self.free.pop().unwrap_or_else(|| {
            self.packets.push(BufferedPacket::default());
            self.packets.len() as BufferIndex - 1
        });
        let packet = &mut self.packets[index as usize];
        packet.octets.clear();
        packet.octets.extend_from_slice(octets);
        packet.ecn = ecn;
        index
    }

    pub(crate) fn get(&self, index: BufferIndex) -> &BufferedPacket {
        &self.packets[index as usize]
    }

    pub(crate) fn get_mut(&mut self, index: BufferIndex) -> &mut BufferedPacket {
        &mut self.packets[index as usize]
    }

    pub(crate) fn bytes(&self, index: BufferIndex) -> usize {
        self.get(index).octets.len()
    }

    pub(crate) fn let_go(&mut self, index: BufferIndex) {
        self.free.push(index);
    }
}
