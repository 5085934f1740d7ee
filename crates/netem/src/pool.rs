//! Buffers of the packets in a link. The link reuses them, so that it allocates no more once it has
//! held its largest number of packets.

/// Index of a packet's buffer in the [`PacketPool`].
pub(crate) type BufferIndex = u32;

/// Packet in the link, with its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferedPacket {
    pub(crate) octets: Vec<u8>,
    /// ECN field of the packet's IP header, two bits.
    pub(crate) ecn: u8,
}

/// All packet buffers of a link, used and free.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketPool {
    packets: Vec<BufferedPacket>,
    free: Vec<BufferIndex>,
}

impl PacketPool {
    /// Copies a packet into a free buffer and returns its index; [`PacketPool::let_go`] releases
    /// it.
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
