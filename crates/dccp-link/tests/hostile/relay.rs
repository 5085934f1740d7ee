//! Relay between client and server, inside of UDP. An attack that has its socket can send in the
//! name of either end, without the right to forge addresses.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use netio::{PollFd, RecvBatch, SendBatch, UdpOptions, UdpSocket, poll};

use crate::common::V4;

/// Size of a buffer for any packet of the test, in bytes.
const SLOT_BYTES: usize = 2_048;
/// Longest time until the relay notices that it is to stop, in nanoseconds.
const LOOK_NS: u64 = 50_000_000;

/// UDP relay between client and server, from whose socket attacks can send, too.
pub(crate) struct UdpRelay {
    pub(crate) socket: Arc<UdpSocket>,
    server: SocketAddr,
    client: Mutex<Option<SocketAddr>>,
    stop: AtomicBool,
}

impl UdpRelay {
    pub(crate) fn new(server: SocketAddr) -> Self {
        let options = UdpOptions {
            receive_buffer_bytes: Some(4 << 20),
            send_buffer_bytes: Some(1 << 20),
            ..UdpOptions::at((V4, 0))
        };
        let socket = Arc::new(UdpSocket::open(&options).unwrap());
        Self { socket, server, client: Mutex::new(None), stop: AtomicBool::new(false) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.socket.local_address().unwrap().port()
    }

    /// Returns the address of the client, which sent the first packet.
    pub(crate) fn client(&self) -> Option<SocketAddr> {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Passes packets between client and server, both ways, until it is stopped.
    pub(crate) fn run(&self) {
        let mut arrived = RecvBatch::new(64, SLOT_BYTES);
        let mut leaving = SendBatch::new(64, SLOT_BYTES, false);
        while !self.stop.load(Ordering::Relaxed) {
            poll(&mut [PollFd::readable(&*self.socket)], Some(LOOK_NS)).unwrap();
            if arrived.receive(&*self.socket).unwrap_or(0) == 0 {
                continue;
            }
            for datagram in arrived.iter() {
                let to = if datagram.source == self.server {
                    self.client()
                } else {
                    let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
                    client.get_or_insert(datagram.source);
                    Some(self.server)
                };
                let (Some(to), Some(slot)) = (to, leaving.slot()) else { continue };
                slot[..datagram.octets.len()].copy_from_slice(datagram.octets);
                leaving.commit(datagram.octets.len(), to, None);
            }
            // A packet that the kernel refuses is lost, as on any network.
            leaving.flush(&*self.socket);
            leaving.discard();
        }
    }
}
