//! Steering datagrams between the sockets that share a port: a classic BPF program picks the
//! socket from the payload (`SO_ATTACH_REUSEPORT_CBPF`, `socket(7)`). A locality hint: who gets a
//! datagram decides nothing but whose cache is warm.

use std::io;

use crate::{UdpSocket, filter};

/// Knuth's multiplicative constant; spreads addresses that count upwards.
const SPREAD: u32 = 0x9e37_79b1;

pub(crate) const fn instruction(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// From a key in the accumulator to one of `sockets` sockets.
pub(crate) fn choose(sockets: u32) -> [libc::sock_filter; 3] {
    [
        instruction(libc::BPF_ALU | libc::BPF_MUL | libc::BPF_K, SPREAD),
        instruction(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 16),
        instruction(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, sockets.max(1)),
    ]
}

/// Spreads the datagrams of a port over its `sockets` sockets, numbered in the order in which they
/// were bound, by the four octets at `payload_offset`. A datagram that is too short goes to the
/// first. Call it on any one of them, after all are bound.
///
/// # Errors
///
/// What `setsockopt(2)` reports.
pub fn by_payload(socket: &UdpSocket, payload_offset: u32, sockets: u32) -> io::Result<()> {
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, payload_offset)];
    program.extend(choose(sockets));
    program.push(instruction(libc::BPF_RET | libc::BPF_A, 0));
    filter::attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF, &program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PollFd, RecvBatch, UdpOptions, poll};
    use std::net::{Ipv4Addr, SocketAddrV4};

    #[test]
    fn datagrams_of_one_flow_are_spread_by_payload_and_stay_apart() {
        let mut options = UdpOptions::at(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
        options.reuse_port = true;
        let first = UdpSocket::open(&options).unwrap();
        options.bind = first.local_address().unwrap();
        let second = UdpSocket::open(&options).unwrap();
        by_payload(&first, 2, 2).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let send = |n: u32| {
            let mut payload = vec![0; 2];
            payload.extend(n.to_be_bytes());
            sender.send_to(&payload, options.bind).unwrap();
        };
        (0..100).for_each(send);
        (0..100).for_each(send);
        let mut seen = [Vec::new(), Vec::new()];
        while seen[0].len() + seen[1].len() < 200 {
            let mut fds = [PollFd::readable(&first), PollFd::readable(&second)];
            assert!(poll(&mut fds, Some(5_000_000_000)).unwrap() > 0, "datagrams are missing");
            for (socket, seen) in [&first, &second].into_iter().zip(&mut seen) {
                let mut batch = RecvBatch::default();
                batch.receive(socket).unwrap();
                seen.extend(batch.iter().map(|datagram| datagram.octets.to_vec()));
            }
        }
        assert!(seen[0].len() > 20 && seen[1].len() > 20, "{} {}", seen[0].len(), seen[1].len());
        assert!(seen[0].iter().all(|payload| !seen[1].contains(payload)));
    }
}
