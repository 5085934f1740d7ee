//! Free ports for one test.

use std::fs;
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Mutex, PoisonError};

pub(crate) use testbed::proc::is_port_taken as is_taken;
use testbed::proc::local_port;

/// Ports below those that the kernel assigns, and above those of services and of the testbed's
/// databases.
const PORTS: Range<u16> = 30_000..32_700;
/// Ports that a process takes at a time.
const BLOCK: u16 = 100;
/// Maximum of blocks that a process takes before it checks its first ports again.
const BLOCKS_MAX: usize = 12;

/// Ports of this process.
struct ProcessPorts {
    left: Range<u16>,
    /// Number of blocks of ports that the process has tried to take.
    looked: u16,
    /// Blocks of this process, each with a socket bound to the block's name. The kernel gives such
    /// a name once per machine and frees it with the process.
    blocks: Vec<(u16, UnixListener)>,
    /// Index of the block from which the process takes ports again.
    again: usize,
}

static OWN: Mutex<ProcessPorts> =
    Mutex::new(ProcessPorts { left: 0..0, looked: 0, blocks: Vec::new(), again: 0 });

impl ProcessPorts {
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
        if !is_taken(port) {
            return port;
        }
    }
}

/// Returns true if a UDP socket at the port, in the calling thread's network namespace, has unread
/// datagrams.
pub(crate) fn has_unread(port: u16) -> bool {
    ["udp", "udp6"].iter().any(|name| {
        let path = format!("/proc/thread-self/net/{name}");
        let table = fs::read_to_string(path).unwrap_or_default();
        table.lines().any(|line| local_port(line) == Some(port) && is_waited_in(line))
    })
}

/// Returns true if the sockets in the network namespace of process `pid` have unread messages.
pub(crate) fn has_unread_in_namespace_of(pid: u32) -> bool {
    let table = |name: &str| fs::read_to_string(format!("/proc/{pid}/net/{name}"));
    let is_held = |line: &str| line.split_whitespace().nth(6).is_some_and(|bytes| bytes != "0");
    let has_udp = |name: &str| table(name).unwrap_or_default().lines().skip(1).any(is_waited_in);
    let has_packets = table("packet").unwrap_or_default().lines().skip(1).any(is_held);
    has_udp("udp") || has_udp("udp6") || has_packets
}

/// Returns true if datagrams wait in the receive queue of a row of `/proc/net/udp`.
fn is_waited_in(row: &str) -> bool {
    let queues = row.split_whitespace().nth(4).and_then(|queues| queues.split_once(':'));
    queues.is_some_and(|(_, received)| received.contains(|digit: char| digit != '0'))
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
