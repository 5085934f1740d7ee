//! Free ports for one test.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Mutex, PoisonError};

/// Ports below those that the kernel assigns, and above those of services and of the testbed's
/// databases.
const PORTS: Range<u16> = 30_000..32_700;
/// Ports that a process takes at a time.
const BLOCK: u16 = 100;
/// Maximum of blocks that a process takes before it checks its first ports again.
const BLOCKS_MAX: usize = 12;

/// Ports of this process.
struct Own {
    left: Range<u16>,
    /// Number of blocks tried.
    looked: u16,
    /// Blocks of this process, each with a socket bound to the block's name. The kernel gives such
    /// a name once per machine and frees it with the process.
    blocks: Vec<(u16, UnixListener)>,
    /// Index of the block that ports are taken from again.
    again: usize,
}

static OWN: Mutex<Own> = Mutex::new(Own { left: 0..0, looked: 0, blocks: Vec::new(), again: 0 });

impl Own {
    /// Takes a block that no other process of these tests has.
    fn next_block(&mut self) {
        let number = self.new_block().unwrap_or_else(|| {
            assert!(!self.blocks.is_empty(), "other processes have all ports");
            self.again += 1;
            self.blocks[self.again % self.blocks.len()].0
        });
        let first = PORTS.start + number * BLOCK;
        self.left = first..first + BLOCK;
    }

    fn new_block(&mut self) -> Option<u16> {
        let count = PORTS.len() as u16 / BLOCK;
        while self.looked < count && self.blocks.len() < BLOCKS_MAX {
            let number = (std::process::id() as u16 % count + self.looked) % count;
            self.looked += 1;
            let name = format!("godwit-test-ports-{number}");
            let address = SocketAddr::from_abstract_name(name).expect("it is short");
            if let Ok(socket) = UnixListener::bind_addr(&address) {
                self.blocks.push((number, socket));
                return Some(number);
            }
        }
        None
    }
}

/// Returns a port that is free on loopback for UDP and TCP of both families, and that no other test
/// of this or another process has received.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = next_port();
        let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let is_free = |address: &IpAddr| {
            UdpSocket::bind((*address, port)).is_ok() && TcpListener::bind((*address, port)).is_ok()
        };
        if addresses.iter().all(is_free) {
            return port;
        }
    }
}

fn next_port() -> u16 {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(port) = own.left.next() {
            return port;
        }
        own.next_block();
    }
}
