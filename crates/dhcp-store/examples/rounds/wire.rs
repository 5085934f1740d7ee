//! Server between client and database that counts bytes, turns and commands.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct WireCounters {
    sent: AtomicU64,
    received: AtomicU64,
    turns: AtomicU64,
    server_spoke: AtomicBool,
}

/// Counts of bytes to the database, bytes from it, and round trips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireCounts {
    /// Bytes that the client sent.
    pub(crate) sent: u64,
    /// Bytes that the database sent back.
    pub(crate) received: u64,
    /// Number of times that the client sent after the server had sent: the round trips of a client
    /// that waits for each answer.
    pub(crate) turns: u64,
}

impl WireCounters {
    /// Starts a server in front of `port` of this machine, and returns it with the port that it
    /// listens on. Its threads end with their connections.
    pub(crate) fn start(port: u16) -> (Arc<Self>, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
        let own = listener.local_addr().expect("it is bound").port();
        let wire = Arc::new(Self::default());
        let counts = Arc::clone(&wire);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
                counts.join(&client, &server);
            }
        });
        (wire, own)
    }

    fn join(self: &Arc<Self>, client: &TcpStream, server: &TcpStream) {
        for stream in [client, server] {
            stream.set_nodelay(true).expect("TCP has this option");
        }
        for is_client in [true, false] {
            let wire = Arc::clone(self);
            let (from, to) = if is_client { (client, server) } else { (server, client) };
            let mut from = from.try_clone().expect("a socket can be cloned");
            let mut to = to.try_clone().expect("a socket can be cloned");
            std::thread::spawn(move || {
                let mut octets = vec![0; 1 << 20];
                while let Ok(len @ 1..) = from.read(&mut octets) {
                    wire.count(is_client, len as u64);
                    if to.write_all(&octets[..len]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    }

    fn count(&self, is_client: bool, len: u64) {
        if !is_client {
            self.received.fetch_add(len, Ordering::SeqCst);
            self.server_spoke.store(true, Ordering::SeqCst);
            return;
        }
        self.sent.fetch_add(len, Ordering::SeqCst);
        if self.server_spoke.swap(false, Ordering::SeqCst) {
            self.turns.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Returns the counts so far.
    pub(crate) fn counts(&self) -> WireCounts {
        WireCounts {
            sent: self.sent.load(Ordering::SeqCst),
            received: self.received.load(Ordering::SeqCst),
            turns: self.turns.load(Ordering::SeqCst),
        }
    }
}
