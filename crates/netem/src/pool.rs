//! Buffers of the packets under way. They are reused, so that a link that has held its largest
//! number of packets allocates no more.

/// Index of a buffer.
pub(crate) type Place = u32;

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
    free: Vec<Place>,
}

impl PacketPool {
    /// Stores a packet until it is released.
    pub(crate) fn insert(&mut self, ecn: u8, octets: &[u8]) -> Place {
        let place = self.free.pop().unwrap_or_else(|| {
            self.packets.push(BufferedPacket::default());
            self.packets.len() as Place - 1
        });
        let packet = &mut self.packets[place as usize];
        packet.octets.clear();
        packet.octets.extend_from_slice(octets);
        packet.ecn = ecn;
        place
    }

    pub(crate) fn get(&self, place: Place) -> &BufferedPacket {
        &self.packets[place as usize]
    }

    pub(crate) fn get_mut(&mut self, place: Place) -> &mut BufferedPacket {
        &mut self.packets[place as usize]
    }

    pub(crate) fn bytes(&self, place: Place) -> usize {
        self.get(place).octets.len()
    }

    pub(crate) fn let_go(&mut self, place: Place) {
        self.free.push(place);
    }
}
