//! Search for free ports for tests.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns a port that no TCP or UDP socket of this network namespace has. The kernel gives none of
/// these ports to a socket that binds to port 0, and each process begins its search at another
/// port.
///
/// The search reads the kernel's socket tables. A socket opened as a trial would be inherited by
/// each program that another test starts at that moment, and would block the port until that
/// program runs.
pub(crate) fn free_port() -> u16 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let port = |_| {
        let number = std::process::id() * 32 + ASKED.fetch_add(1, Ordering::Relaxed);
        10_000 + (number % 20_000) as u16
    };
    (0..20_000).map(port).find(|&port| !is_taken(port)).expect("one of so many is free")
}

/// Returns true if a socket of this process's network namespace has `port`.
fn is_taken(port: u16) -> bool {
    let end = format!(":{port:04X}");
    ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
        let path = format!("/proc/thread-self/net/{table}");
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut local = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
        local.any(|address| address.ends_with(&end))
    })
}

#[test]
fn a_port_that_a_socket_has_is_taken() {
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(is_taken(tcp.local_addr().unwrap().port()));
    assert!(is_taken(udp.local_addr().unwrap().port()));
    assert_ne!(free_port(), free_port());
}
