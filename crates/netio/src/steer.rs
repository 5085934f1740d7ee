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

const fn load_word(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// From a key in the accumulator to the number of one of `sockets` sockets, in the accumulator.
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
    let mut program = vec![load_word(payload_offset)];
    program.extend(choose(sockets));
    program.push(instruction(libc::BPF_RET | libc::BPF_A, 0));
    attach(socket, &program)
}

/// Spreads those datagrams that begin with the octet `first` by the words (four octets each) at
/// `words` together, the others by their addresses and ports as the kernel does without a program.
/// Otherwise as [`by_payload`].
///
/// # Errors
///
/// What `setsockopt(2)` reports.
///
/// # Panics
///
/// Unless there are 1 to 64 words.
pub fn by_payload_after(
    socket: &UdpSocket,
    first: u8,
    words: &[u32],
    sockets: u32,
) -> io::Result<()> {
    assert!((1..=64).contains(&words.len()), "{} words", words.len());
    let mut program = vec![load_word(words[0])];
    for &word in &words[1..] {
        program.push(instruction(libc::BPF_MISC | libc::BPF_TAX, 0));
        program.push(load_word(word));
        program.push(instruction(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0));
    }
    program.extend(choose(sockets));
    program.push(instruction(libc::BPF_RET | libc::BPF_A, 0));
    let is_first = libc::sock_filter {
        jf: program.len() as u8,
        ..instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, first.into())
    };
    let load_first = instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0);
    program.splice(..0, [load_first, is_first]);
    // No socket has this number, which makes the kernel choose by its own hash.
    program.push(instruction(libc::BPF_RET | libc::BPF_K, u32::MAX));
    attach(socket, &program)
}

fn attach(socket: &UdpSocket, program: &[libc::sock_filter]) -> io::Result<()> {
    filter::attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF, program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PollFd, RecvBatch, UdpOptions, poll};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    /// Two sockets on one port, and what each gets of `sent`, every datagram sent twice from each
    /// of `senders` ports.
    fn split(
        ip: IpAddr,
        steer: impl Fn(&UdpSocket),
        senders: usize,
        sent: &[Vec<u8>],
    ) -> [Vec<(SocketAddr, Vec<u8>)>; 2] {
        let mut options = UdpOptions::at((ip, 0));
        options.reuse_port = true;
        let first = UdpSocket::open(&options).unwrap();
        options.bind = first.local_address().unwrap();
        let second = UdpSocket::open(&options).unwrap();
        steer(&first);
        for _ in 0..senders {
            let sender = std::net::UdpSocket::bind((ip, 0)).unwrap();
            for payload in sent.iter().chain(sent) {
                sender.send_to(payload, options.bind).unwrap();
            }
        }
        let mut seen = [Vec::new(), Vec::new()];
        while seen[0].len() + seen[1].len() < 2 * sent.len() * senders {
            let mut fds = [PollFd::readable(&first), PollFd::readable(&second)];
            assert!(poll(&mut fds, Some(5_000_000_000)).unwrap() > 0, "datagrams are missing");
            for (socket, seen) in [&first, &second].into_iter().zip(&mut seen) {
                let mut batch = RecvBatch::default();
                batch.receive(socket).unwrap();
                seen.extend(batch.iter().map(|datagram| (datagram.source, datagram.octets.into())));
            }
        }
        seen
    }

    fn assert_spread<T: PartialEq>(seen: [Vec<T>; 2]) {
        assert!(seen[0].len() > 20 && seen[1].len() > 20, "{} {}", seen[0].len(), seen[1].len());
        assert!(seen[0].iter().all(|payload| !seen[1].contains(payload)));
    }

    #[test]
    fn datagrams_of_one_flow_are_spread_by_payload_and_stay_apart() {
        let numbered = |n: u32| -> Vec<u8> { [0; 2].into_iter().chain(n.to_be_bytes()).collect() };
        let sent: Vec<_> = (0..100).map(numbered).collect();
        for ip in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
            assert_spread(split(ip, |first| by_payload(first, 2, 2).unwrap(), 1, &sent));
        }
    }

    #[test]
    fn a_first_octet_decides_between_payload_and_flow() {
        let steer = |first: &UdpSocket| by_payload_after(first, 12, &[1, 5], 2).unwrap();
        let ip = Ipv6Addr::LOCALHOST.into();
        for word in [1, 5] {
            let numbered = |n: u32| {
                let mut payload = vec![12, 0, 0, 0, 0, 0, 0, 0, 0];
                payload[word..word + 4].copy_from_slice(&n.to_be_bytes());
                payload
            };
            let sent: Vec<_> = (0..100).map(numbered).collect();
            assert_spread(split(ip, steer, 1, &sent));
        }
        // The same payload from many ports: only the kernel's hash can spread it.
        let seen = split(ip, steer, 100, &[vec![1; 9]]);
        assert_spread(seen.map(|seen| seen.into_iter().map(|(source, _)| source).collect()));
        let unmarked_differ: Vec<_> = (0..100).map(|n| vec![1, 0, 0, 0, n, 0, 0, 0, n]).collect();
        let [a, b] = split(ip, steer, 1, &unmarked_differ);
        assert!(a.is_empty() || b.is_empty(), "one flow stays together: {} {}", a.len(), b.len());
    }
}
