//! Applications at both ends of a connection: they send datagrams that name their sender, and check
//! the events that they receive.

use std::collections::BTreeMap;

use dccp::connection::ConnectionEvent;

/// Bytes before the filling.
const HEAD_LEN: usize = 16;

/// A connection as its application sees it, from the first event to the last.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApplicationConnection {
    /// Name of the life, unique in this world.
    pub(crate) name: u32,
    pub(crate) sent_count: u64,
    pub(crate) received_count: u64,
    /// Life at the other end, once it has sent a datagram.
    peer: Option<u32>,
    pub(crate) is_connected: bool,
    pub(crate) is_over: bool,
}

impl ApplicationConnection {
    pub(crate) fn new(name: u32) -> Self {
        Self { name, ..Self::default() }
    }

    /// Returns the next datagram.
    pub(crate) fn datagram(&self, len: usize) -> Vec<u8> {
        filled(self.name, self.sent_count, len)
    }
}

fn filled(name: u32, number: u64, len: usize) -> Vec<u8> {
    let mut data = vec![name as u8 ^ (number as u8).wrapping_mul(29); len.max(HEAD_LEN)];
    data[..4].copy_from_slice(&name.to_be_bytes());
    data[4..12].copy_from_slice(&number.to_be_bytes());
    let len = data.len() as u32;
    data[12..16].copy_from_slice(&len.to_be_bytes());
    data
}

/// Record of the datagrams that were sent and delivered in a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatagramLedger {
    /// Datagrams that were accepted for sending, by life.
    taken: BTreeMap<u32, u64>,
    /// Receiving life and received datagrams, as bits, by sending life.
    delivered: BTreeMap<u32, (u32, Vec<u64>)>,
}

impl DatagramLedger {
    /// Records that the connection accepted a datagram of a life.
    pub(crate) fn took(&mut self, life: &mut ApplicationConnection) {
        life.sent_count += 1;
        self.taken.insert(life.name, life.sent_count);
    }

    /// Returns the datagrams that were accepted for sending, of all lives.
    pub(crate) fn taken_count(&self) -> u64 {
        self.taken.values().sum()
    }

    /// Records an event for a life, and checks that it is possible.
    pub(crate) fn told(&mut self, life: &mut ApplicationConnection, event: &ConnectionEvent) {
        assert!(!life.is_over, "life {} is told {event:?} after its end", life.name);
        match event {
            ConnectionEvent::Connected => {
                assert!(!life.is_connected, "life {} connects twice", life.name);
                life.is_connected = true;
            }
            ConnectionEvent::Received(data) => self.received(life, data),
            ConnectionEvent::Reset(_) | ConnectionEvent::Failed(_) | ConnectionEvent::Closed => {
                life.is_over = true
            }
        }
    }

    fn received(&mut self, life: &mut ApplicationConnection, data: &[u8]) {
        let (head, _) = data.split_first_chunk::<HEAD_LEN>().expect("a head");
        let name = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let number = u64::from_be_bytes(head[4..12].try_into().unwrap());
        assert_eq!(data, filled(name, number, data.len()), "changed");
        let taken = self.taken.get(&name).copied().unwrap_or(0);
        assert!(number < taken, "life {name} never sent {number}");
        assert_eq!(*life.peer.get_or_insert(name), name, "of two lives");
        let (receiver, seen) =
            self.delivered.entry(name).or_insert_with(|| (life.name, Vec::new()));
        assert_eq!(*receiver, life.name, "to two lives");
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        seen.resize(seen.len().max(word + 1), 0);
        assert_eq!(seen[word] & bit, 0, "life {name}: {number} is delivered twice");
        seen[word] |= bit;
        life.received_count += 1;
    }
}
