//! Relay between the suite and Godwit's listener, inside of UDP. It changes packets to those that
//! an implementation which breaks a rule would have sent, or would have read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::conformance::{ConformanceListener, V4};

/// Longest time until the relay notices a request to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Change that the relay makes to the bytes of a packet.
pub(crate) type Change = fn(&mut Vec<u8>);

/// Changes of packets that the relay makes for a fault; it drops a packet that comes out empty.
#[derive(Clone, Copy)]
pub(crate) struct FaultPacketChanges {
    /// Change of packets from the suite to the listener.
    pub(crate) forward: Change,
    /// Change of packets from the listener to the suite.
    pub(crate) backward: Change,
    /// Function that returns the number of copies of an answer that the relay sends to the suite.
    pub(crate) copies: fn(&[u8]) -> usize,
}

/// Relay with Godwit's listener behind it; both end when the value is dropped.
pub(crate) struct FaultRelay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    pub(crate) udp_port: u16,
    _listening: ConformanceListener,
}

fn bind() -> UdpSocket {
    let socket = UdpSocket::bind((V4, 0)).unwrap();
    socket.set_read_timeout(Some(LOOK)).unwrap();
    socket
}

/// Passes every datagram of `socket`, with its sender, to `take` until `stop` is set.
fn pump(socket: &UdpSocket, stop: &AtomicBool, mut take: impl FnMut(Vec<u8>, SocketAddr)) {
    let mut buffer = [0; 9_000];
    while !stop.load(Ordering::Acquire) {
        match socket.recv_from(&mut buffer) {
            Ok((len, source)) => take(buffer[..len].to_vec(), source),
            Err(error) => assert!(
                matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                "{error}"
            ),
        }
    }
}

impl FaultRelay {
    pub(crate) fn start(changes: FaultPacketChanges) -> Self {
        let listening = ConformanceListener::over_udp();
        let upstream = SocketAddr::new(V4, listening.udp_port);
        let listener = Arc::new(bind());
        let udp_port = listener.local_addr().unwrap().port();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut sockets: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
            std::thread::scope(|scope| {
                pump(&listener, &seen, |mut octets, source| {
                    let socket = sockets.entry(source).or_insert_with(|| {
                        let socket = Arc::new(bind());
                        let (back, listener, seen) = (Arc::clone(&socket), &listener, &seen);
                        scope.spawn(move || {
                            pump(&back, seen, |mut octets, _| {
                                (changes.backward)(&mut octets);
                                let copies = (changes.copies)(&octets);
                                for _ in 0..if octets.is_empty() { 0 } else { copies } {
                                    listener.send_to(&octets, source).unwrap();
                                }
                            });
                        });
                        socket
                    });
                    (changes.forward)(&mut octets);
                    if !octets.is_empty() {
                        socket.send_to(&octets, upstream).unwrap();
                    }
                });
            });
        });
        Self { stop, thread: Some(thread), udp_port, _listening: listening }
    }
}

impl Drop for FaultRelay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.thread.take().unwrap().join().unwrap();
    }
}
