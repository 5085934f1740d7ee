//! Applications at both ends of a connection: they send datagrams that name their sender, and check
//! the events that they receive.

use std::collections::BTreeMap;

use dccp::connection::ConnectionEvent;

/// Length of a datagram's head in bytes, before its filling.
const HEAD_LEN: usize = 16;

/// Application of one connection, with its view of the connection from the first event to the last.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApplicationConnection {
    /// Name of the application, unique in this world.
    pub(crate) name: u32,
    pub(crate) sent_count: u64,
    pub(crate) received_count: u64,
    /// Name of the application at the other end; `None` until a datagram of it has come.
    peer: Option<u32>,
    pub(crate) is_connected: bool,
    pub(crate) is_over: bool,
}

impl ApplicationConnection {
    pub(crate) fn new(name: u32) -> Self {
        Self { name, ..Self::default() }
    }

    /// Returns the application's next datagram, of `len` bytes.
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
    /// Number of datagrams that connections accepted for sending, by application.
    accepted: BTreeMap<u32, u64>,
    /// Receiving application and set of received datagrams, one bit each, by sending application.
    delivered: BTreeMap<u32, (u32, Vec<u64>)>,
}

impl DatagramLedger {
    /// Records that the connection accepted a datagram of an application.
    pub(crate) fn record_accepted(&mut self, application: &mut ApplicationConnection) {
        application.sent_count += 1;
        self.accepted.insert(application.name, application.sent_count);
    }

    /// Returns the number of datagrams that connections accepted for sending, of all applications.
    pub(crate) fn accepted_count(&self) -> u64 {
        self.accepted.values().sum()
    }

    /// Records a connection's event for its application, and checks that the event is possible.
    pub(crate) fn record_event(
        &mut self,
        application: &mut ApplicationConnection,
        event: &ConnectionEvent,
    ) {
        assert!(
            !application.is_over,
            "application {} receives {event:?} after its end",
            application.name
        );
        match event {
            ConnectionEvent::Connected => {
                assert!(
                    !application.is_connected,
                    "application {} connects twice",
                    application.name
                );
                application.is_connected = true;
            }
            ConnectionEvent::Received(data) => self.received(application, data),
            ConnectionEvent::Reset(_) | ConnectionEvent::Failed(_) | ConnectionEvent::Closed => {
                application.is_over = true
            }
        }
    }

    fn received(&mut self, application: &mut ApplicationConnection, data: &[u8]) {
        let (head, _) = data.split_first_chunk::<HEAD_LEN>().expect("a head");
        let name = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let number = u64::from_be_bytes(head[4..12].try_into().unwrap());
        assert_eq!(data, filled(name, number, data.len()), "changed");
        let accepted = self.accepted.get(&name).copied().unwrap_or(0);
        assert!(number < accepted, "application {name} never sent {number}");
        assert_eq!(*application.peer.get_or_insert(name), name, "of two applications");
        let (receiver, seen) =
            self.delivered.entry(name).or_insert_with(|| (application.name, Vec::new()));
        assert_eq!(*receiver, application.name, "to two applications");
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        seen.resize(seen.len().max(word + 1), 0);
        assert_eq!(seen[word] & bit, 0, "application {name}: {number} is delivered twice");
        seen[word] |= bit;
        application.received_count += 1;
    }
}
