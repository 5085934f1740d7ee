//! Ports of the test's own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Mutex, PoisonError};

/// Ports that nobody is given who asks for just any: below those, and above what services and the
/// databases of the testbed have.
const PORTS: Range<u16> = 30_000..32_700;
/// Ports that a process takes at a time.
const BLOCK: u16 = 100;
/// Blocks that a process takes; then its first ports are looked at again.
const BLOCKS_MAX: usize = 12;

/// Ports that are this process's.
struct Own {
    left: Range<u16>,
    /// Blocks that were looked at.
    looked: u16,
    /// Each with a socket that has its name, which the kernel gives once on a machine and takes back with
    /// the process.
    blocks: Vec<(u16, UnixListener)>,
    /// Which of them is given from again.
    again: usize,
}

static OWN: Mutex<Own> = Mutex::new(Own { left: 0..0, looked: 0, blocks: Vec::new(), again: 0 });

impl Own {
    /// Goes on with a block that no other process of these tests has.
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

/// A port that is free on loopback for UDP and TCP of both families, and that no other test of this
/// process or another one was given.
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
