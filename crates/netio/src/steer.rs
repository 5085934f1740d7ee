//! Steering of datagrams between the sockets that share a port: a classic BPF program chooses the
//! socket from the payload (`SO_ATTACH_REUSEPORT_CBPF`, `socket(7)`). The choice is a hint: every
//! socket can serve every datagram, but the caches of one processor may be warmer.

use std::io;

use crate::{UdpSocket, filter};

/// Constant of Knuth's multiplicative hashing, which spreads ascending addresses over the sockets.
const SPREAD: u32 = 0x9e37_79b1;

pub(crate) const fn instruction(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

const fn load_word(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// Returns the BPF steps that convert a key in the accumulator to the number of one of `sockets`
/// sockets.
pub(crate) fn choose(sockets: u32) -> [libc::sock_filter; 3] {
    [
        instruction(libc::BPF_ALU | libc::BPF_MUL | libc::BPF_K, SPREAD),
        instruction(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 16),
        instruction(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, sockets.max(1)),
    ]
}

/// Part of a datagram by which the BPF program chooses one of several alike sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteeringKey<'a> {
    /// Four bytes of the payload at this offset.
    Payload(u32),
    /// Words of messages that begin with the byte `first`: the XOR of the words (four bytes each)
    /// at the offsets `words`. For other messages addresses and ports, as the kernel does without a
    /// program.
    After {
        /// First byte of the messages that have these words.
        first: u8,
        /// Offsets in the payload of the words, 1 to 64 of them.
        words: &'a [u32],
    },
}

/// Test that distinguishes messages which begin an exchange from those which continue one. An
/// unrecognizable message counts as a beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeStartTest {
    /// Test of one byte: a message begins an exchange if the byte at `at` is `value`, or the byte
    /// at `mark_at` is not `mark`.
    Octet {
        /// Offset in the payload of `mark`, which shows that the byte at `at` has its expected
        /// meaning.
        mark_at: u32,
        /// Value of the byte at `mark_at`.
        mark: u8,
        /// Offset in the payload of the byte with the kind of message.
        at: u32,
        /// Kind of message that begins an exchange.
        value: u8,
    },
    /// Test of the first byte, through wrappers: a message begins an exchange if its first byte is
    /// `value`. A message that begins with `wrapper` has the message in an option, after
    /// `head_bytes` and perhaps other options, and that may be a wrapper again; the program reads
    /// up to [`WRAPPED_OPTIONS`] options. Options have code and length of two bytes each.
    Wrapped {
        /// Kind of message that wraps another message.
        wrapper: u8,
        /// Number of bytes of a wrapping message before its options.
        head_bytes: u32,
        /// Code of the option that has the wrapped message.
        option: u16,
        /// Kind of message that begins an exchange.
        value: u8,
    },
}

/// Number of options that the program of [`ExchangeStartTest::Wrapped`] reads in one message,
/// including the options of wrapped messages.
pub const WRAPPED_OPTIONS: usize = 6;

/// Spreads the datagrams of a port over its sockets, numbered in the order in which they were
/// bound: over `sockets` alike ones by `key`. With `beginning` there are twice as many, and the
/// second half gets the messages that continue an exchange. A datagram that is too short for the
/// tests goes to the first. Call it on any one of the sockets, after all are bound.
///
/// # Errors
///
/// The error of `setsockopt(2)`.
///
/// # Panics
///
/// Unless [`SteeringKey::After`] has 1 to 64 words.
pub fn spread(
    socket: &UdpSocket,
    key: SteeringKey<'_>,
    sockets: u32,
    beginning: Option<ExchangeStartTest>,
) -> io::Result<()> {
    let mut program = first_socket_steps(beginning, sockets);
    if sockets > 1 {
        program.extend(socket_number_steps(key, sockets));
    } else {
        program.push(instruction(libc::BPF_LD | libc::BPF_IMM, 0));
    }
    program.push(instruction(libc::BPF_LDX | libc::BPF_MEM, 0));
    program.push(instruction(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0));
    program.push(instruction(libc::BPF_RET | libc::BPF_A, 0));
    filter::attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF, &program)
}

/// Returns the BPF steps that put the number of one of `sockets` alike sockets into the
/// accumulator.
fn socket_number_steps(key: SteeringKey<'_>, sockets: u32) -> Vec<libc::sock_filter> {
    let (first, words) = match key {
        SteeringKey::Payload(offset) => {
            let mut program = vec![load_word(offset)];
            program.extend(choose(sockets));
            return program;
        }
        SteeringKey::After { first, words } => (first, words),
    };
    assert!((1..=64).contains(&words.len()), "{} words", words.len());
    let mut program = vec![
        instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0),
        jump_if(first.into(), 1, 0),
        // No socket has this number, which makes the kernel choose by its own hash.
        instruction(libc::BPF_RET | libc::BPF_K, u32::MAX),
        load_word(words[0]),
    ];
    for &word in &words[1..] {
        program.push(instruction(libc::BPF_MISC | libc::BPF_TAX, 0));
        program.push(load_word(word));
        program.push(instruction(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0));
    }
    program.extend(choose(sockets));
    program
}

/// Returns a BPF jump over `then` instructions if the accumulator is `k`, else over `otherwise`.
const fn jump_if(k: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    libc::sock_filter { jt: then, jf: otherwise, ..instruction(code, k) }
}

/// Returns the BPF steps that put the number of the first eligible socket into the first word of
/// memory: 0, or `sockets` for a message that continues an exchange.
fn first_socket_steps(
    beginning: Option<ExchangeStartTest>,
    sockets: u32,
) -> Vec<libc::sock_filter> {
    let load_immediate = |k| instruction(libc::BPF_LD | libc::BPF_IMM, k);
    let (mut program, value) = match beginning {
        None => (Vec::new(), None),
        Some(ExchangeStartTest::Octet { mark_at, mark, at, value }) => {
            let load_octet = |at| instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, at);
            // The jump leads to the load of 0: three steps after the test of the kind.
            (vec![load_octet(mark_at), jump_if(mark.into(), 0, 4), load_octet(at)], Some(value))
        }
        Some(ExchangeStartTest::Wrapped { wrapper, head_bytes, option, value }) => {
            (unwrap(wrapper, head_bytes, option), Some(value))
        }
    };
    if let Some(value) = value {
        program.extend([
            jump_if(value.into(), 2, 0),
            load_immediate(sockets),
            instruction(libc::BPF_JMP | libc::BPF_JA, 1),
        ]);
    }
    program.extend([load_immediate(0), instruction(libc::BPF_ST, 0)]);
    program
}

/// Returns the BPF steps that put the kind of the message inside of all wrappers into the
/// accumulator. If they do not find it, they jump three instructions beyond their own end.
fn unwrap(wrapper: u8, head_bytes: u32, option: u16) -> Vec<libc::sock_filter> {
    let indirect = |size, at| instruction(libc::BPF_LD | size | libc::BPF_IND, at);
    let add = |k| instruction(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_K, k);
    let to_index = instruction(libc::BPF_MISC | libc::BPF_TAX, 0);
    let jump = instruction(libc::BPF_JMP | libc::BPF_JA, JUMP_TO_END);
    let mut program = vec![
        instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0),
        jump_if(wrapper.into(), 1, 0),
        jump,
        instruction(libc::BPF_LDX | libc::BPF_IMM, head_bytes),
    ];
    for _ in 0..WRAPPED_OPTIONS {
        program.extend([
            indirect(libc::BPF_H, 0),
            jump_if(option.into(), 5, 0),
            // Another option: skip it.
            indirect(libc::BPF_H, 2),
            instruction(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0),
            add(4),
            to_index,
            instruction(libc::BPF_JMP | libc::BPF_JA, 6),
            // A message: its kind, or its options if it is a wrapper.
            indirect(libc::BPF_B, 4),
            jump_if(wrapper.into(), 1, 0),
            jump,
            instruction(libc::BPF_MISC | libc::BPF_TXA, 0),
            add(4 + head_bytes),
            to_index,
        ]);
    }
    program.push(instruction(libc::BPF_JMP | libc::BPF_JA, 3));
    let end = program.len();
    for (at, step) in program.iter_mut().enumerate() {
        if step.k == JUMP_TO_END && step.code == jump.code {
            step.k = (end - at - 1) as u32;
        }
    }
    program
}

/// Placeholder of the jump to the end of [`unwrap`] until the distance is known.
const JUMP_TO_END: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PollFd, RecvBatch, UdpOptions, poll};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    /// Timeout in nanoseconds that no test reaches on any machine.
    const LONG_NS: u64 = 300_000_000_000;

    /// Binds the calling thread to one processor: loopback keeps the order of the datagrams that
    /// one processor sends.
    fn stay_on_one_processor() {
        let cpu = *crate::thread::allowed_cpus().unwrap().last().unwrap();
        crate::thread::pin_to_cpu(cpu).unwrap();
    }

    /// Opens two sockets on one port and returns the datagrams of `sent` that each gets, every
    /// datagram sent twice from each of `senders` ports.
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
        stay_on_one_processor();
        for _ in 0..senders {
            let sender = std::net::UdpSocket::bind((ip, 0)).unwrap();
            for payload in sent.iter().chain(sent) {
                sender.send_to(payload, options.bind).unwrap();
            }
        }
        let mut seen = [Vec::new(), Vec::new()];
        while seen[0].len() + seen[1].len() < 2 * sent.len() * senders {
            let mut fds = [PollFd::readable(&first), PollFd::readable(&second)];
            assert!(poll(&mut fds, Some(LONG_NS)).unwrap() > 0, "datagrams are missing");
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
            assert_spread(split(
                ip,
                |first| spread(first, SteeringKey::Payload(2), 2, None).unwrap(),
                1,
                &sent,
            ));
        }
    }

    #[test]
    fn a_first_octet_decides_between_payload_and_flow() {
        let key = SteeringKey::After { first: 12, words: &[1, 5] };
        let steer = |first: &UdpSocket| spread(first, key, 2, None).unwrap();
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

    /// Returns those messages of `sent` that reach the first and those that reach the second of two
    /// sockets.
    fn split_by_kind(beginning: ExchangeStartTest, sent: &[Vec<u8>]) -> [Vec<Vec<u8>>; 2] {
        let ip = Ipv4Addr::LOCALHOST.into();
        let steer =
            |first: &UdpSocket| spread(first, SteeringKey::Payload(0), 1, Some(beginning)).unwrap();
        split(ip, steer, 1, sent).map(|seen| {
            let mut seen: Vec<_> = seen.into_iter().map(|(_, octets)| octets).collect();
            let again = seen.split_off(seen.len() / 2);
            assert_eq!(seen, again, "everything is sent twice");
            seen
        })
    }

    #[test]
    fn an_octet_behind_a_mark_tells_what_begins_an_exchange() {
        let beginning = ExchangeStartTest::Octet { mark_at: 1, mark: 53, at: 3, value: 1 };
        let discover = vec![9, 53, 1, 1, 9];
        let request = vec![9, 53, 1, 3, 9];
        let unmarked = vec![9, 54, 1, 3, 9];
        let cut = vec![9, 53, 1];
        let sent = [discover, request, unmarked, cut];
        let [begin, go_on] = split_by_kind(beginning, &sent);
        let [discover, request, unmarked, cut] = sent;
        assert_eq!(begin, [discover, unmarked, cut]);
        assert_eq!(go_on, [request]);
    }

    /// Returns a wrapper of kind 12 with 3 more bytes in its head: the options `before` and
    /// `inner`.
    fn wrapped(before: &[(u16, &[u8])], inner: &[u8]) -> Vec<u8> {
        let mut message = vec![12, 0, 0, 0];
        for &(code, octets) in before.iter().chain(&[(9, inner)]) {
            message.extend(code.to_be_bytes());
            message.extend((octets.len() as u16).to_be_bytes());
            message.extend(octets);
        }
        message
    }

    #[test]
    fn a_message_in_wrappers_tells_what_begins_an_exchange() {
        let beginning =
            ExchangeStartTest::Wrapped { wrapper: 12, head_bytes: 4, option: 9, value: 1 };
        let others: [(u16, &[u8]); 3] = [(18, b"eth0"), (37, b""), (1, b"abcdefg")];
        let bare = |kind: u8| vec![kind, 1, 2, 3];
        let twice = |kind| wrapped(&others[..2], &wrapped(&others[..1], &bare(kind)));
        let begin = [
            bare(1),
            wrapped(&[], &bare(1)),
            wrapped(&others, &bare(1)),
            twice(1),
            // Too deep inside, and truncated: messages that are not recognizable.
            wrapped(&others, &wrapped(&others, &bare(3))),
            wrapped(&others, &bare(3))[..12].to_vec(),
        ];
        let go_on =
            [bare(3), wrapped(&[], &bare(3)), wrapped(&others, &bare(5)), twice(3), bare(11)];
        let sent: Vec<_> = begin.iter().chain(&go_on).cloned().collect();
        let seen = split_by_kind(beginning, &sent);
        assert_eq!(seen[0], begin);
        assert_eq!(seen[1], go_on);
    }

    #[test]
    fn alike_sockets_share_both_kinds() {
        let mut options = UdpOptions::at((Ipv4Addr::LOCALHOST, 0));
        let first = UdpSocket::open(&options).unwrap();
        first.share_port().unwrap();
        options.bind = first.local_address().unwrap();
        options.reuse_port = true;
        let mut sockets = vec![first];
        sockets.extend((1..4).map(|_| UdpSocket::open(&options).unwrap()));
        let beginning = ExchangeStartTest::Octet { mark_at: 4, mark: 53, at: 5, value: 1 };
        spread(&sockets[0], SteeringKey::Payload(0), 2, Some(beginning)).unwrap();
        stay_on_one_processor();
        let sender = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for client in 0..50_u32 {
            for kind in [1, 3] {
                let mut payload = client.to_be_bytes().to_vec();
                payload.extend([53, kind]);
                sender.send_to(&payload, options.bind).unwrap();
            }
        }
        let mut seen = vec![Vec::new(); sockets.len()];
        while seen.iter().map(Vec::len).sum::<usize>() < 100 {
            let mut fds: Vec<_> = sockets.iter().map(PollFd::readable).collect();
            assert!(poll(&mut fds, Some(LONG_NS)).unwrap() > 0, "datagrams are missing");
            for (socket, seen) in sockets.iter().zip(&mut seen) {
                let mut batch = RecvBatch::default();
                batch.receive(socket).unwrap();
                seen.extend(batch.iter().map(|datagram| datagram.octets.to_vec()));
            }
        }
        for (at, kind) in [(0, 1), (1, 1), (2, 3), (3, 3)] {
            assert!(seen[at].len() > 10 && seen[at].iter().all(|octets| octets[5] == kind));
        }
        // A client's messages stay with its shard.
        let clients = |at: usize| seen[at].iter().map(|octets| &octets[..4]).collect::<Vec<_>>();
        assert_eq!((clients(0), clients(1)), (clients(2), clients(3)));
    }

    #[test]
    fn a_port_that_somebody_has_is_not_shared_with_them() {
        let options = UdpOptions::at((Ipv4Addr::LOCALHOST, 0));
        let first = UdpSocket::open(&options).unwrap();
        first.share_port().unwrap();
        let same_port = UdpOptions::at(first.local_address().unwrap());
        assert!(UdpSocket::open(&same_port).is_err());
        assert!(UdpSocket::open(&UdpOptions { reuse_port: true, ..same_port }).is_ok());
    }
}
