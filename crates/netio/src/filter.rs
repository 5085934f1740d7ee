//! Socket filters: small classic BPF programs (`SO_ATTACH_FILTER`, `socket(7)`) that decide which
//! datagrams a socket gets. A packet socket and the UDP sockets beside it take disjoint shares by
//! filters that ask the same questions, [`Broadcasts`] and [`Unicast`].
//!
//! Budget: about 20 instructions, compiled by the kernel, for each packet that the interface
//! receives (a packet socket's) or each datagram of the port (a UDP socket's).
#![allow(unsafe_code, reason = "setsockopt with a filter program")]

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};

use crate::steer::{self, instruction};
use crate::{PacketSocket, UdpSocket, check};

/// Link type of Ethernet and what looks like it (`ARPHRD_ETHER`).
const ETHERNET: u32 = 1;
/// Octets of an Ethernet header without tags.
const ETHERNET_HEADER: u32 = 14;
/// Octets of a UDP header.
const UDP_HEADER: u32 = 8;
/// 255.255.255.255.
const EVERYONE: u32 = u32::MAX;
/// The first four bits of an IPv4 address, and what they are of a group (RFC 1112 §4).
const CLASS_BITS: u32 = 0xf000_0000;
const GROUP_CLASS: u32 = 0xe000_0000;
/// The lowest IPv4 address that is no station's: groups, reserved ones, 255.255.255.255.
const LOWEST_GROUP: u32 = 0xe000_0000;
/// Octets of UDP header and payload of a datagram that a packet socket takes, at most. Packet sockets
/// see fragments and UDP sockets what was made of them, in which nothing tells that; longer datagrams,
/// which may come in fragments, stay with UDP sockets (1,280: the least MTU of links that carry
/// IPv6, RFC 8200 §5).
const DIRECT_MAX: u32 = 1_280 - 20;
/// Kinds of packet (`packet(7)`): for a group of stations, sent by this machine. Those for this station
/// and for all have lower numbers, those for another station one between.
const KIND_MULTICAST: u32 = libc::PACKET_MULTICAST as u32;
const KIND_OUTGOING: u32 = libc::PACKET_OUTGOING as u32;

const LOAD_OCTET: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const ACCEPT: libc::sock_filter = instruction(libc::BPF_RET | libc::BPF_K, u32::MAX);
const DROP: libc::sock_filter = instruction(libc::BPF_RET | libc::BPF_K, 0);

/// Which of the sockets that share a port takes what is sent to 255.255.255.255 or to a group. The
/// kernel gives every one of them a copy, whatever [`steer::spread`] says, and whatever frame it came
/// in. So it does with what is sent to a subnet's broadcast address, which a filter cannot tell: that
/// is left to the reader of the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Offset in the payload of the four octets that [`steer::Key::Payload`] looks at.
    pub payload_offset: u32,
    /// Number of this socket.
    pub index: u32,
    /// Number of sockets.
    pub of: u32,
}

/// Unicast datagrams over Ethernet that a packet socket takes and the UDP sockets beside it leave:
/// those for one of `addresses` whose four octets at `zero_offset` of the payload are 0. Fragments and
/// datagrams of more than 1,280 octets stay with the UDP sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unicast<'a> {
    /// Own addresses; of more than [`Unicast::ADDRESSES_MAX`] the first count.
    pub addresses: &'a [Ipv4Addr],
    /// Where the four octets are.
    pub zero_offset: u32,
}

impl Unicast<'_> {
    /// Addresses that a filter has room for: the kernel bounds the memory of a socket's options
    /// (`net.core.optmem_max`).
    pub const ADDRESSES_MAX: usize = 128;

    /// Octets of UDP header and payload up to the end of the four octets.
    const fn len_min(&self) -> u32 {
        UDP_HEADER + self.zero_offset + 4
    }

    /// Accepts or drops by the IPv4 address in the accumulator.
    fn by_address(&self, ours: libc::sock_filter, other: libc::sock_filter) -> Steps {
        let known = self.addresses.iter().take(Self::ADDRESSES_MAX);
        let is_equal = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0);
        let test =
            |address: &Ipv4Addr| libc::sock_filter { k: address.to_bits(), jf: 1, ..is_equal };
        known.flat_map(|address| [test(address), ours]).chain([other]).collect()
    }
}

/// What a UDP socket does with broadcasts, and what it leaves to a packet socket beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcasts<'a> {
    /// Leaves to a packet socket what comes over Ethernet for 255.255.255.255.
    pub are_left: bool,
    /// Leaves these to a packet socket, too.
    pub unicast_left: Option<Unicast<'a>>,
    /// Which of the others it takes; all when `None`.
    pub share: Option<Share>,
}

/// Instructions in their order.
type Steps = Vec<libc::sock_filter>;

/// A program in the making: tests that drop or accept, in order, and acceptance at the end.
#[derive(Default)]
struct Program(Steps);

/// Jump offsets that [`Program::finish`] replaces by the way to the end.
const TO_DROP: u8 = u8::MAX;
const TO_ACCEPT: u8 = u8::MAX - 1;
/// A jump without condition, whose offset [`Program::finish_with`] replaces by the way to what follows
/// the ends.
const GO_ON: libc::sock_filter = instruction(libc::BPF_JMP | libc::BPF_JA, u32::MAX);

impl Program {
    fn then(mut self, code: u32, k: u32) -> Self {
        self.0.push(instruction(code, k));
        self
    }

    /// Loads one of the values that the kernel keeps beside the packet.
    fn load_beside(self, value: libc::c_int) -> Self {
        self.then(LOAD_WORD, (libc::SKF_AD_OFF + value).cast_unsigned())
    }

    fn jump(mut self, test: u32, k: u32, jt: u8, jf: u8) -> Self {
        let code = libc::BPF_JMP | test | libc::BPF_K;
        self.0.push(libc::sock_filter { jt, jf, ..instruction(code, k) });
        self
    }

    /// Drops unless the accumulator is `k`.
    fn require(self, k: u32) -> Self {
        self.jump(libc::BPF_JEQ, k, 0, TO_DROP)
    }

    /// Goes on with what [`Program::finish_with`] puts behind the ends.
    fn go_on(mut self) -> Self {
        self.0.push(GO_ON);
        self
    }

    /// The program with its two ends and `rest`, to which [`Program::go_on`] leads.
    fn finish_with(mut self, rest: Steps) -> Steps {
        let rest_at = self.0.len() + 2;
        let steps = self.0.iter_mut().enumerate();
        for (at, step) in steps.filter(|(_, step)| (step.code, step.k) == (GO_ON.code, GO_ON.k)) {
            step.k = (rest_at - at - 1) as u32;
        }
        let mut program = self.finish();
        program.extend(rest);
        program
    }

    /// The program with its two ends.
    fn finish(mut self) -> Steps {
        let accept_at = self.0.len();
        for (at, step) in self.0.iter_mut().enumerate() {
            let ahead = (accept_at - at - 1) as u8;
            for jump in [&mut step.jt, &mut step.jf] {
                *jump = match *jump {
                    TO_ACCEPT => ahead,
                    TO_DROP => ahead + 1,
                    near => near,
                };
            }
        }
        self.0.extend([ACCEPT, DROP]);
        self.0
    }
}

/// For a packet socket whose packets begin with the IPv4 header: whole UDP datagrams over Ethernet
/// for `port`, in whatever frame; without `unicast` those for 255.255.255.255, else those of `unicast`,
/// also those from 0.0.0.0 whatever they hold: UDP sockets do not get those. Frames for other stations and other VLANs are left
/// out.
pub(crate) fn on_link_to(port: u16, unicast: Option<Unicast<'_>>) -> Steps {
    let destination = 16;
    let program = Program::default()
        .load_beside(libc::SKF_AD_PKTTYPE)
        .jump(libc::BPF_JGT, KIND_MULTICAST, TO_DROP, 0)
        .load_beside(libc::SKF_AD_HATYPE)
        .require(ETHERNET)
        .then(LOAD_OCTET, 9)
        .require(libc::IPPROTO_UDP as u32)
        .then(LOAD_HALF, 6)
        .jump(libc::BPF_JSET, 0x3fff, TO_DROP, 0)
        .then(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0)
        .then(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 2)
        .require(port.into());
    let Some(unicast) = unicast else {
        return program.then(LOAD_WORD, destination).require(EVERYONE).finish();
    };
    program
        .then(LOAD_WORD, 12)
        .jump(libc::BPF_JEQ, 0, 5, 0)
        .then(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 4)
        .jump(libc::BPF_JGE, unicast.len_min(), 0, TO_DROP)
        .jump(libc::BPF_JGT, DIRECT_MAX, TO_DROP, 0)
        .then(libc::BPF_LD | libc::BPF_W | libc::BPF_IND, UDP_HEADER + unicast.zero_offset)
        .require(0)
        .then(LOAD_WORD, destination)
        .go_on()
        .finish_with(unicast.by_address(ACCEPT, DROP))
}

/// For a packet socket of whole frames: what comes in for UDP port `port` over IPv4, to whatever station
/// and address, and with `takes_arp` all ARP. Fragments and frames of VLANs are left out.
pub(crate) fn datagrams_to(port: u16, takes_arp: bool) -> Steps {
    let arp_ends = if takes_arp { TO_ACCEPT } else { TO_DROP };
    Program::default()
        .load_beside(libc::SKF_AD_PKTTYPE)
        .jump(libc::BPF_JEQ, KIND_OUTGOING, TO_DROP, 0)
        .load_beside(libc::SKF_AD_VLAN_TAG_PRESENT)
        .require(0)
        .then(LOAD_HALF, ETHERNET_HEADER - 2)
        .jump(libc::BPF_JEQ, libc::ETH_P_ARP as u32, arp_ends, 0)
        .require(libc::ETH_P_IP as u32)
        .then(LOAD_OCTET, ETHERNET_HEADER + 9)
        .require(libc::IPPROTO_UDP as u32)
        .then(LOAD_HALF, ETHERNET_HEADER + 6)
        .jump(libc::BPF_JSET, 0x3fff, TO_DROP, 0)
        .then(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, ETHERNET_HEADER)
        .then(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, ETHERNET_HEADER + 2)
        .require(port.into())
        .finish()
}

/// For a packet socket that shall see what comes in through its interface, not what the machine
/// sends there.
pub(crate) fn received() -> Steps {
    Program::default()
        .load_beside(libc::SKF_AD_PKTTYPE)
        .jump(libc::BPF_JEQ, KIND_OUTGOING, TO_DROP, 0)
        .finish()
}

/// For a socket of whole frames: whole UDP datagrams from `port`, over IPv4 or over IPv6 without
/// extension headers, that come in through its interface.
pub(crate) fn datagrams_from(port: u16) -> Steps {
    const ETHERNET_BYTES: u32 = 14;
    Program::default()
        .load_beside(libc::SKF_AD_PKTTYPE)
        .jump(libc::BPF_JEQ, KIND_OUTGOING, TO_DROP, 0)
        .then(LOAD_HALF, 12)
        .jump(libc::BPF_JEQ, libc::ETH_P_IPV6 as u32, 0, 4)
        .then(LOAD_OCTET, ETHERNET_BYTES + 6)
        .require(libc::IPPROTO_UDP as u32)
        .then(LOAD_HALF, ETHERNET_BYTES + 40)
        .jump(libc::BPF_JEQ, port.into(), TO_ACCEPT, TO_DROP)
        .require(libc::ETH_P_IP as u32)
        .then(LOAD_OCTET, ETHERNET_BYTES + 9)
        .require(libc::IPPROTO_UDP as u32)
        .then(LOAD_HALF, ETHERNET_BYTES + 6)
        .jump(libc::BPF_JSET, 0x3fff, TO_DROP, 0)
        .then(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, ETHERNET_BYTES)
        .then(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, ETHERNET_BYTES)
        .require(port.into())
        .finish()
}

/// For a socket that shall get nothing yet.
pub(crate) fn nothing() -> Steps {
    vec![DROP]
}

/// For the group of packet sockets that share an interface: the one that takes a packet, by the
/// four octets at `payload_offset` behind IPv4 and UDP header.
pub(crate) fn spread_packets(payload_offset: u32, sockets: u32) -> Steps {
    let mut program = vec![
        instruction(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0),
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_IND, UDP_HEADER + payload_offset),
    ];
    program.extend(steer::choose(sockets));
    program.push(instruction(libc::BPF_RET | libc::BPF_A, 0));
    program
}

fn udp_program(broadcasts: Broadcasts<'_>) -> Steps {
    let mut program = Program::default();
    let destination = (libc::SKF_NET_OFF + 16).cast_unsigned();
    if let Some(unicast) = broadcasts.unicast_left {
        program = program
            .then(LOAD_WORD, destination)
            .jump(libc::BPF_JGE, LOWEST_GROUP, 9, 0)
            .load_beside(libc::SKF_AD_HATYPE)
            .jump(libc::BPF_JEQ, ETHERNET, 0, TO_ACCEPT)
            .then(LOAD_HALF, 4)
            .jump(libc::BPF_JGE, unicast.len_min(), 0, TO_ACCEPT)
            .jump(libc::BPF_JGT, DIRECT_MAX, TO_ACCEPT, 0)
            .then(LOAD_WORD, UDP_HEADER + unicast.zero_offset)
            .jump(libc::BPF_JEQ, 0, 0, TO_ACCEPT)
            .then(LOAD_WORD, destination)
            .go_on();
    }
    if broadcasts.are_left {
        program = program
            .then(LOAD_WORD, destination)
            .jump(libc::BPF_JEQ, EVERYONE, 0, 2)
            .load_beside(libc::SKF_AD_HATYPE)
            .jump(libc::BPF_JEQ, ETHERNET, TO_DROP, 0);
    }
    if let Some(share) = broadcasts.share {
        program = program
            .then(LOAD_WORD, destination)
            .jump(libc::BPF_JEQ, EVERYONE, 2, 0)
            .then(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, CLASS_BITS)
            .jump(libc::BPF_JEQ, GROUP_CLASS, 0, TO_ACCEPT)
            .then(LOAD_WORD, UDP_HEADER + share.payload_offset);
        program.0.extend(steer::choose(share.of));
        program = program.require(share.index);
    }
    match broadcasts.unicast_left {
        Some(unicast) => program.finish_with(unicast.by_address(DROP, ACCEPT)),
        None => program.finish(),
    }
}

/// Says which unicast datagrams for `port` `socket` takes from now on; it takes no broadcasts.
///
/// # Errors
///
/// What `setsockopt(2)` reports; the socket then takes nothing.
pub fn set_unicast(socket: &PacketSocket, port: u16, unicast: Unicast<'_>) -> io::Result<()> {
    // Never without a filter: the socket would take all that the interface receives.
    replace(socket, &on_link_to(port, Some(unicast)))
        .inspect_err(|_| drop(replace(socket, &nothing())))
}

/// Says which broadcasts `socket` takes from now on, and which unicast datagrams it leaves.
///
/// # Errors
///
/// What `setsockopt(2)` reports; ENOMEM when the filter alone has more than `net.core.optmem_max` octets,
/// and then the socket has none and takes everything.
pub fn set_broadcasts(socket: &UdpSocket, broadcasts: Broadcasts<'_>) -> io::Result<()> {
    replace(socket, &udp_program(broadcasts))
}

/// Makes `program` the filter of `socket`, in place of another. The kernel counts both until the other
/// one is gone, so where it has no room for two, the socket is without for a moment.
fn replace(socket: &impl AsFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let attach = || attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program);
    attach().or_else(|error| {
        if error.raw_os_error() != Some(libc::ENOMEM) {
            return Err(error);
        }
        detach(socket);
        attach()
    })
}

/// Takes the filter of `socket` away; there may be none.
fn detach(socket: &impl AsFd) {
    let (fd, value) = (socket.as_fd().as_raw_fd(), 0 as libc::c_int);
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `value` is readable for `size` octets during the call.
    unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_DETACH_FILTER,
            (&raw const value).cast(),
            size,
        );
    }
}

/// Has `socket` drop whatever comes from now on: its port is taken, which is all that it is for.
///
/// # Errors
///
/// What `setsockopt(2)` reports.
pub fn take_nothing(socket: &UdpSocket) -> io::Result<()> {
    attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &nothing())
}

/// Gives `program` to the kernel by `option`.
pub(crate) fn attach(
    socket: &impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    program: &[libc::sock_filter],
) -> io::Result<()> {
    let attached =
        libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: `attached` leads to `len` instructions that outlive the call; the kernel copies and
    // checks them and does not write through the pointer.
    check(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const attached).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    })
    .map(drop)
}
